"""Reading partitions of scripted leaders: to the end, from the middle, past markers and gaps, around errors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from tests.client.scripted_broker import HANG_UP, TOPIC_ID, Answer, ScriptedBroker

from strandline.client.cluster import Cluster
from strandline.client.failures import BrokerRefused, ClientError
from strandline.client.fetched import Aborted, FetchedPartition
from strandline.client.fetching import Fetcher
from strandline.client.offsets import EARLIEST, LATEST, READ_COMMITTED, FoundOffset, list_offsets, offsets_at
from strandline.model.error_codes import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.records.batch import split_batches
from strandline.records.builder import build_batch
from strandline.records.control import build_marker
from strandline.records.heads import head_of
from strandline.records.record import Record
from strandline.wire.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from strandline.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

ORDERS = [TopicPartition("orders", index) for index in range(3)]


def batch(base_offset: int, *values: bytes, **others: Any) -> bytes:
    records = [Record(base_offset + index, 1000 + index, None, value) for index, value in enumerate(values)]
    return bytes(build_batch(records, **others))


class Holder(ScriptedBroker):
    """Serves the batches of `logs`, one batch at a time, and an empty answer at the end."""

    def __init__(self, node_id: int = 1, **others: Any) -> None:
        super().__init__(node_id, **others)
        self.leaders = {"orders": [node_id]}
        self.logs: dict[int, bytes] = {0: b""}
        self.start_offset = 0
        self.high_watermark: int | None = None
        self.errors: list[ErrorCode] = []
        self.answers[FetchRequest] = self.fetch
        self.answers[ListOffsetsRequest] = self.list_offsets

    def end(self, index: int) -> int:
        ends = [head_of(each).next_offset for each in split_batches(self.logs[index])]
        return max(ends, default=0) if self.high_watermark is None else self.high_watermark

    def fetch(self, request: FetchRequest) -> Answer:
        error = self.errors.pop(0) if self.errors else ErrorCode.NONE
        response = FetchResponse()
        for topic in request.topics:
            answer = FetchableTopicResponse(topic.topic, topic.topic_id)
            response.responses.append(answer)
            for wanted in topic.partitions:
                data = PartitionData(wanted.partition, error, self.end(wanted.partition), self.end(wanted.partition))
                answer.partitions.append(data)
                if not self.start_offset <= wanted.fetch_offset <= self.end(wanted.partition):
                    data.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
                if data.error_code == ErrorCode.NONE:
                    data.records = self._from(wanted.partition, wanted.fetch_offset)
        return response

    def _from(self, index: int, offset: int) -> bytes:
        wanted = (each for each in split_batches(self.logs[index]) if head_of(each).next_offset > offset)
        return bytes(next(wanted, b""))

    def list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    topic.name,
                    [
                        ListOffsetsPartitionResponse(
                            each.partition_index, offset=self._at(each.partition_index, each.timestamp)
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def _at(self, index: int, timestamp: int) -> int:
        if timestamp == EARLIEST:
            return self.start_offset
        return self.end(index) if timestamp == LATEST else -1


def play(scene: Callable[[Holder], Coroutine[Any, Any, None]], **others: Any) -> Holder:
    async def run() -> Holder:
        async with Holder(**others) as holder:
            await scene(holder)
        return holder

    return asyncio.run(run())


async def read_all(fetcher: Fetcher) -> list[tuple[int, int, bytes | None]]:
    """Partition, offset and value of every record until all ends are reached."""
    read = []
    while fetcher.positions:
        for fetched in await asyncio.wait_for(fetcher.poll(), 10):
            read += [(record.partition.partition, record.offset, record.value) for record in fetched.read()]
    return read


def test_partitions_of_several_leaders_are_read_to_their_ends() -> None:
    async def run() -> None:
        async with Holder(1) as one, Holder(2) as two:
            for each in (one, two):
                each.peers, each.leaders = [one, two], {"orders": [1, 2, 1]}
            one.logs = {0: batch(0, b"a", b"b") + batch(2, b"c"), 2: b""}
            two.logs = {1: batch(0, b"d") + batch(1, b"e")}
            async with Cluster(one.settings()) as cluster:
                ends = await offsets_at(cluster, ORDERS, LATEST)
                assert ends == dict(zip(ORDERS, (3, 2, 0), strict=True))
                fetcher = Fetcher(cluster, dict.fromkeys(ORDERS, 0), ends)
                assert sorted(await read_all(fetcher)) == [
                    (0, 0, b"a"), (0, 1, b"b"), (0, 2, b"c"), (1, 0, b"d"), (1, 1, b"e"),
                ]  # fmt: skip

    asyncio.run(run())


def test_reading_begins_and_ends_in_the_middle_of_batches() -> None:
    async def scene(holder: Holder) -> None:
        holder.logs[0] = batch(0, b"a", b"b", b"c") + batch(3, b"d", b"e", b"f")
        async with Cluster(holder.settings()) as cluster:
            fetcher = Fetcher(cluster, {ORDERS[0]: 1}, {ORDERS[0]: 5})
            assert [value for _, _, value in await read_all(fetcher)] == [b"b", b"c", b"d", b"e"]
            assert not Fetcher(cluster, {ORDERS[0]: 5}, {ORDERS[0]: 5}).positions

    play(scene)


def test_without_ends_reading_goes_on_with_what_is_written() -> None:
    async def scene(holder: Holder) -> None:
        holder.logs[0] = batch(0, b"a")
        async with Cluster(holder.settings()) as cluster:
            fetcher = Fetcher(cluster, {ORDERS[0]: 0})
            (first,) = await fetcher.poll()
            assert [record.value for record in first.read()] == [b"a"]
            while await fetcher.poll(timeout_ms=10):
                pass
            holder.logs[0] += batch(1, b"b")
            fetched: list[FetchedPartition] = []
            while not fetched:
                fetched = await fetcher.poll()
            assert [(record.offset, record.value) for record in fetched[0].read()] == [(1, b"b")]
            fetcher.stop()

    play(scene)


def test_an_end_that_compaction_left_no_record_at_is_reached() -> None:
    async def scene(holder: Holder) -> None:
        holder.logs[0], holder.high_watermark = batch(0, b"a"), 10
        async with Cluster(holder.settings()) as cluster:
            fetcher = Fetcher(cluster, {ORDERS[0]: 0}, {ORDERS[0]: 10})
            assert [value for _, _, value in await read_all(fetcher)] == [b"a"]

    play(scene)


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ],
)
def test_errors_that_pass_are_waited_out(error: ErrorCode) -> None:
    async def scene(holder: Holder) -> None:
        holder.logs[0], holder.errors = batch(0, b"a"), [error, error]
        async with Cluster(holder.settings()) as cluster:
            assert len(await read_all(Fetcher(cluster, {ORDERS[0]: 0}, {ORDERS[0]: 1}))) == 1

    play(scene)


def test_errors_that_stay_are_told() -> None:
    async def scene(holder: Holder) -> None:
        holder.logs[0], holder.errors = batch(0, b"a"), [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
        async with Cluster(holder.settings()) as cluster:
            with pytest.raises(BrokerRefused, match="fetching orders-0: not allowed on this topic"):
                await read_all(Fetcher(cluster, {ORDERS[0]: 0}, {ORDERS[0]: 1}))

    play(scene)


def test_a_broker_that_hangs_up_is_asked_again() -> None:
    async def scene(holder: Holder) -> None:
        holder.logs[0] = batch(0, b"a")
        hang_ups = iter([HANG_UP, HANG_UP])
        holder.answers[FetchRequest] = lambda request: next(hang_ups, None) or holder.fetch(request)
        async with Cluster(holder.settings()) as cluster:
            assert len(await read_all(Fetcher(cluster, {ORDERS[0]: 0}, {ORDERS[0]: 1}))) == 1

    play(scene)


@pytest.mark.parametrize(("policy", "values"), [("earliest", [b"c", b"d"]), ("latest", [])])
def test_an_offset_out_of_range_is_reset_by_policy(policy: str, values: list[bytes]) -> None:
    async def scene(holder: Holder) -> None:
        holder.logs[0], holder.start_offset = batch(2, b"c", b"d"), 2
        async with Cluster(holder.settings(auto_offset_reset=policy)) as cluster:
            fetcher = Fetcher(cluster, {ORDERS[0]: 0}, {ORDERS[0]: 4})
            assert [value for _, _, value in await read_all(fetcher)] == values

    play(scene)


def test_an_offset_out_of_range_without_policy_says_what_there_is() -> None:
    async def scene(holder: Holder) -> None:
        holder.logs[0], holder.start_offset = batch(2, b"c", b"d"), 2
        async with Cluster(holder.settings(auto_offset_reset="none")) as cluster:
            with pytest.raises(ClientError, match="orders-0 has no offset 0: it holds 2 to 3"):
                await read_all(Fetcher(cluster, {ORDERS[0]: 0}))
            holder.logs[0], holder.high_watermark, holder.start_offset = b"", 4, 4
            with pytest.raises(ClientError, match="orders-0 has no offset 9: it is empty, the next record gets 4"):
                await read_all(Fetcher(cluster, {ORDERS[0]: 9}))

    play(scene)


def test_a_partition_without_leader_is_waited_for() -> None:
    async def scene(holder: Holder) -> None:
        holder.logs[0] = batch(0, b"a")
        holder.leaders = {"orders": [-1]}
        async with Cluster(holder.settings(default_api_timeout_ms=40)) as cluster:
            with pytest.raises(ClientError, match="LEADER_NOT_AVAILABLE"):
                await read_all(Fetcher(cluster, {ORDERS[0]: 0}))

    play(scene)


def test_topics_have_names_or_ids_by_the_version() -> None:
    async def scene(holder: Holder) -> None:
        holder.logs[0] = batch(0, b"a")
        async with Cluster(holder.settings()) as cluster:
            assert len(await read_all(Fetcher(cluster, {ORDERS[0]: 0}, {ORDERS[0]: 1}))) == 1

    by_name = play(scene, versions={18: (0, 4), 3: (0, 13), 1: (0, 12)}).received(FetchRequest)
    by_id = play(scene).received(FetchRequest)
    assert (by_name[0].topics[0].topic, by_id[0].topics[0].topic_id) == ("orders", TOPIC_ID)


def fetched(records: bytes, **others: Any) -> FetchedPartition:
    return FetchedPartition(ORDERS[0], 0, memoryview(records), 100, 100, 0, **others)


def test_control_records_and_aborted_transactions_are_not_shown() -> None:
    """KIP-98: the aborted list of a fetch says from where; the marker says until where."""
    written = {"producer_epoch": 0, "is_transactional": True}
    records = (
        batch(0, b"good", producer_id=1, base_sequence=0, **written)
        + batch(1, b"void", producer_id=2, base_sequence=0, **written)
        + batch(2, b"plain")
        + marker(3, 2, is_commit=False)
        + batch(4, b"good again", producer_id=2, base_sequence=1, **written)
        + marker(5, 1, is_commit=True)
        + marker(6, 2, is_commit=True)
    )
    committed = fetched(records, aborted=[Aborted(1, 2)])
    assert [record.value for record in committed.read()] == [b"good", b"plain", b"good again"]
    assert committed.next_offset() == 7
    everything = fetched(records)
    assert [record.offset for record in everything.read()] == [0, 1, 2, 4]


def marker(offset: int, producer_id: int, *, is_commit: bool) -> bytes:
    made = build_marker(
        producer_id=producer_id,
        producer_epoch=0,
        is_commit=is_commit,
        coordinator_epoch=0,
        timestamp=1000,
        base_offset=offset,
    )
    return bytes(made)


def test_a_batch_that_is_cut_short_is_left_for_the_next_fetch() -> None:
    whole = batch(0, b"a")
    assert fetched(whole + batch(1, b"b")[:-1]).next_offset() == 1
    with pytest.raises(ClientError, match=r"larger than max\.partition\.fetch\.bytes"):
        fetched(whole[:-1]).next_offset()
    assert fetched(b"").next_offset() == 0


def test_damage_is_told_with_its_place() -> None:
    damaged = bytearray(batch(0, b"a") + batch(1, b"b"))
    damaged[-2] ^= 1
    broken = fetched(bytes(damaged))
    reader = broken.read()
    assert next(reader).value == b"a"
    with pytest.raises(ClientError, match="orders-0 is damaged at offset 1: CRC of the batch at offset 1"):
        next(reader)
    assert [record.value for record in broken.read(check_crcs=False)] == [b"a", b"c"]


def test_timestamps_of_the_log_are_marked() -> None:
    (record,) = fetched(batch(0, b"a", log_append_time_ms=5, leader_epoch=3)).read()
    assert (record.timestamp, record.is_log_append_time, record.leader_epoch) == (5, True, 3)


def test_offsets_of_a_time_that_nothing_is_as_young_as() -> None:
    async def scene(holder: Holder) -> None:
        holder.logs[0] = batch(0, b"a", b"b")
        async with Cluster(holder.settings()) as cluster:
            assert await offsets_at(cluster, ORDERS[:1], 10**13) == {ORDERS[0]: 2}
            found = await list_offsets(cluster, {ORDERS[0]: 10**13}, isolation_level=READ_COMMITTED)
            assert found == {ORDERS[0]: FoundOffset(-1, -1, -1)}
            with pytest.raises(ClientError, match="topic orders has no partition 7: it has 0 to 0"):
                await list_offsets(cluster, {TopicPartition("orders", 7): LATEST})

    holder = play(scene)
    assert [request.isolation_level for request in holder.received(ListOffsetsRequest)] == [0, 0, 1]
