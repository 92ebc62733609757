"""Produce, v3-v13: append, and answer when as many replicas have it as the producer asked for (SPEC P1, P2, R8).

The requests of one receive are collected, and `settle` appends what belongs to one partition in one write. Then each
request is answered, or waits for the high watermark (acks=all), for its timeout at most.

A request within a transaction may have to wait before anything is appended (`transactional_produce`).

acks=0 has no answer. An error can only be told by closing the connection, which makes the client ask for metadata
and find out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from strandline.broker.connection import Connection, Pending
from strandline.broker.dispatch import Instead, Request
from strandline.broker.host import Host
from strandline.broker.lane_commits import LaneCommits
from strandline.broker.partition import Partition
from strandline.broker.partitions import NO_PARTITIONS, Partitions, TopicPartitions
from strandline.broker.produce_lane import ALL_IN_SYNC, LaneRequest, ProduceLane, open_lane
from strandline.broker.transactional_produce import ProduceInTransactions, TransactionalRequest
from strandline.log.log_writer import Appended
from strandline.model.failures import ErrorCode, Refused, StorageFailed
from strandline.records.batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    HEAD_BYTES,
    MAGIC_POSITION,
    MAGIC_V2,
    TRANSACTIONAL,
)
from strandline.records.compression import Codec
from strandline.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from strandline.wire.primitives import Buffer
from strandline.wire.produce import decode_produce_request, encode_produce_response

NO_ACKS = 0
LEADER_ONLY = 1
TOPIC_IDS_FROM = 13
ZSTD_FROM = 7


class Produced:
    """One request on its way: its answer, filled in as the appends come back."""

    __slots__ = ("acks", "places", "request", "response", "timeout_ms")

    def __init__(self, request: Request | LaneRequest, acks: int, timeout_ms: int) -> None:
        self.request = request
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.response = ProduceResponse()
        self.places: list[tuple[Partition, PartitionProduceResponse, int]] = []  # with the offset to be committed


Place = tuple[Produced, PartitionProduceResponse]  # where the outcome of an append goes
Collect = Callable[[Partition, Buffer, Place], None]


class ProduceHandler:
    """Handles Produce requests; `settle` is for the dispatch, after the last request of a receive."""

    def __init__(self, partitions: Partitions, host: Host, transactions: ProduceInTransactions) -> None:
        self._partitions = partitions
        self._host = host
        self._transactions = transactions
        self._produced: list[Produced] = []
        self.collected: dict[Partition, list[Buffer]] = {}  # batches that wait for `settle`
        self._answers: dict[Partition, list[Place]] = {}

    def __call__(self, request: Request) -> Instead:
        asked = decode_produce_request(request.api_version, request.body)
        produced = Produced(request, asked.acks, asked.timeout_ms)
        add: Collect = self.add
        in_transaction = None
        if asked.transactional_id is not None:
            in_transaction = TransactionalRequest(self._transactions, asked.transactional_id, request.api_version)
            add = in_transaction.add
        for topic in asked.topic_data:
            answer = TopicProduceResponse(topic.name, topic.topic_id)
            produced.response.responses.append(answer)
            of_topic = self._topic(request.api_version, topic)
            for data in topic.partition_data:
                result = PartitionProduceResponse(data.index, 0, -1)
                answer.partition_responses.append(result)
                self._collect(produced, asked, of_topic, data, result, add)
        if in_transaction is not None and in_transaction.begin(self, produced):
            return Instead.PARKED
        self._produced.append(produced)
        self._open_lane(request, asked)
        return Instead.DEFERRED

    def _open_lane(self, request: Request, asked: ProduceRequest) -> None:
        if asked.acks not in (LEADER_ONLY, ALL_IN_SYNC):
            return
        if len(asked.topic_data) != 1 or len(asked.topic_data[0].partition_data) != 1:
            return
        topic = asked.topic_data[0]
        partition = self._topic(request.api_version, topic).get(topic.partition_data[0].index)
        if partition is not None and not partition.is_internal:
            open_lane(request.frame, asked, request.api_version, partition, self, request.connection)

    def _topic(self, version: int, topic: TopicProduceData | TopicProduceResponse) -> TopicPartitions:
        if version >= TOPIC_IDS_FROM:
            return self._partitions.by_id.get(topic.topic_id, NO_PARTITIONS)
        return self._partitions.by_name.get(topic.name, NO_PARTITIONS)

    def _collect(
        self,
        produced: Produced,
        asked: ProduceRequest,
        of_topic: TopicPartitions,
        data: PartitionProduceData,
        result: PartitionProduceResponse,
        add: Collect,
    ) -> None:
        partition = of_topic.get(data.index)
        if partition is None:
            by_id = produced.request.api_version >= TOPIC_IDS_FROM
            missing = ErrorCode.UNKNOWN_TOPIC_ID if by_id and not of_topic else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            result.error_code = missing
            return
        try:
            batch = self._check(partition, asked, data, produced.request.api_version)
        except Refused as refused:
            refuse(result, refused)
            return
        add(partition, batch, (produced, result))

    def add(self, partition: Partition, batch: Buffer, place: Place) -> None:
        batches = self.collected.get(partition)
        if batches is None:
            self.collected[partition] = [batch]
            self._answers[partition] = [place]
        else:
            batches.append(batch)
            self._answers[partition].append(place)

    def _check(self, partition: Partition, asked: ProduceRequest, data: PartitionProduceData, version: int) -> Buffer:
        """What can be said before the log looks at the batch."""
        if partition.is_internal:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{partition.name.topic} is not written by clients")
        self.check_leader(partition, asked.acks)
        batch = data.records
        if batch is None or len(batch) < HEAD_BYTES:
            raise Refused(ErrorCode.INVALID_RECORD, "there is no record batch for the partition")
        if batch[MAGIC_POSITION] == MAGIC_V2:  # if not, the log says what it thinks of it
            _check_attributes(batch[ATTRIBUTES_POSITION + 1], asked.transactional_id, version)
        return batch

    def check_leader(self, partition: Partition, acks: int) -> None:
        leader = partition.leader
        if leader is None:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"this broker does not lead {partition.name}")
        if acks != LEADER_ONLY or leader.is_fenced:
            leader.check_append(acks)

    # After the last request of a receive.

    def settle(self) -> None:
        batches, answers = self.collected, self._answers
        self.collected, self._answers = {}, {}
        if batches:
            now_ms = self._host.now_ms()
            for partition, of_partition in batches.items():
                self.append(partition, of_partition, answers[partition], now_ms)
        if self._produced:
            produced, self._produced = self._produced, []
            for each in produced:
                self.finish(each)

    def append(self, partition: Partition, batches: Sequence[Buffer], answers: Sequence[Place], now_ms: int) -> None:
        for (produced, result), outcome in zip(answers, self._outcomes(partition, batches, now_ms), strict=True):
            _note(produced, partition, result, outcome)

    def _outcomes(self, partition: Partition, batches: Sequence[Buffer], now_ms: int) -> Sequence[Appended | Refused]:
        try:
            return partition.append(batches, now_ms)
        except StorageFailed as failure:
            return [Refused(ErrorCode.KAFKA_STORAGE_ERROR, str(failure))] * len(batches)

    # Requests along a lane.

    def partition_beside(self, lane: ProduceLane, index: int) -> Partition | None:
        return self._topic(lane.version, lane.topic).get(index)

    def append_run(
        self, lane: ProduceLane, batches: list[memoryview], correlation_ids: list[int], connection: Connection
    ) -> bytes | list[Pending]:
        """Those of one receive, in one write: their answers, or what waits for them."""
        outcomes = self._outcomes(lane.partition, batches, self._host.now_ms())
        answers = lane.answers(correlation_ids, outcomes)
        if answers is not None:
            return answers
        appended = [outcome for outcome in outcomes if isinstance(outcome, Appended)]
        if len(appended) == len(outcomes):
            return [*LaneCommits(lane, correlation_ids, appended, connection, self._host).requests]
        requests: list[Pending] = []
        for correlation_id, outcome in zip(correlation_ids, outcomes, strict=True):
            request = LaneRequest(connection, lane, correlation_id)
            result = PartitionProduceResponse(lane.partition.name.partition, 0, -1)
            produced = Produced(request, lane.acks, lane.timeout_ms)
            produced.response = lane.response(result)
            _note(produced, lane.partition, result, outcome)
            self.finish(produced)
            requests.append(request)
        return requests

    def finish(self, produced: Produced) -> None:
        if produced.acks == NO_ACKS:
            _finish_unanswered(produced)
        elif any(partition.high_watermark < offset for partition, _, offset in produced.places):
            WaitForCommit(produced, self._host)
        else:
            produced.request.answer(encode_produce_response(produced.request.api_version, produced.response))


class WaitForCommit:
    """A request with acks=all that waits until every in-sync replica has its records (SPEC R8)."""

    def __init__(self, produced: Produced, host: Host) -> None:
        self._produced = produced
        self._timer = host.call_later(max(0, produced.timeout_ms), self._time_is_up)
        for partition, _, _ in produced.places:
            partition.watch(self)

    def partition_moved(self, partition: Partition) -> None:
        places = self._produced.places
        if partition.leader is None:
            self._fail(partition, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        elif not partition.leader.has_enough_replicas:
            self._fail(partition, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        elif partition.log.failure is not None:
            self._fail(partition, ErrorCode.KAFKA_STORAGE_ERROR)
        if all(each.high_watermark >= offset or result.error_code for each, result, offset in places):
            self._answer()

    def _fail(self, partition: Partition, error_code: ErrorCode) -> None:
        for each, result, offset in self._produced.places:
            if each is partition and each.high_watermark < offset:
                result.error_code, result.base_offset = error_code, -1

    def _time_is_up(self) -> None:
        for partition, _, _ in self._produced.places:
            self._fail(partition, ErrorCode.REQUEST_TIMED_OUT)
        self._answer()

    def _answer(self) -> None:
        self._timer.cancel()
        for partition, _, _ in self._produced.places:
            partition.unwatch(self)
        request = self._produced.request
        request.answer(encode_produce_response(request.api_version, self._produced.response))


def _note(
    produced: Produced, partition: Partition, result: PartitionProduceResponse, outcome: Appended | Refused
) -> None:
    if isinstance(outcome, Refused):
        refuse(result, outcome)
        return
    result.base_offset = outcome.base_offset
    result.log_append_time_ms = outcome.log_append_time_ms
    result.log_start_offset = partition.log.log_start_offset
    if produced.acks == ALL_IN_SYNC:
        produced.places.append((partition, result, outcome.last_offset + 1))


def _check_attributes(attributes: int, transactional_id: str | None, version: int) -> None:
    if version < ZSTD_FROM and attributes & CODEC_MASK == Codec.ZSTD:
        raise Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs version 7 of Produce")
    if attributes & TRANSACTIONAL and transactional_id is None:
        raise Refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "a transactional batch needs a transactional id")


def refuse(result: PartitionProduceResponse, refused: Refused) -> None:
    result.error_code = refused.error_code
    result.error_message = refused.reason


def _finish_unanswered(produced: Produced) -> None:
    results = [result for topic in produced.response.responses for result in topic.partition_responses]
    failed = next((result for result in results if result.error_code), None)
    if failed is not None:
        produced.request.connection.end(f"Produce with acks=0 failed: {ErrorCode(failed.error_code).name}")
    produced.request.deliver([])
