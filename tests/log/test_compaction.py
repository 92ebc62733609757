"""Compaction of one log: which records stay, and what becomes of their batches (SPEC C6)."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from tests.log.compaction_scenes import DELETE_RETENTION_MS, NOW, ONE_KEY, Producer, Scene, map_bytes_for

from strandline.log.compaction_groups import CompactionSource, group_sources
from strandline.log.offset_map import short_key
from strandline.log.segment import Segment
from strandline.model.settings import CleanerSettings, LogSettings
from strandline.records import walk
from strandline.records.builder import build_batch, encode_records, seal_batch
from strandline.records.compression import Codec
from strandline.records.heads import head_of
from strandline.records.legacy import build_legacy
from strandline.records.record import Record
from strandline.simulation.disk import SimulatedDisk


def test_of_each_key_the_newest_record_stays_with_its_offset_and_timestamp() -> None:
    scene = Scene()
    scene.write(("a", "1"), ("b", "1"), ("c", "1"))
    scene.now += 10
    scene.write(("a", "2"), ("b", "2"))
    scene.roll()
    scene.clean()
    assert scene.pairs() == [(2, "c", "1"), (3, "a", "2"), (4, "b", "2")]
    assert [record.timestamp for record in scene.records()] == [NOW + 2, NOW + 10, NOW + 11]
    assert scene.first_dirty_offset == 5


def test_the_active_segment_is_not_touched() -> None:
    scene = Scene()
    scene.write(("a", "1"))
    scene.roll()
    scene.write(("a", "2"), ("a", "3"))
    scene.clean()
    assert scene.pairs() == [(0, "a", "1"), (1, "a", "2"), (2, "a", "3")]
    assert scene.first_dirty_offset == 1


def test_a_clean_part_is_judged_by_the_dirty_part_alone() -> None:
    scene = Scene()
    scene.write(("a", "1"), ("b", "1"))
    scene.roll()
    scene.clean()
    scene.write(("a", "2"))
    scene.roll()
    compaction = scene.clean()
    assert compaction is not None
    assert compaction.counts.map_keys == 1
    assert scene.pairs() == [(1, "b", "1"), (2, "a", "2")]


def test_a_batch_that_stays_whole_stays_byte_for_byte() -> None:
    scene = Scene()
    scene.write(("a", "1"), ("b", "1"), codec=Codec.GZIP)
    scene.write(("c", "1"))
    before = list(scene.batches())
    scene.roll()
    scene.clean()
    assert list(scene.batches()) == before


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("is_pure", [False, True])
def test_a_batch_that_loses_records_keeps_its_head_and_its_codec(codec: Codec, is_pure: bool) -> None:
    scene = Scene()
    long_key = "long" * 20
    scene.write(
        ("a", "1"), (long_key, "1"), ("b", "x" * 300), ("c", None), ("a", "2"), codec=codec, delete_horizon_ms=NOW + 9
    )
    scene.write(("b", "2"))
    before = scene.head_at(0)
    assert before is not None
    scene.roll()
    with patch.object(walk, "IS_COMPILED", walk.IS_COMPILED and not is_pure):
        scene.clean()
    after = scene.head_at(0)
    assert after is not None
    rewritten = dict.fromkeys(("batch_length", "crc", "max_timestamp", "record_count"), 0)
    assert after._replace(**rewritten) == before._replace(**rewritten)
    assert (after.codec, after.record_count, after.max_timestamp) == (codec, 3, NOW + 4)
    assert scene.pairs() == [(1, long_key, "1"), (3, "c", None), (4, "a", "2"), (5, "b", "2")]
    assert [record.timestamp for record in scene.records()][:3] == [NOW + 1, NOW + 3, NOW + 4]


def test_headers_and_raw_bytes_survive() -> None:
    scene = Scene()
    odd = Record(1, NOW, b"k\xff", b"", (("h\udcfe", None), ("", b"v")))
    scene.append(build_batch([Record(0, NOW, b"a", b"1"), odd, Record(2, NOW, b"a", b"2")]))
    scene.roll()
    scene.clean()
    assert scene.records() == [odd, Record(2, NOW, b"a", b"2")]


def test_keys_of_any_length_are_told_apart() -> None:
    """A key that is the digest of another is still another key."""
    scene = Scene()
    long_key = b"k" * 500
    keys = [b"", b"k" * 31, b"k" * 32, long_key, short_key(long_key)]
    records = [Record(index, NOW, key, b"1") for index, key in enumerate(keys)]
    scene.append(build_batch(records))
    scene.append(build_batch([Record(0, NOW, long_key, b"2")]))
    scene.roll()
    scene.clean()
    assert [(record.key, record.value) for record in scene.records()] == [
        (key, b"1") for key in keys if key != long_key
    ] + [(long_key, b"2")]


def test_records_without_a_key_go() -> None:
    """From before the topic was compacted; there is no newest of them."""
    scene = Scene()
    scene.write((None, "1"), ("a", "1"), (None, None))
    scene.write((None, "2"))
    scene.write(("b", "1"))
    scene.roll()
    scene.clean()
    assert scene.pairs() == [(1, "a", "1"), (4, "b", "1")]


def test_records_without_a_key_stay_where_the_map_does_not_reach() -> None:
    scene = Scene()
    scene.write((None, "1"), ("a", "1"), ("b", "1"), (None, "2"))
    scene.roll()
    scene.clean(ONE_KEY)
    assert scene.first_dirty_offset == 2
    assert scene.pairs() == [(1, "a", "1"), (2, "b", "1"), (3, None, "2")]


def test_log_append_time_is_kept() -> None:
    scene = Scene(message_timestamp_type="LogAppendTime")
    scene.write(("a", "1"), ("b", None), ("a", "2"))
    scene.now += 5
    scene.write(("a", "3"), ("c", "1"))
    scene.roll()
    scene.now += 100
    scene.clean()
    assert [(record.offset, record.timestamp) for record in scene.records()] == [(1, NOW), (3, NOW + 5), (4, NOW + 5)]


# Tombstones.


def test_kafka_8522_a_tombstone_lives_for_its_time_after_the_first_cleaning() -> None:
    """reliability row 45, KIP-534: the moment is stored in the batch, so neither time nor restarts lose it."""
    scene = Scene()
    scene.write(("a", "1"))
    scene.write(("b", "1"), ("a", None), ("c", "1"))
    scene.now += 50_000
    scene.roll_and_clean()
    expected = [(1, "b", "1"), (2, "a", None), (3, "c", "1")]
    horizon_ms = scene.now + DELETE_RETENTION_MS
    head = scene.head_at(1)
    assert head is not None
    assert (head.delete_horizon_ms, head.max_timestamp) == (horizon_ms, NOW + 2)
    assert [record.timestamp for record in scene.records()] == [NOW, NOW + 1, NOW + 2]
    for wait_ms in (1, DELETE_RETENTION_MS - 2):
        scene.now += wait_ms
        scene.reopen()
        scene.roll_and_clean()
        assert scene.pairs() == expected
        head = scene.head_at(1)
        assert head is not None
        assert head.delete_horizon_ms == horizon_ms, "cleaning again does not prolong it"
    scene.now += 1
    scene.roll_and_clean()
    assert scene.pairs() == [(1, "b", "1"), (3, "c", "1")]
    assert [record.timestamp for record in scene.records()] == [NOW, NOW + 2]


def test_a_tombstone_goes_at_once_when_a_newer_value_comes() -> None:
    scene = Scene()
    scene.write(("a", None))
    scene.roll_and_clean()
    scene.write(("a", "2"))
    scene.roll_and_clean()
    assert scene.pairs() == [(1, "a", "2")]


def test_the_clock_of_a_tombstone_starts_only_when_the_map_covers_its_batch() -> None:
    scene = Scene()
    scene.write(("a", None), ("b", None))
    scene.roll()
    scene.clean(ONE_KEY)
    head = scene.head_at(0)
    assert head is not None
    assert (scene.first_dirty_offset, head.delete_horizon_ms) == (1, None)
    scene.now += 10 * DELETE_RETENTION_MS
    scene.clean(ONE_KEY)
    assert scene.pairs() == [(0, "a", None), (1, "b", None)]


def test_a_tombstone_that_the_map_does_not_cover_stays_though_its_time_has_come() -> None:
    """Kafka starts the clock for such ones too. What it deletes is still there: without it, that would come back."""
    scene = Scene()
    scene.write(("a", "1"))
    scene.write(("b", "1"), ("a", None), delete_horizon_ms=NOW - 1)
    scene.roll()
    scene.clean(ONE_KEY)
    assert scene.first_dirty_offset == 1
    assert scene.table() == {"b": "1"}
    scene.clean(ONE_KEY)
    scene.clean(ONE_KEY)
    assert scene.pairs() == [(1, "b", "1")]


@pytest.mark.parametrize("timestamp", [-(2**63), -(2**62), -1, 0])
def test_any_timestamp_beside_a_tombstone_can_be_cleaned(timestamp: int) -> None:
    """A client may send any; the distance to the horizon need not fit in 64 bits."""
    scene = Scene(delete_retention_ms=2**63 - 1)
    scene.replicate(build_batch([Record(0, timestamp, b"a", b"1"), Record(1, timestamp + 1, b"a", None)]))
    scene.roll_and_clean()
    assert scene.records() == [Record(1, timestamp + 1, b"a", None)]
    scene.roll_and_clean()
    assert scene.records() == [Record(1, timestamp + 1, b"a", None)]


@pytest.mark.parametrize("base_timestamp", [2**63 - 1, -(2**63)])
@pytest.mark.parametrize("value", [b"1", None])
def test_timestamps_beyond_64_bits_do_not_stop_a_cleaning(base_timestamp: int, value: bytes | None) -> None:
    """A topic that was not compacted when it came has taken any."""
    delta = 5 if base_timestamp > 0 else -5
    records = [Record(index, delta, key, value) for index, key in enumerate((b"a", b"b"))]
    scene = Scene()
    scene.replicate(
        seal_batch(
            encode_records(records, 0, 0),
            base_offset=0,
            last_offset_delta=1,
            base_timestamp=base_timestamp,
            max_timestamp=NOW,
            record_count=2,
        )
    )
    scene.write(("a", "2"))
    scene.roll_and_clean()
    assert [(head.base_offset, head.record_count) for head in scene.heads()] == [(0, 1), (2, 1)]


# Segments.


def test_small_neighbours_become_one_segment_and_their_snapshots_go() -> None:
    scene = Scene()
    for number in range(6):
        scene.write(("a", str(number)), ("b" + str(number), "1"))
        scene.roll()
    assert scene.base_offsets() == [0, 2, 4, 6, 8, 10, 12]
    scene.clean()
    assert scene.base_offsets() == [0, 12]
    assert scene.log.snapshots.offsets() == [12]
    assert scene.names(".cleaned", ".swap") == []
    scene.log.deletions.remove_due(scene.now + scene.settings.file_delete_delay_ms)
    assert scene.names(".deleted") == []
    assert scene.names(".log") == ["00000000000000000000.log", "00000000000000000012.log"]


def test_a_reader_of_an_old_segment_reads_on() -> None:
    scene = Scene()
    scene.write(("a", "1"))
    scene.write(("a", "2"))
    scene.roll()
    held = scene.log.read(0, 10_000)
    before = held.read()
    scene.clean()
    scene.log.deletions.remove_due(scene.now + scene.settings.file_delete_delay_ms)
    assert held.read() == before


def source(base_offset: int, end_offset: int, size_bytes: int, index_bytes: int = 0) -> CompactionSource:
    segment = Segment(SimulatedDisk(), "/", base_offset, LogSettings())
    return CompactionSource(segment, "", base_offset, end_offset, size_bytes, index_bytes)


def test_groups_fit_a_segment_by_size_by_index_and_by_offsets() -> None:
    """KAFKA-6264: sparse offsets must fit 31 bits. An empty segment fits anywhere."""
    settings = LogSettings(segment_bytes=100, segment_index_bytes=80)
    sources = [
        source(0, 10, 60),
        source(10, 20, 40),
        source(20, 30, 1),
        source(30, 40, 200),
        source(40, 50, 10, 80),
        source(50, 60, 10, 8),
        source(60, 2**31 + 50, 10),
        source(2**31 + 50, 2**31 + 51, 10),
        source(2**31 + 51, 2**33, 0),
        source(2**33, 2**33 + 1, 10),
    ]
    groups = [[each.base_offset for each in group] for group in group_sources(sources, settings)]
    assert groups == [
        [0, 10],
        [20],
        [30],
        [40],
        [50, 60],
        [2**31 + 50, 2**31 + 51],
        [2**33],
    ]


def test_kafka_6264_offsets_far_apart_stay_readable() -> None:
    scene = Scene()
    for base_offset in (0, 2**31 - 2, 2**31, 2**32 + 5):
        data = build_batch([Record(base_offset, NOW, b"k%d" % base_offset, b"v")])
        scene.log.append_replicated(data, now_ms=NOW)
        scene.roll()
    scene.clean()
    assert [record.offset for record in scene.records()] == [0, 2**31 - 2, 2**31, 2**32 + 5]
    for record in scene.records():
        assert head_of(scene.log.read(record.offset, 10_000).read()).base_offset == record.offset


def test_empty_segments_amid_a_log_are_no_trouble() -> None:
    scene = Scene()
    scene.write(("a", "1"))
    scene.roll()
    scene.log.log_end_offset = 5
    scene.log.roll(NOW)
    scene.log.log_end_offset = 9
    scene.log.roll(NOW)
    scene.write(("a", "2"))
    scene.roll()
    scene.clean()
    assert scene.pairs() == [(9, "a", "2")]
    scene.reopen()
    assert scene.pairs() == [(9, "a", "2")]


def test_kafka_17076_the_end_of_what_was_cleaned_is_not_lost() -> None:
    """reliability row 41: with nothing left in it, the last batch of a segment stays as a bare head."""
    scene = Scene(segment_bytes=200)
    for number in range(6):
        scene.write(("a", str(number)), ("b", str(number)), codec=Codec.ZSTD)
    scene.roll()
    scene.clean()
    assert scene.pairs() == [(10, "a", "5"), (11, "b", "5")]
    ends = [segment.end()[0] for segment in scene.log.segments.all()[:-1]]
    assert ends == scene.base_offsets()[1:], "every segment ends where the next begins"
    bare = scene.heads()[0]
    assert (bare.record_count, bare.codec, bare.size_bytes, bare.max_timestamp) == (0, Codec.NONE, 61, NOW + 1)
    scene.reopen()
    assert scene.log.log_end_offset == 12
    bare_heads = len(scene.heads()) - 1
    scene.roll_and_clean()
    assert len(scene.heads()) - 1 == bare_heads // 2, "once segments are joined, the bare heads within go"


def test_the_largest_timestamp_is_that_of_a_record_also_beside_emptied_batches() -> None:
    """A bare head keeps the largest timestamp of what it held, and so does the time index. No record has it."""
    scene = Scene()
    producer = Producer(1)
    scene.write(("a", "1"))
    scene.now += 20
    scene.write(("b", "1"), producer=producer)
    scene.now -= 10
    scene.write(("b", "2"))
    scene.roll_and_clean()
    bare = scene.head_at(1)
    assert bare is not None
    assert (bare.record_count, bare.max_timestamp) == (0, NOW + 20)
    found = scene.log.find_max_timestamp()
    assert found is not None
    assert (found.timestamp, found.offset) == (NOW + 10, 2)
    scene.write(("c", "1"))
    assert scene.log.find_max_timestamp() == found, "of two equal ones the first"


# Partial cleaning and odd sizes.


@pytest.mark.parametrize("keys", [0, 1, 2, 5])
def test_kafka_13727_a_map_of_few_keys_gets_to_the_end_and_is_right(keys: int) -> None:
    """reliability row 40: also within one batch that has more keys than the map takes."""
    scene = Scene(segment_bytes=400)
    for number in range(5):
        scene.write(*((f"k{(number * 3 + index) % 7}", f"{number}.{index}") for index in range(5)))
    scene.roll()
    expected = scene.table()
    passes = 0
    while (compaction := scene.clean(map_bytes_for(keys))) is not None:
        passes += 1
        assert compaction.counts.map_keys >= 1
        assert scene.table() == expected
    assert scene.first_dirty_offset == 25
    assert passes > 1
    assert {key: value for _, key, value in scene.pairs()} == expected
    assert len(scene.pairs()) == len(expected)


def test_kafka_6834_a_batch_larger_than_the_buffers() -> None:
    """reliability row 43."""
    scene = Scene()
    scene.write(("a", "x" * 5000), ("b", "1"))
    scene.write(("a", "y" * 9000))
    scene.write(("b", "2"))
    scene.roll()
    scene.clean(CleanerSettings(io_buffer_size=20))
    assert [(offset, key) for offset, key, _ in scene.pairs()] == [(2, "a"), (3, "b")]


def test_kafka_8764_a_gap_at_the_end_of_a_segment_does_not_stop_the_cleaner() -> None:
    """reliability row 43: the offsets up to the next segment count as cleaned."""
    scene = Scene()
    scene.write(("a", "1"))
    scene.roll()
    scene.log.log_end_offset = 100  # as a follower sees it whose leader compacted what was here
    scene.log.roll(NOW)
    scene.write(("a", "2"))
    scene.clean()
    assert scene.first_dirty_offset == 100
    assert scene.plan() is None


@pytest.mark.parametrize("first_dirty_offset", [2, 3, 1000])
def test_kafka_9826_a_dirty_offset_in_the_active_segment_is_nothing_to_do(first_dirty_offset: int) -> None:
    """reliability row 43."""
    scene = Scene()
    scene.write(("a", "1"), ("a", "2"))
    scene.roll()
    scene.write(("a", "3"), ("a", "4"))
    assert scene.clean(first_dirty_offset=first_dirty_offset) is None
    assert len(scene.pairs()) == 4


def test_kafka_13194_nothing_at_or_above_the_bound_counts() -> None:
    """reliability row 42: a value that may yet be truncated must not push out a committed one."""
    scene = Scene()
    scene.write(("a", "committed"))
    scene.roll()
    scene.write(("b", "1"))
    scene.write(("a", "not yet committed"))
    scene.roll()
    before = list(scene.batches())
    scene.clean(uncleanable_offset=2)
    assert (list(scene.batches()), scene.first_dirty_offset) == (before, 1)
    scene.clean(uncleanable_offset=3)
    assert scene.pairs() == [(1, "b", "1"), (2, "a", "not yet committed")]


def test_kafka_9065_7286_a_reader_gets_through_gaps_and_large_records() -> None:
    """reliability row 44: as a coordinator loads its table, by small fetches, each from where the last one ended."""
    scene = Scene(segment_bytes=3000)
    for number in range(30):
        scene.write((f"k{number % 4}", "x" * (900 if number % 7 == 0 else 9)), ("gap", str(number)))
    scene.roll()
    scene.clean()
    offset, fetches, loaded = 0, 0, 0
    while offset < scene.log.log_end_offset:
        data = scene.log.read(offset, 100).read()
        assert data, f"nothing to read at {offset}, the log ends at {scene.log.log_end_offset}"
        head = head_of(data)
        assert head.next_offset > offset
        offset, fetches, loaded = head.next_offset, fetches + 1, loaded + head.record_count
    assert loaded == len(scene.records())
    assert fetches < 20


# Old formats.


def test_old_messages_stay_as_they_are_or_become_v2() -> None:
    scene = Scene()
    records = [Record(0, NOW, b"a", b"1"), Record(1, NOW + 1, b"b", b"1"), Record(2, NOW + 2, b"c", b"1")]
    wrapper = build_legacy(records, magic=1, codec=Codec.GZIP)
    scene.log.append_replicated(wrapper, now_ms=NOW)
    for record in (Record(3, NOW + 3, b"d", b"1"), Record(4, NOW + 4, b"e", None), Record(5, NOW, b"a", b"2")):
        scene.log.append_replicated(build_legacy([record], magic=1), now_ms=NOW)
    scene.log.append_replicated(build_legacy([Record(6, -1, b"f", None)], magic=0), now_ms=NOW)
    scene.roll_and_clean()
    assert scene.pairs() == [(1, "b", "1"), (2, "c", "1"), (3, "d", "1"), (4, "e", None), (5, "a", "2"), (6, "f", None)]
    assert [record.timestamp for record in scene.records()] == [NOW + 1, NOW + 2, NOW + 3, NOW + 4, NOW, -1]
    assert [head.magic for head in scene.heads()] == [2, 1, 2, 1, 2]
    first = scene.heads()[0]
    assert (first.base_offset, first.last_offset, first.codec) == (0, 2, Codec.GZIP)
    scene.now += DELETE_RETENTION_MS
    scene.roll_and_clean()
    assert [offset for offset, _, _ in scene.pairs()] == [1, 2, 3, 5]
    assert (scene.heads()[-1].last_offset, scene.heads()[-1].record_count) == (6, 0)
