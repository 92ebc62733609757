"""The offset index (SPEC L4), against a plain list that looks at every entry."""

from __future__ import annotations

import errno
import os
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strandline.log.filesystem import RealFile, RealFileSystem
from strandline.log.mapped_index import DEFAULT_MAX_BYTES
from strandline.log.offset_index import OffsetIndex
from strandline.model.failures import BrokenInvariant, CorruptData

BASE = 1000
LOG_BYTES = 1 << 20


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "00000000000000001000.index")


def open_index(path: str, max_bytes: int = 800, *, writable: bool = True) -> OffsetIndex:
    return OffsetIndex(RealFileSystem(), path, BASE, max_bytes, writable=writable)


def filled(path: str, entries: list[tuple[int, int]], max_bytes: int = 800) -> OffsetIndex:
    index = open_index(path, max_bytes)
    for offset, position in entries:
        index.append(offset, position)
    return index


def write_entries(path: str, *entries: tuple[int, int]) -> None:
    """Relative offsets and positions, put into a file as they are."""
    Path(path).write_bytes(b"".join(struct.pack(">ii", *entry) for entry in entries))


def mappings_of(path: str) -> int:
    return Path("/proc/self/maps").read_text().count(path)


# Steps between entries, so that they ascend; enough of them to leave the warm 8 KiB, which are 1,024 entries.
steps = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 5000)), max_size=80)
repeated = st.sampled_from([1, 1, 40])


def entries_from(chosen: list[tuple[int, int]], repeat: int) -> list[tuple[int, int]]:
    entries, offset, position = [], BASE - 1, -1
    for offset_step, position_step in chosen * repeat:
        offset, position = offset + offset_step, position + position_step
        entries.append((offset, position))
    return entries


@settings(max_examples=60)
@given(steps, repeated, st.data())
def test_agrees_with_a_plain_list(
    tmp_path_factory: pytest.TempPathFactory,
    chosen: list[tuple[int, int]],
    repeat: int,
    data: st.DataObject,
) -> None:
    entries = entries_from(chosen, repeat)
    index = filled(str(tmp_path_factory.mktemp("index") / "x.index"), entries, 40_000)
    last_offset, last_position = entries[-1] if entries else (BASE, 0)
    assert (index.entry_count, list(index.entries())) == (len(entries), entries)
    assert index.last_offset == last_offset

    for _ in range(10):
        asked = data.draw(st.integers(BASE - 5, last_offset + 5))
        below = [entry for entry in entries if entry[0] <= asked]
        found = below[-1] if below else (BASE, 0)
        assert index.lookup(asked) == found
        following = entries[len(below)] if 0 < len(below) < len(entries) else found
        assert index.lookup_around(asked) == (*found, *following)

        start, length = data.draw(st.integers(0, last_position + 5)), data.draw(st.integers(0, 9000))
        beyond = [entry for entry in entries if entry[1] >= start + length]
        assert index.lookup_upper_bound(start, length) == (beyond[0] if beyond else None)

    cut = data.draw(st.integers(BASE - 5, last_offset + 5))
    index.truncate_to(cut)
    kept = [entry for entry in entries if entry[0] < cut]
    assert list(index.entries()) == kept
    assert index.last_offset == (kept[-1][0] if kept else BASE)
    index.append(last_offset + 10, last_position + 10)
    assert list(index.entries()) == [*kept, (last_offset + 10, last_position + 10)]
    index.close()


@pytest.mark.parametrize("count", [1023, 1024, 1025, 1026, 1100])
def test_no_entry_is_lost_where_the_warm_end_begins(path: str, count: int) -> None:
    index = filled(path, [(BASE + 2 * n, 10 * n) for n in range(count)], 10_000)
    for n in range(count):
        expected = (BASE + 2 * n, 10 * n)
        assert (index.lookup(BASE + 2 * n), index.lookup(BASE + 2 * n + 1)) == (expected, expected)
        assert index.lookup_upper_bound(10 * n - 9, 9) == expected
    index.close()


def test_the_bytes_are_big_endian_pairs(path: str) -> None:
    index = filled(path, [(1001, 4100), (1256, 70000)])
    index.close()
    assert Path(path).read_bytes() == bytes.fromhex("00000001 00001004 00000100 00011170")


