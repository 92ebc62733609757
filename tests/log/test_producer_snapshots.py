"""SPEC P2: producer state survives a restart. KAFKA-5747, KAFKA-5829, KAFKA-9105."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st
from tests.log.making_logs import NOW, append, killed, make_log, numbered, producers_of

from strandline.log.filesystem import RealFileSystem, read_whole, replace_durably
from strandline.log.producer_entry import CachedBatch, ProducerEntry
from strandline.log.producer_snapshots import ProducerSnapshots, decode_snapshot, encode_snapshot, snapshot_name
from strandline.log.producer_state import ProducerState
from strandline.model.failures import CorruptData
from strandline.records.batch import TRANSACTIONAL, BatchHead
from strandline.simulation.disk import SimulatedDisk

LONG_MAX = 2**63 - 1


def entry_fields(entry: ProducerEntry) -> tuple[object, ...]:
    return tuple(getattr(entry, name) for name in ProducerEntry.__slots__)


@st.composite
def entries(draw: st.DrawFn) -> ProducerEntry:
    timestamp = draw(st.integers(-1, LONG_MAX))
    delta = draw(st.integers(0, 1000))
    last_offset = draw(st.integers(delta, LONG_MAX))
    last_sequence = draw(st.integers(-1, 2**31 - 1))
    first_sequence = (last_sequence - delta) % 2**31 if last_sequence >= 0 else -1
    batch = CachedBatch(first_sequence, last_sequence, last_offset - delta, last_offset, timestamp)
    return ProducerEntry(
        draw(st.integers(0, LONG_MAX)),
        draw(st.integers(0, 2**15 - 1)),
        coordinator_epoch=draw(st.integers(-1, 2**31 - 1)),
        last_timestamp=timestamp,
        current_transaction_first_offset=draw(st.none() | st.integers(0, LONG_MAX)),
        last_batch=draw(st.sampled_from([None, batch])),
    )


def test_kafkas_bytes() -> None:
    """Fields in order, big end first; the CRC covers the count and the entries."""
    batch = CachedBatch(first_sequence=8, last_sequence=10, first_offset=98, last_offset=100, timestamp=5000)
    full = ProducerEntry(
        1, 2, coordinator_epoch=3, last_timestamp=5000, current_transaction_first_offset=90, last_batch=batch
    )
    marker_only = ProducerEntry(4, 5, coordinator_epoch=6, last_timestamp=7000)
    body = bytes.fromhex(
        "00000002"
        "0000000000000001 0002 0000000a 0000000000000064 00000002 0000000000001388 00000003 000000000000005a"
        "0000000000000004 0005 ffffffff ffffffffffffffff 00000000 0000000000001b58 00000006 ffffffffffffffff"
    )
    assert encode_snapshot([full, marker_only]) == b"\x00\x01" + crc32c(body).to_bytes(4, "big") + body


@given(st.lists(entries(), max_size=5))
def test_entries_come_back(stored: list[ProducerEntry]) -> None:
    assert list(map(entry_fields, decode_snapshot(encode_snapshot(stored)))) == list(map(entry_fields, stored))


@given(st.lists(entries(), max_size=3), st.data())
def test_no_damage_goes_unnoticed(stored: list[ProducerEntry], data: st.DataObject) -> None:
    """KAFKA-5747, KAFKA-9892: short, empty, overwritten."""
    encoded = bytearray(encode_snapshot(stored))
    with pytest.raises(CorruptData):
        decode_snapshot(bytes(encoded[: data.draw(st.integers(0, len(encoded) - 1))]))
    with pytest.raises(CorruptData):
        decode_snapshot(bytes(encoded) + b"\x00")
    encoded[data.draw(st.integers(0, len(encoded) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(CorruptData):
        decode_snapshot(bytes(encoded))


def test_a_count_that_lies_under_a_right_crc_is_noticed() -> None:
    body = (1000).to_bytes(4, "big")
    with pytest.raises(CorruptData):
        decode_snapshot(b"\x00\x01" + crc32c(body).to_bytes(4, "big") + body)


class Folder:
    """A partition's folder with snapshots at some offsets, in each of which producer id = offset."""

    def __init__(self, path: Path, offsets: tuple[int, ...] = ()) -> None:
        self.directory = str(path)
        self.filesystem = RealFileSystem()
        self.snapshots = ProducerSnapshots(self.filesystem, self.directory)
        for offset in offsets:
            self.snapshots.take(state_at(offset), durable=True)

    def overwrite(self, offset: int, change: Callable[[bytes], bytes]) -> None:
        path = os.path.join(self.directory, f"{offset:020d}.snapshot")
        data = change(read_whole(self.filesystem, path))
        file = self.filesystem.open(path)
        file.truncate(0)
        file.append([data])
        file.close()

    def load(self, *, log_start_offset: int = 0, at_or_below: int = LONG_MAX) -> tuple[int, list[int]]:
        state = state_at(12345)
        replay_from = self.snapshots.load_latest(
            state, log_start_offset=log_start_offset, at_or_below=at_or_below, now_ms=100, expiration_ms=1000
        )
        assert state.map_end_offset == replay_from
        return replay_from, [entry.producer_id for entry in state.entries()]


