"""`strandline log check`: every byte that can be verified, one line for each fault."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from strandline.cli.output import EXIT_FAULT, EXIT_UNREADABLE, Output, ToolCommand, counted, format_option, size_text
from strandline.cli.progress import scanning
from strandline.cli.targets import (
    SEGMENT_KINDS,
    Kind,
    Target,
    base_offset_of,
    broker_holds,
    filesystem,
    kind_of,
    resolve,
)
from strandline.log.inspection import Advance, list_segments
from strandline.log.inspection_check import (
    DirectoryCheck,
    PartitionCheck,
    capped,
    check_metadata_snapshot,
    check_segment,
    check_small_file,
)
from strandline.log.inspection_fault import Fault, Tally


@click.command(cls=ToolCommand, short_help="Verify every byte that can be verified; exit 1 if there is a fault.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@format_option
def check(paths: tuple[str, ...], output_format: str) -> None:
    """Verify every byte that can be verified; exit 1 if there is a fault.

    CRCs, offset order, batch lengths, every record; index entries against the log; producer snapshots; leader epochs
    against the batches; checkpoints; leftovers. One line for each fault. PATH is a file, a partition's folder or a
    data directory; a running broker does not mind. Exit code 2 says that a file could not be read; the others still
    were.
    """
    output, tally = Output(output_format), Tally()
    targets = [resolve(path) for path in paths]
    fault_count = unreadable_count = 0
    with scanning("checking", sum(map(_log_bytes, targets))) as advance:
        for target in targets:
            for fault in _faults(target, tally, advance):
                fault_count += not fault.is_unreadable
                unreadable_count += fault.is_unreadable
                _tell(fault, output)
    _tell_summary(fault_count, unreadable_count, tally, output)
    if fault_count or unreadable_count:
        click.get_current_context().exit(EXIT_UNREADABLE if unreadable_count else EXIT_FAULT)


def _log_bytes(target: Target) -> int:
    """For the progress bar, to which what cannot be read does not matter."""
    try:
        segments = [segment for folder in target.folders for segment in list_segments(filesystem, folder)]
        return sum(segment.size_bytes for segment in segments) + sum(map(filesystem.size, target.files))
    except OSError:
        return 0


def _faults(target: Target, tally: Tally, advance: Advance) -> Iterator[Fault]:
    if target.is_directory:
        is_at_rest = not broker_holds(target.path)
        check = DirectoryCheck(filesystem, target.path, tally, advance, is_at_rest=is_at_rest)
        yield from check.faults(list(target.folders))
    else:
        for folder in target.folders:
            is_at_rest = not broker_holds(os.path.dirname(os.path.abspath(folder)))
            yield from PartitionCheck(filesystem, folder, tally, advance, is_at_rest=is_at_rest).faults()
        for path in target.files:
            yield from _file_faults(path, tally, advance)


def _file_faults(path: str, tally: Tally, advance: Advance) -> Iterator[Fault]:
    kind = kind_of(os.path.basename(path))
    if kind in SEGMENT_KINDS:
        segments = list_segments(filesystem, os.path.dirname(path) or ".")
        found = [segment for segment in segments if segment.base_offset == base_offset_of(path)]
        if not found:
            yield Fault(path, None, "there is no .log file beside it to compare it with")
        for segment in found:
            yield from check_segment(segment, tally, advance)
    elif kind is Kind.METADATA_SNAPSHOT:
        yield from capped(check_metadata_snapshot(filesystem, path, tally))
    else:
        yield from capped(check_small_file(filesystem, path, tally))


def _tell(fault: Fault, output: Output) -> None:
    if output.is_json:
        output.object({"type": "unreadable" if fault.is_unreadable else "fault", **fault._asdict()})
    else:
        output.line(str(fault))


def _tell_summary(fault_count: int, unreadable_count: int, tally: Tally, output: Output) -> None:
    if output.is_json:
        counts = {name: getattr(tally, name) for name in Tally.__slots__}
        output.object({"type": "summary", "faults": fault_count, "unreadable": unreadable_count, **counts})
        return
    looked_at = (
        f"{counted(tally.partitions, 'partition')}, {counted(tally.segments, 'segment')},"
        f" {counted(tally.batches, 'batch', 'batches')}, {counted(tally.records, 'record')},"
        f" {counted(tally.files, 'file')}, {size_text(tally.bytes)} of log"
    )
    if unreadable_count:
        looked_at += f"; {counted(unreadable_count, 'file')} could not be read"
    if fault_count or unreadable_count:
        output.note(f"strandline: {counted(fault_count, 'fault')} in {looked_at}")
    else:
        output.line(f"Sound: {looked_at}.")