def test_a_new_file_is_preallocated_and_trimmed_to_its_entries(path: str) -> None:
    index = OffsetIndex(RealFileSystem(), path, BASE)
    assert not os.path.exists(path)  # nothing is touched before it is used
    index.append(1001, 10)
    found = os.stat(path)
    assert found.st_size == DEFAULT_MAX_BYTES == 10485760
    assert found.st_blocks * 512 < 65536  # a hole
    index.trim()
    assert os.path.getsize(path) == 8
    assert index.lookup(5000) == (1001, 10)
    assert index.is_full
    index.close()


@pytest.mark.parametrize(("max_bytes", "file_bytes"), [(80, 80), (87, 80), (88, 88), (15, 8), (7, 0)])
def test_the_limit_is_rounded_down_to_whole_entries(path: str, max_bytes: int, file_bytes: int) -> None:
    index = open_index(path, max_bytes)
    assert index.is_full == (file_bytes == 0)
    assert os.path.getsize(path) == file_bytes
    index.close()


def test_a_file_found_is_taken_to_be_full_until_it_is_prepared(path: str) -> None:
    filled(path, [(1001, 10), (1002, 20)]).close()
    index = open_index(path)
    assert (index.entry_count, index.is_full, index.last_offset) == (2, True, 1002)
    assert os.path.getsize(path) == 16
    with pytest.raises(BrokenInvariant, match="full with 2 entries"):
        index.append(1003, 30)
    index.prepare_for_append(803)
    assert (os.path.getsize(path), index.is_full) == (800, False)
    index.append(1003, 30)
    assert list(index.entries()) == [(1001, 10), (1002, 20), (1003, 30)]
    index.close()
    assert os.path.getsize(path) == 24


def test_preparing_for_less_than_it_holds_keeps_what_it_holds(path: str) -> None:
    filled(path, [(1001, 10), (1002, 20)]).close()
    index = open_index(path)
    index.prepare_for_append(8)
    assert list(index.entries()) == [(1001, 10), (1002, 20)]
    assert index.is_full
    index.close()


def test_it_is_full_at_its_last_slot(path: str) -> None:
    index = filled(path, [(1001, 10), (1002, 20)], max_bytes=24)
    assert not index.is_full
    index.append(1003, 30)
    assert index.is_full
    with pytest.raises(BrokenInvariant, match="full with 3 entries"):
        index.append(1004, 40)
    assert index.entry_count == 3
    index.close()


def test_offsets_must_ascend(path: str) -> None:
    index = filled(path, [(BASE, 0), (1005, 10)])  # the base offset itself may come first
    for offset in (1005, 1004, BASE):
        with pytest.raises(CorruptData, match=f"offset {offset} does not come after 1005"):
            index.append(offset, 20)
    assert index.entry_count == 2
    index.close()


def test_offsets_must_fit_31_bits_above_the_base(path: str) -> None:
    index = open_index(path)
    edge = BASE + 2**31 - 1
    assert [index.can_append_offset(offset) for offset in (BASE - 1, BASE, edge, edge + 1)] == [
        False,
        True,
        True,
        False,
    ]
    for offset in (BASE - 1, edge + 1):
        with pytest.raises(BrokenInvariant, match="31 bits"):
            index.append(offset, 1)
    index.append(edge, 1)
    assert index.lookup(edge + 5) == (edge, 1)
    index.close()


def test_clear_starts_again_without_giving_up_the_room(path: str) -> None:
    index = filled(path, [(1001, 10), (1002, 20)])
    index.clear()
    assert (index.entry_count, index.last_offset, index.lookup(1002)) == (0, BASE, (BASE, 0))
    assert os.path.getsize(path) == 800
    index.append(BASE, 0)
    index.close()
    assert Path(path).read_bytes() == bytes(8)


def test_an_empty_index_survives_trim_and_reopening(path: str) -> None:
    """A file of no bytes cannot be mapped."""
    index = open_index(path)
    index.trim()
    assert os.path.getsize(path) == 0
    index.close()
    index = open_index(path)
    assert (index.entry_count, index.lookup(1500), index.lookup_upper_bound(0, 10)) == (0, (BASE, 0), None)
    assert list(index.entries()) == []
    index.sanity_check(0)
    index.prepare_for_append(80)
    index.append(1001, 1)
    index.close()
    assert os.path.getsize(path) == 8


