"""SPEC R5: which leader wrote which offsets. KIP-101, KIP-279, KIP-320."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.log.leader_epochs import UNDEFINED, LeaderEpochs
from strandline.model.failures import BrokenInvariant, CorruptData


def test_a_log_without_records_knows_nothing() -> None:
    epochs = LeaderEpochs()
    assert (epochs.latest_epoch, epochs.previous_epoch, epochs.entries()) == (None, None, ())
    assert epochs.epoch_at(0) is None
    assert epochs.end_offset_for(0, log_end_offset=0) == UNDEFINED
    assert not epochs.truncate_from_end(0)
    assert not epochs.truncate_from_start(7)


def test_epoch_zero_is_an_epoch() -> None:
    """KAFKA-10432: a log written under epoch 0 alone forgot its leader on restart."""
    epochs = LeaderEpochs()
    assert epochs.assign(0, 0)
    restarted = LeaderEpochs.from_entries(epochs.entries())
    assert restarted.latest_epoch == 0
    assert restarted.epoch_at(5) == 0
    assert restarted.end_offset_for(0, log_end_offset=9) == (0, 9)


def test_three_elections_without_a_record_leave_the_last_leader() -> None:
    """KAFKA-7415: the leader records (epoch, log end) when elected; epochs that wrote nothing give way."""
    epochs = LeaderEpochs.from_entries([(0, 0)])
    for epoch in (1, 2, 3):
        assert epochs.assign(epoch, 10)
    assert epochs.entries() == ((0, 0), (3, 10))
    assert epochs.previous_epoch == 0
    # A follower whose last epoch was 1 is sent back to where epoch 0 ended (KIP-279).
    assert epochs.end_offset_for(1, log_end_offset=12) == (0, 10)


def test_each_append_of_the_same_leader_changes_nothing() -> None:
    epochs = LeaderEpochs.from_entries([(4, 100)])
    assert not epochs.assign(4, 100)
    assert not epochs.assign(4, 5000)
    assert epochs.entries() == ((4, 100),)


@pytest.mark.parametrize(
    ("assigned", "expected"),
    [
        ((4, 35), ((1, 0), (2, 10), (3, 30), (4, 35))),
        ((4, 20), ((1, 0), (2, 10), (4, 20))),
        ((3, 20), ((1, 0), (2, 10), (3, 20))),
        ((2, 40), ((1, 0), (2, 40))),
        ((0, 40), ((0, 40),)),
        ((9, 0), ((9, 0),)),
    ],
)
def test_entries_that_contradict_a_new_one_go(assigned: tuple[int, int], expected: tuple[tuple[int, int], ...]) -> None:
    epochs = LeaderEpochs.from_entries([(1, 0), (2, 10), (3, 30)])
    assert epochs.assign(*assigned)
    assert epochs.entries() == expected


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (-1, (-1, -1)),  # a follower that has no epochs yet
        (0, (0, 5)),  # older than all known: deleted data, go on from the first known start
        (2, (2, 10)),
        (3, (2, 10)),  # never seen here: the largest older one
        (5, (5, 30)),
        (8, (8, 99)),  # the latest: the log's end
        (9, (-1, -1)),  # a leader we have not heard of
    ],
)
def test_where_an_epoch_ends(asked: int, answer: tuple[int, int]) -> None:
    epochs = LeaderEpochs.from_entries([(2, 5), (5, 10), (8, 30)])
    assert epochs.end_offset_for(asked, log_end_offset=99) == answer


def test_truncating_the_end_forgets_epochs_that_start_there_or_later() -> None:
    epochs = LeaderEpochs.from_entries([(2, 5), (5, 10), (8, 30)])
    assert not epochs.truncate_from_end(31)
    assert epochs.truncate_from_end(30)
    assert epochs.entries() == ((2, 5), (5, 10))
    assert epochs.truncate_from_end(6)
    assert epochs.entries() == ((2, 5),)


def test_truncating_the_start_moves_the_covering_epoch_up() -> None:
    epochs = LeaderEpochs.from_entries([(2, 5), (5, 10), (8, 30)])
    assert not epochs.truncate_from_start(4)
    assert not epochs.truncate_from_start(5)
    assert epochs.truncate_from_start(20)
    assert epochs.entries() == ((5, 20), (8, 30))
    assert epochs.truncate_from_start(30)
    assert epochs.entries() == ((8, 30),)
    assert epochs.truncate_from_start(1000)
    assert epochs.entries() == ((8, 1000),)


@pytest.mark.parametrize("stored", [[(1, 0), (1, 5)], [(2, 0), (1, 5)], [(1, 5), (2, 5)], [(-1, 0)], [(0, -1)]])
def test_stored_entries_must_increase(stored: list[tuple[int, int]]) -> None:
    with pytest.raises(CorruptData):
        LeaderEpochs.from_entries(stored)


def test_a_negative_epoch_is_our_own_bug() -> None:
    with pytest.raises(BrokenInvariant):
        LeaderEpochs().assign(-1, 0)


class EpochPerOffset:
    """The dumb twin: for each offset, who wrote it. An epoch without records is not in it."""

    def __init__(self) -> None:
        self.start_offset = 0
        self.writers: list[int] = []

    @property
    def end_offset(self) -> int:
        return self.start_offset + len(self.writers)

    def entries(self) -> tuple[tuple[int, int], ...]:
        first: dict[int, int] = {}
        for index, writer in enumerate(self.writers):
            first.setdefault(writer, self.start_offset + index)
        return tuple(first.items())

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        if not self.writers or epoch > self.writers[-1]:
            return UNDEFINED
        later = [index for index, writer in enumerate(self.writers) if writer > epoch]
        earlier = [writer for writer in self.writers if writer <= epoch]
        end = self.start_offset + later[0] if later else self.end_offset
        return (max(earlier) if earlier else epoch, end)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "write", "cut end", "cut start"]),
        st.integers(0, 3),
        st.integers(1, 4),
    ),
    max_size=40,
)


@given(STEPS)
def test_the_entries_say_who_wrote_each_offset(steps: list[tuple[str, int, int]]) -> None:
    """Any history of writes under growing epochs, truncations and deletions, against a list of writers."""
    epochs, twin, latest = LeaderEpochs(), EpochPerOffset(), 0

    def write(epoch_step: int, count: int) -> None:
        nonlocal latest
        latest += epoch_step
        epochs.assign(latest, twin.end_offset)
        twin.writers += [latest] * count

    def cut_end(_: int, count: int) -> None:
        keep = max(len(twin.writers) - count, 0)
        del twin.writers[keep:]
        epochs.truncate_from_end(twin.end_offset)

    def cut_start(_: int, count: int) -> None:
        cut = min(count, max(len(twin.writers) - 1, 0))
        del twin.writers[:cut]
        twin.start_offset += cut
        epochs.truncate_from_start(twin.start_offset)

    actions: dict[str, Callable[[int, int], None]] = {
        "write": write,
        "cut end": cut_end,
        "cut start": cut_start,
    }
    for action, epoch_step, count in steps:
        actions[action](epoch_step, count)
        assert epochs.entries() == twin.entries()
        assert epochs.latest_epoch == (twin.writers[-1] if twin.writers else None)
        for offset in range(twin.start_offset, twin.end_offset):
            assert epochs.epoch_at(offset) == twin.writers[offset - twin.start_offset]
        for epoch in range(latest + 2):
            assert epochs.end_offset_for(epoch, twin.end_offset) == twin.end_offset_for(epoch)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 12)), max_size=20))
def test_any_assignments_keep_both_columns_increasing(assignments: list[tuple[int, int]]) -> None:
    """KAFKA-7415: whatever is assigned, and the newest assignment holds."""
    epochs, twin = LeaderEpochs(), list[tuple[int, int]]()
    for epoch, start_offset in assignments:
        if not twin or epoch != twin[-1][0] or start_offset < twin[-1][1]:
            twin = [entry for entry in twin if entry[0] < epoch and entry[1] < start_offset]
            twin.append((epoch, start_offset))
        epochs.assign(epoch, start_offset)
        assert epochs.entries() == tuple(twin)
        assert LeaderEpochs.from_entries(epochs.entries()).entries() == epochs.entries()
