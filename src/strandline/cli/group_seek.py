"""`strandline group seek`: where a group shall go on reading."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, NamedTuple

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.consuming import choose_partitions
from strandline.cli.group_lag_rows import lag_of, offsets_now
from strandline.cli.offset_language import OffsetRange
from strandline.cli.offset_option import OffsetPoint
from strandline.cli.offset_positions import Offsets, resolve
from strandline.cli.outcomes import execute_option, say_dry_run
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.failures import BrokerRefused, ClientError
from strandline.client.group_offsets import commit_offsets, committed_offsets
from strandline.client.groups import describe_group
from strandline.client.offsets import EARLIEST, LATEST, offsets_at
from strandline.client.settings import ClientSettings
from strandline.model.error_codes import ErrorCode
from strandline.model.partitions import TopicPartition

COLUMNS = (
    Column("topic"),
    Column("partition", is_number=True),
    Column("before", is_number=True),
    Column("after", is_number=True),
    Column("lag", "lag after", is_number=True),
)
NO_GROUP = (
    "there is no such group, `strandline group list` shows them; -t TOPIC --allow-new-topics begins one with offsets"
)
FILE_LINE = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)[\s,]+(?P<partition>[0-9]{1,9})[\s,]+(?P<offset>[0-9]{1,18})")


class Target(NamedTuple):
    """One of them says where to."""

    to: OffsetRange | None
    shift_by: int | None
    group: str | None
    offsets: Offsets | None


@click.command(cls=ClientCommand, short_help="Move a group to other offsets; shows which unless told to --execute.")
@click.argument("group")
@click.option("--to", type=OffsetPoint(), help="start, end, 47, +5 (after the start), -5 (before the end), @-1h …")
@click.option("--shift-by", type=int, metavar="N", help="So many records on, or back if below zero.")
@click.option("--to-group", metavar="GROUP", help="Where this other group is.")
@click.option("--to-file", type=click.File("r"), help="Lines of topic, partition and offset.")
@click.option("-t", "--topics", multiple=True, metavar="TOPIC", help="Only these topics; repeatable.")
@click.option("--allow-new-topics", is_flag=True, help="Also topics in which the group has committed nothing yet.")
@execute_option
@report_format_option
def seek(
    group: str,
    to: OffsetRange | None,
    shift_by: int | None,
    to_group: str | None,
    to_file: Any,
    topics: tuple[str, ...],
    allow_new_topics: bool,
    execute: bool,
    output_format: str,
    settings: ClientSettings,
) -> None:
    """Move a group to other offsets; shows which unless told to --execute.

    In every topic in which the group has committed, or those given with -t. The group must have no members.

    \b
    strandline group seek audit --to @-1h
    strandline group seek audit --to start -t orders --execute
    """
    if sum(each is not None for each in (to, shift_by, to_group, to_file)) != 1:
        raise click.UsageError("say where to with one of --to, --shift-by, --to-group and --to-file")
    target = Target(to, shift_by, to_group, None if to_file is None else _read_offsets(to_file))

    async def work(cluster: Cluster) -> list[dict[str, Any]]:
        exists = await _check_empty(cluster, group)
        before = {partition: at.offset for partition, at in (await committed_offsets(cluster, group)).items()}
        after = await _find(cluster, target, before, topics, allow_new_topics)
        if not after and not exists and not before:
            raise BrokerRefused(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group}", NO_GROUP)
        if not after:
            raise ClientError(f"nothing to move: name topics with -t, and --allow-new-topics if {group} is new to them")
        if execute:
            await commit_offsets(cluster, group, after)
        ends = await offsets_now(cluster, sorted(after), LATEST)
        return [
            {
                "topic": partition.topic,
                "partition": partition.partition,
                "before": before.get(partition),
                "after": offset,
                "lag": lag_of(offset, 0, ends[partition]),
            }
            for partition, offset in sorted(after.items())
        ]

    Report(output_format).rows(COLUMNS, run(settings, work))
    if not execute:
        say_dry_run("moved")


async def _check_empty(cluster: Cluster, group: str) -> bool:
    """Whether there is such a group.

    A commit from outside to one with members would be refused, with words that only those understand who know the
    protocol.
    """
    try:
        view = await describe_group(cluster, group)
    except BrokerRefused as error:
        if error.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
            return False
        raise
    if view.members:
        raise BrokerRefused(ErrorCode.NON_EMPTY_GROUP, f"group {group}")
    return True


async def _find(
    cluster: Cluster, target: Target, before: Offsets, topics: Collection[str], allow_new_topics: bool
) -> Offsets:
    wanted = set(topics) or {partition.topic for partition in before}
    if not allow_new_topics:
        wanted &= {partition.topic for partition in before}
    if target.offsets is not None or target.group is not None:
        found = target.offsets or {}
        if target.group is not None:
            found = {each: at.offset for each, at in (await committed_offsets(cluster, target.group)).items()}
        chosen = {topic for topic, _ in found} if allow_new_topics and not topics else wanted
        return await _within(cluster, {each: offset for each, offset in found.items() if each.topic in chosen})
    if target.shift_by is not None:
        by = target.shift_by
        return await _within(cluster, {each: at + by for each, at in before.items() if each.topic in wanted})
    assert target.to is not None
    chosen_partitions = await choose_partitions(cluster, sorted(wanted), None)
    starts, _ = await resolve(cluster, chosen_partitions, target.to, lambda _: None)
    return starts


async def _within(cluster: Cluster, offsets: Offsets) -> Offsets:
    """No further than the partitions reach."""
    if not offsets:
        return {}
    firsts, nexts = await offsets_at(cluster, offsets, EARLIEST), await offsets_at(cluster, offsets, LATEST)
    return {each: min(max(offset, firsts[each]), nexts[each]) for each, offset in offsets.items()}


def _read_offsets(file: Any) -> Offsets:
    """As `group describe` has them, or Kafka's own tool: topic, partition and offset, with blanks or commas between."""
    found = {}
    for number, line in enumerate(file, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = FILE_LINE.fullmatch(line.strip())
        if match is None:
            raise click.UsageError(f"line {number} is not topic, partition and offset: {line.strip()[:80]!r}")
        found[TopicPartition(match["topic"], int(match["partition"]))] = int(match["offset"])
    return found