def test_close_without_trimming_leaves_the_file_alone(path: str) -> None:
    index = filled(path, [(1001, 10)])
    index.close(trim=False)
    assert os.path.getsize(path) == 800


def test_close_gives_back_mapping_and_descriptors_and_is_final(path: str) -> None:
    descriptors = len(os.listdir("/proc/self/fd"))
    index = filled(path, [(1001, 10)])
    assert mappings_of(path) == 1
    index.close()
    index.close()
    assert mappings_of(path) == 0
    assert len(os.listdir("/proc/self/fd")) == descriptors
    with pytest.raises(BrokenInvariant, match="after it was closed"):
        index.lookup(1001)


class RigidDisk(RealFileSystem):
    """As the simulated disk: a file cannot be resized while someone holds its mapping or a part of it."""

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> RealFile:
        file = super().open(path, create=create, writable=writable)
        return RigidFile(path, os.dup(file.fileno()))


class RigidFile(RealFile):
    __slots__ = ("_mapped",)

    def map(self, length: int) -> Any:
        self._mapped = super().map(length)
        return memoryview(self._mapped)

    def truncate(self, size: int) -> None:
        if hasattr(self, "_mapped"):
            self._mapped.close()  # `BufferError` if it is held
        super().truncate(size)


def test_no_part_of_a_mapping_is_held_while_the_file_is_resized(path: str) -> None:
    index = OffsetIndex(RigidDisk(), path, BASE, 800)
    index.append(1001, 10)
    index.append(1002, 20)
    begun = index.entries()
    assert next(begun) == (1001, 10)
    try:
        index.sanity_check(15)
    except CorruptData:  # as recovery does, with the traceback still alive
        index.trim()
        index.prepare_for_append(80)
    assert os.path.getsize(path) == 80
    assert next(begun) == (1002, 20)
    index.close()
    assert os.path.getsize(path) == 16


class FailedDisk(RealFileSystem):
    """Opens files that cannot be resized."""

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> RealFile:
        file = super().open(path, create=create, writable=writable)
        return UnresizableFile(path, os.dup(file.fileno()))


class UnresizableFile(RealFile):
    __slots__ = ()

    def truncate(self, size: int) -> None:
        raise OSError(errno.EIO, f"will not be resized to {size} bytes", self.path)


def test_a_disk_that_fails_costs_no_descriptor(path: str) -> None:
    """SPEC L10: the directory goes offline, the broker goes on."""
    descriptors = len(os.listdir("/proc/self/fd"))
    index = OffsetIndex(FailedDisk(), path, BASE)
    with pytest.raises(OSError, match="will not be resized"):
        index.append(1001, 10)
    assert len(os.listdir("/proc/self/fd")) == descriptors

    write_entries(path, (1, 10), (2, 20))
    index = OffsetIndex(FailedDisk(), path, BASE)
    index.truncate_to(1002)
    with pytest.raises(OSError, match="will not be resized"):
        index.trim()
    assert index.lookup(1005) == (1001, 10)  # what is mapped can still be read
    with pytest.raises(OSError, match="will not be resized"):
        index.close()
    assert len(os.listdir("/proc/self/fd")) == descriptors
    index.close()


def test_an_index_that_was_never_used_makes_no_file(path: str) -> None:
    index = open_index(path)
    index.sync()
    index.close()
    assert not os.path.exists(path)


def test_an_open_index_goes_on_after_a_rename(path: str) -> None:
    index = filled(path, [(1001, 10)])
    os.rename(path, path + ".deleted")
    index.moved(path + ".deleted")
    index.append(1002, 20)
    index.sync()
    index.close()
    assert not os.path.exists(path)
    assert os.path.getsize(path + ".deleted") == 16


def test_an_unopened_index_follows_a_rename(path: str) -> None:
    filled(path, [(1001, 10)]).close()
    index = open_index(path)
    os.rename(path, path + ".swap")
    index.moved(path + ".swap")
    assert index.last_offset == 1001
    index.close()


