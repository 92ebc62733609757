"""The aborted transactions that go with a slice: enough to leave out what was aborted, and not all there are."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import pytest

from strandline.log.log import Log
from strandline.log.recovery import open_log
from strandline.model.failures import StorageFailed
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.batch import read_head, split_batches
from strandline.records.builder import build_batch
from strandline.records.control import build_marker
from strandline.records.record import Record
from strandline.simulation.disk import SimulatedDisk

NAME = TopicPartition("orders", 0)
NOW_MS = 1_000
PRODUCERS = 4


def written(segment_bytes: int) -> tuple[Log, set[int]]:
    """Transactions of several producers, one through another; the base offsets of batches that were aborted."""
    settings = LogSettings(segment_bytes=segment_bytes, index_interval_bytes=200, segment_index_bytes=12_000)
    log = open_log(SimulatedDisk(), f"/{NAME}", NAME, settings, now_ms=NOW_MS)
    chance = Random(7)
    sequences = dict.fromkeys(range(PRODUCERS), 0)
    open_batches: dict[int, list[int]] = {number: [] for number in range(PRODUCERS)}
    aborted: set[int] = set()
    for _ in range(400):
        producer = chance.randrange(PRODUCERS)
        if open_batches[producer] and chance.random() < 0.5:
            is_commit = chance.random() < 0.5
            if not is_commit:
                aborted |= set(open_batches[producer])
            open_batches[producer] = []
            append(
                log,
                build_marker(
                    producer_id=producer, producer_epoch=0, is_commit=is_commit, coordinator_epoch=0, timestamp=NOW_MS
                ),
            )
        else:
            open_batches[producer].append(log.log_end_offset)
            records = [Record(index, NOW_MS, None, b"x" * 20) for index in range(chance.randint(1, 3))]
            append(
                log,
                build_batch(
                    records,
                    producer_id=producer,
                    producer_epoch=0,
                    base_sequence=sequences[producer],
                    is_transactional=True,
                ),
            )
            sequences[producer] += len(records)
    log.producers.high_watermark_moved(log.log_end_offset)
    return log, aborted


def append(log: Log, batch: bytearray) -> None:
    (outcome,) = log.append([batch], leader_epoch=0, now_ms=NOW_MS, from_client=False)
    assert not isinstance(outcome, Exception), outcome


@pytest.mark.parametrize("segment_bytes", [2_000, 100_000])
@pytest.mark.parametrize("max_bytes", [1, 500, 3_000])
def test_every_slice_from_every_offset(segment_bytes: int, max_bytes: int) -> None:
    log, aborted = written(segment_bytes)
    stable = log.producers.first_unstable_offset or log.log_end_offset
    most, everything = 0, len(log.aborted_transactions(0, stable))
    for offset in range(stable):
        found = log.read(offset, max_bytes, max_offset=stable)
        listed = log.aborted_transactions_in(offset, found, stable)
        most = max(most, len(listed))
        for batch in split_batches(found.read()):
            head = read_head(batch)
            if not head.is_control:
                left_out = any(
                    each.producer_id == head.producer_id and each.first_offset <= head.base_offset <= each.last_offset
                    for each in listed
                )
                assert left_out == (head.base_offset in aborted), (offset, head)
    assert most < everything


def test_a_disk_that_cannot_be_read_takes_the_log_offline() -> None:
    """SPEC L10: whichever file it is that fails, of those that have to be looked at for a slice."""
    log, _ = written(2_000)
    assert isinstance(log.filesystem, SimulatedDisk)
    found = log.read(0, 500)
    log.filesystem.fail_next("read")
    with pytest.raises(StorageFailed):
        log.aborted_transactions_in(0, found, log.log_end_offset)
    assert log.failure is not None


def test_segments_without_aborted_transactions_are_asked_once() -> None:
    """A reader at the beginning of a long log does not ask all that follows, however often it reads."""
    log, _ = written(2_000)
    stable = log.producers.first_unstable_offset or log.log_end_offset
    expected = log.aborted_transactions(0, stable)
    with patch.object(Log, "_require_aborted_index", wraps=log._require_aborted_index) as require:
        assert log.aborted_transactions(0, stable) == expected
    assert [call.args for call in require.call_args_list] == [(log.segments.active,)]


def test_one_that_is_aborted_later_is_found_also_after_a_roll_and_a_cut() -> None:
    log, _ = written(2_000)
    before = log.aborted_transactions(0, log.log_end_offset)
    first = log.log_end_offset
    append(
        log,
        build_batch(
            [Record(0, NOW_MS, None, b"x")], producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True
        ),
    )
    append(log, build_marker(producer_id=9, producer_epoch=0, is_commit=False, coordinator_epoch=0, timestamp=NOW_MS))
    assert [each.first_offset for each in log.aborted_transactions(0, log.log_end_offset)[len(before) :]] == [first]
    log.roll(NOW_MS)
    assert [each.first_offset for each in log.aborted_transactions(0, log.log_end_offset)[len(before) :]] == [first]
    log.truncate_to(first, now_ms=NOW_MS)
    assert log.aborted_transactions(0, log.log_end_offset) == before
