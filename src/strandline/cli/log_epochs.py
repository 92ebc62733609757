"""`strandline log epochs`: which leader wrote what, by the checkpoint and by the batches."""

from __future__ import annotations

import click

from strandline.cli.output import EXIT_FAULT, EXIT_UNREADABLE, Output, ToolCommand, format_option
from strandline.cli.progress import scanning
from strandline.cli.targets import filesystem, one_folder, resolve
from strandline.log.checkpoints import read_leader_epochs
from strandline.log.inspection import EpochRun, SegmentSummary, join_runs, list_segments, summarize
from strandline.log.leader_epochs import LeaderEpoch, LeaderEpochs
from strandline.log.names import LEADER_EPOCH_CHECKPOINT
from strandline.model.failures import CorruptData

COLUMNS = ("#epoch", "#begins (checkpoint)", "#first offset", "#last offset", "#batches", "remark")


@click.command(cls=ToolCommand, short_help="Compare the leader epochs of the checkpoint with those of the batches.")
@click.argument("path", metavar="PATH")
@format_option
def epochs(path: str, output_format: str) -> None:
    """Compare the leader epochs of the checkpoint with those of the batches.

    PATH is a partition's folder or a data directory. Exit code 1 says that they contradict each other.
    """
    output = Output(output_format)
    target = resolve(path)
    folders = target.folders if target.is_directory else (one_folder(path),)
    exit_code = max((_tell_folder(folder, output) for folder in folders), default=0)
    if exit_code:
        click.get_current_context().exit(exit_code)


def _tell_folder(folder: str, output: Output) -> int:
    checkpoint = f"{folder}/{LEADER_EPOCH_CHECKPOINT}"
    exit_code, entries = 0, []
    try:
        entries = read_leader_epochs(filesystem, checkpoint)
        LeaderEpochs.from_entries(entries)
    except CorruptData as error:
        exit_code = EXIT_UNREADABLE
        output.note(f"strandline: {checkpoint}: {error}; a broker would make it anew from the batches")
    summaries = _summaries(folder)
    for summary in summaries:
        if summary.damage is not None:
            exit_code = max(exit_code, EXIT_FAULT)
            output.note(f"strandline: {summary.files.path('.log')}: {summary.damage}")
    log_end_offset = summaries[-1].next_offset if summaries else 0
    rows = _compare(entries, join_runs(iter(summaries)), log_end_offset)
    if any(row["is_fault"] for row in rows):
        exit_code = max(exit_code, EXIT_FAULT)
    if output.is_json:
        for row in rows:
            output.object({"folder": folder, **row})
    else:
        title = f"{folder}: the log ends at {log_end_offset}"
        output.table(title, COLUMNS, [["" if value is None else str(value) for value in _cells(row)] for row in rows])
    return exit_code


def _summaries(folder: str) -> list[SegmentSummary]:
    segments = list_segments(filesystem, folder)
    with scanning("reading heads", sum(segment.size_bytes for segment in segments)) as advance:
        return [summarize(segment, advance) for segment in segments]


def _compare(entries: list[LeaderEpoch], runs: list[EpochRun], log_end_offset: int) -> list[dict[str, object]]:
    begins = dict(entries)
    first_known = min(begins.values(), default=0)
    rows = []
    by_epoch: dict[int, EpochRun] = {}
    for run in runs:
        if run.epoch in by_epoch:
            rows.append(_row(run.epoch, None, run, "comes again after a later epoch", is_fault=True))
        by_epoch.setdefault(run.epoch, run)
    for epoch in sorted(begins.keys() | by_epoch.keys()):
        remark, is_fault = _remark(begins.get(epoch), by_epoch.get(epoch), first_known, log_end_offset)
        rows.append(_row(epoch, begins.get(epoch), by_epoch.get(epoch), remark, is_fault=is_fault))
    return rows


def _row(epoch: int, begins: int | None, run: EpochRun | None, remark: str, *, is_fault: bool) -> dict[str, object]:
    return {
        "epoch": epoch,
        "checkpoint_start_offset": begins,
        "first_offset": run.first_offset if run else None,
        "last_offset": run.last_offset if run else None,
        "batches": run.batches if run else 0,
        "remark": remark,
        "is_fault": is_fault,
    }


def _cells(row: dict[str, object]) -> list[object]:
    return [value for name, value in row.items() if name != "is_fault"]


def _remark(begins: int | None, run: EpochRun | None, first_known: int, log_end_offset: int) -> tuple[str, bool]:
    if run is None:
        if begins is not None and begins > log_end_offset:
            return "begins beyond the end of the log", True
        return "nothing written in it, or all compacted away", False
    if run.epoch < 0:
        return "written before there were epochs", False
    if begins is None:
        is_old = run.last_offset < first_known
        return ("below the log's start" if is_old else "the checkpoint does not know it"), not is_old
    if run.first_offset < begins:
        if begins == first_known:
            return "the log's start has moved into it", False
        return "begins before the checkpoint says", True
    if run.first_offset > begins:
        return "its first offsets are compacted away", False
    return "", False