def state_at(offset: int) -> ProducerState:
    state = ProducerState()
    state.load([ProducerEntry(offset, 0, last_timestamp=0)], offset, now_ms=0, expiration_ms=1000)
    return state


def test_a_snapshot_is_taken_once_at_each_offset(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    state = state_at(10)
    assert folder.snapshots.take(state, durable=True)
    assert not folder.snapshots.take(state, durable=True)
    assert os.listdir(tmp_path) == ["00000000000000000010.snapshot"]
    state.map_end_offset = 11
    assert folder.snapshots.take(state, durable=True)
    assert folder.snapshots.offsets() == [10, 11]


def test_an_empty_log_needs_no_snapshot(tmp_path: Path) -> None:
    assert not Folder(tmp_path).snapshots.take(ProducerState(), durable=True)
    assert os.listdir(tmp_path) == []


def test_other_files_are_not_snapshots(tmp_path: Path) -> None:
    folder = Folder(tmp_path, (10,))
    for name in ("00000000000000000020.log", "30.snapshot", "00000000000000000040.snapshot.tmp"):
        (tmp_path / name).touch()
    assert folder.snapshots.offsets() == [10]


@pytest.mark.parametrize(
    ("log_start_offset", "at_or_below", "expected"),
    [
        (0, 100, (30, [30])),
        (0, 30, (30, [30])),
        (0, 29, (20, [20])),
        (20, 29, (20, [20])),
        (21, 29, (21, [])),  # none in range: replay all there is
        (0, 9, (0, [])),
    ],
)
def test_the_newest_snapshot_in_range_is_loaded(
    tmp_path: Path, log_start_offset: int, at_or_below: int, expected: tuple[int, list[int]]
) -> None:
    folder = Folder(tmp_path, (10, 20, 30))
    assert folder.load(log_start_offset=log_start_offset, at_or_below=at_or_below) == expected
    assert folder.snapshots.offsets() == [10, 20, 30]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:0],
        lambda data: data[:-1],
        lambda data: bytes(len(data)),
        lambda data: b"\xff" * len(data),
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: b"\x00\x02" + data[2:],
    ],
    ids=["empty", "cut", "zeros", "ones", "one bit", "newer version"],
)
def test_a_damaged_snapshot_is_removed_and_an_older_one_serves(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    """KAFKA-5747: a bad snapshot kept the broker from starting."""
    folder = Folder(tmp_path, (10, 20, 30))
    folder.overwrite(30, damage)
    folder.overwrite(20, damage)
    assert folder.load() == (10, [10])
    assert folder.snapshots.offsets() == [10]
    folder.overwrite(10, damage)
    assert folder.load(log_start_offset=3) == (3, [])
    assert folder.snapshots.offsets() == []


def test_producers_that_expired_on_the_shelf_stay_out(tmp_path: Path) -> None:
    folder = Folder(tmp_path, (10,))
    state = ProducerState()
    folder.snapshots.load_latest(state, log_start_offset=0, at_or_below=10, now_ms=1000, expiration_ms=1000)
    assert (len(state), state.map_end_offset) == (0, 10)


def test_truncation_removes_what_lies_above(tmp_path: Path) -> None:
    folder = Folder(tmp_path, (10, 20, 30))
    folder.snapshots.remove_above(20)
    assert folder.snapshots.offsets() == [10, 20]


def test_retention_removes_what_lies_below(tmp_path: Path) -> None:
    """KAFKA-5829, KAFKA-9105: each goes with its segment; the one at the new start is what recovery begins with."""
    folder = Folder(tmp_path, (10, 20, 30))
    folder.snapshots.remove(10)
    assert folder.snapshots.offsets() == [20, 30]
    folder.snapshots.remove(30)
    folder.snapshots.remove(30)
    assert folder.snapshots.offsets() == [20]


@pytest.mark.parametrize(
    ("segment_base_offsets", "kept"),
    [
        ((0, 20), [20, 40]),  # 40: written on the clean shutdown at the log's end
        ((0, 20, 40), [20, 40]),
        ((0, 20, 50), [20]),
        ((0,), [40]),
        ((), [40]),
    ],
)
def test_snapshots_without_a_segment_go(tmp_path: Path, segment_base_offsets: tuple[int, ...], kept: list[int]) -> None:
    folder = Folder(tmp_path, (10, 20, 30, 40))
    folder.snapshots.remove_strays(segment_base_offsets)
    assert folder.snapshots.offsets() == kept


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.booleans()), min_size=1, max_size=30),
    st.data(),
)
def test_a_snapshot_and_the_rest_of_the_log_make_the_whole_state(
    batches: list[tuple[int, int, bool]], data: st.DataObject
) -> None:
    """Taken anywhere, it leads to the same sequences and open transactions as a replay from the start."""
    cut = data.draw(st.integers(0, len(batches)))
    whole, half = ProducerState(), ProducerState()
    replay(whole, batches, 0)
    replay(half, batches[:cut], 0)
    resumed = ProducerState()
    resumed.load(decode_snapshot(encode_snapshot(half.entries())), half.map_end_offset, 0, LONG_MAX)
    replay(resumed, batches[cut:], cut)
    assert {entry.producer_id: last_known(entry) for entry in resumed.entries()} == {
        entry.producer_id: last_known(entry) for entry in whole.entries()
    }
    assert resumed.first_unstable_offset == whole.first_unstable_offset
    assert resumed.map_end_offset == whole.map_end_offset


