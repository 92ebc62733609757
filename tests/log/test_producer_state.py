"""SPEC P2, P3: what a partition accepts from idempotent and transactional producers, and remembers."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from strandline.log.producer_entry import ProducerEntry
from strandline.log.producer_snapshots import decode_snapshot, encode_snapshot
from strandline.log.producer_state import CompletedTransaction, ProducerState
from strandline.model.failures import BrokenInvariant, ErrorCode, Refused
from strandline.records.batch import CONTROL, NO_SEQUENCE, TRANSACTIONAL, BatchHead
from strandline.records.control import EndTransactionMarker

LAST_SEQUENCE = 2**31 - 1
COMMIT = EndTransactionMarker(is_commit=True, coordinator_epoch=0)
ABORT = EndTransactionMarker(is_commit=False, coordinator_epoch=0)


def data_head(
    sequence: int,
    *,
    count: int = 1,
    producer_id: int = 7,
    epoch: int = 0,
    timestamp: int = 1000,
    transactional: bool = False,
) -> BatchHead:
    attributes = TRANSACTIONAL if transactional else 0
    return BatchHead(0, 100, -1, 2, 0, attributes, count - 1, timestamp, timestamp, producer_id, epoch, sequence, count)


def marker_head(*, producer_id: int = 7, epoch: int = 0, timestamp: int = 1000) -> BatchHead:
    attributes = TRANSACTIONAL | CONTROL
    return BatchHead(0, 78, -1, 2, 0, attributes, 0, timestamp, timestamp, producer_id, epoch, NO_SEQUENCE, 1)


@dataclass
class Partition:
    """A log of heads alone: assigns offsets and does with markers what a log does."""

    state: ProducerState = field(default_factory=ProducerState)
    written: list[tuple[int, BatchHead, EndTransactionMarker | None]] = field(default_factory=list)

    def write(
        self, head: BatchHead, marker: EndTransactionMarker | None = None, *, from_client: bool = True
    ) -> CompletedTransaction | None:
        base_offset = self.state.map_end_offset
        completed = self.state.accept(head, base_offset=base_offset, from_client=from_client, marker=marker)
        if completed is not None:
            self.state.complete(completed)
        self.state.map_end_offset = base_offset + head.last_offset_delta + 1
        self.written.append((base_offset, head, marker))
        return completed

    def refuses(self, head: BatchHead, marker: EndTransactionMarker | None = None) -> ErrorCode:
        before = remembered(self.state)
        with pytest.raises(Refused) as refusal:
            self.write(head, marker)
        assert remembered(self.state) == before
        return refusal.value.error_code


def remembered(state: ProducerState) -> tuple[object, ...]:
    """All that can be seen of a state."""
    entries = {entry.producer_id: seen(entry) for entry in state.entries()}
    return entries, state.first_unstable_offset, state.first_undecided_offset, state.map_end_offset


def seen(entry: ProducerEntry) -> tuple[object, ...]:
    return (
        entry.producer_epoch,
        entry.coordinator_epoch,
        entry.last_timestamp,
        entry.current_transaction_first_offset,
        tuple(entry.batches),
    )


def test_sequences_must_follow_one_another() -> None:
    partition = Partition()
    partition.write(data_head(0, count=3))
    assert partition.refuses(data_head(2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert partition.refuses(data_head(4)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    partition.write(data_head(3))
    entry = partition.state.entry_of(7)
    assert entry is not None
    assert entry.batches == [(0, 2, 0, 2, 1000), (3, 3, 3, 3, 1000)]


def test_sequences_wrap_after_the_largest() -> None:
    partition = Partition()
    partition.write(data_head(LAST_SEQUENCE - 1, count=2))
    assert partition.refuses(data_head(1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    partition.write(data_head(0))
    assert partition.state.find_duplicate(data_head(LAST_SEQUENCE - 1, count=2)) is not None


def test_a_batch_may_wrap_in_its_middle() -> None:
    partition = Partition()
    partition.write(data_head(LAST_SEQUENCE - 1, count=5))
    duplicate = partition.state.find_duplicate(data_head(LAST_SEQUENCE - 1, count=5))
    assert duplicate is not None
    assert duplicate.last_sequence == 2
    partition.write(data_head(3))


def test_five_batches_in_flight_can_be_sent_again() -> None:
    """RP#3038, RP#3039: without this window a client that lost replies bumps its epoch and writes twice."""
    partition = Partition()
    for sequence in range(0, 12, 2):
        partition.write(data_head(sequence, count=2, timestamp=1000 + sequence))
    for sequence in (2, 4, 6, 8, 10):
        assert partition.state.find_duplicate(data_head(sequence, count=2)) == (
            sequence, sequence + 1, sequence, sequence + 1, 1000 + sequence,
        )  # fmt: skip
    assert partition.state.find_duplicate(data_head(0, count=2)) is None
    assert partition.refuses(data_head(0, count=2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_duplicate_repeats_the_whole_batch_of_the_same_epoch() -> None:
    partition = Partition()
    partition.write(data_head(0, count=3))
    assert partition.state.find_duplicate(data_head(0, count=2)) is None
    assert partition.state.find_duplicate(data_head(1, count=2)) is None
    assert partition.state.find_duplicate(data_head(0, count=3, epoch=1)) is None
    assert partition.state.find_duplicate(data_head(0, count=3, producer_id=8)) is None


def test_a_producer_we_have_forgotten_may_go_on() -> None:
    """KIP-360: retention or DeleteRecords removed all it had written; its sequence is taken on trust."""
    partition = Partition()
    partition.write(data_head(1234))
    partition.write(data_head(1235))
    assert partition.refuses(data_head(0)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_new_epoch_starts_at_sequence_zero_and_fences_the_old() -> None:
    partition = Partition()
    partition.write(data_head(0, epoch=1))
    assert partition.refuses(data_head(1, epoch=2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    partition.write(data_head(0, epoch=2))
    assert partition.refuses(data_head(1, epoch=1)) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert partition.state.find_duplicate(data_head(0, epoch=1)) is None
    partition.write(data_head(1, epoch=2))


def test_replicated_batches_are_taken_as_they_come() -> None:
    """KAFKA-6003: a follower without state stopped on a batch its leader had accepted."""
    partition = Partition()
    partition.write(data_head(50), from_client=False)
    partition.write(data_head(60), from_client=False)  # a gap
    partition.write(data_head(3, epoch=5), from_client=False)  # a new epoch in its middle
    partition.write(data_head(4, epoch=4), from_client=False)  # an older one
    partition.write(data_head(5, epoch=4, transactional=True), from_client=False)
    partition.write(data_head(6, epoch=4), from_client=False)  # outside the open transaction
    fenced = EndTransactionMarker(is_commit=True, coordinator_epoch=-1)
    assert partition.write(marker_head(epoch=3), fenced, from_client=False) == (7, 4, 6, False)
    entry = partition.state.entry_of(7)
    assert entry is not None
    assert seen(entry) == (3, -1, 1000, None, ())


def test_where_only_a_marker_is_left_the_epoch_still_fences() -> None:
    """KAFKA-7298, KIP-360: a zombie was accepted at sequence 0 once all records but a marker were deleted."""
    partition = Partition()
    assert partition.write(marker_head(epoch=3), COMMIT, from_client=False) is None
    assert partition.refuses(data_head(0, epoch=2)) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert partition.refuses(data_head(17, epoch=3)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    partition.write(data_head(0, epoch=3))


def test_a_marker_keeps_the_sequence_of_its_epoch() -> None:
    partition = Partition()
    partition.write(data_head(0, count=4, transactional=True))
    partition.write(marker_head(), COMMIT)
    assert partition.refuses(data_head(0, transactional=True)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    partition.write(data_head(4, transactional=True))


def test_an_open_transaction_takes_transactional_batches_only() -> None:
    partition = Partition()
    partition.write(data_head(0))
    partition.write(data_head(1, transactional=True))
    assert partition.refuses(data_head(2)) == ErrorCode.INVALID_TXN_STATE
    partition.write(marker_head(), ABORT)
    partition.write(data_head(2))


def test_a_fenced_coordinator_cannot_end_a_transaction() -> None:
    partition = Partition()
    partition.write(data_head(0, epoch=1, transactional=True))
    partition.write(marker_head(epoch=1), EndTransactionMarker(is_commit=True, coordinator_epoch=5))
    partition.write(data_head(1, epoch=1, transactional=True))
    stale = EndTransactionMarker(is_commit=False, coordinator_epoch=4)
    current = EndTransactionMarker(is_commit=False, coordinator_epoch=5)
    assert partition.refuses(marker_head(epoch=1), stale) == ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert partition.refuses(marker_head(epoch=0), current) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert partition.write(marker_head(epoch=1), current) == (7, 2, 3, True)


def test_a_coordinator_fences_a_producer_by_a_marker_of_a_newer_epoch() -> None:
    """Expiring a transaction aborts it under a bumped epoch; the zombie must not go on (KAFKA-6119)."""
    partition = Partition()
    partition.write(data_head(0, transactional=True))
    assert partition.write(marker_head(epoch=1), ABORT) == (7, 0, 1, True)
    assert partition.refuses(data_head(1, transactional=True)) == ErrorCode.INVALID_PRODUCER_EPOCH
    partition.write(data_head(0, epoch=1, transactional=True))


def test_a_coordinators_offset_commits_have_no_sequences() -> None:
    """Transactional offset commits carry a producer id and no sequence: only the epoch is judged."""
    partition = Partition()
    partition.write(data_head(NO_SEQUENCE, count=2, epoch=1, transactional=True))
    partition.write(data_head(NO_SEQUENCE, count=2, epoch=1, transactional=True))
    assert partition.state.find_duplicate(data_head(NO_SEQUENCE, count=2, epoch=1)) is None
    assert partition.refuses(data_head(NO_SEQUENCE, epoch=0)) == ErrorCode.INVALID_PRODUCER_EPOCH
    partition.write(data_head(NO_SEQUENCE, epoch=2, transactional=True))


def test_a_marker_that_compaction_emptied_changes_nothing() -> None:
    partition = Partition()
    assert partition.write(marker_head(), None, from_client=False) is None
    assert partition.state.is_empty


def unstable_and_undecided(state: ProducerState) -> tuple[int | None, int | None]:
    return state.first_unstable_offset, state.first_undecided_offset


def test_readers_of_committed_data_stop_at_the_first_unstable_offset() -> None:
    partition = Partition()
    state = partition.state
    partition.write(data_head(0, producer_id=1, count=10))
    assert unstable_and_undecided(state) == (None, None)
    partition.write(data_head(0, producer_id=1, epoch=1, transactional=True))  # offset 10
    partition.write(data_head(0, producer_id=2, transactional=True))  # offset 11
    assert unstable_and_undecided(state) == (10, 10)

    assert partition.write(marker_head(producer_id=1, epoch=1), ABORT) == (1, 10, 12, True)
    assert unstable_and_undecided(state) == (10, 11)
    state.high_watermark_moved(12)  # the marker at 12 is not below it
    assert unstable_and_undecided(state) == (10, 11)
    state.high_watermark_moved(13)
    assert unstable_and_undecided(state) == (11, 11)

    partition.write(marker_head(producer_id=2), COMMIT)  # offset 13
    assert unstable_and_undecided(state) == (11, None)
    state.high_watermark_moved(14)
    assert unstable_and_undecided(state) == (None, None)


def test_a_transaction_that_ends_later_but_began_earlier_still_holds_readers() -> None:
    partition = Partition()
    for producer_id in (1, 2):
        partition.write(data_head(0, producer_id=producer_id, transactional=True))
    for producer_id in (2, 1):
        partition.write(marker_head(producer_id=producer_id), COMMIT)
    partition.state.high_watermark_moved(3)
    assert partition.state.first_unstable_offset == 0
    partition.state.high_watermark_moved(4)
    assert partition.state.first_unstable_offset is None


def test_the_aborted_index_records_where_readers_will_stand() -> None:
    partition = Partition()
    state = partition.state
    for producer_id in (1, 2):
        partition.write(data_head(0, producer_id=producer_id, transactional=True))
    first = state.accept(marker_head(producer_id=1), base_offset=2, from_client=True, marker=ABORT)
    assert first is not None
    assert state.last_stable_offset_of(first) == 1  # producer 2 is still open
    state.complete(first)
    second = state.accept(marker_head(producer_id=2), base_offset=3, from_client=True, marker=ABORT)
    assert second is not None
    assert state.last_stable_offset_of(second) == 4
    state.complete(second)
    with pytest.raises(BrokenInvariant):
        state.complete(second)


def test_a_marker_counts_as_activity() -> None:
    """KAFKA-9144: expired by the time of its data, it lost its epochs; an old coordinator got through."""
    partition = Partition()
    partition.write(data_head(0, transactional=True, timestamp=1000))
    assert partition.state.expire(now_ms=10**9, expiration_ms=500) == 0  # its transaction is open
    partition.write(marker_head(timestamp=2000), COMMIT)
    assert partition.state.expire(now_ms=2499, expiration_ms=500) == 0
    assert partition.state.expire(now_ms=2500, expiration_ms=500) == 1
    assert len(partition.state) == 0


def test_a_log_that_stamps_its_own_time_expires_by_it() -> None:
    state = ProducerState()
    state.accept(data_head(0, timestamp=5), base_offset=0, from_client=True, timestamp=9000)
    duplicate = state.find_duplicate(data_head(0))
    assert duplicate is not None
    assert duplicate.timestamp == 9000
    assert state.expire(now_ms=9000, expiration_ms=500) == 0


def test_deleting_records_leaves_their_producers() -> None:
    partition = Partition()
    partition.write(data_head(0, transactional=True))
    partition.write(marker_head(), COMMIT)
    partition.state.log_start_moved(5)
    assert (partition.state.map_end_offset, partition.state.first_unstable_offset) == (5, None)
    assert partition.refuses(data_head(9, transactional=True)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_starting_over_forgets_everything() -> None:
    partition = Partition()
    partition.write(data_head(0, transactional=True))
    partition.state.truncate_fully_and_start_at(400)
    assert remembered(partition.state) == ({}, None, None, 400)
    assert partition.state.is_empty


def test_loading_brings_open_transactions_back_in_order() -> None:
    state = ProducerState()
    entries = [
        ProducerEntry(1, 0, last_timestamp=100, current_transaction_first_offset=30),
        ProducerEntry(2, 0, last_timestamp=100, current_transaction_first_offset=10),
        ProducerEntry(3, 0, last_timestamp=100),
        ProducerEntry(4, 0, last_timestamp=900),
    ]
    state.load(entries, 50, now_ms=1000, expiration_ms=500)
    assert {entry.producer_id for entry in state.entries()} == {1, 2, 4}
    assert (state.first_unstable_offset, state.first_undecided_offset, state.map_end_offset) == (10, 10, 50)


def test_only_batches_with_a_producer_id_belong_here() -> None:
    with pytest.raises(BrokenInvariant):
        ProducerState().accept(data_head(NO_SEQUENCE, producer_id=-1), base_offset=0, from_client=True)


@dataclass
class History:
    """The dumb twin of one producer: everything it ever wrote, judged from scratch each time."""

    # epoch, first sequence, last sequence, offset
    batches: list[tuple[int, int, int, int]] = field(default_factory=list)
    epoch: int | None = None
    open_since: int | None = None

    def verdict(self, epoch: int, sequence: int, transactional: bool) -> ErrorCode:
        if self.epoch is None:
            return ErrorCode.NONE
        if epoch < self.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        same_epoch = [last for written, _, last, _ in self.batches if written == epoch]
        expected = (same_epoch[-1] + 1) % 2**31 if same_epoch else 0
        if sequence != expected:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if self.open_since is not None and not transactional:
            return ErrorCode.INVALID_TXN_STATE
        return ErrorCode.NONE

    def duplicate(self, epoch: int, first: int, last: int) -> int | None:
        recent = [batch for batch in self.batches if batch[0] == self.epoch][-5:]
        return next((offset for *batch, offset in recent if batch == [epoch, first, last]), None)


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("data"),
            st.integers(0, 2),  # producer
            st.integers(0, 2),  # epoch
            st.integers(-3, 2),  # sequence, relative to the one expected
            st.integers(1, 3),  # records
            st.booleans(),  # transactional
        ),
        st.tuples(st.just("marker"), st.integers(0, 2), st.integers(0, 2), st.just(0), st.just(1), st.booleans()),
    ),
    max_size=50,
)


@given(STEPS, st.integers(0, 3))
def test_any_traffic_is_judged_as_by_the_whole_history(
    steps: list[tuple[str, int, int, int, int, bool]], before_wrap: int
) -> None:
    """Clients that retry, skip, return from the dead and mix transactions; then the log is replayed."""
    partition, histories = Partition(), [History(), History(), History()]
    for kind, producer_id, epoch, drift, count, flag in steps:
        history = histories[producer_id]
        if kind == "marker":
            write_marker(partition, history, producer_id, epoch, flag)
            continue
        same_epoch = [last for written, _, last, _ in history.batches if written == epoch]
        begin = 2**31 - before_wrap if history.epoch is None and before_wrap else 0
        sequence = ((same_epoch[-1] + 1 if same_epoch else begin) + drift) % 2**31
        head = data_head(sequence, producer_id=producer_id, epoch=epoch, count=count, transactional=flag)
        write_data(partition, history, head)
        opened = [history.open_since for history in histories if history.open_since is not None]
        assert partition.state.first_undecided_offset == min(opened, default=None)
    replayed = Partition()
    for _, head, marker in partition.written:
        replayed.write(head, marker, from_client=False)
    assert remembered(replayed.state) == remembered(partition.state)


def write_data(partition: Partition, history: History, head: BatchHead) -> None:
    duplicate = partition.state.find_duplicate(head)
    expected = history.duplicate(head.producer_epoch, head.base_sequence, head.last_sequence)
    assert (duplicate.first_offset if duplicate else None) == expected
    verdict = history.verdict(head.producer_epoch, head.base_sequence, head.is_transactional)
    if verdict != ErrorCode.NONE:
        assert partition.refuses(head) == verdict
        return
    offset = partition.state.map_end_offset
    partition.write(head)
    history.epoch = head.producer_epoch
    history.batches.append((head.producer_epoch, head.base_sequence, head.last_sequence, offset))
    if head.is_transactional and history.open_since is None:
        history.open_since = offset


def write_marker(partition: Partition, history: History, producer_id: int, epoch: int, is_commit: bool) -> None:
    head = marker_head(producer_id=producer_id, epoch=epoch)
    marker = COMMIT if is_commit else ABORT
    if history.epoch is not None and epoch < history.epoch:
        assert partition.refuses(head, marker) == ErrorCode.INVALID_PRODUCER_EPOCH
        return
    offset = partition.state.map_end_offset
    expected = (producer_id, history.open_since, offset, not is_commit)
    assert partition.write(head, marker) == (None if history.open_since is None else expected)
    history.epoch, history.open_since = epoch, None


def accepted_next(state: ProducerState, head: BatchHead) -> bool:
    base_offset = state.map_end_offset
    last_offset = base_offset + head.last_offset_delta
    return state.accept_next(
        head.producer_id, head.producer_epoch, head.base_sequence, base_offset, last_offset, head.max_timestamp
    )


class TestAcceptNext:
    """The short way for what should come next: it takes nothing that the long way would judge otherwise."""

    def test_what_follows_is_taken(self) -> None:
        partition = Partition()
        partition.write(data_head(0, count=3))
        assert accepted_next(partition.state, data_head(3, count=2, timestamp=1007))
        entry = partition.state.entry_of(7)
        assert entry is not None
        assert entry.batches == [(0, 2, 0, 2, 1000), (3, 4, 3, 4, 1007)]
        assert entry.last_timestamp == 1007

    def test_after_the_largest_comes_zero(self) -> None:
        partition = Partition()
        partition.write(data_head(LAST_SEQUENCE))
        assert accepted_next(partition.state, data_head(0))

    def test_a_batch_may_wrap_in_its_middle(self) -> None:
        partition = Partition()
        partition.write(data_head(LAST_SEQUENCE - 2))
        assert accepted_next(partition.state, data_head(LAST_SEQUENCE - 1, count=5))
        entry = partition.state.entry_of(7)
        assert entry is not None
        assert entry.batches[-1][:2] == (LAST_SEQUENCE - 1, 2)

    def test_all_else_is_left_to_the_long_way(self) -> None:
        partition = Partition()
        partition.write(data_head(0, epoch=1))
        others = (
            data_head(0, epoch=1),  # a repetition
            data_head(2, epoch=1),  # a gap
            data_head(1, epoch=0),  # a zombie
            data_head(0, epoch=2),  # a new epoch
            data_head(1, epoch=1, producer_id=8),  # an unknown producer
            data_head(NO_SEQUENCE, epoch=1),
        )
        for head in others:
            before = remembered(partition.state)
            assert not accepted_next(partition.state, head)
            assert remembered(partition.state) == before
        partition.write(data_head(1, epoch=1, transactional=True))
        assert not accepted_next(partition.state, data_head(2, epoch=1))  # outside the open transaction

    def test_a_producer_of_which_only_a_marker_is_known(self) -> None:
        partition = Partition()
        partition.write(marker_head(), COMMIT)
        assert not accepted_next(partition.state, data_head(0))

    def test_a_repetition_in_the_right_place_is_still_one(self) -> None:
        """After a batch without a sequence a producer begins again at 0, and can come back to what it has sent."""
        partition = Partition()
        for sequence in (0, 1, 2, NO_SEQUENCE):
            partition.write(data_head(sequence))
        partition.write(data_head(0, count=2))
        assert partition.state.find_duplicate(data_head(2)) is not None
        assert not accepted_next(partition.state, data_head(2))


CLOSE_SEQUENCES = st.sampled_from([NO_SEQUENCE, 0, 1, 2, 3, LAST_SEQUENCE - 1, LAST_SEQUENCE])
# Kind, producer, epoch, sequence (None: the one that should come next), records, a flag.
TRAFFIC = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["data", "data", "data", "replicated"]),
            st.integers(0, 1),
            st.sampled_from([0, 0, 0, 1]),
            st.none() | st.none() | CLOSE_SEQUENCES,
            st.sampled_from([1, 1, 2, 3, LAST_SEQUENCE]),
            st.sampled_from([False, False, True]),
        ),
        st.tuples(
            st.sampled_from(["marker", "restart", "expire"]),
            st.integers(0, 1),
            st.sampled_from([0, 0, 1]),
            st.none(),
            st.just(1),
            st.booleans(),
        ),
    ),
    max_size=40,
)


class Twins:
    """Two partitions with the same traffic, of which one goes the short way where it can."""

    def __init__(self) -> None:
        self.short, self.long = Partition(), Partition()
        self.timestamp = 1000

    def play(self, kind: str, producer_id: int, epoch: int, sequence: int | None, count: int, flag: bool) -> None:
        self.timestamp += 1
        if kind == "restart":  # from a snapshot, which has only the last batch of each producer
            for state in (self.short.state, self.long.state):
                state.load(decode_snapshot(encode_snapshot(state.entries())), state.map_end_offset, 0, 10**9)
        elif kind == "expire":
            for state in (self.short.state, self.long.state):
                state.expire(self.timestamp, 5)
        elif kind == "marker":
            head = marker_head(producer_id=producer_id, epoch=epoch, timestamp=self.timestamp)
            self.write_both(head, COMMIT if flag else ABORT, from_client=True)
        else:
            head = data_head(
                self.next_sequence(producer_id) if sequence is None else sequence,
                count=count, producer_id=producer_id, epoch=epoch, timestamp=self.timestamp, transactional=flag,
            )  # fmt: skip
            self.write_both(head, None, from_client=kind == "data")

    def next_sequence(self, producer_id: int) -> int:
        entry = self.long.state.entry_of(producer_id)
        return (entry.last_batch.last_sequence + 1) & LAST_SEQUENCE if entry is not None and entry.last_batch else 0

    def write_both(self, head: BatchHead, marker: EndTransactionMarker | None, *, from_client: bool) -> None:
        expected = self.write_long(self.long, head, marker, from_client)
        if from_client and not head.attributes and accepted_next(self.short.state, head):
            assert expected is None
            self.short.state.map_end_offset += head.last_offset_delta + 1
        else:
            assert self.write_long(self.short, head, marker, from_client) == expected

    def write_long(
        self, partition: Partition, head: BatchHead, marker: EndTransactionMarker | None, from_client: bool
    ) -> object:
        """None if it was written; else of what it is a repetition, or why it is refused."""
        if from_client and marker is None:
            duplicate = partition.state.find_duplicate(head)
            if duplicate is not None:
                return duplicate
        try:
            partition.write(head, marker, from_client=from_client)
        except Refused as refused:
            return refused.error_code, refused.reason
        return None


@given(TRAFFIC)
@example(
    [("data", 0, 0, sequence, 1, False) for sequence in (0, 1, 2)]
    + [("data", 0, 0, NO_SEQUENCE, 1, False), ("data", 0, 0, 0, 2, False), ("data", 0, 0, 2, 1, False)]
)
@example(
    [("data", 0, 0, 0, LAST_SEQUENCE, False), ("data", 0, 0, None, 1, False), ("data", 0, 0, 0, LAST_SEQUENCE, False)]
)
def test_the_short_way_leads_where_the_long_one_does(
    traffic: list[tuple[str, int, int, int | None, int, bool]],
) -> None:
    twins = Twins()
    for step in traffic:
        twins.play(*step)
        assert remembered(twins.short.state) == remembered(twins.long.state)
        assert encode_snapshot(twins.short.state.entries()) == encode_snapshot(twins.long.state.entries())
