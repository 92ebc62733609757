"""The index of aborted transactions, `.txnindex` (KIP-98)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strandline.log.aborted_index import ENTRY, ENTRY_BYTES, AbortedIndex, AbortedTransaction
from strandline.log.filesystem import RealFileSystem
from strandline.model.failures import BrokenInvariant, CorruptData
from strandline.simulation.disk import SimulatedDisk

BASE = 100
FIRST = AbortedTransaction(producer_id=7, first_offset=90, last_offset=110, last_stable_offset=111)
SECOND = AbortedTransaction(producer_id=8, first_offset=112, last_offset=130, last_stable_offset=120)
THIRD = AbortedTransaction(producer_id=9, first_offset=120, last_offset=140, last_stable_offset=141)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "00000000000000000100.txnindex")


def open_index(path: str, *, writable: bool = True) -> AbortedIndex:
    return AbortedIndex(RealFileSystem(), path, BASE, writable=writable)


def filled(path: str, *transactions: AbortedTransaction) -> AbortedIndex:
    index = open_index(path)
    for aborted in transactions:
        index.append(aborted)
    return index


def test_there_is_no_file_before_the_first_aborted_transaction(path: str) -> None:
    index = open_index(path)
    assert (index.all(), index.collect(0, 1000)) == ([], ([], False))
    index.truncate_to(0)
    index.clear()
    index.sync()
    index.sanity_check()
    index.moved(path)
    assert not os.path.exists(path)
    index.append(FIRST)
    assert os.path.getsize(path) == ENTRY_BYTES == 34
    index.close()


def test_the_bytes(path: str) -> None:
    filled(path, FIRST).close()
    assert Path(path).read_bytes() == bytes.fromhex(
        "0000 0000000000000007 000000000000005a 000000000000006e 000000000000006f"
    )


def test_reopening_reads_back_and_goes_on(path: str) -> None:
    filled(path, FIRST, SECOND).close()
    index = open_index(path)
    with pytest.raises(CorruptData, match="last offset 130 does not come after 130"):
        index.append(SECOND)
    index.append(THIRD)
    index.sync()
    assert index.all() == [FIRST, SECOND, THIRD]
    index.close()
    assert os.path.getsize(path) == 3 * 34


@pytest.mark.parametrize(
    ("fetch_offset", "upper_bound_offset", "found", "is_complete"),
    [
        (100, 111, [FIRST], True),  # the last stable offset 111 reaches the end of the range
        (100, 112, [FIRST], True),  # 120 does, but only at the second entry, which begins beyond the range
        (111, 112, [], True),  # ended before the range
        (110, 113, [FIRST, SECOND], True),  # the marker itself is still in the range
        (111, 120, [SECOND], True),
        (111, 121, [SECOND, THIRD], True),
        (131, 142, [THIRD], False),  # a transaction that ends in the next segment may have begun at 141
        (150, 160, [], False),
    ],
)
def test_collects_what_overlaps_and_knows_when_that_is_all(
    path: str, fetch_offset: int, upper_bound_offset: int, found: list[AbortedTransaction], is_complete: bool
) -> None:
    index = filled(path, FIRST, SECOND, THIRD)
    assert index.collect(fetch_offset, upper_bound_offset) == (found, is_complete)
    index.close()


def test_the_last_stable_offset_at_the_very_end_of_the_range_is_enough(path: str) -> None:
    index = filled(path, FIRST)
    assert index.collect(100, 111) == ([FIRST], True)
    assert index.collect(100, 112) == ([FIRST], False)
    index.close()


@st.composite
def histories(draw: st.DrawFn) -> list[AbortedTransaction]:
    """Transactions that open and abort as in a log: one offset each, so that no two share one."""
    open_since: dict[int, int] = {}
    aborted = []
    for offset, producer_id in enumerate(draw(st.lists(st.integers(0, 4), max_size=60)), start=BASE):
        if producer_id not in open_since:
            open_since[producer_id] = offset
        else:
            first_offset = open_since.pop(producer_id)
            last_stable_offset = min(open_since.values(), default=offset + 1)
            aborted.append(AbortedTransaction(producer_id, first_offset, offset, last_stable_offset))
    return aborted


@settings(max_examples=60)
@given(histories(), st.integers(BASE, BASE + 60), st.integers(0, 60), st.integers(BASE - 1, BASE + 62))
def test_agrees_with_a_plain_list(
    tmp_path_factory: pytest.TempPathFactory,
    history: list[AbortedTransaction],
    fetch_offset: int,
    length: int,
    cut: int,
) -> None:
    index = filled(str(tmp_path_factory.mktemp("index") / "x.txnindex"), *history)
    end = fetch_offset + length
    found, is_complete = index.collect(fetch_offset, end)
    # Stopping early must lose nothing.
    assert found == [
        aborted for aborted in history if aborted.last_offset >= fetch_offset and aborted.first_offset < end
    ]
    assert is_complete == any(aborted.last_stable_offset >= end for aborted in history)
    index.sanity_check()

    index.truncate_to(cut)
    kept = [aborted for aborted in history if aborted.last_offset < cut]
    assert index.all() == kept
    later = AbortedTransaction(1, BASE + 200, BASE + 210, BASE + 211)
    index.append(later)
    assert index.all() == [*kept, later]
    index.close()


def test_truncation_also_moves_back_what_may_be_appended(path: str) -> None:
    index = filled(path, FIRST, SECOND, THIRD)
    index.truncate_to(130)
    assert index.all() == [FIRST]
    assert os.path.getsize(path) == 34
    index.append(SECOND)
    index.clear()
    assert (index.all(), os.path.getsize(path)) == ([], 0)
    index.append(FIRST)
    assert index.all() == [FIRST]
    index.close()


def test_a_renamed_index_goes_on(path: str) -> None:
    index = filled(path, FIRST)
    os.rename(path, path + ".deleted")
    index.moved(path + ".deleted")
    index.append(SECOND)
    index.remove()
    assert os.listdir(os.path.dirname(path)) == []


def test_remove_and_close_are_final_and_need_no_file(path: str) -> None:
    index = open_index(path)
    index.remove()
    index.close()
    with pytest.raises(BrokenInvariant, match="after it was closed"):
        index.all()


def test_looking_creates_nothing(path: str) -> None:
    """SPEC L11: the dump tool reads the files of a Kafka that may be someone else's."""
    index = open_index(path, writable=False)
    assert index.all() == []
    with pytest.raises(BrokenInvariant, match="looked at only"):
        index.append(FIRST)
    index.close()
    filled(path, FIRST).close()
    index = open_index(path, writable=False)
    assert index.all() == [FIRST]
    with pytest.raises(OSError, match="Bad file descriptor"):
        index.append(SECOND)
    index.close()
    assert os.path.getsize(path) == 34


