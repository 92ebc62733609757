"""Appending as leader: bytes go to the file as they came, with their place set; what is refused leaves no trace."""

from __future__ import annotations

import errno
import zlib
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.log.making_logs import (
    NOW,
    append,
    append_marker,
    batch_of,
    batches_in,
    files_of,
    heads_in,
    killed,
    make_log,
    marker_of,
    numbered,
    offsets_read,
    picture_of,
    producers_of,
    records_in,
    refusal_of,
    sized_batch,
)

from strandline.log.admission import Admission
from strandline.log.log import Log
from strandline.log.log_writer import Appended, LogWriter
from strandline.log.producer_snapshots import decode_snapshot
from strandline.model.failures import ErrorCode, Refused, StorageFailed
from strandline.records.batch import CRC, CRC_POSITION, batch_crc, verify_batch
from strandline.records.builder import build_batch
from strandline.records.compression import Codec
from strandline.records.record import Record
from strandline.simulation.disk import SimulatedDisk
from strandline.simulation.simulated_file import SimulatedFile


def test_offsets_follow_one_another() -> None:
    log = make_log()
    first, second = append(log, batch_of("a", "b", "c"), batch_of("d"))
    assert first == Appended(0, 2)
    assert second == Appended(3, 3)
    assert append(log, batch_of("e")) == [Appended(4, 4)]
    assert log.log_end_offset == 5
    assert [record.value for record in records_in(log)] == [b"a", b"b", b"c", b"d", b"e"]


def test_only_place_and_epoch_differ_from_the_bytes_that_came(tmp_path: Path) -> None:
    """SPEC L2: the CRC does not cover them, so a client's bytes become file bytes with no copy."""
    log = make_log(tmp_path / "orders-0")
    given = [batch_of("a", "b", codec=codec) for codec in Codec]
    as_sent = [bytes(batch) for batch in given]
    append(log, *given, leader_epoch=9)
    written = b"".join(batches_in(log))
    assert written == (tmp_path / "orders-0/00000000000000000000.log").read_bytes()
    for sent, stored in zip(as_sent, batches_in(log), strict=True):
        assert stored[8:12] + stored[16:] == sent[8:12] + sent[16:]
        assert verify_batch(stored).leader_epoch == 9
    assert [head.base_offset for head in heads_in(log)] == [0, 2, 4, 6, 8]


def test_set_in_place_in_the_buffer_of_a_request() -> None:
    """A produce request is one buffer; the log writes views of it."""
    first, second = batch_of("a"), batch_of("b")
    request = bytearray(b"head" + first + second)
    view = memoryview(request)
    log = make_log()
    outcomes = log.append([view[4 : 4 + len(first)], view[4 + len(first) :]], leader_epoch=3, now_ms=NOW)
    assert outcomes == [Appended(0, 0), Appended(1, 1)]
    assert bytes(request[4:]) == b"".join(batches_in(log))


def test_a_group_is_one_write() -> None:
    log = make_log()
    append(log, batch_of("the epoch is written first"))
    with patch.object(SimulatedFile, "append", autospec=True, side_effect=SimulatedFile.append) as write:
        append(log, *(batch_of(f"{number}") for number in range(100)))
    assert write.call_count == 1
    assert log.log_end_offset == 101


def test_a_refused_batch_does_not_stop_the_others() -> None:
    log = make_log()
    bad = batch_of("bad")
    bad[-1] ^= 1
    first, refused, second = log.append([batch_of("a"), bad, batch_of("b")], leader_epoch=0, now_ms=NOW)
    assert first == Appended(0, 0)
    assert second == Appended(1, 1)
    assert isinstance(refused, Refused)
    assert refused.error_code == ErrorCode.CORRUPT_MESSAGE
    assert [record.value for record in records_in(log)] == [b"a", b"b"]


