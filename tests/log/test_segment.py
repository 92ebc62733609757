"""One segment: opened late, indexed sparsely, its indexes rebuilt when they cannot be right (SPEC L1, L3-L5, L7)."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from struct import pack, pack_into, unpack_from

import pytest
from tests.log.making_logs import NOW, batch_of, sized_batch, timed_batch

from strandline.log.filesystem import RealFile, RealFileSystem
from strandline.log.lookup import max_timestamp_from
from strandline.log.scan import PEEK_BYTES
from strandline.log.segment import Segment
from strandline.log.segments import Segments
from strandline.model.failures import CorruptData
from strandline.model.settings import LogSettings
from strandline.records.batch import NO_TIMESTAMP, set_base_offset
from strandline.records.heads import head_of

SETTINGS = LogSettings(index_interval_bytes=100, segment_index_bytes=1200)
BASE = 1000
NAME = "00000000000000001000"


def fill(segment: Segment, *batches: bytearray) -> Segment:
    offset = segment.base_offset
    for batch in batches:
        set_base_offset(batch, offset)
        head = head_of(batch)
        segment.append([batch], [(len(batch), head.last_offset, head.max_timestamp)])
        offset = head.next_offset
    return segment


def closed_segment(folder: Path, count: int = 20) -> Segment:
    """`count` batches of two records; the files as a roll leaves them."""
    segment = fill(
        Segment.create(RealFileSystem(), str(folder), BASE, SETTINGS),
        *(batch_of("a", "b", timestamp=NOW + number) for number in range(count)),
    )
    segment.close()
    return found_segment(folder)


def found_segment(folder: Path) -> Segment:
    size = (folder / f"{NAME}.log").stat().st_size
    return Segment(RealFileSystem(), str(folder), BASE, SETTINGS, size_bytes=size)


def test_files_and_names(tmp_path: Path) -> None:
    """The file of aborted transactions is made when there is the first."""
    segment = Segment.create(RealFileSystem(), str(tmp_path), BASE, SETTINGS)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{NAME}.index", f"{NAME}.log", f"{NAME}.timeindex"]
    assert str(segment) == f"{NAME}.log"


def test_what_an_earlier_life_left_is_overwritten(tmp_path: Path) -> None:
    for kind in ("log", "index", "timeindex", "txnindex"):
        (tmp_path / f"{NAME}.{kind}").write_bytes(b"garbage of an earlier life" * 9)
    segment = fill(Segment.create(RealFileSystem(), str(tmp_path), BASE, SETTINGS), batch_of("a"))
    segment.close()
    assert (tmp_path / f"{NAME}.log").stat().st_size == segment.size_bytes
    assert (tmp_path / f"{NAME}.index").stat().st_size == 0
    assert not (tmp_path / f"{NAME}.txnindex").exists()


def test_nothing_is_opened_before_it_is_used(tmp_path: Path) -> None:
    closed_segment(tmp_path)
    for kind in ("log", "index", "timeindex"):
        (tmp_path / f"{NAME}.{kind}").rename(tmp_path / f"{kind}.aside")
    segment = Segment(RealFileSystem(), str(tmp_path), BASE, SETTINGS, size_bytes=5000)
    assert segment.size_bytes == 5000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index.aside", "log.aside", "timeindex.aside"]


def test_every_offset_is_found(tmp_path: Path) -> None:
    segment = closed_segment(tmp_path)
    size = segment.size_bytes // 20
    for offset in range(BASE, BASE + 40):
        assert segment.position_of(offset) == ((offset - BASE) // 2 * size, size)
    assert segment.position_of(BASE + 40) is None
    assert segment.position_of(0) == (0, size)


class TestBadIndexes:
    """Found on the first use, or on the look-up that would go wrong; the answer is right either way."""

    @pytest.mark.parametrize("kind", ["index", "timeindex"])
    @pytest.mark.parametrize(
        "damage",
        [
            lambda path: path.unlink(),
            lambda path: path.write_bytes(b""),
            lambda path: path.write_bytes(path.read_bytes()[:-1]),
            lambda path: path.write_bytes(bytes(len(path.read_bytes()))),
            lambda path: path.write_bytes(b"\xff" * len(path.read_bytes())),
            lambda path: path.write_bytes(path.read_bytes()[::-1]),
            lambda path: path.write_bytes(path.read_bytes() + bytes(1200)),
        ],
        ids=["lost", "empty", "torn", "zeros", "ones", "reversed", "not trimmed"],
    )
    def test_lookups_hold(self, tmp_path: Path, kind: str, damage: Callable[[Path], None]) -> None:
        segment = closed_segment(tmp_path)
        size = segment.size_bytes // 20
        damage(tmp_path / f"{NAME}.{kind}")
        segment = found_segment(tmp_path)
        for offset in range(BASE, BASE + 40):
            assert segment.position_of(offset) == ((offset - BASE) // 2 * size, size)

    def test_an_entry_amid_a_batch(self, tmp_path: Path) -> None:
        segment = closed_segment(tmp_path)
        good = (tmp_path / f"{NAME}.index").read_bytes()
        entries = [pack(">ii", 3 + 4 * number, 17 + 150 * number) for number in range(5)]
        (tmp_path / f"{NAME}.index").write_bytes(b"".join(entries))
        segment = found_segment(tmp_path)
        size = segment.size_bytes // 20
        for offset in range(BASE, BASE + 40):
            assert segment.position_of(offset) == ((offset - BASE) // 2 * size, size)
        segment.close()
        assert (tmp_path / f"{NAME}.index").read_bytes() == good  # rebuilt on the way

    def test_rebuilt_as_they_were_written(self, tmp_path: Path) -> None:
        segment = closed_segment(tmp_path)
        before = [(tmp_path / f"{NAME}.{kind}").read_bytes() for kind in ("index", "timeindex")]
        assert all(before)
        segment.rebuild_indexes()
        segment.close()
        assert [(tmp_path / f"{NAME}.{kind}").read_bytes() for kind in ("index", "timeindex")] == before

    def test_rot_in_the_log_itself_is_told(self, tmp_path: Path) -> None:
        segment = closed_segment(tmp_path)
        content = bytearray((tmp_path / f"{NAME}.log").read_bytes())
        size = len(content) // 20
        content[10 * size + 8 : 10 * size + 12] = bytes(4)  # the length of the eleventh batch
        (tmp_path / f"{NAME}.log").write_bytes(content)
        segment = found_segment(tmp_path)
        assert segment.position_of(BASE + 19) == (9 * size, size)
        with pytest.raises(CorruptData, match="no batch at position"):
            segment.position_of(BASE + 20)


class TestTimes:
    def test_largest_so_far(self, tmp_path: Path) -> None:
        segment = Segment.create(RealFileSystem(), str(tmp_path), BASE, SETTINGS)
        assert (segment.max_timestamp, segment.first_timestamp) == (NO_TIMESTAMP, NO_TIMESTAMP)
        fill(segment, timed_batch([50, 70]), timed_batch([60]), timed_batch([90]), timed_batch([20]))
        assert (segment.max_timestamp, segment.offset_of_max_timestamp) == (90, BASE + 3)
        assert segment.first_timestamp == 70
        segment.close()
        segment = found_segment(tmp_path)
        assert (segment.max_timestamp, segment.offset_of_max_timestamp) == (90, BASE + 3)
        assert segment.first_timestamp == 70

    def test_without_any_the_file_time_counts(self, tmp_path: Path) -> None:
        """SPEC C2."""
        segment = fill(Segment.create(RealFileSystem(), str(tmp_path), BASE, SETTINGS), timed_batch([NO_TIMESTAMP]))
        modified_ms = (tmp_path / f"{NAME}.log").stat().st_mtime_ns // 10**6
        assert segment.largest_timestamp_or_modified_ms() == modified_ms
        fill_more = timed_batch([77])
        set_base_offset(fill_more, BASE + 1)
        segment.append([fill_more], [(len(fill_more), BASE + 1, 77)])
        assert segment.largest_timestamp_or_modified_ms() == 77

    @pytest.mark.parametrize("offset", range(BASE, BASE + 41))
    def test_from_an_offset_on(self, tmp_path: Path, offset: int) -> None:
        segment = closed_segment(tmp_path)
        last = BASE + 39
        expected = NOW + 20 if offset <= last else NO_TIMESTAMP  # the last batch: NOW + 19 and a millisecond later
        assert max_timestamp_from(segment, offset) == expected


@pytest.mark.parametrize("offset", range(BASE, BASE + 41))
def test_truncation_at_every_offset(tmp_path: Path, offset: int) -> None:
    segment = closed_segment(tmp_path)
    size = segment.size_bytes // 20
    kept = (offset - BASE) // 2
    assert segment.truncate_to(offset) == (20 - kept) * size
    assert segment.size_bytes == kept * size == (tmp_path / f"{NAME}.log").stat().st_size
    assert segment.end() == (BASE + 2 * kept, kept * size)
    assert segment.max_timestamp == (NOW + kept if kept else NO_TIMESTAMP)
    for found in range(BASE, BASE + 2 * kept):
        assert segment.position_of(found) == ((found - BASE) // 2 * size, size)
    assert segment.position_of(BASE + 2 * kept) is None


def test_renamed_and_moved(tmp_path: Path) -> None:
    """An open segment goes on under its new name."""
    segment = closed_segment(tmp_path)
    assert segment.position_of(BASE) is not None
    segment.aborted.all()
    segment.change_suffix(".deleted")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"{NAME}.index.deleted",
        f"{NAME}.log.deleted",
        f"{NAME}.timeindex.deleted",
    ]
    assert segment.position_of(BASE + 30) is not None
    segment.remove_files()
    assert list(tmp_path.iterdir()) == []


def test_index_entries_fit_only_so_far() -> None:
    segment = Segment(RealFileSystem(), "/nowhere", BASE, SETTINGS)
    assert segment.fits_offset(BASE + 2**31 - 1)
    assert not segment.fits_offset(BASE + 2**31)
    assert not segment.fits_offset(BASE - 1)


class TestSegments:
    def make(self, *bases: int) -> Segments:
        return Segments(Segment(RealFileSystem(), "/nowhere", base, SETTINGS, size_bytes=base) for base in bases)

    def test_in_order_whatever_the_order_given(self) -> None:
        segments = self.make(50, 0, 100)
        assert segments.base_offsets == [0, 50, 100]
        assert segments.first.base_offset == 0
        assert segments.active.base_offset == 100
        assert segments.size_bytes == 150

    def test_finding(self) -> None:
        segments = self.make(10, 50, 100)
        assert [segments.holding(offset).base_offset for offset in (0, 10, 49, 50, 99, 100, 999)] == [
            10,
            10,
            10,
            50,
            50,
            100,
            100,
        ]
        assert [segment.base_offset for segment in segments.from_offset(50)] == [50, 100]
        assert [segment.base_offset for segment in segments.from_offset(0)] == [10, 50, 100]

    def test_a_picture_taken_before_a_change_stays(self) -> None:
        """SPEC C5: readers keep theirs and are never blocked."""
        segments = self.make(0, 50)
        before = segments.all()
        segments.add(Segment(RealFileSystem(), "/nowhere", 100, SETTINGS))
        segments.replace(before[:1], ())
        assert [segment.base_offset for segment in before] == [0, 50]
        assert segments.base_offsets == [50, 100]


def test_a_batch_larger_than_every_chunk(tmp_path: Path) -> None:
    segment = fill(
        Segment.create(RealFileSystem(), str(tmp_path), BASE, SETTINGS),
        sized_batch(3_000_000),
        batch_of("a"),
        sized_batch(2_000_000),
    )
    assert [len(batch) for _, batch in segment.batches()] == [3_000_000, segment.size_bytes - 5_000_000, 2_000_000]
    assert [head.base_offset for _, head in segment.heads()] == [BASE, BASE + 1, BASE + 2]
    assert segment.position_of(BASE + 2) == (segment.size_bytes - 2_000_000, 2_000_000)


class TestLargeBatches:
    """Index entries are far apart and each has its batch: the next one is looked at, not what lies before it."""

    SIZES = (20_000, 20_000, 150, 20_000, 9_000, 150, 150, 9_000, 20_000, 70_000, 20_000)

    def filled(self, folder: Path) -> tuple[Segment, list[tuple[int, int]]]:
        """Batches of one record and of five, by turns, and for each offset the place of its batch."""
        segment = Segment.create(RealFileSystem(), str(folder), BASE, SETTINGS)
        batches = [
            sized_batch(size) if number % 2 else batch_of(*["x" * (size // 5)] * 5)
            for number, size in enumerate(self.SIZES)
        ]
        fill(segment, *batches)
        places = [(at, head) for at, head in segment.heads() for _ in range(head.record_count)]
        return segment, [(at, head.size_bytes) for at, head in places]

    def test_every_offset_is_found(self, tmp_path: Path) -> None:
        segment, places = self.filled(tmp_path)
        assert [segment.position_of(BASE + number) for number in range(len(places))] == places
        assert segment.position_of(BASE + len(places)) is None

    def test_entries_that_are_wrong_are_not_believed(self, tmp_path: Path) -> None:
        segment, places = self.filled(tmp_path)
        segment.close()
        good = (tmp_path / f"{NAME}.index").read_bytes()
        for slot in range(len(good) // 8):
            for change in (-9, 1, 30_000, 2**31 - 2**20):
                entry = bytearray(good)
                offset, position = unpack_from(">ii", good, 8 * slot)
                pack_into(">ii", entry, 8 * slot, offset, max(0, position + change) % 2**31)
                (tmp_path / f"{NAME}.index").write_bytes(entry)
                segment = found_segment(tmp_path)
                assert [segment.position_of(BASE + number) for number in range(len(places))] == places
                segment.close()

    def test_a_reader_from_batch_to_batch_costs_one_short_read(self, tmp_path: Path) -> None:
        reads: list[tuple[int, int]] = []

        class CountedFile(RealFile):
            def read(self, position: int, length: int) -> bytes:
                reads.append((position, length))
                return super().read(position, length)

        class CountedFileSystem(RealFileSystem):
            def _file(self, path: str, descriptor: int) -> RealFile:
                return CountedFile(path, descriptor)

        segment = Segment.create(CountedFileSystem(), str(tmp_path), BASE, SETTINGS)
        fill(segment, *(batch_of("x" * 10_000, "y" * 10_000) for _ in range(8)))
        size = segment.size_bytes // 8
        for number in range(2, 8):
            reads.clear()
            assert segment.position_of(BASE + 2 * number) == (number * size, size)
            assert reads == [(number * size, PEEK_BYTES)]


MAPPING_DESCRIPTORS = 0 if sys.version_info >= (3, 13) else 1  # before, a mapping keeps a descriptor of its own
FINISHED = {".log": 1, ".index": MAPPING_DESCRIPTORS, ".timeindex": MAPPING_DESCRIPTORS}


def descriptors_in(folder: Path) -> Counter[str]:
    """By kind of file. The mappings themselves are none, unless they hold one."""
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    paths = [os.readlink(link) for link in links if os.path.lexists(link)]
    return Counter(os.path.splitext(path)[1] for path in paths if path.startswith(f"{folder}/"))


class TestDescriptors:
    """A broker has thousands of segments and a limit on open files."""

    def test_none_before_the_first_use(self, tmp_path: Path) -> None:
        closed_segment(tmp_path)
        assert descriptors_in(tmp_path) == {}

    def test_a_finished_segment_in_use_has_its_log_open_and_no_index(self, tmp_path: Path) -> None:
        segment = closed_segment(tmp_path)
        assert segment.position_of(BASE + 20) is not None
        assert segment.max_timestamp == NOW + 20
        assert segment.aborted.all() == []
        assert descriptors_in(tmp_path) == Counter(FINISHED)
        segment.sync()
        assert descriptors_in(tmp_path) == Counter(FINISHED)
        segment.forget()
        assert descriptors_in(tmp_path) == {}

    def test_a_rebuilt_index_is_let_go(self, tmp_path: Path) -> None:
        segment = closed_segment(tmp_path)
        (tmp_path / f"{NAME}.index").unlink()
        assert segment.position_of(BASE + 20) is not None
        assert descriptors_in(tmp_path) == Counter(FINISHED)

    def test_a_roll_lets_the_indexes_go(self, tmp_path: Path) -> None:
        segment = fill(Segment.create(RealFileSystem(), str(tmp_path), BASE, SETTINGS), batch_of("a"), batch_of("b"))
        preallocated = {kind: count + (kind != ".log") for kind, count in FINISHED.items()}
        assert descriptors_in(tmp_path) == preallocated
        segment.finish()
        empty = {kind: 0 for kind in FINISHED if (tmp_path / f"{NAME}{kind}").stat().st_size == 0}  # nothing to map
        assert descriptors_in(tmp_path) == Counter(FINISHED | empty)
