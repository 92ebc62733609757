"""`strandline log segments`: a partition at a glance."""

from __future__ import annotations

import os

import click

from strandline.cli.output import Output, ToolCommand, counted, format_option, iso_time, size_text
from strandline.cli.progress import scanning
from strandline.cli.targets import SEGMENT_KINDS, Target, base_offset_of, filesystem, kind_of, resolve
from strandline.log.inspection import Advance, SegmentFiles, SegmentSummary, list_segments, summarize

COLUMNS = (
    "#base offset",
    "#end offset",
    "#records (batches)",
    "#size",
    "first timestamp",
    "last timestamp",
    "#index entries",
    "codecs",
    "state",
)


@click.command(cls=ToolCommand, short_help="List the segments of a partition: offsets, times, sizes, indexes.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@format_option
def segments(paths: tuple[str, ...], output_format: str) -> None:
    """List the segments of a partition: offsets, times, sizes, indexes.

    PATH is a partition's folder, one of its files, or a data directory for all its partitions. Only the heads of
    batches are read: `strandline log check` looks deeper. Index entries are those of .index, .timeindex, .txnindex.
    """
    output = Output(output_format)
    folders = [found for path in paths for found in _segments_by_folder(resolve(path))]
    total_bytes = sum(segment.size_bytes for _, found in folders for segment in found)
    with scanning("reading heads", total_bytes) as advance:
        for folder, found in folders:
            _tell(folder, found, output, advance)


def _segments_by_folder(target: Target) -> list[tuple[str, list[SegmentFiles]]]:
    if target.is_directory or not target.files:
        return [(folder, list_segments(filesystem, folder)) for folder in target.folders]
    path = target.files[0]
    folder = os.path.dirname(path) or "."
    found = list_segments(filesystem, folder)
    if kind_of(os.path.basename(path)) in SEGMENT_KINDS:
        found = [segment for segment in found if segment.base_offset == base_offset_of(path)]
    return [(folder, found)]


def _tell(folder: str, found: list[SegmentFiles], output: Output, advance: Advance) -> None:
    summaries = (summarize(segment, advance) for segment in found)
    if output.is_json:
        for summary in summaries:
            output.object(_fields(folder, summary))
        return
    rows = [_row(summary) for summary in summaries]
    if rows:
        total_bytes = sum(segment.size_bytes for segment in found)
        output.table(f"{folder}: {counted(len(rows), 'segment')}, {size_text(total_bytes)}", COLUMNS, rows)
    else:
        output.line(f"{folder}: no segments")


def _fields(folder: str, summary: SegmentSummary) -> dict[str, object]:
    return {
        "folder": folder,
        "base_offset": summary.files.base_offset,
        "end_offset": summary.next_offset,
        "records": summary.records,
        "batches": summary.batches,
        "size_bytes": summary.files.size_bytes,
        "first_timestamp": summary.first_timestamp,
        "last_timestamp": summary.max_timestamp,
        "index_entries": summary.offset_entries,
        "timeindex_entries": summary.time_entries,
        "txnindex_entries": summary.aborted_entries,
        "codecs": _codecs(summary),
        "is_active": summary.files.is_active,
        "damage": summary.damage,
    }


def _codecs(summary: SegmentSummary) -> list[str]:
    return [codec.name.lower() for codec in sorted(summary.codecs)]


def _row(summary: SegmentSummary) -> list[str]:
    state = ["active"] if summary.files.is_active else []
    if summary.damage is not None:
        state.append(f"damaged {summary.damage}")
    return [
        str(summary.files.base_offset),
        str(summary.next_offset),
        f"{summary.records} ({summary.batches})",
        size_text(summary.files.size_bytes),
        iso_time(summary.first_timestamp),
        iso_time(summary.max_timestamp),
        f"{summary.offset_entries}, {summary.time_entries}, {summary.aborted_entries}",
        ", ".join(_codecs(summary)),
        "; ".join(state),
    ]
