"""A data directory that has partitions while the store has no topic, one of Apache Kafka say, is adopted as it is.

The settings of the topics are not known here, and what is deleted by a wrong one is gone: nothing of an adopted topic
is deleted until somebody sets its `retention.ms`.
"""

from __future__ import annotations

import logging
from uuid import UUID

from strandline.broker.cluster_image import INTERNAL_TOPICS
from strandline.broker.controlled_state import ControlledState
from strandline.metadata import paths
from strandline.metadata.config_values import encode_config
from strandline.metadata.operations import Create, SetData
from strandline.metadata.values import (
    PartitionState,
    ReplicaAssignment,
    TopicAssignment,
    encode_partition_state,
    encode_topic,
)
from strandline.model.failures import StorageFailed
from strandline.model.partitions import TopicPartition

logger = logging.getLogger(__name__)

COMPACTED = {"cleanup.policy": "compact"}
KEPT = {"retention.ms": "-1"}
NO_CONTROLLER_EPOCH = 0
PARTITIONS_PER_WRITE = 500


async def adopt_folders(state: ControlledState) -> None:
    found: dict[str, dict[int, UUID | None]] = {}
    for directory in state.directories.online():
        for partition in directory.logs:
            found.setdefault(partition.topic, {})[partition.partition] = directory.topic_ids.get(partition)
    offline = [each.path for each in state.directories.directories if not each.is_usable()]
    if found and offline:
        raise StorageFailed(f"the topics found cannot be adopted while {', '.join(offline)} cannot be read")
    for topic, ids in found.items():
        topic_id = next((each for each in ids.values() if each is not None), None) or state.host.unique_id()
        properties = COMPACTED if topic in INTERNAL_TOPICS else KEPT
        await _write(state, topic, topic_id, max(ids) + 1, properties)
        advice = "; nothing of it is deleted until its retention.ms is set" if properties is KEPT else ""
        logger.warning("adopted topic %s with %d partitions%s", topic, max(ids) + 1, advice)


async def _write(
    state: ControlledState, topic: str, topic_id: UUID, partition_count: int, properties: dict[str, str]
) -> None:
    """The states first: a topic without them would be created anew, with a leader epoch that its logs have passed."""
    alone = ReplicaAssignment((state.broker_id,))
    assignment = TopicAssignment(topic_id, dict.fromkeys(range(partition_count), alone))
    session = state.session
    config_path = paths.config_path(paths.entity_path(paths.TOPIC_CONFIGS, topic))
    config = encode_config(properties)
    has_config = await session.exists(config_path) is not None
    await session.multi(
        [
            SetData(config_path, config) if has_config else Create(config_path, config),
            Create(paths.topic_path(topic), encode_topic(assignment)),
            Create(paths.partitions_path(topic)),
        ]
    )
    for start in range(0, partition_count, PARTITIONS_PER_WRITE):
        names = [
            TopicPartition(topic, index) for index in range(start, min(start + PARTITIONS_PER_WRITE, partition_count))
        ]
        operations = []
        for name in names:
            operations.append(Create(paths.partition_path(name)))
            operations.append(Create(paths.partition_state_path(name), encode_partition_state(_state(state, name))))
        await session.multi(operations)
    state.configuration.set_topic(topic, properties)


def _state(state: ControlledState, name: TopicPartition) -> PartitionState:
    """A log that was adopted has seen leaders already: ours comes after them."""
    log = state.directories.log_of(name)
    before = None if log is None else log.epochs.latest_epoch
    return PartitionState(state.broker_id, 0 if before is None else before + 1, (state.broker_id,), NO_CONTROLLER_EPOCH)
