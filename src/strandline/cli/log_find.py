"""`strandline log find`: an offset or a time looked up in slow motion."""

from __future__ import annotations

import os
from typing import Any

import click

from strandline.cli.dump_batches import DumpedBatch, DumpedRecord
from strandline.cli.output import EXIT_FAULT, Output, ToolCommand, counted, format_option, time_and_ms
from strandline.cli.targets import filesystem, one_folder
from strandline.cli.times import Timestamp
from strandline.log.checkpoints import LOG_START_CHECKPOINT, read_offsets
from strandline.log.inspection import OFFSET_MAX, SegmentFiles, list_segments
from strandline.log.inspection_find import FoundBatch, IndexEntry, Search, SegmentVisit, find_offset, find_time
from strandline.log.names import LOG, OFFSET_INDEX, TIME_INDEX
from strandline.model.failures import CorruptData
from strandline.model.partitions import parse_partition_folder


@click.command(cls=ToolCommand, short_help="Look up an offset or a time, and show the path taken.")
@click.argument("path", metavar="PATH")
@click.option(
    "--offset", type=click.IntRange(0, OFFSET_MAX), help="The record at this offset, or the next one there is."
)
@click.option("--time", "timestamp", type=Timestamp(), help="The first record from then on: ms, ISO 8601, or @-1h.")
@format_option
def find(path: str, offset: int | None, timestamp: int | None, output_format: str) -> None:
    """Look up an offset or a time, and show the path taken.

    The segment chosen, the index entry used, the bytes scanned, the batch and the record found. PATH is a partition's
    folder. Exit code 1 says that there is no such record, or that damage lies before it.
    """
    if (offset is None) == (timestamp is None):
        raise click.UsageError("give one of --offset N and --time T")
    output = Output(output_format)
    folder = one_folder(path)
    segments = list_segments(filesystem, folder)
    if not segments:
        raise CorruptData(f"{folder} has no segments; nothing can be found in it")
    log_start_offset = _log_start(folder, segments)
    if offset is not None:
        search = find_offset(segments, offset)
    else:
        assert timestamp is not None
        search = find_time(segments, timestamp, log_start_offset)
    if output.is_json:
        output.object(_fields(search, offset, timestamp, log_start_offset))
    else:
        _tell(search, offset, timestamp, log_start_offset, output)
    if search.found is None:
        click.get_current_context().exit(EXIT_FAULT)


def _log_start(folder: str, segments: list[SegmentFiles]) -> int:
    """Where DeleteRecords moved it, by the checkpoint of the data directory; else the first segment's name."""
    absolute = os.path.abspath(folder)
    partition = parse_partition_folder(os.path.basename(absolute))
    first = segments[0].base_offset
    if partition is None:
        return first
    try:
        path = os.path.join(os.path.dirname(absolute), LOG_START_CHECKPOINT)
        return max(first, read_offsets(filesystem, path).get(partition, 0))
    except CorruptData:
        return first


def _tell(search: Search, offset: int | None, timestamp: int | None, log_start_offset: int, output: Output) -> None:
    if timestamp is not None:
        output.line(f"time        {time_and_ms(timestamp)}")
        skipped = counted(search.skipped_segments, "segment") if search.skipped_segments else "none"
        output.line(f"segments    {search.segment_count} in the log; skipped because they end earlier: {skipped}")
    else:
        steps = counted(search.binary_steps, "step")
        output.line(f"segments    {search.segment_count} in the log; binary search over their names: {steps}")
    for visit in search.visits:
        _tell_visit(visit, is_by_time=timestamp is not None, output=output)
    if search.found is not None:
        _tell_found(search.found, output)
    if search.damage is not None:
        output.line(f"damage      {search.damage}")
    remark = _remark(search, offset, log_start_offset)
    if remark:
        output.line(f"remark      {remark}")


def _tell_visit(visit: SegmentVisit, *, is_by_time: bool, output: Output) -> None:
    active = " (active)" if visit.files.is_active else ""
    output.line(f"segment     {visit.files.path(LOG)}{active}")
    if is_by_time:
        entry = visit.time_entry
        led = "" if entry is None else f"timestamp {time_and_ms(entry.key)} -> offset {entry.target}"
        output.line(f"{TIME_INDEX:<12}{_entry_text(entry, led)}")
    entry = visit.offset_entry
    led = "" if entry is None else f"offset {entry.key} -> position {entry.target}"
    output.line(f"{OFFSET_INDEX:<12}{_entry_text(entry, led)}")
    if visit.scan is not None:
        batches = counted(visit.scan.batches, "batch", "batches")
        output.line(
            f"scan        from position {visit.scan.start}: {batches} looked at, {visit.scan.bytes:,} bytes passed over"
        )
    for note in visit.notes:
        output.line(f"note        {note}")


def _entry_text(entry: IndexEntry | None, led: str) -> str:
    return (
        "no entry that early: from the segment's start"
        if entry is None
        else f"entry {entry.number} of {entry.of}: {led}"
    )


def _tell_found(found: FoundBatch, output: Output) -> None:
    batch = DumpedBatch(found.position, memoryview(found.batch))
    output.line(f"batch       {batch.line()}")
    output.line(f"record      {batch.record_line(_dumped(batch, found), prints_data=True)}")


def _dumped(batch: DumpedBatch, found: FoundBatch) -> DumpedRecord:
    offset = found.record.offset
    return next(dumped for dumped in batch.records() if dumped.record.offset == offset)


def _remark(search: Search, offset: int | None, log_start_offset: int) -> str:
    if search.damage is not None:
        return "the log cannot be read beyond the damage; `strandline log check` tells more"
    if search.found is None:
        return "there is no such record: the log ends before it"
    record = search.found.record
    if offset is not None and record.offset != offset:
        return f"offset {offset} is not there any more; {record.offset} is the next one"
    if record.offset < log_start_offset:
        return f"this lies below the log's start, {log_start_offset}: a broker does not serve it"
    return ""


def _fields(search: Search, offset: int | None, timestamp: int | None, log_start_offset: int) -> dict[str, Any]:
    fields: dict[str, Any] = {"offset": offset} if offset is not None else {"time": timestamp}
    fields |= {
        "log_start_offset": log_start_offset,
        "segments": search.segment_count,
        "binary_steps": search.binary_steps,
        "skipped_segments": search.skipped_segments,
        "visits": [_visit_fields(visit) for visit in search.visits],
        "remark": _remark(search, offset, log_start_offset) or None,
        "damage": search.damage,
        "batch": None,
        "record": None,
    }
    if search.found is not None:
        batch = DumpedBatch(search.found.position, memoryview(search.found.batch))
        fields["batch"] = batch.fields()
        fields["record"] = batch.record_fields(_dumped(batch, search.found), prints_data=True)
    return fields


def _visit_fields(visit: SegmentVisit) -> dict[str, Any]:
    return {
        "segment": visit.files.path(LOG),
        "is_active": visit.files.is_active,
        "timeindex_entry": visit.time_entry and visit.time_entry._asdict(),
        "index_entry": visit.offset_entry and visit.offset_entry._asdict(),
        "scan": visit.scan and visit.scan._asdict(),
        "notes": visit.notes,
    }
