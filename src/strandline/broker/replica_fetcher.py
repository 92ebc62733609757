"""Fetches from one leader broker for all partitions that follow it (SPEC R2).

One request is under way at a time, and what it is about each partition's follower says: where epochs ended, where the
leader's log begins or ends, or records. Fetches are incremental (KIP-227): a partition is named when something about it
has changed. Only the unsettled are asked for that: what an answer was about, what begins to be followed, what has to
wait. Nobody tells when a log start moves, so now and then all are asked; a thousand quiet ones cost next to nothing.

A fetch is a long poll. A partition that begins to follow meanwhile must not wait for its end, or the first record of
every new topic would take half a second to commit: after a moment, in which others may come too, the connection is
given up and a new one asks for all.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from strandline.broker.begun_answer import BegunAnswer
from strandline.broker.fetch_complaints import FetchComplaints
from strandline.broker.fetcher_questions import epoch_ends_request, offsets_request
from strandline.broker.fetcher_settings import FetcherSettings
from strandline.broker.host import Host, Timer
from strandline.broker.partition import Partition
from strandline.broker.peers import Peers, Purpose
from strandline.broker.replication_quotas import ReplicationQuotas
from strandline.client.connection import HearBegun
from strandline.log.log import Log
from strandline.metadata.answer import Answer
from strandline.model.failures import CorruptData, ErrorCode, StorageFailed
from strandline.model.settings import INT_MAX
from strandline.replication.effects import ReplicaEffect
from strandline.replication.log_view import EpochEnd
from strandline.replication.progress import NEVER_MS
from strandline.replication.requests import AskEpochEnd, AskOffset, Fetch, FetchAnswer, FollowerRequest
from strandline.wire.fetch_asking import read_beginning
from strandline.wire.layout import Message
from strandline.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from strandline.wire.messages.list_offsets import ListOffsetsResponse
from strandline.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochResponse

logger = logging.getLogger(__name__)

FETCH_VERSION = 17
LIST_OFFSETS_VERSION = 7
OFFSET_FOR_LEADER_EPOCH_VERSION = 4
INTERRUPT_AFTER_MS = 20
ASK_ALL_MS = 1_000
NO_SESSION, FIRST_EPOCH = 0, 0
ITSELF = "leader"  # among what complaints are told apart by
Key = tuple[bytes, int]
M = TypeVar("M", bound=Message)


class ReplicaFetcher:
    def __init__(
        self,
        leader_id: int,
        broker_id: int,
        broker_epoch: Callable[[], int],
        peers: Peers,
        settings: FetcherSettings,
        quotas: ReplicationQuotas,
        host: Host,
    ) -> None:
        self._leader_id = leader_id
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._peers = peers
        self._settings = settings
        self._quotas = quotas
        self._host = host
        self._partitions: dict[Key, Partition] = {}
        self._asked: dict[Key, Fetch] = {}  # what the session at the leader has
        self._unsettled: dict[Key, None] = {}  # whose next request may be another than that
        self._asked_all_ms = NEVER_MS
        self._session_id, self._session_epoch = NO_SESSION, FIRST_EPOCH
        self._is_asking = False
        self._begun: BegunAnswer | None = None  # of the fetch that is under way
        self._timer: Timer | None = None
        self._interrupt: Timer | None = None
        self._was_interrupted = False
        self._complaints = FetchComplaints(leader_id)

    def __len__(self) -> int:
        return len(self._partitions)

    def follow(self, partition: Partition) -> None:
        key = partition.topic_id, partition.name.partition
        self._partitions[key] = partition
        self._unsettled[key] = None
        if not self._is_asking:
            self._soon()
        elif self._interrupt is None:
            self._interrupt = self._host.call_later(INTERRUPT_AFTER_MS, self._hang_up)

    def unfollow(self, partition: Partition) -> None:
        key = partition.topic_id, partition.name.partition
        self._partitions.pop(key, None)
        self._unsettled[key] = None
        self._complaints.is_over(key)

    def flushed(self) -> None:
        """Some log that it writes to: it may have waited for that."""
        if not self._is_asking:
            self._soon()

    def close(self) -> None:
        self._partitions.clear()
        self._cancel_timers()
        self._peers.hang_up(self._leader_id, Purpose.FETCH)

    def _cancel_timers(self) -> None:
        for timer in (self._timer, self._interrupt):
            if timer is not None:
                timer.cancel()
        self._timer = self._interrupt = None

    def _hang_up(self) -> None:
        self._interrupt, self._was_interrupted = None, True
        self._peers.hang_up(self._leader_id, Purpose.FETCH)

    # Asking.

    def _soon(self, delay_ms: float = 0) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._host.call_later(delay_ms, self._ask)

    def _ask(self) -> None:
        self._timer = None
        if self._is_asking or not self._partitions:
            return
        elapsed_ms = self._host.elapsed_ms()
        if self._is_time_for_all(elapsed_ms):
            self._asked_all_ms = elapsed_ms
            self._unsettled = dict.fromkeys(self._partitions | self._asked)
        epochs: list[tuple[Partition, AskEpochEnd]] = []
        offsets: list[tuple[Partition, AskOffset]] = []
        fetches: dict[Key, Fetch] = {}
        forgotten: list[Key] = []
        unflushed: list[Log] = []
        for key in self._unsettled:
            partition = self._partitions.get(key)
            request = None if partition is None else self._request_of(partition, elapsed_ms)
            if partition is not None:
                match request:
                    case Fetch() if not self._quotas.holds_us_back(partition):
                        fetches[key] = request
                        if partition.log.must_flush:
                            unflushed.append(partition.log)
                        continue
                    case AskEpochEnd():
                        epochs.append((partition, request))
                    case AskOffset():
                        offsets.append((partition, request))
            if key in self._asked:
                forgotten.append(key)
        if unflushed:
            self._flush_first(unflushed)
        elif epochs:
            self._ask_epoch_ends(epochs)
        elif offsets:
            self._ask_offsets(offsets)
        elif fetches or len(self._asked) > len(forgotten):
            self._fetch(fetches, forgotten, elapsed_ms)
        else:
            self._soon(min(self._next_try_in_ms(elapsed_ms), self._settings.replica_fetch_backoff_ms))

    def _flush_first(self, logs: list[Log]) -> None:
        """To ask for what comes next is to say that we have what comes before: with `flush.messages`, on the disk.
        Kafka's fetcher waits for its disk, too, with all its partitions."""
        for log in logs:
            log.flush_wanted(log.log_end_offset)
        self._soon(self._settings.replica_fetch_backoff_ms)

    def _is_time_for_all(self, elapsed_ms: int) -> bool:
        if self._session_epoch == FIRST_EPOCH or self._quotas.follower.lists:  # a rate is a matter of all
            return True
        return elapsed_ms - self._asked_all_ms >= ASK_ALL_MS

    def _next_try_in_ms(self, elapsed_ms: int) -> int:
        """Of those that have to wait until they may ask again."""
        least = INT_MAX
        for key in self._unsettled:
            partition = self._partitions.get(key)
            if partition is not None and partition.follower is not None:
                wait_ms = partition.follower.try_again_ms - elapsed_ms
                least = wait_ms if 0 < wait_ms < least else least
        return least

    def _request_of(self, partition: Partition, elapsed_ms: int) -> FollowerRequest | None:
        """None of a log that has failed: it may count what it could not write, and to ask for more would be to say that
        it is there."""
        follower = partition.follower
        if follower is None or follower.leader != self._leader_id or partition.log.failure is not None:
            return None
        return follower.request(elapsed_ms)

    def _ask_epoch_ends(self, asked: list[tuple[Partition, AskEpochEnd]]) -> None:
        request = epoch_ends_request(self._broker_id, asked)
        self._send(request, OffsetForLeaderEpochResponse, OFFSET_FOR_LEADER_EPOCH_VERSION).then(
            lambda answer: self._heard(answer, lambda response: self._epoch_ends_answered(asked, response))
        )

    def _epoch_ends_answered(
        self, asked: list[tuple[Partition, AskEpochEnd]], response: OffsetForLeaderEpochResponse
    ) -> None:
        elapsed_ms = self._host.elapsed_ms()
        found = {(topic.topic, end.partition): end for topic in response.topics for end in topic.partitions}
        for partition, request in asked:
            end = found.get(partition.name)
            follower = partition.follower
            if end is not None and follower is not None:
                error_code = ErrorCode(end.error_code)
                epoch_end = EpochEnd(end.leader_epoch, end.end_offset)
                self._carry_out(partition, follower.epoch_end_answered(request, error_code, epoch_end, elapsed_ms))

    def _ask_offsets(self, asked: list[tuple[Partition, AskOffset]]) -> None:
        request = offsets_request(self._broker_id, asked)
        self._send(request, ListOffsetsResponse, LIST_OFFSETS_VERSION).then(
            lambda answer: self._heard(answer, lambda response: self._offsets_answered(asked, response))
        )

    def _offsets_answered(self, asked: list[tuple[Partition, AskOffset]], response: ListOffsetsResponse) -> None:
        elapsed_ms = self._host.elapsed_ms()
        found = {(topic.name, each.partition_index): each for topic in response.topics for each in topic.partitions}
        for partition, request in asked:
            each, follower = found.get(partition.name), partition.follower
            if each is not None and follower is not None:
                error_code = ErrorCode(each.error_code)
                self._carry_out(partition, follower.offset_answered(request, error_code, each.offset, elapsed_ms))

    # Fetching.

    def _fetch(self, fetches: dict[Key, Fetch], forgotten: list[Key], elapsed_ms: int) -> None:
        settings = self._settings
        request = FetchRequest(
            replica_state=ReplicaState(self._broker_id, self._broker_epoch()),
            max_wait_ms=min(settings.replica_fetch_wait_max_ms, self._next_try_in_ms(elapsed_ms)),
            min_bytes=settings.replica_fetch_min_bytes,
            max_bytes=settings.replica_fetch_response_max_bytes,
            session_id=self._session_id,
            session_epoch=self._session_epoch,
            topics=self._named(fetches),
            forgotten_topics_data=[ForgottenTopic(topic_id=key[0], partitions=[key[1]]) for key in forgotten],
        )
        for key in forgotten:
            del self._asked[key]
        self._asked |= fetches
        for key in fetches:
            del self._unsettled[key]
        self._begun = None
        self._send(request, FetchResponse, FETCH_VERSION, self._hear_begun).then(self._fetch_answered)

    def _hear_begun(self, body: memoryview) -> None:
        """Of the answer, while the rest comes."""
        beginning = read_beginning(body)
        if beginning is None or beginning.session_id != self._session_id:
            return
        key = beginning.topic_id, beginning.partition_index
        if self._begun is None and key in self._partitions and key in self._asked:
            self._begun = BegunAnswer(self._partitions[key], self._asked[key])
        if self._begun is not None:
            self._begun.take(memoryview(beginning.records), self._host.now_ms())

    def _fetch_answered(self, answer: Answer[FetchResponse]) -> None:
        self._heard(answer, self._fetched)

    def _named(self, fetches: dict[Key, Fetch]) -> list[FetchTopic]:
        """Those about which the session does not know yet, or all where there is none."""
        topics: dict[bytes, FetchTopic] = {}
        for (topic_id, index), fetch in fetches.items():
            if self._session_epoch == FIRST_EPOCH or self._asked.get((topic_id, index)) != fetch:
                topic = topics.get(topic_id)
                if topic is None:
                    topic = topics[topic_id] = FetchTopic("", topic_id, [])
                topic.partitions.append(
                    FetchPartition(
                        index,
                        fetch.leader_epoch,
                        fetch.fetch_offset,
                        fetch.last_fetched_epoch,
                        fetch.log_start_offset,
                        self._settings.replica_fetch_max_bytes,
                    )
                )
        return list(topics.values())

    def _fetched(self, response: FetchResponse) -> None:
        if response.error_code:
            self._forget_session()
            return
        self._session_id = response.session_id
        self._session_epoch = self._session_epoch + 1 if response.session_id else FIRST_EPOCH
        if self._session_epoch > INT_MAX:
            self._session_epoch = 1
        for topic in response.responses:
            for data in topic.partitions:
                self._fetched_partition((topic.topic_id, data.partition_index), data)

    def _fetched_partition(self, key: Key, data: PartitionData) -> None:
        partition, request = self._partitions.get(key), self._asked.get(key)
        follower = None if partition is None else partition.follower
        if partition is None or request is None or follower is None:
            return
        self._unsettled[key] = None
        records = data.records if isinstance(data.records, bytes | memoryview) else b""
        self._quotas.follower.count(partition, len(records))
        if self._begun is not None:  # it is about this partition alone
            request, records = self._begun.request, records[self._begun.taken_bytes :]
        if data.error_code:
            reason = ErrorCode(data.error_code).name
            self._complaints.failed(key, str(partition.name), reason, self._host.elapsed_ms())
        elif self._complaints:
            self._complaints.is_over(key)
        diverging = data.diverging_epoch
        answer = FetchAnswer(
            ErrorCode(data.error_code) if data.error_code else ErrorCode.NONE,
            data.high_watermark,
            data.log_start_offset,
            EpochEnd(diverging.epoch, diverging.end_offset) if diverging.epoch >= 0 else None,
        )
        effects = follower.fetch_answered(request, answer, self._host.elapsed_ms())
        self._carry_out(partition, effects, records)

    def _carry_out(
        self, partition: Partition, effects: Sequence[ReplicaEffect], records: bytes | memoryview = b""
    ) -> None:
        try:
            partition.follow(effects, self._host.now_ms(), records)
        except CorruptData as damage:
            logger.error("%s: what leader %d sent cannot be used: %s", partition.name, self._leader_id, damage)
            if partition.follower is not None:
                partition.follower.no_answer(self._host.elapsed_ms())
        except StorageFailed as failure:
            logger.error("%s is not followed any more: %s", partition.name, failure)
            self.unfollow(partition)

    # Hearing.

    def _send(
        self, request: Message, response: type[M], version: int, hear_begun: HearBegun | None = None
    ) -> Answer[M]:
        self._is_asking = True
        return self._peers.ask(
            self._leader_id,
            request,
            response,
            version=version,
            purpose=Purpose.FETCH,
            timeout_ms=self._settings.replica_socket_timeout_ms,
            hear_begun=hear_begun,
        )

    def _heard(self, answer: Answer[M], handle: Callable[[M], None]) -> None:
        self._is_asking = False
        was_interrupted, self._was_interrupted = self._was_interrupted, False
        if self._interrupt is not None:
            self._interrupt.cancel()
            self._interrupt = None
        if answer.error is None:
            if self._complaints:
                self._complaints.is_over(ITSELF)
            handle(answer.value())
            self._ask()
            return
        self._forget_session()
        if not was_interrupted:
            what = f"{len(self._partitions)} partitions"
            self._complaints.failed(ITSELF, what, str(answer.error), self._host.elapsed_ms())
        self._soon(0 if was_interrupted else self._settings.replica_fetch_backoff_ms)

    def _forget_session(self) -> None:
        self._session_id, self._session_epoch = NO_SESSION, FIRST_EPOCH
        self._asked = {}  # and in the first epoch all are asked
