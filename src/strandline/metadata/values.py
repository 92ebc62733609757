"""What Kafka keeps in its znodes, as up to 3.9 in ZooKeeper mode: one pair of functions for each (SPEC M1).

Bytes are Kafka's own, down to the order of keys, so that `zkCli get` shows what Kafka's documents show. Writing is in
the newest version Kafka wrote; reading takes the earlier ones too. Brokers are in `broker_values`, settings in
`config_values`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from uuid import UUID

from strandline.metadata import paths
from strandline.metadata.json_values import JsonObject, encode_json, parse_integer
from strandline.model.failures import CorruptData
from strandline.model.ids import decode_id, encode_id
from strandline.model.lazy_dataclass import dataclass
from strandline.model.partitions import PARTITION_MAX, TopicPartition

NO_LEADER = -1
NO_KRAFT_EPOCH = -1
NO_TIME = -1
LOG_DIR_FAILURE = 1
RECOVERED, RECOVERING = 0, 1
FEATURES_DISABLED, FEATURES_ENABLED = 0, 1


@dataclass(frozen=True, slots=True)
class PartitionState:
    """`/brokers/topics/<t>/partitions/<p>/state`. The znode's version, not in here, is the partition's epoch."""

    leader: int  # or NO_LEADER
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    is_recovering: bool = False  # after an unclean election (KIP-704)


def encode_partition_state(state: PartitionState) -> bytes:
    recovery = {"leader_recovery_state": RECOVERING} if state.is_recovering else {}
    return encode_json(
        {"controller_epoch": state.controller_epoch, "leader": state.leader, "version": 1}
        | recovery
        | {"leader_epoch": state.leader_epoch, "isr": state.isr}
    )


def decode_partition_state(partition: TopicPartition, data: bytes) -> PartitionState:
    where = paths.partition_state_path(partition)
    found = JsonObject.parse(where, data)
    recovery = found.optional(found.integer, "leader_recovery_state") or RECOVERED
    if recovery not in (RECOVERED, RECOVERING):
        raise CorruptData(f"{where} has the unknown recovery state {recovery}")
    return PartitionState(
        found.integer("leader"),
        found.integer("leader_epoch"),
        found.integers("isr"),
        found.integer("controller_epoch"),
        recovery == RECOVERING,
    )


@dataclass(frozen=True, slots=True)
class ReplicaAssignment:
    """While a partition moves, `replicas` has the old and the new, and the other two say which are which (KIP-455)."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicAssignment:
    """`/brokers/topics/<topic>`. Topics made before Kafka 2.8 have no id (KIP-516)."""

    topic_id: UUID | None
    partitions: Mapping[int, ReplicaAssignment] = field(default_factory=dict)


def encode_topic(topic: TopicAssignment) -> bytes:
    members: dict[str, object] = {"partitions": _by_partition(topic, "replicas")}
    if topic.topic_id is not None:
        members["topic_id"] = encode_id(topic.topic_id)
    members["adding_replicas"] = _by_partition(topic, "adding")
    members["removing_replicas"] = _by_partition(topic, "removing")
    return encode_json(members | {"version": 3})


def _by_partition(topic: TopicAssignment, role: str) -> dict[str, tuple[int, ...]]:
    lists = {str(partition): getattr(topic.partitions[partition], role) for partition in sorted(topic.partitions)}
    return {partition: brokers for partition, brokers in lists.items() if brokers or role == "replicas"}


def decode_topic(topic: str, data: bytes) -> TopicAssignment:
    """Version 1 has partitions alone, version 2 also what is being added and removed, version 3 also the id."""
    where = paths.topic_path(topic)
    found = JsonObject.parse(where, data)
    topic_id = found.optional(found.text, "topic_id")
    replicas = _lists(where, found, "partitions")
    adding = _lists(where, found, "adding_replicas")
    removing = _lists(where, found, "removing_replicas")
    return TopicAssignment(
        None if topic_id is None else _topic_id(f"{where} topic_id", topic_id),
        {
            number: ReplicaAssignment(replicas[number], adding.get(number, ()), removing.get(number, ()))
            for number in sorted(replicas)
        },
    )


def _lists(where: str, found: JsonObject, key: str) -> dict[int, tuple[int, ...]]:
    lists = found.optional(found.nested, key)
    if lists is None:
        return {}
    return {_partition_number(f"{where} {key}", number): lists.integers(number) for number in lists}


def _partition_number(where: str, text: str) -> int:
    number = parse_integer(where, text)
    if not 0 <= number <= PARTITION_MAX:
        raise CorruptData(f"{where} has a partition {number}")
    return number


def _topic_id(where: str, text: str) -> UUID:
    identity = decode_id(text)
    if encode_id(identity) != text:  # Kafka's own text, or somebody else's
        raise CorruptData(f"{where} has {text[:80]!r} for an id of 22 base64 characters")
    return identity


@dataclass(frozen=True, slots=True)
class ControllerRegistration:
    """`/controller`. Before 3.4 there was no `kraftControllerEpoch` (version 1)."""

    broker_id: int
    timestamp_ms: int = NO_TIME
    kraft_epoch: int = NO_KRAFT_EPOCH


