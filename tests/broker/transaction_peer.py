"""A transactional producer and a reader of committed records that speak to a broker over a plain socket."""

from __future__ import annotations

import time
from typing import NamedTuple

from tests.broker.group_peer import GroupPeer
from tests.broker.running_broker import batch_of

from strandline.model.failures import ErrorCode
from strandline.records.batch import read_head, split_batches
from strandline.records.control import read_marker
from strandline.records.record import read_records
from strandline.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from strandline.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from strandline.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from strandline.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from strandline.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from strandline.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from strandline.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from strandline.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from strandline.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from strandline.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from strandline.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

READ_COMMITTED = 1
LATEST = -1
TIMEOUT_MS = 60_000
FETCH_VERSION = 11


class Pair(NamedTuple):
    """What a producer holds."""

    producer_id: int
    producer_epoch: int


NO_PAIR = Pair(-1, -1)


class TransactionPeer(GroupPeer):
    # Producing.

    def find_transaction_coordinator(self, transactional_id: str) -> FindCoordinatorResponse:
        return self.ask(FindCoordinatorRequest(transactional_id, 1), 3, FindCoordinatorResponse)

    def init(
        self, transactional_id: str, had: Pair = NO_PAIR, *, timeout_ms: int = TIMEOUT_MS, version: int = 4
    ) -> InitProducerIdResponse:
        request = InitProducerIdRequest(transactional_id, timeout_ms, *had)
        return self.ask(request, version, InitProducerIdResponse)

    def started(self, transactional_id: str, **options: int) -> Pair:
        """Its coordinator is found, and whatever was open is aborted."""
        self.find_transaction_coordinator(transactional_id)
        while True:
            answer = self.init(transactional_id, **options)  # type: ignore[arg-type]
            if answer.error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
                assert answer.error_code == ErrorCode.NONE, ErrorCode(answer.error_code)
                return Pair(answer.producer_id, answer.producer_epoch)

    def add_partitions(
        self, transactional_id: str, pair: Pair, *topics: str, partition: int = 0, version: int = 3
    ) -> list[int]:
        named = [AddPartitionsToTxnTopic(topic, [partition]) for topic in topics]
        request = AddPartitionsToTxnRequest([], transactional_id, *pair, named)
        answer = self.ask(request, version, AddPartitionsToTxnResponse)
        return [
            result.partition_error_code
            for topic in answer.results_by_topic_v3_and_below
            for result in topic.results_by_partition
        ]

    def added(self, transactional_id: str, pair: Pair, *topics: str, partition: int = 0) -> None:
        """As a client does it: again, while the markers of the last transaction are on their way."""
        while True:
            errors = self.add_partitions(transactional_id, pair, *topics, partition=partition)
            if errors[0] != ErrorCode.CONCURRENT_TRANSACTIONS:
                assert set(errors) == {ErrorCode.NONE}
                return

    def tell_append(
        self, transactional_id: str | None, pair: Pair, topic: str, sequence: int, *values: bytes, version: int = 11
    ) -> None:
        batch = transactional_batch(pair, sequence, *values)
        data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, bytes(batch))])
        self.tell(ProduceRequest(transactional_id, -1, 5_000, [data]), version)

    def hear_appended(self, version: int = 11) -> PartitionProduceResponse:
        return self.hear(version, ProduceResponse).responses[0].partition_responses[0]

    def append(
        self, transactional_id: str | None, pair: Pair, topic: str, sequence: int, *values: bytes, version: int = 11
    ) -> int:
        self.tell_append(transactional_id, pair, topic, sequence, *values, version=version)
        return self.hear_appended(version).error_code

    def append_until_complete(self, transactional_id: str, pair: Pair, topic: str, *values: bytes) -> int:
        """As a client with an epoch for each transaction begins one: again, while the last is not complete."""
        while True:
            error_code = self.append(transactional_id, pair, topic, 0, *values, version=12)
            if error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
                return error_code

    def end(self, transactional_id: str, pair: Pair, *, commit: bool, version: int = 4) -> EndTxnResponse:
        return self.ask(EndTxnRequest(transactional_id, *pair, commit), version, EndTxnResponse)

    def transact(self, transactional_id: str, pair: Pair, topic: str, sequence: int, *values: bytes) -> None:
        """A whole transaction, as clients without epoch bumps commit it."""
        self.added(transactional_id, pair, topic)
        assert self.append(transactional_id, pair, topic, sequence, *values) == ErrorCode.NONE
        assert self.end(transactional_id, pair, commit=True).error_code == ErrorCode.NONE

    # Offsets.

    def add_offsets(self, transactional_id: str, pair: Pair, group: str, *, version: int = 3) -> int:
        request = AddOffsetsToTxnRequest(transactional_id, *pair, group)
        return self.ask(request, version, AddOffsetsToTxnResponse).error_code

    def commit_offset(
        self,
        transactional_id: str,
        pair: Pair,
        group: str,
        topic: str,
        offset: int,
        *,
        generation: int = -1,
        member_id: str = "",
        version: int = 3,
    ) -> int:
        partition = TxnOffsetCommitRequestPartition(0, offset, -1, "")
        topics = [TxnOffsetCommitRequestTopic(topic, [partition])]
        request = TxnOffsetCommitRequest(transactional_id, group, *pair, generation, member_id, None, topics)
        answer = self.ask(request, version, TxnOffsetCommitResponse)
        return answer.topics[0].partitions[0].error_code

    # Markers, as a coordinator or an administrator writes them.

    def write_marker(
        self, pair: Pair, topic: str, *, commit: bool, coordinator_epoch: int = 0, transaction_version: int = 0
    ) -> int:
        marker = WritableTxnMarker(
            *pair, commit, [WritableTxnMarkerTopic(topic, [0])], coordinator_epoch, transaction_version
        )
        answer = self.ask(WriteTxnMarkersRequest([marker]), 2, WriteTxnMarkersResponse)
        return answer.markers[0].topics[0].partitions[0].error_code

    # Reading.

    def describe(self, transactional_id: str) -> TransactionState:
        request = DescribeTransactionsRequest([transactional_id])
        return self.ask(request, 0, DescribeTransactionsResponse).transaction_states[0]

    def wait_until_complete(self, transactional_id: str) -> None:
        while not self.describe(transactional_id).transaction_state.startswith("Complete"):
            time.sleep(0.002)

    def wait_until_loaded(self, transactional_id: str) -> None:
        while self.describe(transactional_id).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            time.sleep(0.002)

    def tell_fetch(self, topic: str, offset: int = 0, *, isolation: int = READ_COMMITTED, wait_ms: int = 0) -> None:
        partitions = [FetchPartition(0, -1, offset, -1, -1, 2**20)]
        topics = [FetchTopic(topic, partitions=partitions)]
        request = FetchRequest(max_wait_ms=wait_ms, min_bytes=1, isolation_level=isolation, topics=topics)
        self.tell(request, FETCH_VERSION)

    def hear_fetched(self) -> PartitionData:
        return self.hear(FETCH_VERSION, FetchResponse).responses[0].partitions[0]

    def fetch(self, topic: str, offset: int = 0, *, isolation: int = READ_COMMITTED) -> PartitionData:
        self.tell_fetch(topic, offset, isolation=isolation)
        return self.hear_fetched()

    def seen(self, topic: str) -> list[bytes | None]:
        """What a consumer of committed records is shown."""
        return visible(self.fetch(topic))

    def uncommitted(self, topic: str) -> list[bytes | None]:
        return visible(self.fetch(topic, isolation=0))

    def end_offset(self, topic: str, *, isolation: int = READ_COMMITTED) -> int:
        topics = [ListOffsetsTopic(topic, [ListOffsetsPartition(0, -1, LATEST)])]
        answer = self.ask(ListOffsetsRequest(-1, isolation, topics), 5, ListOffsetsResponse)
        return answer.topics[0].partitions[0].offset


def transactional_batch(pair: Pair, sequence: int, *values: bytes) -> bytearray:
    return batch_of(
        *values,
        timestamp=int(time.time() * 1_000),  # next to the markers', or the log would roll between them
        producer_id=pair.producer_id,
        producer_epoch=pair.producer_epoch,
        base_sequence=sequence,
        is_transactional=True,
    )


def visible(data: PartitionData) -> list[bytes | None]:
    """As a consumer goes through an answer: it leaves out the batches of aborted producers, up to their marker."""
    assert data.error_code == ErrorCode.NONE
    assert isinstance(data.records, bytes | memoryview)
    waiting = sorted(data.aborted_transactions or [], key=lambda aborted: aborted.first_offset)
    aborted: set[int] = set()
    values: list[bytes | None] = []
    for batch in split_batches(data.records):
        head = read_head(batch)
        while waiting and waiting[0].first_offset <= head.last_offset:
            aborted.add(waiting.pop(0).producer_id)
        if head.is_control:
            marker = read_marker(batch)
            if marker is not None and not marker.is_commit:
                aborted.discard(head.producer_id)
        elif not (head.is_transactional and head.producer_id in aborted):
            values += [record.value for record in read_records(batch)]
    return values
