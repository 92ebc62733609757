"""Whatever is on the disk, opening a log keeps the longest valid prefix and never raises (SPEC L7).

Every damage is done to the files of one sample log; what must be left is computed from the original batches, and what
is derived from them is compared with a rebuild by plain loops (`dumb_log`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import pytest
from tests.log.dumb_log import StoredBatch, epochs_of, producers_and_aborted_of, read_valid_batches
from tests.log.log_checks import assert_derived, assert_lookups, producers_of, stored_batches
from tests.log.sample_log import (
    FOLDER,
    Image,
    Step,
    append,
    disk_with,
    files_in,
    open_sample,
    plain,
    without,
    write_sample,
)

from strandline.log.log import Log
from strandline.log.rot import mend_batch
from strandline.records.heads import head_of
from strandline.simulation.disk import SimulatedDisk


def _image(*, is_clean: bool) -> Image:
    disk = SimulatedDisk()
    log = write_sample(disk)
    if is_clean:
        log.close(now_ms=0)
    return files_in(disk)


CRASHED = _image(is_clean=False)
CLEAN = _image(is_clean=True)
LOG_NAMES = [name for name in CRASHED if name.endswith(".log")]
BATCHES = [batch for name in LOG_NAMES for batch in read_valid_batches(int(name[:20]), CRASHED[name])]
TAIL = LOG_NAMES[-1]
TAIL_BASE = int(TAIL[:20])
END = BATCHES[-1].last_offset + 1


def test_the_sample_has_everything_in_it() -> None:
    assert len(LOG_NAMES) == 4
    assert sum(name.endswith(".txnindex") for name in CRASHED) == 4
    assert len([batch for batch in BATCHES if batch.segment == TAIL_BASE]) >= 4
    assert b"".join(batch.data for batch in BATCHES) == b"".join(CRASHED[name] for name in LOG_NAMES)


def reopened(
    image: Image, kept: Sequence[StoredBatch], *, recovery_point: int = 0, is_clean: bool = False
) -> tuple[Log, SimulatedDisk, list[str]]:
    """Open, compare with what must be left, open once more: nothing may be left to mend."""
    disk, findings = disk_with(image), list[str]()
    log = open_sample(disk, recovery_point=recovery_point, is_clean=is_clean, findings=findings)
    assert [batch.data for batch in stored_batches(disk, FOLDER)] == [batch.data for batch in kept]
    assert_derived(log, kept)
    again: list[str] = []
    files = files_in(disk)
    assert_same(open_sample(disk.kill(), recovery_point=recovery_point, is_clean=is_clean, findings=again), log)
    assert again == []
    assert files_in(disk) == files
    return log, disk, findings


def assert_same(one: Log, other: Log) -> None:
    assert one.log_end_offset == other.log_end_offset
    assert one.log_start_offset == other.log_start_offset
    assert one.epochs.entries() == other.epochs.entries()
    assert [each.base_offset for each in one.segments.all()] == [each.base_offset for each in other.segments.all()]


def assert_goes_on(log: Log, disk: SimulatedDisk, kept: Sequence[StoredBatch]) -> None:
    """The log takes new batches behind what is left, and has them after the next crash of the process."""
    outcome = append(log, Step(plain(170, 171), 9))
    assert outcome.base_offset == (kept[-1].last_offset + 1 if kept else log.log_start_offset)
    found = disk.kill()
    again = open_sample(found)
    batches = stored_batches(found, FOLDER)
    assert [batch.data for batch in batches[:-1]] == [batch.data for batch in kept]
    assert_derived(again, batches)


def kept_after_cut(name: str, size_bytes: int) -> list[StoredBatch]:
    segment = int(name[:20])
    below = [batch for batch in BATCHES if batch.segment < segment]
    inside = [batch for batch in BATCHES if batch.segment == segment]
    inside = [batch for batch in inside if batch.position + len(batch.data) <= size_bytes]
    return below + inside


@pytest.mark.parametrize("name", LOG_NAMES)
def test_a_log_cut_at_every_byte_keeps_every_whole_batch_before_the_cut(name: str) -> None:
    for size_bytes in range(len(CRASHED[name])):
        image = CRASHED | {name: CRASHED[name][:size_bytes]}
        kept = kept_after_cut(name, size_bytes)
        log, disk, findings = reopened(image, kept)
        is_boundary = size_bytes == 0 or (name == TAIL and kept[-1].position + len(kept[-1].data) == size_bytes)
        assert findings or is_boundary
        if size_bytes % 7 == 0:
            assert_goes_on(log, disk, kept)


def test_a_cut_above_the_recovery_point_loses_nothing_below_it() -> None:
    for recovery_point in (TAIL_BASE, BATCHES[-2].base_offset):
        start = next(batch.position for batch in BATCHES if batch.base_offset == recovery_point)
        for size_bytes in range(start, len(CRASHED[TAIL])):
            image = CRASHED | {TAIL: CRASHED[TAIL][:size_bytes]}
            log, _, _ = reopened(image, kept_after_cut(TAIL, size_bytes), recovery_point=recovery_point)
            assert log.log_end_offset >= recovery_point


def flipped(data: bytes, position: int, bit: int) -> bytes:
    changed = bytearray(data)
    changed[position] ^= 1 << bit
    return bytes(changed)


def batch_in_the_tail() -> StoredBatch:
    return next(batch for batch in BATCHES if batch.segment == TAIL_BASE and batch.position > 0)


def test_a_bit_flipped_in_any_byte_above_the_recovery_point_ends_the_log_there() -> None:
    """But for the leader epoch, which no CRC covers. Nor does one cover the base offset: the next batch tells."""
    batch = batch_in_the_tail()
    below = [each for each in BATCHES if each.base_offset < batch.base_offset]
    for at in range(len(batch.data)):
        if 12 <= at < 16:
            continue
        for bit in (0, 3, 7):
            image = CRASHED | {TAIL: flipped(CRASHED[TAIL], batch.position + at, bit)}
            log, disk, findings = reopened(image, below)
            assert findings
        if at % 10 == 0:
            assert_goes_on(log, disk, below)


def test_a_flipped_leader_epoch_moves_no_record() -> None:
    batch = batch_in_the_tail()
    for at in range(12, 16):
        for bit in range(8):
            image = CRASHED | {TAIL: flipped(CRASHED[TAIL], batch.position + at, bit)}
            log = open_sample(disk_with(image))
            assert log.log_end_offset == END


def test_bits_flipped_in_any_segment_keep_a_valid_prefix() -> None:
    random = Random(2)
    for _ in range(150):
        name = random.choice(LOG_NAMES)
        position = random.randrange(len(CRASHED[name]))
        hit = next(
            each for each in BATCHES if each.segment == int(name[:20]) and each.position + len(each.data) > position
        )
        if 12 <= position - hit.position < 16:
            continue
        image = CRASHED | {name: flipped(CRASHED[name], position, random.randrange(8))}
        kept = [each for each in BATCHES if each.base_offset < hit.base_offset]
        last_of_log = position - hit.position < 8 and hit is BATCHES[-1]
        if not last_of_log:
            reopened(image, kept)


def test_rot_below_the_recovery_point_is_told_and_costs_no_other_batch() -> None:
    """Every byte of a batch that was flushed: nothing is cut, and every other offset is found (SPEC L7)."""
    for batch in (batch_in_the_tail(), BATCHES[-1]):
        for at in range(len(batch.data)):
            for bit in (0, 4, 7) if at < 61 else (at % 8,):
                image = CRASHED | {TAIL: flipped(CRASHED[TAIL], batch.position + at, bit)}
                disk, findings = disk_with(image), list[str]()
                log = open_sample(disk, recovery_point=END, findings=findings)
                assert log.log_end_offset == END, at
                assert findings or 12 <= at < 16
                for other in BATCHES:
                    if other != batch:
                        for offset in range(other.base_offset, other.last_offset + 1):
                            assert log.read(offset, 1).read() == other.data
                assert_mended(log, batch, at)
                again: list[str] = []
                assert open_sample(disk.kill(), recovery_point=END, findings=again).log_end_offset == END
                assert again in (findings, [])
                assert_goes_on_after_rot(log, disk)


def assert_mended(log: Log, batch: StoredBatch, at: int) -> None:
    found = log.read(batch.base_offset, 1).read()
    assert len(found) == len(batch.data)
    if at < 12 or at == 16:
        assert found == batch.data  # what the CRC does not cover can be told from the neighbours


def assert_goes_on_after_rot(log: Log, disk: SimulatedDisk) -> None:
    assert append(log, Step(plain(170), 9)).base_offset == END
    assert open_sample(disk.kill(), recovery_point=END).log_end_offset == END + 1


def test_a_rotten_batch_behind_a_gap_keeps_its_offset() -> None:
    """A compacted log: where the one before ended does not say where this one began, and only its records are bad."""
    first, second = [batch.data for batch in BATCHES if batch.segment == TAIL_BASE][:2]
    data = (41).to_bytes(8, "big") + first[8:] + (60).to_bytes(8, "big") + second[8:]
    disk = disk_with({"00000000000000000000.log": flipped(data, len(first) - 1, 3)})
    file = disk.open(f"{FOLDER}/00000000000000000000.log")
    assert mend_batch(file, 0, len(data), range(70), synced_offset=50) == len(first)
    head = head_of(file.read(0, len(first)))
    assert (head.base_offset, head.last_offset, head.leader_epoch) == (41, 59, head_of(first).leader_epoch)


def test_two_rotten_batches_in_a_row_are_passed_over_together() -> None:
    first, second = [batch for batch in BATCHES if batch.segment == TAIL_BASE][1:3]
    data = flipped(flipped(CRASHED[TAIL], first.position + 9, 2), second.position + 9, 2)
    findings: list[str] = []
    log = open_sample(disk_with(CRASHED | {TAIL: data}), recovery_point=END, findings=findings)
    assert len(findings) == 1
    assert log.log_end_offset == END
    assert log.read(second.last_offset + 1, 1).read() == BATCHES[BATCHES.index(second) + 1].data


TORN_TAILS = {
    "zeros, a few": bytes(5),
    "zeros, less than a head": bytes(26),
    "zeros, as a preallocated file has": bytes(4096),
    "garbage": Random(3).randbytes(700),
    "a head that promises too much": BATCHES[-1].data[:61],
    "an old batch again": BATCHES[3].data,
    "the last batch again": BATCHES[-1].data,
    "a good head, then zeros": plain(1, 2)[:40] + bytes(500),
    "a huge length": (END).to_bytes(8, "big") + b"\x7f\xff\xff\xff" + bytes(100),
    "a negative length": (END).to_bytes(8, "big") + b"\xff\xff\xff\xff" + bytes(100),
}


@pytest.mark.parametrize("tail", TORN_TAILS.values(), ids=TORN_TAILS.keys())
@pytest.mark.parametrize("is_clean", [False, True], ids=["crashed", "clean"])
def test_what_hangs_on_behind_the_last_batch_is_cut(tail: bytes, is_clean: bool) -> None:
    """iggy#3946: a zero-filled torn tail must not decode as entries. A clean stop is believed no further."""
    image = CLEAN if is_clean else CRASHED
    log, disk, findings = reopened(image | {TAIL: image[TAIL] + tail}, BATCHES, is_clean=is_clean)
    assert findings
    assert_goes_on(log, disk, BATCHES)