def encode_controller(controller: ControllerRegistration) -> bytes:
    return encode_json(
        {
            "version": 2,
            "brokerid": controller.broker_id,
            "timestamp": str(controller.timestamp_ms),
            "kraftControllerEpoch": controller.kraft_epoch,
        }
    )


def decode_controller(data: bytes) -> ControllerRegistration:
    found = JsonObject.parse(paths.CONTROLLER, data)
    timestamp_ms = found.optional(found.number_in_text, "timestamp")
    kraft_epoch = found.optional(found.integer, "kraftControllerEpoch")
    return ControllerRegistration(
        found.integer("brokerid"),
        NO_TIME if timestamp_ms is None else timestamp_ms,
        NO_KRAFT_EPOCH if kraft_epoch is None else kraft_epoch,
    )


def encode_controller_epoch(epoch: int) -> bytes:
    return str(epoch).encode()


def decode_controller_epoch(data: bytes) -> int:
    return parse_integer(paths.CONTROLLER_EPOCH, data.decode(errors="replace"))


def encode_partitions(partitions: Iterable[TopicPartition]) -> bytes:
    """What `/isr_change_notification/isr_change_<number>` and `/admin/preferred_replica_election` hold."""
    entries = [{"topic": topic, "partition": partition} for topic, partition in sorted(partitions)]
    return encode_json({"version": 1, "partitions": entries})


def decode_partitions(path: str, data: bytes) -> frozenset[TopicPartition]:
    found = JsonObject.parse(path, data)
    return frozenset(_partition(entry) for entry in found.nested_list("partitions"))


def _partition(entry: JsonObject) -> TopicPartition:
    return TopicPartition(entry.text("topic"), entry.integer("partition"))


Reassignment = Mapping[TopicPartition, tuple[int, ...]]


def encode_reassignment(reassignment: Reassignment) -> bytes:
    entries = [
        {"topic": partition.topic, "partition": partition.partition, "replicas": reassignment[partition]}
        for partition in sorted(reassignment)
    ]
    return encode_json({"version": 1, "partitions": entries})


def decode_reassignment(data: bytes) -> Reassignment:
    found = JsonObject.parse(paths.REASSIGN_PARTITIONS, data)
    return {_partition(entry): entry.integers("replicas") for entry in found.nested_list("partitions")}


def encode_cluster_id(cluster_id: str) -> bytes:
    return encode_json({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes) -> str:
    return JsonObject.parse(paths.CLUSTER_ID, data).text("id")


def encode_log_dir_event(broker_id: int) -> bytes:
    return encode_json({"version": 1, "broker": broker_id, "event": LOG_DIR_FAILURE})


def decode_log_dir_event(data: bytes) -> int:
    return JsonObject.parse(paths.LOG_DIR_EVENT_NOTIFICATION, data).integer("broker")


@dataclass(frozen=True, slots=True)
class ProducerIdBlock:
    """`/latest_producer_id_block`: the ids a broker may give out, both ends included."""

    broker_id: int
    first: int
    last: int


def encode_producer_id_block(block: ProducerIdBlock) -> bytes:
    return encode_json(
        {"version": 1, "broker": block.broker_id, "block_start": str(block.first), "block_end": str(block.last)}
    )


def decode_producer_id_block(data: bytes) -> ProducerIdBlock:
    found = JsonObject.parse(paths.LATEST_PRODUCER_ID_BLOCK, data)
    block = ProducerIdBlock(
        found.integer("broker"), found.number_in_text("block_start"), found.number_in_text("block_end")
    )
    if not 0 <= block.first <= block.last:
        raise CorruptData(f"{paths.LATEST_PRODUCER_ID_BLOCK} goes from {block.first} to {block.last}")
    return block


@dataclass(frozen=True, slots=True)
class FinalizedFeatures:
    """`/feature` (KIP-584). Version 1, up to 3.2, had a lowest level beside each highest."""

    is_enabled: bool
    levels: Mapping[str, int] = field(default_factory=dict)


def encode_features(features: FinalizedFeatures) -> bytes:
    levels = {name: {"max_version_level": features.levels[name]} for name in sorted(features.levels)}
    status = FEATURES_ENABLED if features.is_enabled else FEATURES_DISABLED
    return encode_json({"features": levels, "version": 2, "status": status})


def decode_features(data: bytes) -> FinalizedFeatures:
    found = JsonObject.parse(paths.FEATURE, data)
    version, status = found.integer("version"), found.integer("status")
    if version not in (1, 2) or status not in (FEATURES_DISABLED, FEATURES_ENABLED):
        raise CorruptData(f"{paths.FEATURE} has version {version} and status {status}, which nobody wrote")
    features = found.nested("features")
    levels = {name: features.nested(name).integer("max_version_level") for name in features}
    if any(level < 1 for level in levels.values()):
        raise CorruptData(f"{paths.FEATURE} has a level below 1: {levels}")
    return FinalizedFeatures(status == FEATURES_ENABLED, levels)
