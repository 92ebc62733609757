"""`strandline log dump`: what `kafka-dump-log --print-data-log --deep-iteration` prints, without a JVM."""

from __future__ import annotations

import os
import re
from dataclasses import replace

import click

from strandline.cli.dump_batches import DumpOptions, dump_batches
from strandline.cli.dump_findings import Findings
from strandline.cli.output import Output, ToolCommand, format_option, sentence_of
from strandline.cli.targets import Kind, Target, files_of, filesystem, kind_of, resolve
from strandline.log import names
from strandline.log.inspection import OFFSET_MAX
from strandline.model.failures import CorruptData

OFFSET_RANGE = re.compile(r"(?P<start>[0-9]{0,19}):(?P<end>[0-9]{0,19})")
BATCH_KINDS = (Kind.LOG, Kind.METADATA_SNAPSHOT)
INDEX_KINDS = (Kind.OFFSET_INDEX, Kind.TIME_INDEX)


class OffsetRange(click.ParamType[range]):
    name = "A:B"

    def convert(self, value: str | range, param: click.Parameter | None, ctx: click.Context | None) -> range:
        if isinstance(value, range):
            return value
        match = OFFSET_RANGE.fullmatch(value)
        if match is None:
            self.fail(f"{value!r} is not a range of offsets; write 100:200, 100: or :200", param, ctx)
        offsets = range(int(match["start"] or 0), int(match["end"] or OFFSET_MAX))
        if offsets.stop > OFFSET_MAX:
            self.fail(f"{value!r} goes beyond the last offset there can be, {OFFSET_MAX - 1}", param, ctx)
        if not offsets:
            self.fail(f"{value!r} holds no offset; the second number must be above the first", param, ctx)
        return offsets


@click.command(cls=ToolCommand, short_help="Print what is in log files, line by line as Kafka's own tool does.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--print-data-log/--no-print-data-log", default=True, help="Show keys and values (the default).")
@click.option("--deep-iteration/--shallow", default=True, help="Show each record, or only batches.")
@click.option("--verify-index-only", is_flag=True, help="Compare indexes with the log; print only what differs.")
@click.option("--index-sanity-check", is_flag=True, help="The quick check that a broker does on opening an index.")
@click.option("--max-bytes", type=click.IntRange(min=0), help="Read no more of each .log file.")
@click.option("--offsets", type=OffsetRange(), default=":", help="From offset A up to, not including, B.")
@format_option
def dump(
    paths: tuple[str, ...],
    print_data_log: bool,
    deep_iteration: bool,
    verify_index_only: bool,
    index_sanity_check: bool,
    max_bytes: int | None,
    offsets: range,
    output_format: str,
) -> None:
    """Print what is in log files, line by line as Kafka's own tool does.

    PATH is a .log, .index, .timeindex, .txnindex, .snapshot or checkpoint file, a partition's folder or a data
    directory. Lines are those of kafka-dump-log --print-data-log --deep-iteration. Exit code 1 says that damage was
    met on the way, 2 that a file could not be read or made sense of; the others still were.
    """
    options = DumpOptions(
        is_deep=deep_iteration,
        prints_data=print_data_log,
        verifies_index_only=verify_index_only,
        checks_index_sanity=index_sanity_check,
        max_bytes=max_bytes,
        offsets=offsets,
    )
    output, findings = Output(output_format), Findings()
    files = [file for path in paths for file in _wanted(path, options, findings)]
    for path in files:
        _dump_file(path, options, output, findings)
    findings.tell(output)
    if findings.exit_code:
        click.get_current_context().exit(findings.exit_code)


def _wanted(path: str, options: DumpOptions, findings: Findings) -> list[str]:
    target = _listable(resolve(path), findings)
    files = list(files_of(target))
    if options.verifies_index_only or options.checks_index_sanity:
        files = [file for file in files if kind_of(os.path.basename(file)) in INDEX_KINDS]
    if options.offsets.start > 0:
        firsts = {folder: _first_base_offset(folder, options.offsets.start) for folder in target.folders}
        files = [file for file in files if not _lies_below(file, firsts)]
    return files


def _listable(target: Target, findings: Findings) -> Target:
    """Without the folders that cannot be looked into."""
    folders = []
    for folder in target.folders:
        try:
            filesystem.names(folder)
            folders.append(folder)
        except OSError as error:
            findings.unreadable(sentence_of(error))
    return replace(target, folders=tuple(folders))


def _first_base_offset(folder: str, offset: int) -> int:
    """Of the segment that would hold `offset`, by the names alone."""
    parsed = map(names.parse_offset_name, filesystem.names(folder))
    bases = [found[0] for found in parsed if found is not None and found[1] == names.LOG]
    return max((base for base in bases if base <= offset), default=0)


def _lies_below(path: str, firsts: dict[str, int]) -> bool:
    parsed = names.parse_offset_name(os.path.basename(path))
    return parsed is not None and parsed[0] < firsts.get(os.path.dirname(path), 0)


def _dump_file(path: str, options: DumpOptions, output: Output, findings: Findings) -> None:
    kind = kind_of(os.path.basename(path))
    if not output.is_json:
        output.line(f"Dumping {path}")
    try:
        if kind in BATCH_KINDS:
            dump_batches(path, options, output, findings)
        elif kind in INDEX_KINDS:
            from strandline.cli.dump_indexes import dump_offset_index, dump_time_index

            (dump_offset_index if kind is Kind.OFFSET_INDEX else dump_time_index)(path, options, output, findings)
        elif kind is not None:
            from strandline.cli.dump_states import dump_state

            dump_state(path, kind, output)
    except CorruptData as error:
        tell = findings.damage if kind in BATCH_KINDS else findings.unreadable
        tell(f"{path}: {str(error).removeprefix(f'{path}: ')}")
    except BrokenPipeError:
        raise
    except OSError as error:
        findings.unreadable(sentence_of(error))