def _damages(data: bytes) -> Iterator[tuple[str, bytes | None]]:
    random = Random(len(data))
    yield "removed", None
    yield "emptied", b""
    yield "one byte short", data[:-1]
    yield "cut in half", data[: len(data) // 2]
    yield "zeros", bytes(len(data))
    yield "preallocated zeros", data + bytes(240)
    yield "garbage", random.randbytes(len(data))
    yield "garbage behind", data + random.randbytes(24)
    for number in range(4):
        yield f"garbage inside {number}", _overwritten(data, random)


def _overwritten(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data))
    return data[:at] + random.randbytes(4) + data[at + 4 :]


def _is_hidden(name: str, what: str, damaged: bytes | None) -> bool:
    """Damage that leaves a file a sound one of its kind: an index of aborted transactions may be short, or not be."""
    if name.endswith(".txnindex"):
        return what in ("removed", "emptied") or (
            damaged is not None and len(damaged) % 34 == 0 and what == "cut in half"
        )
    return False


DERIVED_NAMES = [name for name in CLEAN if not name.endswith(".log")]


@pytest.mark.parametrize("name", DERIVED_NAMES)
@pytest.mark.parametrize("recovery_point", [0, TAIL_BASE, END, None])
def test_a_damaged_derived_file_is_found_and_made_again(name: str, recovery_point: int | None) -> None:
    """KAFKA-5747, RP#10118, liftbridge#440: each index, snapshot and the epochs, removed, cut, zeroed, overwritten;
    after a crash with any recovery point, and with the clean marker set (None)."""
    image = CLEAN if recovery_point is None else CRASHED
    for what, damaged in _damages(image.get(name, b"no such file")):
        if recovery_point != 0 and _is_hidden(name, what, damaged):
            continue
        changed = without(image, name) if damaged is None else image | {name: damaged}
        disk, findings = disk_with(changed), list[str]()
        log = open_sample(disk, recovery_point=recovery_point or 0, is_clean=recovery_point is None, findings=findings)
        try:
            assert_lookups(log, BATCHES)
            found = log.aborted_transactions(0, END)
            producers, aborted = producers_and_aborted_of(BATCHES)
            assert list(map(tuple, found)) == [each[1:] for each in aborted]
            assert producers_of(log) == producers
            assert list(map(tuple, log.epochs.entries())) == epochs_of(BATCHES)
            assert log.log_end_offset == END
            assert append(log, Step(plain(170), 9)).base_offset == END
            assert log.read(END, 1).length > 0
        except BaseException as error:
            error.add_note(f"{name} {what}, {findings}")
            raise


def test_rot_after_a_clean_stop_does_not_take_what_is_behind_it() -> None:
    """All was synced: the walk that the end of the log calls for keeps the bad batch, as recovery does."""
    disk = SimulatedDisk()
    log = write_sample(disk)
    log.close(now_ms=0)
    end, active = log.log_end_offset, log.segments.active
    path = active.path(".log")
    disk.flip_bit(path, 0, 7)  # the base offset of the first batch, which no CRC covers
    for kind in (".index", ".timeindex"):
        disk.remove(active.path(kind))
    reopened = open_sample(disk, is_clean=True, recovery_point=end)
    assert reopened.log_end_offset == end
    assert reopened.segments.active.size_bytes == disk.size(path) > 0


def test_a_recovery_point_beyond_reason_does_not_keep_a_log_with_rot_from_opening() -> None:
    disk = SimulatedDisk()
    log = write_sample(disk)
    active = log.segments.active
    disk = disk.kill()
    disk.flip_bit(active.path(".log"), active.size_bytes - 1, 0)
    assert open_sample(disk, recovery_point=2**63 - 1).log_end_offset > active.base_offset