@pytest.mark.parametrize("torn_bytes", [1, 17, 33])
def test_a_torn_last_entry_is_told_and_read_around(path: str, torn_bytes: int) -> None:
    filled(path, FIRST, SECOND).close()
    os.truncate(path, 34 + torn_bytes)
    index = open_index(path)
    assert index.all() == [FIRST]
    assert index.collect(100, 200) == ([FIRST], False)
    with pytest.raises(CorruptData, match=f"{34 + torn_bytes} bytes are not whole entries of 34 bytes"):
        index.sanity_check()
    index.append(THIRD)  # lands on the torn entry, not behind it
    index.sanity_check()
    assert index.all() == [FIRST, THIRD]
    index.close()


DAMAGE = {
    "entry 0 has last offset 99, below the base, 100": [(0, 7, 90, 99, 100)],
    "entry 1 has last offset 110, which does not come after 110": [(0, *FIRST), (0, *FIRST)],
    "entry 0 goes from offset 111 to 110": [(0, 7, 111, 110, 111)],
    "entry 0 goes from offset -1 to 110": [(0, 7, -1, 110, 111)],
    "entry 1 has the unknown version 1": [(0, *FIRST), (1, *SECOND)],
}


@pytest.mark.parametrize("fault", DAMAGE)
def test_damage_is_found(path: str, fault: str) -> None:
    Path(path).write_bytes(b"".join(ENTRY.pack(*entry) for entry in DAMAGE[fault]))
    index = open_index(path)
    with pytest.raises(CorruptData, match=fault):
        index.sanity_check()
    assert list(index.check_all()) == [fault]
    index.close()


def test_entries_of_an_unknown_version_are_not_guessed_at(path: str) -> None:
    Path(path).write_bytes(ENTRY.pack(1, *FIRST))
    index = open_index(path)
    with pytest.raises(CorruptData, match="unknown version 1"):
        index.all()
    with pytest.raises(CorruptData, match="unknown version 1"):
        index.collect(0, 1000)
    index.close()


def test_every_fault_is_told_to_the_tool(path: str) -> None:
    Path(path).write_bytes(ENTRY.pack(0, *SECOND) + ENTRY.pack(0, *FIRST) + ENTRY.pack(3, *THIRD) + b"torn")
    index = open_index(path)
    assert list(index.check_all()) == [
        "the file's 106 bytes are not whole entries of 34 bytes",
        "entry 1 has last offset 110, which does not come after 130",
        "entry 2 has the unknown version 3",
    ]
    index.close()


@settings(max_examples=60)
@given(st.integers(0, 3_000), st.integers(0, 300))
def test_a_long_index_is_searched(fetch_offset: int, length: int) -> None:
    """As a short one is read: from the first transaction that ends in the range or after it."""
    index = LONG
    upper_bound_offset = fetch_offset + length
    found, is_complete = index.collect(fetch_offset, upper_bound_offset)
    everything = index.all()
    ends = [place for place, each in enumerate(everything) if each.last_stable_offset >= upper_bound_offset]
    read = everything[: ends[0] + 1] if ends else everything
    assert is_complete == bool(ends)
    assert found == [
        each for each in read if each.last_offset >= fetch_offset and each.first_offset < upper_bound_offset
    ]


def long_index() -> AbortedIndex:
    index = AbortedIndex(SimulatedDisk(), "/00000000000000000000.txnindex", 0)
    for number in range(900):
        index.append(AbortedTransaction(number % 5, 3 * number, 3 * number + 2, 3 * number + 3))
    return index


LONG = long_index()
