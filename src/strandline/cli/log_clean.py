"""`strandline log clean`: the dry run of retention and compaction, and with --execute the real one."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import click

from strandline.cli.output import (
    EXIT_FAULT,
    EXIT_UNREADABLE,
    CannotRead,
    Output,
    ToolCommand,
    counted,
    format_option,
    iso_time,
    sentence_of,
    size_text,
)
from strandline.cli.progress import scanning
from strandline.cli.targets import filesystem, one_folder, resolve
from strandline.cli.times import now_ms
from strandline.log.cleaning_report import CleaningReport, SegmentRow
from strandline.log.inspection import list_segments
from strandline.model.failures import CorruptData
from strandline.model.settings import BadSetting, LogSettings, property_name

if TYPE_CHECKING:
    from strandline.cli.cleaning import Partition

POLICIES = {"delete": "delete", "compact": "compact", "both": "delete,compact"}
COLUMNS = (
    "#base offset",
    "#end offset",
    "#size",
    "last timestamp",
    "retention",
    "compaction",
    "#records going",
)


@click.command(cls=ToolCommand, short_help="Show what retention and compaction would do; do it with --execute.")
@click.argument("path", metavar="PATH")
@click.option("--dry-run/--execute", default=True, help="Only look (the default), or do it; no broker may be running.")
@click.option(
    "--policy",
    type=click.Choice(list(POLICIES)),
    help="cleanup.policy of the topic, which its folder does not tell. A dry run without it shows both.",
)
@click.option("--set", "properties", multiple=True, metavar="NAME=VALUE", help="A topic property: retention.ms=3600000")
@format_option
def clean(path: str, dry_run: bool, policy: str | None, properties: tuple[str, ...], output_format: str) -> None:
    """Show what retention and compaction would do; do it with --execute.

    One row for each segment: whether it goes, is compacted, or stays, and why. PATH is a partition's folder, or a data
    directory for a dry run of all. The topic's settings are not stored in its folder: give those that differ from
    Kafka's defaults with --policy and --set.

    Exit code 1 says that the log is damaged. --execute then changes nothing: a broker must recover the log first.
    """
    if not dry_run and policy is None:
        raise click.UsageError("--execute needs --policy: compacting a topic that is not meant to be loses its records")
    settings = _settings(policy, properties)
    output = Output(output_format)
    target = resolve(path)
    if not dry_run:
        if target.is_directory or target.files:
            raise click.UsageError("--execute needs PATH to be the folder of one partition")
        _execute(path, settings, output)
        return
    exit_code = 0
    for folder in target.folders if target.is_directory else (one_folder(path),):
        if not target.is_directory or list_segments(filesystem, folder):
            exit_code = max(exit_code, _look(folder, settings, output))
    if exit_code:
        click.get_current_context().exit(exit_code)


def _settings(policy: str | None, properties: tuple[str, ...]) -> LogSettings:
    known = {property_name(field.name) for field in fields(LogSettings)} - {"cleanup.policy"}
    given = {"cleanup.policy": POLICIES[policy or "both"]}
    for each in properties:
        name, separator, value = each.partition("=")
        if name == "cleanup.policy":
            raise click.UsageError(f"--set {each}: use --policy for that")
        if not separator or name not in known:
            names = ", ".join(sorted(known))
            raise click.UsageError(f"--set {each}: write NAME=VALUE, where NAME is one of {names}")
        given[name] = value
    try:
        return LogSettings.from_properties(given)
    except BadSetting as error:
        raise click.UsageError(f"--set {error}") from None


def _look(folder: str, settings: LogSettings, output: Output) -> int:
    """The exit code of a dry run."""
    from strandline.cli.cleaning import Partition

    partition = Partition.at(folder)
    with scanning("verifying", _log_bytes(folder)) as advance:
        damage = partition.first_damage(settings, advance)
    fault = None if damage is None else str(damage)
    try:
        report = _report(partition, settings)
        _tell_report(folder, report, fault, output)
        fault = fault or report.fault
    except CorruptData as error:
        fault = fault or str(error)
    except OSError as error:
        output.note(f"strandline: {sentence_of(error)}")
        return EXIT_UNREADABLE
    if fault is None:
        return 0
    told = f"{folder} is damaged at {fault}; --execute would change nothing; `strandline log check` tells more"
    output.note(f"strandline: {told}")
    return EXIT_FAULT


def _log_bytes(folder: str) -> int:
    return sum(segment.size_bytes for segment in list_segments(filesystem, folder))


def _report(partition: Partition, settings: LogSettings) -> CleaningReport:
    from strandline.log.checkpoints import CLEANER_CHECKPOINT
    from strandline.log.cleaning_report import report_on

    view = partition.view(settings, now_ms())
    return report_on(view, checkpoint_offset=partition.offset_in(CLEANER_CHECKPOINT), counts_records=True)


def _tell_report(folder: str, report: CleaningReport, damage: str | None, output: Output) -> None:
    if output.is_json:
        output.object({"folder": folder, "damage": damage, **report.to_json()})
        return
    policy = ",".join(report.cleanup_policy)
    output.table(f"{folder}: dry run with cleanup.policy={policy}", COLUMNS, [_row(row) for row in report.rows])
    gone = counted(report.segments_deleted, "segment")
    output.line(f"Retention would delete {gone}, {size_text(report.bytes_deleted)} of {size_text(report.size_bytes)}.")
    output.line(f"Compaction would{'' if report.is_cleanable else ' not'} run: {report.compaction_reason}.")
    output.line(
        f"Offsets: start {report.log_start_offset}, high watermark {report.high_watermark}, last stable"
        f" {report.last_stable_offset}, end {report.log_end_offset}; dirty from {report.first_dirty_offset},"
        f" uncleanable from {report.first_uncleanable_offset}."
    )
    if report.fault is not None:
        output.note(f"strandline: {folder}: records were not counted: {report.fault}")


def _row(row: SegmentRow) -> list[str]:
    going = "" if row.records is None else f"{row.records_going} of {row.records}"
    return [
        str(row.base_offset),
        f"{row.end_offset}{' (active)' if row.is_active else ''}",
        size_text(row.size_bytes),
        iso_time(row.largest_timestamp),
        f"{'deletes' if row.is_deleted else 'stays'}: {row.retention_reason}",
        f"{'compacts' if row.is_compacted else 'stays'}: {row.compaction_reason}",
        going,
    ]


def _execute(folder: str, settings: LogSettings, output: Output) -> None:
    from strandline.cli.cleaning import Partition, clean_for_real, verify

    partition, findings = Partition.at(folder), list[str]()
    total_bytes = _log_bytes(folder)
    with scanning("verifying", total_bytes) as advance:
        sizes = verify(partition, settings, advance)
    with scanning("compacting", 2 * total_bytes) as advance:
        seen = 0

        def progress(read_bytes: int, _: int) -> None:
            nonlocal seen
            advance(read_bytes - seen)
            seen = read_bytes

        try:
            done = clean_for_real(partition, settings, sizes, now_ms=now_ms(), findings=findings, progress=progress)
        except PermissionError as error:
            raise CannotRead(
                f"{error.filename} cannot be written: permission denied; run this as the user the broker runs as"
            ) from error
    for sentence in findings:
        output.note(f"strandline: {folder}: {sentence}")
    if output.is_json:
        output.object({"folder": folder, "findings": findings, **done.to_json()})
        return
    output.line(f"Retention deleted {counted(done.segments_deleted, 'segment')}.")
    if done.is_compacted:
        output.line(f"Compaction kept {done.records_written:,} of {done.records_read:,} records.")
    elif done.compaction_reason:
        output.line(f"Compaction did not run: {done.compaction_reason}.")
    output.line(f"{folder}: {size_text(done.bytes_before)} before, {size_text(done.bytes_after)} after.")
