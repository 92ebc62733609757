"""From what the store says of topics to partitions that can be used: states, then logs, then everybody may know.

Many topics at a time: what they ask of the store is one write, and their folders are made together in threads. A new
topic comes this way, one that has grown, and at the start every topic.

A partition whose log is not here, though it has been once, waits for its directory: with one offline nobody can tell
an empty partition from one that lies there, and a new log in its place would hide its records.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from uuid import UUID

from strandline.broker.cluster_image import PartitionImage, TopicImage
from strandline.broker.controlled_state import ControlledState
from strandline.broker.partition import NO_LEADER, Partition
from strandline.broker.procedures import all_of, each_of, in_thread, in_turns
from strandline.log.creation import NewPartition
from strandline.metadata import paths
from strandline.metadata.config_values import decode_config
from strandline.metadata.operations import Create, Operation
from strandline.metadata.values import (
    PartitionState,
    ReplicaAssignment,
    decode_partition_state,
    decode_topic,
    encode_partition_state,
    encode_topic,
)
from strandline.model.failures import StorageFailed
from strandline.model.partitions import TopicPartition

logger = logging.getLogger(__name__)

PARTITIONS_PER_WRITE = 500  # keeps a multi well below what a request may carry
CONTROLLER_EPOCH = 1
FIRST_LEADER_EPOCH = 0


@dataclass(slots=True)
class StoredTopic:
    name: str
    topic_id: UUID
    assignment: dict[int, ReplicaAssignment]
    properties: dict[str, str]
    states: dict[int, PartitionState] = field(default_factory=dict)
    new: set[int] = field(default_factory=set)  # partitions that had no state until now


class TopicOpening:
    def __init__(self, state: ControlledState) -> None:
        self._state = state

    async def open(self, topics: Sequence[str]) -> dict[str, Exception]:
        """What failed, by topic: the store did not answer, or has no such topic any more, or nothing that can be read.

        A partition without a place on any disk is no failure: it is there, and has no leader.
        """
        read = await all_of(self._read(topic) for topic in topics)
        stored = [outcome for outcome in read if isinstance(outcome, StoredTopic)]
        await in_turns(self._state.host, stored, self._use_logs_there)
        await self._create_missing_logs(stored)
        await in_turns(self._state.host, stored, self._publish)
        return {topic: outcome for topic, outcome in zip(topics, read, strict=True) if isinstance(outcome, Exception)}

    # What the store says.

    async def _read(self, name: str) -> StoredTopic:
        session = self._state.session
        node = await session.get(paths.topic_path(name))
        assignment = decode_topic(name, node.data)
        if assignment.topic_id is None:  # made before Kafka 2.8
            assignment = replace(assignment, topic_id=self._state.host.unique_id())
            await session.set(paths.topic_path(name), encode_topic(assignment), node.stat.version)
        assert assignment.topic_id is not None
        topic = StoredTopic(name, assignment.topic_id, dict(assignment.partitions), await self._properties(name))
        await self._read_states(topic)
        return topic

    async def _properties(self, topic: str) -> dict[str, str]:
        entity = paths.entity_path(paths.TOPIC_CONFIGS, topic)
        if await self._state.session.exists(paths.config_path(entity)) is None:
            return {}
        return decode_config(entity, (await self._state.session.get(paths.config_path(entity))).data)

    async def _read_states(self, topic: StoredTopic) -> None:
        session = self._state.session
        has_states = await session.exists(paths.partitions_path(topic.name)) is not None
        names = (await session.children(paths.partitions_path(topic.name))).names if has_states else ()
        there = [int(name) for name in names if int(name) in topic.assignment]
        topic.states = dict(zip(there, await each_of(self._read_state(topic, each) for each in there), strict=True))
        missing = sorted(topic.assignment.keys() - topic.states.keys())
        first = {index: self._first_state(TopicPartition(topic.name, index)) for index in missing}
        await self._write_states(topic.name, first, has_parent=has_states)
        topic.states |= first
        topic.new = set(missing)

    def _first_state(self, name: TopicPartition) -> PartitionState:
        """A log that was adopted has seen leaders already: ours comes after them."""
        log, broker_id = self._state.directories.log_of(name), self._state.broker_id
        before = None if log is None else log.epochs.latest_epoch
        leader_epoch = FIRST_LEADER_EPOCH if before is None else before + 1
        return PartitionState(broker_id, leader_epoch, (broker_id,), CONTROLLER_EPOCH)

    async def _read_state(self, topic: StoredTopic, index: int) -> PartitionState:
        partition = TopicPartition(topic.name, index)
        data = (await self._state.session.get(paths.partition_state_path(partition))).data
        return decode_partition_state(partition, data)

    async def _write_states(self, topic: str, states: Mapping[int, PartitionState], has_parent: bool) -> None:
        operations: list[Operation] = [] if has_parent else [Create(paths.partitions_path(topic))]
        for index, state in states.items():
            partition = TopicPartition(topic, index)
            operations.append(Create(paths.partition_path(partition)))
            operations.append(Create(paths.partition_state_path(partition), encode_partition_state(state)))
        for start in range(0, len(operations), 2 * PARTITIONS_PER_WRITE):
            await self._state.session.multi(operations[start : start + 2 * PARTITIONS_PER_WRITE])

    # What this broker has.

    def _use_logs_there(self, topic: StoredTopic) -> None:
        state = self._state
        state.configuration.set_topic(topic.name, topic.properties)
        log_settings = state.configuration.log_settings(topic.name)
        for name in (TopicPartition(topic.name, index) for index in topic.assignment):
            directory = state.directories.directory_of(name)
            if directory is None or state.partitions.find(name) is not None:
                continue
            with suppress(StorageFailed):  # its directory has told, and goes offline with all that it has
                if directory.claim(name, topic.topic_id):
                    directory.logs[name].change_settings(log_settings)
                else:
                    directory.set_aside(name, token=state.host.unique_id().hex)
                    logger.warning("the folder of %s was of another topic with this name, and is set aside", name)

    async def _create_missing_logs(self, topics: Sequence[StoredTopic]) -> None:
        state = self._state
        has_all = len(state.directories.online()) == len(state.directories.directories)
        wanted = [
            NewPartition(TopicPartition(topic.name, index), topic.topic_id, topic.states[index].leader_epoch)
            for topic in topics
            for index in sorted(topic.assignment)
            if (has_all or index in topic.new) and state.directories.log_of(TopicPartition(topic.name, index)) is None
        ]
        if not wanted:
            return
        try:
            creations = state.directories.begin_create(wanted, now_ms=state.host.now_ms())
        except StorageFailed as failure:
            logger.error("no place for new partitions: %s", failure)
            return
        await each_of(in_thread(state.host, creation.run) for creation in creations)
        for creation in creations:
            with suppress(StorageFailed):
                state.directories.end_create(creation)

    def _publish(self, topic: StoredTopic) -> None:
        image = TopicImage(topic.name, topic.topic_id)
        for index, replicas in sorted(topic.assignment.items()):
            name, state = TopicPartition(topic.name, index), topic.states[index]
            if self._has_partition(name, topic, replicas.replicas, state):
                partition = PartitionImage(state.leader, state.leader_epoch, replicas.replicas, state.isr)
            else:
                partition = PartitionImage(
                    NO_LEADER, state.leader_epoch, replicas.replicas, state.isr, offline_replicas=replicas.replicas
                )
            image.partitions[index] = partition
        self._state.image.put_topic(image)

    def _has_partition(
        self, name: TopicPartition, topic: StoredTopic, replicas: tuple[int, ...], state: PartitionState
    ) -> bool:
        """Whether there is one that can be used: made now, or there before."""
        if self._state.partitions.find(name) is not None:
            return True
        log = self._state.directories.log_of(name)
        if log is None:
            return False
        partition = Partition(name, topic.topic_id.bytes, log, self._state.broker_id)
        partition.min_insync_replicas = self._state.configuration.replication_settings(topic.name).min_insync_replicas
        partition.become_leader(state.leader_epoch, replicas, state.isr)
        self._state.partitions.add(partition)
        self._state.leadership.became_leader(partition)
        return True