def replay(state: ProducerState, batches: list[tuple[int, int, bool]], first_sequence: int) -> None:
    for index, (producer_id, count, transactional) in enumerate(batches):
        attributes = TRANSACTIONAL if transactional else 0
        sequence = first_sequence + index
        head = BatchHead(0, 61, 0, 2, 0, attributes, count - 1, 5, 5 + sequence, producer_id, 0, sequence, count)
        state.accept(head, base_offset=state.map_end_offset, from_client=False)
        state.map_end_offset += count


def last_known(entry: ProducerEntry) -> tuple[object, ...]:
    return entry.last_batch, entry.last_timestamp, entry.current_transaction_first_offset


@pytest.mark.parametrize("first_offsets", [(10,), (3, 3)], ids=["beyond the snapshot", "two at once"])
def test_a_snapshot_of_impossible_transactions_is_damaged_though_its_crc_holds(
    first_offsets: tuple[int, ...],
) -> None:
    disk = SimulatedDisk()
    disk.make_directories("/orders-0")
    stored = [
        ProducerEntry(producer_id, 0, current_transaction_first_offset=first_offset)
        for producer_id, first_offset in enumerate(first_offsets)
    ]
    replace_durably(disk, f"/orders-0/{snapshot_name(10)}", encode_snapshot(stored))
    state = ProducerState()
    snapshots = ProducerSnapshots(disk, "/orders-0")
    snapshots.load_latest(state, log_start_offset=0, at_or_below=10, now_ms=0, expiration_ms=1)
    assert (len(state), snapshots.offsets()) == (0, [])


def test_a_snapshot_that_recovery_has_made_is_on_the_disk_before_its_records_go() -> None:
    """Then it is all that is known of their producer, and power may go."""
    log = make_log(segment_bytes=100)
    append(log, numbered(0, producer_id=7))
    for sequence in range(3):
        append(log, numbered(sequence, producer_id=8))
    again = make_log(filesystem=killed(log), segment_bytes=100)
    again.flush(NOW)
    again.remove_segments(again.segments.all()[:1], now_ms=NOW)
    disk = again.filesystem
    assert isinstance(disk, SimulatedDisk)
    disk.sync_directory("/")
    for name, after in disk.crash_states(3):
        recovered = make_log(filesystem=after, segment_bytes=100, recovery_point=again.recovery_point)
        assert recovered.log_start_offset == 1
        assert set(producers_of(recovered)) == {7, 8}, name
