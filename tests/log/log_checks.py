"""Compares a log with what the dumb reading of its batches says it must be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.log import dumb_log
from tests.log.dumb_log import Producer, StoredBatch
from tests.log.sample_log import files_in

from strandline.log.log import Log
from strandline.simulation.disk import SimulatedDisk


def stored_batches(disk: SimulatedDisk, folder: str) -> list[StoredBatch]:
    """All batches of a folder. Every byte of every `.log` file must belong to one."""
    batches: list[StoredBatch] = []
    for name, data in files_in(disk, folder).items():
        if name.endswith(".log"):
            found = dumb_log.read_valid_batches(int(name[:20]), data)
            assert sum(len(batch.data) for batch in found) == len(data), f"{name} has bytes that are no batch"
            batches += found
    return batches


def assert_derived(
    log: Log,
    batches: Sequence[StoredBatch],
    *,
    removed: Sequence[StoredBatch] = (),
    has_exact_indexes: bool = True,
) -> None:
    """Everything the log knows beside its batches, against a rebuild from them alone.

    `removed` came before them: producers outlive the records that retention took.
    """
    assert_no_hole(log, batches)
    producers, aborted = dumb_log.producers_and_aborted_of([*removed, *batches])
    aborted = [each for each in aborted if each.last_offset >= log.segments.first.base_offset]
    assert producers_of(log) == producers
    undecided = [each.transaction_first_offset for each in producers.values()]
    assert log.producers.first_undecided_offset == min((each for each in undecided if each is not None), default=None)
    assert list(map(tuple, log.epochs.entries())) == dumb_log.epochs_of(batches)
    assert_aborted(log, aborted)
    assert_lookups(log, batches)
    for segment in log.segments.all():
        inside = [batch for batch in batches if batch.segment == segment.base_offset]
        if has_exact_indexes:
            interval = log.settings.index_interval_bytes
            assert list(segment.offset_index.entries()) == dumb_log.offset_index_of(inside, interval)
            assert list(segment.time_index.entries()) == dumb_log.time_index_of(inside, interval)
        else:
            assert_indexes_true(segment.offset_index.entries(), segment.time_index.entries(), inside)


def assert_indexes_true(
    offset_entries: Iterable[tuple[int, int]], time_entries: Iterable[tuple[int, int]], batches: Sequence[StoredBatch]
) -> None:
    """Not at the places a rebuild would choose, after truncations, but every entry says what is."""
    assert set(offset_entries) <= {(batch.last_offset, batch.position) for batch in batches}
    latest: list[tuple[int, int]] = []
    for batch in batches:
        if not latest or batch.max_timestamp > latest[-1][0]:
            latest.append((batch.max_timestamp, batch.last_offset))
    assert set(time_entries) <= set(latest)


def assert_no_hole(log: Log, batches: Sequence[StoredBatch]) -> None:
    assert [segment.size_bytes for segment in log.segments.all()] == [
        sum(len(batch.data) for batch in batches if batch.segment == segment.base_offset)
        for segment in log.segments.all()
    ]
    next_offset = log.segments.first.base_offset
    for batch in batches:
        assert batch.base_offset == next_offset
        next_offset = batch.last_offset + 1
    assert log.log_end_offset == next_offset
    assert log.segments.first.base_offset <= log.log_start_offset <= log.log_end_offset
    assert log.recovery_point <= log.log_end_offset


def producers_of(log: Log) -> dict[int, Producer]:
    return {
        entry.producer_id: Producer(
            entry.producer_epoch,
            entry.last_batch.last_sequence if entry.last_batch else -1,
            entry.last_batch.last_offset if entry.last_batch else -1,
            entry.last_timestamp,
            entry.coordinator_epoch,
            entry.current_transaction_first_offset,
        )
        for entry in log.producers.entries()
    }


def assert_aborted(log: Log, expected: Sequence[dumb_log.Aborted]) -> None:
    for segment in log.segments.all():
        inside = [tuple(each[1:]) for each in expected if each.segment == segment.base_offset]
        assert list(map(tuple, segment.aborted.all())) == inside
    found = log.aborted_transactions(log.segments.first.base_offset, log.log_end_offset)
    assert list(map(tuple, found)) == [tuple(each[1:]) for each in expected]


def assert_lookups(log: Log, batches: Sequence[StoredBatch]) -> None:
    visible = [batch for batch in batches if batch.last_offset >= log.log_start_offset]
    for batch in visible:
        for offset in range(max(batch.base_offset, log.log_start_offset), batch.last_offset + 1):
            assert log.read(offset, 1).read() == batch.data, f"offset {offset}"
    records = [each for each in dumb_log.timed_records_of(visible) if each.offset >= log.log_start_offset]
    for timestamp in {moment for each in records for moment in (each.timestamp, each.timestamp + 1)} | {0}:
        first = next((each for each in records if each.timestamp >= timestamp), None)
        found = log.find_by_timestamp(timestamp)
        assert (None if found is None else tuple(found)) == first, f"timestamp {timestamp}"
    latest = max((each.timestamp for each in records), default=None)
    found = log.find_max_timestamp()
    assert (found and tuple(found)) == next((each for each in records if each.timestamp == latest), None)