def test_a_batch_that_cannot_be_written_to_is_our_own_mistake() -> None:
    """It is told before anything has changed: a producer remembered for a batch that is not there would lose it."""
    log = make_log()
    append(log, numbered(0))
    before = picture_of(log)
    with pytest.raises(TypeError):
        log.append([bytes(numbered(1))], leader_epoch=0, now_ms=NOW)
    assert picture_of(log) == before
    append(log, numbered(1))


def test_nothing_to_append() -> None:
    log = make_log()
    before = picture_of(log)
    assert log.append([], leader_epoch=5, now_ms=NOW) == []
    assert picture_of(log) == before


def test_a_new_epoch_is_on_disk_before_its_first_record(tmp_path: Path) -> None:
    """SPEC R5."""
    log = make_log(tmp_path / "orders-0")
    append(log, batch_of("a", "b"), leader_epoch=1)
    append(log, batch_of("c"), leader_epoch=1)
    append(log, batch_of("d"), leader_epoch=4)
    assert log.epochs.entries() == ((1, 0), (4, 3))
    assert (tmp_path / "orders-0/leader-epoch-checkpoint").read_text() == "0\n2\n1 0\n4 3\n"


class TestSequences:
    """SPEC P2; KIP-98, KIP-360."""

    def test_a_gap_is_refused(self) -> None:
        log = make_log()
        append(log, numbered(0, 3))
        assert refusal_of(log, numbered(4)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert refusal_of(log, numbered(2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        append(log, numbered(3))

    def test_any_of_the_last_five_is_answered_with_its_offsets(self) -> None:
        log = make_log()
        append(log, batch_of("of somebody else"))
        for sequence in range(0, 14, 2):
            append(log, numbered(sequence, 2))
        before = picture_of(log)
        for sequence in range(4, 14, 2):
            repeated = append(log, numbered(sequence, 2))
            assert repeated == [Appended(1 + sequence, 2 + sequence, is_duplicate=True)]
        assert picture_of(log) == before
        assert refusal_of(log, numbered(2, 2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert refusal_of(log, numbered(12, 1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def test_a_repetition_within_one_group(self) -> None:
        log = make_log()
        outcomes = append(log, numbered(0), numbered(0), numbered(1))
        assert outcomes == [Appended(0, 0), Appended(0, 0, is_duplicate=True), Appended(1, 1)]
        assert log.log_end_offset == 2

    def test_a_repetition_tells_the_append_time_again(self) -> None:
        log = make_log(message_timestamp_type="LogAppendTime")
        assert append(log, numbered(0), now_ms=NOW + 5) == [Appended(0, 0, NOW + 5)]
        assert append(log, numbered(0), now_ms=NOW + 9) == [Appended(0, 0, NOW + 5, is_duplicate=True)]

    def test_an_old_epoch_is_a_zombie(self) -> None:
        log = make_log()
        append(log, numbered(0, producer_epoch=3))
        assert refusal_of(log, numbered(1, producer_epoch=2)) == ErrorCode.INVALID_PRODUCER_EPOCH
        assert refusal_of(log, numbered(0, producer_epoch=2)) == ErrorCode.INVALID_PRODUCER_EPOCH

    def test_a_new_epoch_begins_at_zero(self) -> None:
        log = make_log()
        append(log, numbered(0, 4))
        assert refusal_of(log, numbered(4, producer_epoch=1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        append(log, numbered(0, producer_epoch=1))

    def test_an_unknown_producer_may_begin_anywhere(self) -> None:
        log = make_log()
        append(log, numbered(4711))
        append(log, numbered(4712))

    def test_after_the_largest_comes_zero(self) -> None:
        log = make_log()
        append(log, numbered(2**31 - 3, 2))
        append(log, numbered(2**31 - 1, 3))  # 2**31 - 1, 0, 1
        assert append(log, numbered(2**31 - 1, 3)) == [Appended(2, 4, is_duplicate=True)]
        assert refusal_of(log, numbered(3)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        append(log, numbered(2))

    def test_producers_do_not_disturb_one_another(self) -> None:
        log = make_log()
        append(log, numbered(0, producer_id=1), numbered(0, producer_id=2), numbered(1, producer_id=1))
        assert append(log, numbered(0, producer_id=2)) == [Appended(1, 1, is_duplicate=True)]

    def test_a_refusal_in_a_group_leaves_the_producer_as_it_was(self) -> None:
        log = make_log()
        outcomes = log.append([numbered(0), numbered(5), numbered(1)], leader_epoch=0, now_ms=NOW)
        assert [isinstance(outcome, Refused) for outcome in outcomes] == [False, True, False]
        assert log.log_end_offset == 2


class TestSnapshotAtARoll:
    """The snapshot at a segment's base tells the producers as they were before that segment's first batch."""

    def test_the_batch_that_rolls_is_not_in_it(self) -> None:
        log = make_log(segment_bytes=300)
        append(log, sized_batch(200, producer_id=7, producer_epoch=0, base_sequence=0))
        append(log, sized_batch(200, producer_id=7, producer_epoch=0, base_sequence=1))
        (entry,) = decode_snapshot(files_of(log)["00000000000000000001.snapshot"])
        assert entry.last_batch is not None
        assert (entry.last_batch.last_sequence, entry.last_batch.last_offset) == (0, 0)

    def test_a_truncated_batch_may_come_again(self) -> None:
        """Else its producer is told "already written" of records that are gone."""
        log = make_log(segment_bytes=300)
        append(log, sized_batch(200, producer_id=7, producer_epoch=0, base_sequence=0))
        append(log, sized_batch(200, producer_id=7, producer_epoch=0, base_sequence=1))
        log.truncate_to(1, now_ms=NOW)
        again = sized_batch(200, producer_id=7, producer_epoch=0, base_sequence=1)
        assert append(log, again) == [Appended(1, 1)]

    def test_a_marker_that_rolls_ends_its_transaction_when_replayed(self) -> None:
        log = make_log(segment_bytes=300)
        append(log, sized_batch(280, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True))
        append_marker(log, 7, is_commit=False)
        assert log.segments.active.base_offset == 1
        reopened = make_log(filesystem=killed(log), segment_bytes=300, recovery_point=1)
        assert reopened.aborted_transactions(0, 2) == log.aborted_transactions(0, 2) != []

    def test_also_as_follower(self) -> None:
        leader = make_log(segment_bytes=300)
        append(leader, sized_batch(280, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True))
        append_marker(leader, 7, is_commit=False)
        follower = make_log(segment_bytes=300)
        follower.append_replicated(b"".join(batches_in(leader)), now_ms=NOW)
        assert files_of(follower) == files_of(leader)


class TestTransactions:
    def test_outside_its_open_transaction_a_producer_may_not_write(self) -> None:
        log = make_log()
        append(log, numbered(0, is_transactional=True))
        assert refusal_of(log, numbered(1)) == ErrorCode.INVALID_TXN_STATE
        append_marker(log, 7, is_commit=True)
        append(log, numbered(1))

    def test_markers_of_an_old_coordinator_are_fenced(self) -> None:
        log = make_log()
        append(log, numbered(0, is_transactional=True))
        append(log, marker_of(7, is_commit=True, coordinator_epoch=5), from_client=False)
        old = marker_of(7, is_commit=True, coordinator_epoch=4)
        assert refusal_of(log, old, from_client=False) == ErrorCode.TRANSACTION_COORDINATOR_FENCED

    def test_markers_of_an_old_producer_epoch_are_refused(self) -> None:
        log = make_log()
        append(log, numbered(0, producer_epoch=2, is_transactional=True))
        old = marker_of(7, is_commit=False, producer_epoch=1)
        assert refusal_of(log, old, from_client=False) == ErrorCode.INVALID_PRODUCER_EPOCH

    def test_a_coordinator_commits_offsets_without_sequences(self) -> None:
        """Offsets committed in a transaction have a producer id and no sequence (KIP-98)."""
        log = make_log()
        commit = batch_of("offset", producer_id=7, producer_epoch=0, is_transactional=True)
        append(log, commit, from_client=False)
        append(log, bytearray(commit), from_client=False)
        assert log.producers.first_unstable_offset == 0
        assert log.log_end_offset == 2


class TestAppendTime:
    def test_the_broker_stamps(self) -> None:
        log = make_log(message_timestamp_type="LogAppendTime")
        batch = batch_of("a", "b", timestamp=5)
        assert append(log, batch, now_ms=NOW + 3) == [Appended(0, 1, NOW + 3)]
        (head,) = heads_in(log)
        verify_batch(batches_in(log)[0])
        assert head.is_log_append_time
        assert head.max_timestamp == NOW + 3
        assert [record.timestamp for record in records_in(log)] == [NOW + 3, NOW + 3]

    def test_a_views_batch_is_stamped_too(self) -> None:
        log = make_log(message_timestamp_type="LogAppendTime")
        append(log, memoryview(batch_of("a")))  # type: ignore[arg-type]
        assert heads_in(log)[0].max_timestamp == NOW

    def test_no_age_is_too_old(self) -> None:
        """The limits are about the producer's clock, which is overwritten."""
        log = make_log(message_timestamp_type="LogAppendTime", message_timestamp_before_max_ms=1000)
        append(log, batch_of("old", timestamp=5), batch_of("young", timestamp=NOW + 10**9))

    def test_markers_are_stamped_as_well(self) -> None:
        log = make_log(message_timestamp_type="LogAppendTime")
        append(log, numbered(0, is_transactional=True))
        append(log, marker_of(7, is_commit=True), from_client=False, now_ms=NOW + 8)
        assert [head.is_log_append_time for head in heads_in(log)] == [True, True]
        assert heads_in(log)[1].max_timestamp == NOW + 8


class TestTopicCodec:
    @pytest.mark.parametrize("wanted", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
    @pytest.mark.parametrize("given", list(Codec))
    def test_the_topic_decides(self, wanted: str, given: Codec) -> None:
        log = make_log(compression_type=wanted)
        values = [f"value {number}" for number in range(50)]
        append(log, batch_of("before"), batch_of(*values, codec=given), numbered(0, 2, codec=given))
        expected = Codec.NONE if wanted == "uncompressed" else Codec[wanted.upper()]
        for batch in batches_in(log):
            assert verify_batch(batch).codec == expected
        assert [record.offset for record in records_in(log)] == list(range(53))
        assert [record.value for record in records_in(log)][1:51] == [value.encode() for value in values]
        assert producers_of(log)[7][1] == ((0, 1, 51, 52, NOW + 1),)

    def test_the_producer_decides_by_default(self) -> None:
        log = make_log()
        append(log, *(batch_of("a", codec=codec) for codec in Codec))
        assert [head.codec for head in heads_in(log)] == list(Codec)

    def test_the_same_codec_is_left_as_it_came(self) -> None:
        log = make_log(compression_type="gzip")
        sent = batch_of("a", codec=Codec.GZIP, level=1)
        append(log, bytearray(sent))
        assert batches_in(log)[0][16:] == sent[16:]

    def test_markers_are_not_compressed(self) -> None:
        log = make_log(compression_type="gzip")
        append(log, numbered(0, is_transactional=True))
        append_marker(log, 7, is_commit=True)
        assert [head.codec for head in heads_in(log)] == [Codec.GZIP, Codec.NONE]

    def test_what_does_not_decompress_is_refused(self) -> None:
        log = make_log(compression_type="uncompressed")
        batch = batch_of("a" * 100, codec=Codec.GZIP)
        batch[70:] = bytes(len(batch) - 70)
        CRC.pack_into(batch, CRC_POSITION, batch_crc(batch))
        assert refusal_of(log, batch) == ErrorCode.INVALID_RECORD

    def test_the_size_that_counts_is_the_one_on_disk(self) -> None:
        """Zeros by the megabyte fit into a few hundred bytes, and come out again."""
        log = make_log(compression_type="uncompressed", max_message_bytes=10_000, segment_bytes=20_000)
        assert refusal_of(log, batch_of(bytes(15_000), codec=Codec.ZSTD)) == ErrorCode.MESSAGE_TOO_LARGE
        log = make_log(compression_type="uncompressed", max_message_bytes=30_000, segment_bytes=20_000)
        assert refusal_of(log, batch_of(bytes(25_000), codec=Codec.ZSTD)) == ErrorCode.RECORD_LIST_TOO_LARGE


def test_a_reader_gets_what_was_sent() -> None:
    log = make_log(segment_bytes=400)
    for number in range(20):
        append(log, batch_of(*(f"{number}.{index}" for index in range(3)), codec=Codec(number % 5)))
    offset, offsets = 0, []
    while offset < log.log_end_offset:
        offsets += offsets_read(log, offset)
        offset = offsets[-1] + 1
    assert offsets == list(range(60))


def test_old_producers_checksum_is_not_ours() -> None:
    """A CRC-32 where a CRC-32C belongs."""
    batch = batch_of("a")
    CRC.pack_into(batch, CRC_POSITION, zlib.crc32(bytes(batch[21:])))
    assert refusal_of(make_log(), batch) == ErrorCode.CORRUPT_MESSAGE


@dataclass
class TwinLogs:
    """Two logs with the same traffic, of which one never goes the short way."""

    short: Log
    long: Log
    leader_epoch: int = 0
    now_ms: int = NOW

    def append(self, group: list[bytearray], *, from_client: bool = True) -> None:
        options = {"leader_epoch": self.leader_epoch, "now_ms": self.now_ms, "from_client": from_client}
        copies = [bytearray(batch) for batch in group]
        outcomes = self.short.append(group, **options)  # type: ignore[arg-type]
        with patch.object(Admission, "plain_limits", return_value=None):
            expected = self.long.append(copies, **options)  # type: ignore[arg-type]
        assert list(map(told, outcomes)) == list(map(told, expected))
        assert picture_of(self.short) == picture_of(self.long)

    def next_sequence(self, producer_id: int) -> int:
        entry = self.long.producers.entry_of(producer_id)
        return (entry.last_batch.last_sequence + 1) % 2**31 if entry is not None and entry.last_batch else 2**31 - 2

    def play(self, kind: str, values: list[tuple[str, int, int]]) -> None:
        if kind == "elect":
            self.leader_epoch += 1
        elif kind == "depose":
            self.leader_epoch = max(0, self.leader_epoch - 1)
        elif kind == "wait":
            self.now_ms += 40
        elif kind == "marker":
            self.append([marker_of(values[0][1], is_commit=True)], from_client=False)
        else:
            self.append([self.batch(*value) for value in values], from_client=kind == "clients")

    def batch(self, kind: str, producer_id: int, count: int) -> bytearray:
        sequence, moment = self.next_sequence(producer_id), {"timestamp": self.now_ms + 30 * producer_id}
        if kind == "plain":
            return batch_of(*["value"] * count, codec=Codec(producer_id), **moment)
        if kind == "large":
            return sized_batch(100 * count, timestamp=self.now_ms)
        if kind == "corrupt":
            batch = batch_of("value")
            batch[-count] ^= 1
            return batch
        if kind == "early":
            return batch_of("value", timestamp=self.now_ms - 1000 - count)
        if kind == "again":
            sequence = (sequence - count) % 2**31
        epoch = 1 if kind == "epoch" else 0
        return numbered(
            sequence, count, producer_id=producer_id, producer_epoch=epoch, is_transactional=kind == "begin", **moment
        )


def told(outcome: Appended | Refused) -> object:
    return outcome if isinstance(outcome, Appended) else (outcome.error_code, outcome.reason)


KINDS = ["plain", "plain", "next", "next", "next", "again", "epoch", "begin", "large", "corrupt", "early"]
TRAFFIC = st.lists(
    st.tuples(
        st.sampled_from(["clients"] * 6 + ["coordinator", "marker", "elect", "depose", "wait"]),
        st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=5),
    ),
    max_size=15,
)


@settings(max_examples=60)
@given(traffic=TRAFFIC, index_interval_bytes=st.sampled_from([0, 150, 4096]), segment_ms=st.sampled_from([50, 10**9]))
def test_the_short_way_writes_what_the_long_one_does(
    traffic: list[tuple[str, list[tuple[str, int, int]]]], index_interval_bytes: int, segment_ms: int
) -> None:
    """Files, offsets, epochs, producers, outcomes: with rolls, elections, repetitions, refusals, groups."""
    short, long = (
        make_log(
            segment_bytes=450,
            index_interval_bytes=index_interval_bytes,
            segment_ms=segment_ms,
            message_timestamp_before_max_ms=1000,
            max_message_bytes=250,
        )
        for _ in range(2)
    )
    twins = TwinLogs(short, long)
    for kind, values in traffic:
        twins.play(kind, values)


def test_what_most_clients_send_goes_the_short_way() -> None:
    log = make_log()
    append(log, batch_of("the epoch and the segment are new"), numbered(0))
    with patch.object(LogWriter, "_append_particular") as long_way:
        append(log, batch_of("a"), numbered(1), batch_of("b", "c", codec=Codec.LZ4), numbered(2, 3))
        append(log, numbered(5))
    assert long_way.call_count == 0
    assert log.log_end_offset == 10


def test_a_full_disk_is_met_before_an_index_entry_is_stored_and_not_by_a_signal() -> None:
    """A store into a hole of a mapped file on a full disk kills the process; only the log may go down (SPEC L10)."""
    disk = SimulatedDisk()
    log = make_log(filesystem=disk, index_interval_bytes=0)
    append(log, batch_of("a"))
    disk.fail_next("reserve", errno.ENOSPC, path_contains=".index")
    with pytest.raises(StorageFailed, match="No space left"):
        append(log, batch_of("b"))
    with pytest.raises(StorageFailed, match="offline"):
        log.read(0, 100)
    assert [record.value for record in records_in(make_log(filesystem=killed(log)))] == [b"a", b"b"]


def test_a_control_batch_that_cannot_be_read_is_refused_and_those_around_it_are_written() -> None:
    log = make_log()
    broken = build_batch([Record(0, NOW, b"?", b"")], producer_id=7, producer_epoch=0, is_control=True)
    outcomes = log.append([batch_of("a"), broken, batch_of("b")], leader_epoch=0, now_ms=NOW, from_client=False)
    assert [type(outcome) for outcome in outcomes] == [Appended, Refused, Appended]
    assert [record.value for record in records_in(log)] == [b"a", b"b"]


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("size_bytes", [100, 3000, 5000, 16_000])
def test_the_first_append_after_a_restart_may_be_of_many_batches(size_bytes: int, is_clean: bool) -> None:
    """The largest timestamp is read from the index when first asked for, and these batches are not in it yet."""
    log = make_log()
    append(log, *(sized_batch(size_bytes, timestamp=NOW + index) for index in range(10)))
    log.close(NOW)
    log = make_log(filesystem=killed(log), is_clean=is_clean)
    append(log, *(sized_batch(size_bytes, timestamp=NOW + index) for index in range(10, 20)))
    assert len(records_in(log)) == 20
    log = make_log(filesystem=killed(log))
    assert len(records_in(log)) == 20
    assert log.find_max_timestamp() == (NOW + 19, 19, 0)
