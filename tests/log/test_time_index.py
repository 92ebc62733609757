"""The time index (SPEC L5), against a plain list that looks at every entry."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strandline.log.filesystem import RealFileSystem
from strandline.log.time_index import TimeIndex
from strandline.model.failures import BrokenInvariant, CorruptData

BASE = 500


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "00000000000000000500.timeindex")


def open_index(path: str, max_bytes: int = 1200) -> TimeIndex:
    return TimeIndex(RealFileSystem(), path, BASE, max_bytes)


def filled(path: str, entries: list[tuple[int, int]], max_bytes: int = 1200) -> TimeIndex:
    index = open_index(path, max_bytes)
    for timestamp, offset in entries:
        index.maybe_append(timestamp, offset)
    return index


def write_entries(path: str, *entries: tuple[int, int]) -> None:
    """Timestamps and relative offsets, put into a file as they are."""
    Path(path).write_bytes(b"".join(struct.pack(">qi", *entry) for entry in entries))


# Zero steps are what a log with equal timestamps gives; forty times eighty entries leave the warm 8 KiB.
steps = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 50)), max_size=80)
repeated = st.sampled_from([1, 1, 40])


def entries_from(chosen: list[tuple[int, int]], repeat: int) -> list[tuple[int, int]]:
    entries, timestamp, offset = [], 1_700_000_000_000, BASE
    for timestamp_step, offset_step in chosen * repeat:
        timestamp, offset = timestamp + timestamp_step, offset + offset_step
        entries.append((timestamp, offset))
    return entries


def only_growing(entries: list[tuple[int, int]]) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for entry in entries:
        if not kept or entry[0] > kept[-1][0]:
            kept.append(entry)
    return kept


@settings(max_examples=60)
@given(steps, repeated, st.data())
def test_agrees_with_a_plain_list(
    tmp_path_factory: pytest.TempPathFactory,
    chosen: list[tuple[int, int]],
    repeat: int,
    data: st.DataObject,
) -> None:
    offered = entries_from(chosen, repeat)
    index = filled(str(tmp_path_factory.mktemp("index") / "x.timeindex"), offered, 60_000)
    entries = only_growing(offered)
    assert (index.entry_count, list(index.entries())) == (len(entries), entries)
    first, (last_timestamp, last_offset) = (entries[0], entries[-1]) if entries else ((0, 0), (0, BASE))
    assert index.last_entry == (entries[-1] if entries else (-1, BASE))

    for _ in range(10):
        asked = data.draw(st.integers(first[0] - 5, last_timestamp + 5))
        below = [entry for entry in entries if entry[0] <= asked]
        assert index.lookup(asked) == (below[-1] if below else (-1, BASE))

    cut = data.draw(st.integers(BASE - 5, last_offset + 5))
    index.truncate_to(cut)
    kept = [entry for entry in entries if entry[1] < cut]
    assert list(index.entries()) == kept
    assert index.last_entry == (kept[-1] if kept else (-1, BASE))
    index.maybe_append(last_timestamp + 10, last_offset + 10)
    assert list(index.entries()) == [*kept, (last_timestamp + 10, last_offset + 10)]
    index.close()


def test_the_bytes_are_a_timestamp_and_a_relative_offset(path: str) -> None:
    filled(path, [(1_700_000_000_000, 501), (1_700_000_000_255, 757)]).close()
    assert Path(path).read_bytes() == bytes.fromhex("0000018bcfe56800 00000001 0000018bcfe568ff 00000101")


def test_a_new_file_is_preallocated_in_whole_entries(path: str) -> None:
    """10 MiB are no multiple of 12: Kafka's file is 10485756 bytes long."""
    index = TimeIndex(RealFileSystem(), path, BASE)
    index.maybe_append(1, BASE)
    assert os.path.getsize(path) == 10485756
    index.close()
    assert os.path.getsize(path) == 12


def test_the_last_slot_is_kept_for_the_roll(path: str) -> None:
    index = filled(path, [(10, 501), (20, 502)], max_bytes=36)
    assert index.is_full
    index.maybe_append(30, 503)
    assert index.entry_count == 2
    index.maybe_append(30, 503, skip_full_check=True)
    assert index.last_entry == (30, 503)
    index.maybe_append(40, 504, skip_full_check=True)  # no slot is left at all
    assert list(index.entries()) == [(10, 501), (20, 502), (30, 503)]
    index.close()
    assert os.path.getsize(path) == 36


