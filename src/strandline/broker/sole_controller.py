"""The controller of a cluster of one: topics come, grow and go; this broker leads every partition.

The store has the last word, as in a cluster. What must not be done by halves has one write that decides it, and
`start` finishes what a crash interrupted:

    create     `/brokers/topics/<topic>` with its settings; then the partitions' states, then their folders
    grow       the topic's own node, the same way
    delete     `/admin/delete_topics/<topic>`; then the folders, then the nodes

A data directory that has partitions and no store yet, one of Apache Kafka say, is adopted as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from strandline.broker.broker_settings import BrokerSettings
from strandline.broker.cluster_image import (
    CONSUMER_OFFSETS,
    INTERNAL_TOPICS,
    ClusterImage,
    PartitionImage,
    TopicImage,
)
from strandline.broker.configuration import Configuration
from strandline.broker.host import Host
from strandline.broker.partition import NO_LEADER, LeadershipListener, Partition
from strandline.broker.partitions import Partitions
from strandline.broker.procedures import in_thread
from strandline.groups.settings import OffsetsTopicSettings
from strandline.log.log_directories import LogDirectories
from strandline.metadata import paths
from strandline.metadata.answer import Answer
from strandline.metadata.config_values import decode_config, encode_config
from strandline.metadata.errors import MultiFailed, NodeExists
from strandline.metadata.operations import Create, Delete, Operation, SetData
from strandline.metadata.store import Session
from strandline.metadata.values import (
    PartitionState,
    ReplicaAssignment,
    TopicAssignment,
    decode_partition_state,
    decode_topic,
    encode_partition_state,
    encode_topic,
)
from strandline.model.failures import ErrorCode, Refused, StorageFailed
from strandline.model.partitions import TopicPartition, check_topic_name

logger = logging.getLogger(__name__)

PARTITIONS_PER_WRITE = 500  # keeps a multi well below what a request may carry
CONTROLLER_EPOCH = 1
FIRST_LEADER_EPOCH = 0
# Of an adopted topic. The settings of the others are not known here, and what is deleted by a wrong one is gone.
COMPACTED = {"cleanup.policy": "compact"}
KEPT = {"retention.ms": "-1"}


class SoleController:
    def __init__(
        self,
        broker_id: int,
        session: Session,
        directories: LogDirectories,
        partitions: Partitions,
        image: ClusterImage,
        configuration: Configuration,
        host: Host,
        leadership: LeadershipListener,
    ) -> None:
        self._broker_id = broker_id
        self._session = session
        self._directories = directories
        self._partitions = partitions
        self._image = image
        self._configuration = configuration
        self._host = host
        self._leadership = leadership
        self._being_created: dict[str, Answer[None]] = {}  # ready when it is done, or has failed

    @property
    def creates_topics_by_default(self) -> bool:
        return self._configuration.of_broker(BrokerSettings).auto_create_topics_enable

    # At the start.

    async def start(self) -> None:
        """Bring every topic of the store up, and finish what was begun."""
        topics = (await self._session.children(paths.TOPICS)).names
        if not topics:
            await self._adopt_folders()
            topics = (await self._session.children(paths.TOPICS)).names
        deleted = set((await self._session.children(paths.DELETE_TOPICS)).names)
        for topic in topics:
            if topic not in deleted:
                await self._bring_up(topic)
        for topic in deleted:
            await self._delete(topic)

    async def _adopt_folders(self) -> None:
        """Partitions without a store: what Kafka or an earlier life of ours has left here."""
        found: dict[str, dict[int, UUID | None]] = {}
        for directory in self._directories.online():
            for partition in directory.logs:
                found.setdefault(partition.topic, {})[partition.partition] = directory.topic_ids.get(partition)
        offline = [directory.path for directory in self._directories.directories if not directory.is_usable()]
        if found and offline:
            raise StorageFailed(f"the topics found cannot be adopted while {', '.join(offline)} cannot be read")
        for topic, ids in found.items():
            topic_id = next((each for each in ids.values() if each is not None), None) or self._host.unique_id()
            properties = COMPACTED if topic in INTERNAL_TOPICS else KEPT
            await self._write_topic(topic, topic_id, max(ids) + 1, properties)
            logger.warning("adopted topic %s with %d partitions%s", topic, max(ids) + 1, _advice(properties))

    # Creating.

    async def create_topic_by_default(self, topic: str) -> None:
        """As a client's question for its metadata creates it, or an internal topic's first use.

        Many may ask at once: they wait for the first of them.
        """
        if topic in self._being_created:
            await self._being_created[topic]
        if topic in self._image.topics:
            return
        if topic == CONSUMER_OFFSETS:
            settings = self._configuration.of_broker(OffsetsTopicSettings)
            properties = {
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": str(settings.offsets_topic_segment_bytes),
            }
            await self.create_topic(topic, settings.offsets_topic_num_partitions, properties)
        else:
            await self.create_topic(topic, self._configuration.of_broker(BrokerSettings).num_partitions, {})

    async def create_topic(self, topic: str, partition_count: int, properties: Mapping[str, str]) -> UUID:
        """Returns its id once it can be used. The settings have been checked by the caller."""
        self.check_new_topic(topic)
        done = self._being_created[topic] = Answer()
        try:
            topic_id = self._host.unique_id()
            await self._write_topic(topic, topic_id, partition_count, properties)
            await self._bring_up(topic)
        except MultiFailed as failed:
            if isinstance(failed.cause, NodeExists):
                raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {topic!r} exists already") from None
            raise
        finally:
            del self._being_created[topic]
            done.deliver(None)
        return topic_id

    def check_new_topic(self, topic: str) -> None:
        check_topic_name(topic)
        if topic in self._image.topics or topic in self._being_created:
            raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {topic!r} exists already")
        colliding = topic.replace(".", "_")
        if "." in topic or "_" in topic:
            for other in (*self._image.topics, *self._being_created):
                if other.replace(".", "_") == colliding:
                    raise Refused(
                        ErrorCode.INVALID_TOPIC_EXCEPTION,
                        f"topic {topic!r} collides with {other!r}: metrics do not tell '.' and '_' apart",
                    )

    async def _write_topic(
        self, topic: str, topic_id: UUID, partition_count: int, properties: Mapping[str, str]
    ) -> None:
        alone = ReplicaAssignment((self._broker_id,))
        assignment = TopicAssignment(topic_id, dict.fromkeys(range(partition_count), alone))
        config_path = paths.config_path(paths.entity_path(paths.TOPIC_CONFIGS, topic))
        has_config = await self._session.exists(config_path)  # left by a deletion that a crash interrupted
        config = encode_config(properties)
        await self._session.multi(
            [
                SetData(config_path, config) if has_config else Create(config_path, config),
                Create(paths.topic_path(topic), encode_topic(assignment)),
            ]
        )

    async def _bring_up(self, topic: str) -> None:
        """States for the partitions that have none yet, then logs, then everybody may know."""
        assignment = decode_topic(topic, (await self._session.get(paths.topic_path(topic))).data)
        topic_id = assignment.topic_id or self._host.unique_id()
        self._configuration.set_topic(topic, await self._stored_properties(topic))
        states, new = await self._states(topic, sorted(assignment.partitions))
        offline = {
            index
            for index in assignment.partitions
            if index not in new and self._directories.may_be_offline(TopicPartition(topic, index))
        }
        await self._create_logs(topic, topic_id, sorted(assignment.partitions.keys() - offline))
        image = TopicImage(topic, topic_id)
        for index, replicas in sorted(assignment.partitions.items()):
            state, name = states[index], TopicPartition(topic, index)
            shown = PartitionImage(state.leader, state.leader_epoch, replicas.replicas, state.isr)
            if index in offline:
                shown = replace(shown, leader_id=NO_LEADER, offline_replicas=replicas.replicas)
            else:
                self._open_partition(name, topic_id, state, replicas.replicas)
            image.partitions[index] = shown
        self._image.put_topic(image)

    async def _stored_properties(self, topic: str) -> dict[str, str]:
        entity = paths.entity_path(paths.TOPIC_CONFIGS, topic)
        if await self._session.exists(paths.config_path(entity)) is None:
            return {}
        return decode_config(entity, (await self._session.get(paths.config_path(entity))).data)

    async def _states(self, topic: str, indexes: Sequence[int]) -> tuple[dict[int, PartitionState], set[int]]:
        """With those that had none and are new."""
        if await self._session.exists(paths.partitions_path(topic)) is None:
            await self._session.create(paths.partitions_path(topic))
        stored = {int(name) for name in (await self._session.children(paths.partitions_path(topic))).names}
        states = {}
        for index in stored.intersection(indexes):
            partition = TopicPartition(topic, index)
            data = (await self._session.get(paths.partition_state_path(partition))).data
            states[index] = decode_partition_state(partition, data)
        missing = [index for index in indexes if index not in states]
        first = {index: self._first_state(TopicPartition(topic, index)) for index in missing}
        for start in range(0, len(missing), PARTITIONS_PER_WRITE):
            await self._write_states(
                topic, {index: first[index] for index in missing[start : start + PARTITIONS_PER_WRITE]}
            )
        return states | first, set(missing)

    def _first_state(self, name: TopicPartition) -> PartitionState:
        """A log that was adopted has seen leaders already: ours comes after them."""
        log = self._directories.log_of(name)
        before = None if log is None else log.epochs.latest_epoch
        leader_epoch = FIRST_LEADER_EPOCH if before is None else before + 1
        return PartitionState(self._broker_id, leader_epoch, (self._broker_id,), CONTROLLER_EPOCH)

    async def _write_states(self, topic: str, states: Mapping[int, PartitionState]) -> None:
        operations: list[Operation] = []
        for index, state in states.items():
            partition = TopicPartition(topic, index)
            operations.append(Create(paths.partition_path(partition)))
            operations.append(Create(paths.partition_state_path(partition), encode_partition_state(state)))
        await self._session.multi(operations)

    async def _create_logs(self, topic: str, topic_id: UUID, indexes: Sequence[int]) -> None:
        """Those that are missing, all together and in a thread: their names must be durable, which takes time."""
        names = (TopicPartition(topic, index) for index in indexes)
        missing = [name for name in names if self._directories.log_of(name) is None]
        for directory, placed in self._directories.place(missing).items() if missing else ():
            creation = directory.begin_create(placed, now_ms=self._host.now_ms(), topic_id=topic_id)
            try:
                (await in_thread(self._host, creation.run)).result()
            except OSError as error:
                raise directory.failed(error) from error
            directory.end_create(creation)

    def _open_partition(
        self, name: TopicPartition, topic_id: UUID, state: PartitionState, replicas: tuple[int, ...]
    ) -> None:
        if self._partitions.find(name) is not None:
            return
        log = self._directories.log_of(name)
        if log is None:  # its directory failed just now
            raise StorageFailed(f"{name} has no log")
        log.change_settings(self._configuration.log_settings(name.topic))
        partition = Partition(name, topic_id.bytes, log, self._broker_id)
        partition.min_insync_replicas = self._configuration.replication_settings(name.topic).min_insync_replicas
        partition.become_leader(state.leader_epoch, replicas, state.isr)
        self._partitions.add(partition)
        self._leadership.became_leader(partition)

    # Growing.

    async def add_partitions(self, topic: str, partition_count: int) -> None:
        """To this many in all. The caller has checked that it is more than there are."""
        node = await self._session.get(paths.topic_path(topic))
        assignment = decode_topic(topic, node.data)
        alone = ReplicaAssignment((self._broker_id,))
        added = {index: alone for index in range(partition_count) if index not in assignment.partitions}
        grown = TopicAssignment(assignment.topic_id, {**assignment.partitions, **added})
        await self._session.set(paths.topic_path(topic), encode_topic(grown), node.stat.version)
        await self._bring_up(topic)

    # Deleting.

    async def delete_topic(self, topic: str) -> None:
        if topic not in self._image.topics:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic!r}")
        try:
            await self._session.create(paths.delete_topic_path(topic))
        except NodeExists:
            return  # another request is at it
        await self._delete(topic)

    async def _delete(self, topic: str) -> None:
        """From its mark on, a topic is gone for everybody; what is left of it goes now or at the next start."""
        self._image.remove_topic(topic)
        for partition in self._partitions.remove_topic(topic):
            partition.resign()
            self._leadership.resigned(partition)
        now_ms = self._host.now_ms()
        for directory in self._directories.online():
            for name in [name for name in directory.logs if name.topic == topic]:
                directory.remove(name, token=self._host.unique_id().hex, now_ms=now_ms)
        await self._delete_nodes(topic)
        self._configuration.set_topic(topic, None)

    async def _delete_nodes(self, topic: str) -> None:
        if await self._session.exists(paths.partitions_path(topic)) is not None:
            names = (await self._session.children(paths.partitions_path(topic))).names
            for start in range(0, len(names), PARTITIONS_PER_WRITE):
                operations: list[Operation] = []
                for name in names[start : start + PARTITIONS_PER_WRITE]:
                    partition = TopicPartition(topic, int(name))
                    operations.append(Delete(paths.partition_state_path(partition)))
                    operations.append(Delete(paths.partition_path(partition)))
                await self._session.multi(operations)
        ends = [paths.partitions_path(topic), paths.topic_path(topic)]
        ends.append(paths.config_path(paths.entity_path(paths.TOPIC_CONFIGS, topic)))
        there = [path for path in ends if await self._session.exists(path) is not None]
        await self._session.multi([*map(Delete, there), Delete(paths.delete_topic_path(topic))])


def _advice(properties: Mapping[str, str]) -> str:
    return "; nothing of it is deleted until its retention.ms is set" if properties == KEPT else ""
