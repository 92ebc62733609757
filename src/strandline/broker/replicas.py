"""The replicas of this broker, and what becomes of them by the controller's word (SPEC R1, R4, R7).

    LeaderAndIsr     lead these partitions, follow those; logs that are missing are created first
    StopReplica      stop, and perhaps delete

Requests of an older controller, and those meant for an earlier life of this broker, are refused (`ControllerFence`).
What replication wants of others is done here: proposals go to the store, followers to their leader's fetcher,
leadership to the coordinators.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from uuid import UUID

from strandline.broker.configuration import Configuration
from strandline.broker.controller_fence import ControllerFence
from strandline.broker.current_session import CurrentSession
from strandline.broker.host import Host
from strandline.broker.isr_changes import IsrChanges
from strandline.broker.journal import JournalQueue
from strandline.broker.partition import LeadershipListener, Partition
from strandline.broker.partitions import Partitions
from strandline.broker.procedures import each_of, in_thread, in_turns
from strandline.broker.replica_fetchers import ReplicaFetchers
from strandline.broker.replica_logs import ReplicaLogs
from strandline.broker.turn import Turn
from strandline.log.creation import NewPartition
from strandline.log.log_directories import LogDirectories
from strandline.model.failures import CorruptData, ErrorCode, StorageFailed
from strandline.model.partitions import TopicPartition
from strandline.replication.effects import (
    AlterIsr,
    AssignEpoch,
    FollowLeader,
    IsrChanged,
    LeadershipLost,
    ReadPartitionState,
    ReplicaEffect,
    TruncateFullyAndStartAt,
    TruncateTo,
)
from strandline.replication.events import LeaderAndIsr
from strandline.replication.settings import ReplicationSettings
from strandline.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
    LeaderAndIsrTopicState,
)
from strandline.wire.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
)

logger = logging.getLogger(__name__)

FULL = 2  # a LeaderAndIsr that names every replica the broker should have
UNKNOWN_EPOCH, DELETED_EPOCH = -1, -2
LOGS_PER_TURN = 500  # deleted at once: some 40 ms


class Replicas:
    """The owner of all partitions of a broker."""

    def __init__(
        self,
        broker_id: int,
        partitions: Partitions,
        directories: LogDirectories,
        configuration: Configuration,
        live_brokers: Mapping[int, int],
        fence: ControllerFence,
        isr_changes: IsrChanges,
        fetchers: ReplicaFetchers,
        leadership: LeadershipListener,
        session: CurrentSession,
        journal: JournalQueue,
        host: Host,
    ) -> None:
        self._journal = journal
        self._session = session
        self._broker_id = broker_id
        self._partitions = partitions
        self._directories = directories
        self._logs = ReplicaLogs(directories, host)
        self._configuration = configuration
        self._live_brokers = live_brokers
        self._fence = fence
        self._isr_changes = isr_changes
        self._fetchers = fetchers
        self._leadership = leadership
        self._host = host
        self._high_watermarks = directories.read_high_watermarks()
        self._turn = Turn(host)
        self._is_leaving = False

    # The controller's word.

    async def apply_leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        """One request after another: one that waits for its logs to be made has not done what it says yet."""
        return await self._turn.take(lambda: self._apply_leader_and_isr(request))

    async def _apply_leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        refused = self._fence.check(request.controller_id, request.controller_epoch, request.broker_epoch)
        if refused is not ErrorCode.NONE:
            return LeaderAndIsrResponse(refused)
        await self._create_missing(request.topic_states)
        if request.type == FULL:
            self._stop_strays(request.topic_states)
        return LeaderAndIsrResponse(topics=await in_turns(self._host, request.topic_states, self._decide_topic))

    def _decide_topic(self, topic: LeaderAndIsrTopicState) -> LeaderAndIsrTopicError:
        errors = [
            LeaderAndIsrPartitionError(partition_index=state.partition_index, error_code=self._decide(topic, state))
            for state in topic.partition_states
        ]
        return LeaderAndIsrTopicError(topic.topic_id, errors)

    def _decide(self, topic: LeaderAndIsrTopicState, state: LeaderAndIsrPartitionState) -> ErrorCode:
        partition = self._partitions.find(TopicPartition(topic.topic_name, state.partition_index))
        if partition is None:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if partition.topic_id != topic.topic_id:
            return ErrorCode.INCONSISTENT_TOPIC_ID
        decision = LeaderAndIsr(
            state.leader, state.leader_epoch, tuple(state.isr), tuple(state.replicas), state.partition_epoch
        )
        if decision.leader_epoch < partition.leader_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        try:
            partition.log.check_usable()
            partition.decide(decision, self._host.now_ms())
        except StorageFailed:
            return ErrorCode.KAFKA_STORAGE_ERROR
        except CorruptData as damage:  # met by a truncation: one replica less, and no word against the others
            logger.error("%s cannot be a replica: %s", partition.name, damage)
            return ErrorCode.KAFKA_STORAGE_ERROR
        if self._is_leaving and self._broker_id not in decision.isr:
            self._fetchers.unfollow(partition)
        return ErrorCode.NONE

    async def _create_missing(self, topics: Sequence[LeaderAndIsrTopicState]) -> None:
        """Logs for the replicas that have none, in threads; then every replica has its partition."""
        names = {
            TopicPartition(topic.topic_name, state.partition_index): (topic, state)
            for topic in topics
            for state in topic.partition_states
        }
        await each_of(
            self._configuration.load_topic(self._session, topic.topic_name)
            for topic in topics
            if topic.topic_name not in self._configuration.topics
        )
        for name, (topic, _) in names.items():
            if self._partitions.find(name) is None:
                self._logs.claim(name, UUID(bytes=topic.topic_id))
        wanted = [
            NewPartition(name, UUID(bytes=topic.topic_id))
            for name, (topic, state) in names.items()
            if self._directories.log_of(name) is None and (state.is_new or not self._directories.may_be_offline(name))
        ]
        if wanted:
            await self._logs.create(wanted)
        await in_turns(self._host, names.items(), lambda item: self._make_sure_of(item[0], item[1][0].topic_id))

    def _make_sure_of(self, name: TopicPartition, topic_id: bytes) -> None:
        """That there is a partition, if there is a log."""
        log = self._directories.log_of(name)
        if log is None or self._partitions.find(name) is not None:
            return
        log.change_settings(self._configuration.log_settings(name.topic))
        partition = Partition(
            name,
            topic_id,
            log,
            self._broker_id,
            owner=self,
            live_brokers=self._live_brokers,
            settings=self._settings_of(name.topic),
            elapsed_ms=self._host.elapsed_ms,
            high_watermark=self._high_watermarks.pop(name, 0),
        )
        self._partitions.add(partition)

    def _settings_of(self, topic: str) -> ReplicationSettings:
        return self._configuration.of_topic(ReplicationSettings, topic)

    def _stop_strays(self, topics: Sequence[LeaderAndIsrTopicState]) -> None:
        """A full request names all: replicas that it does not name were moved or deleted while we were away."""
        named = {
            TopicPartition(topic.topic_name, state.partition_index)
            for topic in topics
            for state in topic.partition_states
        }
        for partition in self._partitions:
            if partition.name not in named:
                self._stop(partition)
        self._logs.set_aside_all_but(named)

    async def stop_replicas(self, request: StopReplicaRequest) -> StopReplicaResponse:
        return await self._turn.take(lambda: self._stop_replicas(request))

    async def _stop_replicas(self, request: StopReplicaRequest) -> StopReplicaResponse:
        refused = self._fence.check(request.controller_id, request.controller_epoch, request.broker_epoch)
        if refused is not ErrorCode.NONE:
            return StopReplicaResponse(refused)
        gone: list[TopicPartition] = []
        named = [
            (TopicPartition(topic.topic_name, state.partition_index), state)
            for topic in request.topic_states
            for state in topic.partition_states
        ]
        stopped = await in_turns(self._host, named, lambda each: self._stop_replica(*each, gone))
        await self._isr_changes.settled(gone)
        outcomes = {name: error_code for (name, _), error_code in zip(named, stopped, strict=True)}
        for start in range(0, len(gone), LOGS_PER_TURN):
            if start:
                await in_thread(self._host, lambda: None)  # others have their turn
            failed = self._logs.delete(gone[start : start + LOGS_PER_TURN])
            outcomes |= dict.fromkeys(failed, ErrorCode.KAFKA_STORAGE_ERROR)
        return StopReplicaResponse(
            partition_errors=[StopReplicaPartitionError(*name, error_code) for name, error_code in outcomes.items()]
        )

    def _stop_replica(
        self, name: TopicPartition, state: StopReplicaPartitionState, gone: list[TopicPartition]
    ) -> ErrorCode:
        """`gone` are those whose logs are to be deleted."""
        partition = self._partitions.find(name)
        if partition is not None:
            if 0 <= state.leader_epoch < partition.leader_epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            self._stop(partition)
        if state.delete_partition:
            gone.append(name)
        return ErrorCode.NONE

    def _stop(self, partition: Partition) -> None:
        self._fetchers.unfollow(partition)
        partition.stop()
        self._partitions.remove(partition)

    # What replication wants of others.

    def follower_flushed(self, partition: Partition) -> None:
        self._fetchers.flushed(partition)

    def carry_out(self, partition: Partition, effects: tuple[ReplicaEffect, ...]) -> None:
        for effect in effects:
            match effect:
                case AlterIsr() if self._is_usable(partition):
                    self._isr_changes.propose(partition, effect)
                case ReadPartitionState():
                    self._isr_changes.read(partition)
                case IsrChanged():
                    logger.info("%s: %s", partition.name, effect)
                    self._isr_changes.changed(partition)
                    self._journal.tell_of(partition.name, effect)
                case AssignEpoch(epoch):
                    if epoch > 0:  # else it is the first, of which the controller tells
                        self._journal.tell_of(partition.name, effect)
                    self._fetchers.unfollow(partition)
                    self._leadership.became_leader(partition)
                case LeadershipLost():
                    self._leadership.resigned(partition)
                case FollowLeader(leader_id):
                    self._fetchers.follow(partition, leader_id)
                case TruncateTo() | TruncateFullyAndStartAt():
                    logger.info("%s: %s", partition.name, effect)
                    self._journal.tell_of(partition.name, effect)

    def directory_failed(self, names: Sequence[TopicPartition]) -> None:
        """What was in it is neither led nor followed any more, whatever the controller still thinks."""
        for name in names:
            partition = self._partitions.find(name)
            if partition is not None:
                self._fetchers.unfollow(partition)
                if partition.is_leader:
                    self._leadership.resigned(partition)

    @staticmethod
    def _is_usable(partition: Partition) -> bool:
        """A leader whose log has failed must not turn its followers out of the ISR, for one of them shall lead."""
        return partition.log.failure is None

    def prepare_to_leave(self) -> None:
        """Whoever goes must not come back into an ISR that it has just left, for that would wait for it in vain
        (KAFKA-14140). Where it still is in sync it follows, until it is told that it is not."""
        self._is_leaving = True
        for partition in self._partitions:
            if partition.follower is not None and not partition.follower.is_in_sync:
                self._fetchers.unfollow(partition)

    def check_followers(self) -> None:
        """Every half of `replica.lag.time.max.ms`."""
        for partition in self._partitions:
            partition.check_followers()

    def settings_changed(self) -> None:
        for partition in self._partitions:
            partition.settings_changed(self._settings_of(partition.name.topic))