def test_the_entry_that_is_there_already_is_not_written_again(path: str) -> None:
    """A roll and a close each offer the greatest timestamp once more."""
    index = filled(path, [(10, 501), (10, 501), (10, 509)])
    assert list(index.entries()) == [(10, 501)]
    index.close()


def test_records_without_a_timestamp_leave_no_entry(path: str) -> None:
    index = filled(path, [(-1, 501), (-1, 502)])
    assert (index.entry_count, index.last_entry) == (0, (-1, BASE))
    index.maybe_append(0, 503)
    assert index.last_entry == (0, 503)
    index.close()


def test_neither_field_may_run_back(path: str) -> None:
    index = filled(path, [(10, 505)])
    with pytest.raises(CorruptData, match="offset 504 comes before 505"):
        index.maybe_append(20, 504)
    with pytest.raises(CorruptData, match="offset 504 comes before 505"):
        index.maybe_append(10, 504)
    with pytest.raises(BrokenInvariant, match="timestamp 9 is below 10"):
        index.maybe_append(9, 506)
    assert list(index.entries()) == [(10, 505)]
    index.maybe_append(11, 505)  # a greater timestamp at the same offset is none of our business
    assert index.entry_count == 2
    index.close()


@pytest.mark.parametrize("offset", [BASE - 1, BASE + 2**31])
def test_offsets_must_fit_31_bits_above_the_base(path: str, offset: int) -> None:
    index = open_index(path)
    with pytest.raises(BrokenInvariant, match="31 bits"):
        index.maybe_append(10, offset)
    index.maybe_append(10, BASE + 2**31 - 1)
    assert index.last_entry == (10, BASE + 2**31 - 1)
    index.close()


def test_reopening_finds_the_last_entry_and_can_go_on(path: str) -> None:
    filled(path, [(10, 501), (20, 502)]).close()
    index = open_index(path)
    assert (index.last_entry, index.is_full) == ((20, 502), True)
    index.prepare_for_append(1200)
    assert not index.is_full
    index.maybe_append(30, 503)
    index.sync()
    assert index.lookup(25) == (20, 502)
    index.clear()
    assert (index.last_entry, index.lookup(25)) == ((-1, BASE), (-1, BASE))
    index.close()
    assert os.path.getsize(path) == 0


def test_a_renamed_index_goes_on(path: str) -> None:
    index = filled(path, [(10, 501)])
    os.rename(path, path + ".deleted")
    index.moved(path + ".deleted")
    index.maybe_append(20, 502)
    index.trim()
    assert os.path.getsize(path + ".deleted") == 24
    index.close()


DAMAGE = {
    "timestamp 5, which is not above 10": [(10, 1), (5, 2)],
    "timestamp 0, which is not above 10": [(10, 1), (0, 0), (0, 0), (0, 0)],
    "timestamp 10, which is not above 10": [(10, 1), (10, 2)],
    "2 below the base, 500": [(10, 1), (20, -2)],
    "offset 501, which comes before 505": [(10, 5), (20, 1)],
}


@pytest.mark.parametrize("sentence", DAMAGE)
def test_damage_is_found_at_once(path: str, sentence: str) -> None:
    """SPEC L7: recovery rebuilds an index that fails this."""
    write_entries(path, *DAMAGE[sentence])
    index = open_index(path)
    with pytest.raises(CorruptData, match=sentence):
        index.sanity_check()
    assert any(sentence in fault for fault in index.check_all())
    index.close()


@pytest.mark.parametrize("file_bytes", [1, 11, 13, 25])
def test_a_torn_file_opens_and_is_called_corrupt(path: str, file_bytes: int) -> None:
    write_entries(path, (10, 1), (20, 2), (30, 3))
    os.truncate(path, file_bytes)
    index = open_index(path)
    assert index.entry_count == file_bytes // 12
    with pytest.raises(CorruptData, match="not whole entries of 12 bytes"):
        index.sanity_check()
    index.close()


def test_the_hole_that_a_crash_leaves_behind_is_found(path: str) -> None:
    filled(path, [(10, 501), (20, 502)]).close(trim=False)
    index = open_index(path)
    with pytest.raises(CorruptData, match="not above"):
        index.sanity_check()
    index.close()


def test_every_fault_is_told_to_the_tool(path: str) -> None:
    write_entries(path, (10, 1), (9, 2), (30, 1), (40, 4), (50, 5))
    index = open_index(path)
    assert list(index.check_all()) == [
        "entry 1 has timestamp 9, which is not above 10",
        "entry 2 has offset 501, which comes before 502",
    ]
    index.close()