def test_looking_creates_and_changes_nothing(path: str) -> None:
    """SPEC L11: the dump tool reads the files of a Kafka that may be someone else's."""
    absent = open_index(path, writable=False)
    assert list(absent.entries()) == []
    absent.close()
    assert not os.path.exists(path)

    write_entries(path, (1, 10), (2, 20))
    os.chmod(path, 0o444)
    index = open_index(path, writable=False)
    assert list(index.entries()) == [(1001, 10), (1002, 20)]
    for change in (index.trim, lambda: index.prepare_for_append(80), lambda: index.append(1003, 30)):
        with pytest.raises(BrokenInvariant):
            change()
    index.close()
    assert os.path.getsize(path) == 16


def test_entry_knows_its_bounds(path: str) -> None:
    index = filled(path, [(1001, 10)])
    assert index.entry(0) == (1001, 10)
    for slot in (-1, 1):
        with pytest.raises(BrokenInvariant, match=f"no entry {slot}"):
            index.entry(slot)
    index.close()


DAMAGE = {
    "outside the log of 30 bytes": [(1, 10), (2, 30)],
    "position -1, outside": [(1, -1)],
    "3 below the base, 1000": [(1, 10), (-3, 20)],
    "offset 1000, which does not come after 1005": [(5, 10), (0, 0), (0, 0)],
    "offset 1002, which does not come after 1002": [(1, 1), (2, 5), (2, 20)],
    "position 10, which does not come after 10": [(1, 10), (2, 10)],
}


@pytest.mark.parametrize("sentence", DAMAGE)
def test_damage_is_found_at_once(path: str, sentence: str) -> None:
    """SPEC L7: recovery rebuilds an index that fails this."""
    write_entries(path, *DAMAGE[sentence])
    index = open_index(path)
    with pytest.raises(CorruptData, match=sentence) as raised:
        index.sanity_check(30)
    assert str(raised.value).startswith(path)
    assert any(sentence in fault for fault in index.check_all(30))
    index.close()


def test_the_hole_that_a_crash_leaves_behind_is_found(path: str) -> None:
    filled(path, [(1001, 10), (1002, 20)]).close(trim=False)
    index = open_index(path)
    assert index.entry_count == 100
    with pytest.raises(CorruptData, match="does not come after"):
        index.sanity_check(LOG_BYTES)
    index.close()


@pytest.mark.parametrize("file_bytes", [1, 7, 9, 15, 23])
def test_a_torn_file_opens_and_is_called_corrupt(path: str, file_bytes: int) -> None:
    write_entries(path, (1, 10), (2, 20), (3, 30))
    os.truncate(path, file_bytes)
    index = open_index(path)
    assert index.entry_count == file_bytes // 8
    with pytest.raises(CorruptData, match=f"{file_bytes} bytes are not whole entries of 8 bytes"):
        index.sanity_check(LOG_BYTES)
    assert len(list(index.check_all(LOG_BYTES))) == 1
    index.clear()
    index.prepare_for_append(80)
    index.sanity_check(LOG_BYTES)
    index.close()


def test_every_fault_is_told_to_the_tool(path: str) -> None:
    write_entries(path, (1, 10), (5, 50), (3, 60), (4, 40), (9, 99), (10, 100))
    index = open_index(path)
    index.sanity_check(101)  # first, middle and last are in order
    assert list(index.check_all(100)) == [
        "entry 2 has offset 1003, which does not come after 1005",
        "entry 3 has position 40, which does not come after 60",
        "entry 5 has position 100, outside the log of 100 bytes",
    ]
    index.close()


def test_zeros_behind_the_entries_are_room_when_an_index_is_only_looked_at(path: str) -> None:
    """A running broker's index, or a killed one's, is as long as it was allocated."""
    filled(path, [(BASE + 1, 256), (BASE + 256, 512)])
    looked_at = open_index(path, writable=False)
    assert looked_at.entry_count == 100
    looked_at.forget_zeros()
    assert list(looked_at.entries()) == [(BASE + 1, 256), (BASE + 256, 512)]
    assert list(looked_at.check_all(LOG_BYTES)) == []
    with pytest.raises(BrokenInvariant):
        open_index(path).forget_zeros()
