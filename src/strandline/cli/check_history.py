"""`strandline check-history`: what clients saw, and whether it could have been Kafka."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import click

from strandline.cli.history_files import HistoryFiles
from strandline.cli.output import EXIT_FAULT, EXIT_VOID, CannotRead, Output, ToolCommand, counted, format_option
from strandline.cli.progress import scanning
from strandline.history.checker import check
from strandline.history.expectations import Expectations
from strandline.history.transaction import Contradiction
from strandline.history.verdict import Anomaly, Verdict, printable


@click.command(cls=ToolCommand, short_help="Look for anomalies in what clients saw; exit 1 if one is bad.")
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option("--read-to-end", is_flag=True, help="Somebody read all to the end: what nobody saw is lost.")
@click.option("--may-delete", is_flag=True, help="Retention or compaction ran: what is missing is not lost.")
@click.option("--may-delete-topic", multiple=True, metavar="NAME", help="The same, of this topic alone; repeatable.")
@click.option("--may-forget-offsets", is_flag=True, help="Offsets of groups expired or were deleted: they begin anew.")
@click.option("--all-writers", is_flag=True, help="Nobody else wrote there: a value that none of them sent is wrong.")
@click.option(
    "--at-least",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Void (exit 3) with fewer operations than this, if nothing is wrong with them.",
)
@click.option("--allowed", is_flag=True, help="Show also what Kafka allows; otherwise that is only counted.")
@format_option
def check_history(
    paths: tuple[str, ...],
    read_to_end: bool,
    may_delete: bool,
    may_delete_topic: tuple[str, ...],
    may_forget_offsets: bool,
    all_writers: bool,
    at_least: int,
    allowed: bool,
    output_format: str,
) -> None:
    """Look for anomalies in what clients saw; exit 1 if one is bad.

    Each FILE holds operations as lines of JSON: sends, polls, assignments, commits and transactions, as docs/history.md
    says and strandline.history.recording writes them. Several files are one history: of each process its own. Anomalies
    are told with the least that shows them. Exit code 2 says that a file could not be read, or that no operation is in
    any; 3 that the history is void: too little was done, or nothing was read, to say anything. A bad anomaly is one in
    any history, however little was done.
    """
    output, files = Output(output_format), HistoryFiles(paths)
    expectations = Expectations(read_to_end, may_delete, all_writers, frozenset(may_delete_topic), may_forget_offsets)
    try:
        with scanning("reading", files.size_bytes) as advance, _without_collector():
            verdict = check(files.operations(advance), expectations)
    except Contradiction as refused:
        raise CannotRead(f"{refused} [{files.places_of(refused.operations)}]") from None
    if verdict.operation_count == 0:
        torn = ": what is there is a line that is not whole" if files.torn else ""
        raise CannotRead(f"there is no operation in {files}{torn}")
    for anomaly in verdict.anomalies():
        if anomaly.is_bad or allowed:
            _tell(anomaly, files, output)
    for topic in sorted(set(may_delete_topic) - verdict.topics):
        output.note(f"strandline: no operation is of the topic {printable(topic)} that --may-delete-topic names")
    void_because = _void_because(verdict, at_least)
    if output.is_json:
        _tell_summary_as_json(verdict, files, output, void_because)
    else:
        _tell_summary(verdict, files, output, void_because, are_allowed_shown=allowed)
    if void_because is not None:
        click.get_current_context().exit(EXIT_VOID)
    if not verdict.is_sound:
        click.get_current_context().exit(EXIT_FAULT)


def _void_because(verdict: Verdict, at_least: int) -> str | None:
    """None also of a history with a bad anomaly: that says something, however little was done."""
    if verdict.bad_count == 0 and verdict.operation_count < at_least:
        return f"{counted(verdict.operation_count, 'operation')} are too few to say anything"
    return verdict.void_because


@contextmanager
def _without_collector() -> Iterator[None]:
    """Millions of tuples, none of them in a cycle: looking for cycles among them takes a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _tell(anomaly: Anomaly, files: HistoryFiles, output: Output) -> None:
    if output.is_json:
        found_at = [files.place_of(number) for number in anomaly.operations]
        output.object({"type": "anomaly", **anomaly.as_fields(), "operations": found_at})
    else:
        label = "bad" if anomaly.is_bad else "allowed"
        output.line(f"{anomaly.kind} ({label}): {anomaly.sentence} [{files.places_of(anomaly.operations)}]")


def _tell_summary_as_json(verdict: Verdict, files: HistoryFiles, output: Output, void_because: str | None) -> None:
    is_void = void_because is not None
    summary = {
        "sound": verdict.is_sound and not is_void,
        "void": is_void,
        "void_because": void_because,
        "operations": {f"{op}_{outcome}": count for (op, outcome), count in sorted(verdict.operations.items())},
        "anomalies": {
            kind.value: {"bad": finding.bad_count, "allowed": finding.allowed_count}
            for kind, finding in verdict.findings.items()
        },
    }
    output.object({"type": "summary", **summary, **verdict.counts, "torn_files": len(files.torn)})


def _tell_summary(
    verdict: Verdict, files: HistoryFiles, output: Output, void_because: str | None, *, are_allowed_shown: bool
) -> None:
    for kind, finding in verdict.findings.items():
        hint = " (--allowed shows them)" if finding.allowed_count and not are_allowed_shown else ""
        output.line(f"{kind}: {finding.bad_count} bad, {finding.allowed_count} allowed{hint}")
    for path in files.torn:
        output.note(f"strandline: the last line of {printable(path)} is not whole and was left out")
    _tell_counts(verdict, output, "Void: " if void_because is not None else "Sound: " if verdict.is_sound else "")
    if void_because is not None:
        output.note(f"strandline: {void_because}")
    elif not verdict.is_sound:
        output.note(f"strandline: {counted(verdict.bad_count, 'bad anomaly', 'bad anomalies')}")


def _tell_counts(verdict: Verdict, output: Output, judgement: str) -> None:
    by_op: dict[str, list[str]] = {}
    for (op, outcome), count in sorted(verdict.operations.items()):
        by_op.setdefault(op, []).append(f"{count:,} {outcome}")
    told = "; ".join(f"{op} {', '.join(outcomes)}" for op, outcomes in by_op.items()) or "none"
    looked_at = (
        f"{counted(verdict.operation_count, 'operation')} of"
        f" {counted(verdict.counts['processes'], 'process', 'processes')} ({told}),"
        f" {counted(verdict.counts['records_read'], 'record')} read from"
        f" {counted(verdict.counts['partitions'], 'partition')}"
    )
    output.line(f"{judgement}{looked_at}.")
    if verdict.counts["values_sent_twice"]:
        output.line(
            f"{counted(verdict.counts['values_sent_twice'], 'value')} sent twice: judged only where acknowledged."
        )
    if verdict.counts["foreign_records"]:
        output.line(
            f"{counted(verdict.counts['foreign_records'], 'record')} came from writers that are not in the history."
        )
