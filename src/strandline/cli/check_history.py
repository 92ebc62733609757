"""`strandline check-history`: what clients saw, and whether it could have been Kafka."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import click

from strandline.cli.output import EXIT_FAULT, CannotRead, Output, ToolCommand, counted, format_option
from strandline.cli.progress import scanning
from strandline.history.checker import check
from strandline.history.expectations import Expectations
from strandline.history.lines import LineParser, NotJson
from strandline.history.operations import Operation
from strandline.history.transactions import Contradiction
from strandline.history.verdict import Anomaly, Verdict
from strandline.model.failures import CorruptData

LINE_BYTES_MAX = 64 * 2**20


@click.command(cls=ToolCommand, short_help="Look for anomalies in what clients saw; exit 1 if one is bad.")
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option("--read-to-end", is_flag=True, help="Somebody read all to the end: what nobody saw is lost.")
@click.option("--may-delete", is_flag=True, help="Retention or compaction ran: what is missing is not lost.")
@click.option("--all-writers", is_flag=True, help="Nobody else wrote there: a value that none of them sent is wrong.")
@click.option("--at-least", type=int, default=0, metavar="N", help="Exit 1 if there are fewer operations than this.")
@format_option
def check_history(
    paths: tuple[str, ...], read_to_end: bool, may_delete: bool, all_writers: bool, at_least: int, output_format: str
) -> None:
    """Look for anomalies in what clients saw; exit 1 if one is bad.

    Each FILE holds operations as lines of JSON: sends, polls, assignments, commits and transactions, as docs/history.md
    says and strandline.history.recording writes them. Several files are one history: of each process its own. Anomalies
    are told with the least that shows them. Exit code 2 says that a file could not be read, or that no operation is in
    any.
    """
    _refuse_repeated(paths)
    output, files = Output(output_format), HistoryFiles(paths)
    try:
        with scanning("reading", files.size_bytes()) as advance, _without_collector():
            verdict = check(files.operations(advance), Expectations(read_to_end, may_delete, all_writers))
    except Contradiction as refused:
        raise CannotRead(f"{refused} [{files.places_of(refused.operations)}]") from None
    if verdict.operation_count == 0:
        raise CannotRead(f"there is no operation in {files}")
    for anomaly in verdict.anomalies():
        _tell(anomaly, files, output)
    is_void = verdict.operation_count < at_least
    _tell_summary(verdict, files, output, is_void=is_void)
    if is_void or not verdict.is_sound:
        click.get_current_context().exit(EXIT_FAULT)


def _refuse_repeated(paths: tuple[str, ...]) -> None:
    """Or every operation would have happened twice."""
    known: dict[str, str] = {}
    for path in paths:
        real = os.path.realpath(path)
        other = known.get(real)
        if other is not None:
            raise CannotRead(f"{path} is given twice" if other == path else f"{other} and {path} are the same file")
        known[real] = path


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


class HistoryFiles:
    """Several files as one: lines are numbered over all of them, and found again by their number."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        self.paths = paths
        self.torn: list[str] = []  # whose last line is not whole
        self._ends: list[int] = []  # number of the last line of each file

    def __str__(self) -> str:
        return self.paths[0] if len(self.paths) == 1 else f"any of the {len(self.paths)} files"

    def size_bytes(self) -> int:
        return sum(os.path.getsize(path) for path in self.paths)

    def operations(self, advance: Callable[[int], None]) -> Iterator[Operation]:
        parser, number = LineParser(), 0
        for path in self.paths:
            with open(path, "rb") as file:
                while line := file.readline(LINE_BYTES_MAX):
                    number += 1
                    advance(len(line))
                    if line.isspace():
                        continue
                    try:
                        yield parser.operation(line, number)
                    except CorruptData as error:
                        is_cut_off = not line.endswith(b"\n") and len(line) < LINE_BYTES_MAX
                        if not (is_cut_off and isinstance(error, NotJson)):
                            raise CorruptData(f"{self.place(path, number)} {error}") from None
                        self.torn.append(path)  # its writer was killed
            self._ends.append(number)

    def place(self, path: str, number: int) -> str:
        return f"{path}:{number - (self._ends[-1] if self._ends else 0)}"

    def places_of(self, numbers: Iterable[int]) -> str:
        return ", ".join(self.place_of(number) for number in numbers)

    def place_of(self, number: int) -> str:
        first = 0
        for path, last in zip(self.paths, self._ends, strict=True):
            if number <= last:
                return f"{path}:{number - first}"
            first = last
        raise IndexError(number)


def _tell(anomaly: Anomaly, files: HistoryFiles, output: Output) -> None:
    if output.is_json:
        places = [files.place_of(number) for number in anomaly.operations]
        output.object({"type": "anomaly", **anomaly.as_fields(), "operations": places})
    else:
        label = "bad" if anomaly.is_bad else "allowed"
        output.line(f"{anomaly.kind} ({label}): {anomaly.sentence} [{files.places_of(anomaly.operations)}]")


def _tell_summary(verdict: Verdict, files: HistoryFiles, output: Output, *, is_void: bool) -> None:
    kinds = {kind.value: [finding.bad_count, finding.allowed_count] for kind, finding in verdict.findings.items()}
    if output.is_json:
        by_outcome = {f"{op}_{outcome}": count for (op, outcome), count in sorted(verdict.operations.items())}
        found = {kind: {"bad": bad, "allowed": allowed} for kind, (bad, allowed) in kinds.items()}
        summary = {"sound": verdict.is_sound, "void": is_void, "operations": by_outcome, "anomalies": found}
        output.object({"type": "summary", **summary, **verdict.counts, "torn_files": len(files.torn)})
        return
    for kind, (bad, allowed) in kinds.items():
        output.line(f"{kind}: {bad} bad, {allowed} allowed")
    for path in files.torn:
        output.note(f"strandline: the last line of {path} is not whole and was left out")
    _tell_counts(verdict, output, is_void=is_void)
    if is_void:
        output.note(f"strandline: {counted(verdict.operation_count, 'operation')} are too few to say anything")
    elif not verdict.is_sound:
        output.note(f"strandline: {counted(verdict.bad_count, 'bad anomaly', 'bad anomalies')}")


def _tell_counts(verdict: Verdict, output: Output, *, is_void: bool) -> None:
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
    output.line(f"{'Sound: ' if verdict.is_sound and not is_void else ''}{looked_at}.")
    if verdict.counts["values_sent_twice"]:
        output.line(f"{counted(verdict.counts['values_sent_twice'], 'value')} sent twice could not be judged.")
    if verdict.counts["foreign_records"]:
        output.line(
            f"{counted(verdict.counts['foreign_records'], 'record')} came from writers that are not in the history."
        )
