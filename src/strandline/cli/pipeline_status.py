"""`strandline pipeline status`: from the checkpoint and the consumer group, without Spark."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.group_lag_rows import lag_of, offsets_now
from strandline.cli.output import iso_time
from strandline.cli.pipeline_command import PipelineCommand, file_argument
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.group_offsets import committed_offsets
from strandline.client.offsets import EARLIEST, LATEST
from strandline.client.settings import ClientSettings
from strandline.pipeline.checkpoint import BatchEnd, Checkpoint
from strandline.pipeline.failures import PipelineFailed
from strandline.pipeline.lag import Lag, lag_behind
from strandline.pipeline.spec import Pipeline
from strandline.pipeline.validation import read_pipeline

COLUMNS = (
    Column("topic"),
    Column("partition", is_number=True),
    Column("done", "done until", is_number=True),
    Column("committed", "group", is_number=True),
    Column("end", is_number=True),
    Column("lag", is_number=True),
)


@click.command(cls=PipelineCommand, short_help="Show how far a pipeline is, and how far behind.")
@file_argument
@report_format_option
def status(file: str, output_format: str) -> None:
    """Show how far a pipeline is, and how far behind.

    The batch comes from the checkpoint; `group` is what the pipeline's consumer group has committed, which tools that
    know nothing of Spark show as well.
    """
    pipeline = read_pipeline(file)
    last = _last(pipeline)
    rows, lag = run(ClientSettings.of(pipeline.client), lambda cluster: _ask(cluster, pipeline, last))
    report = Report(output_format)
    if report.is_text:
        if last is not None:
            report.line(f"{pipeline.name}: batch {last.batch_id} of {iso_time(last.timestamp_ms)} is done")
        behind = "" if lag.seconds is None else f", {lag.seconds:,.0f} s"
        report.line(f"lag: {lag.records:,} records{behind}")
        report.line("")
    report.rows(COLUMNS, rows)


def _last(pipeline: Pipeline) -> BatchEnd | None:
    checkpoint = Checkpoint(pipeline.checkpoint)
    if not checkpoint.is_local:
        return None
    found = checkpoint.identity()
    if found and found.get("pipeline") != pipeline.name:
        raise PipelineFailed(f"the checkpoint {pipeline.checkpoint} is of the pipeline {found.get('pipeline')}")
    return checkpoint.last_done()


async def _ask(cluster: Cluster, pipeline: Pipeline, last: BatchEnd | None) -> tuple[list[dict[str, Any]], Lag]:
    committed = await committed_offsets(cluster, pipeline.group_id)
    done = last.offsets if last is not None else {each: at.offset for each, at in committed.items()}
    if not done:
        raise PipelineFailed(f"{pipeline.name} has not run yet: start it with `strandline pipeline run`")
    partitions = sorted(done)
    starts, ends = await offsets_now(cluster, partitions, EARLIEST), await offsets_now(cluster, partitions, LATEST)
    rows = [
        {
            "topic": each.topic,
            "partition": each.partition,
            "done": done[each],
            "committed": committed[each].offset if each in committed else None,
            "end": ends[each],
            "lag": lag_of(done[each], starts[each], ends[each]),
        }
        for each in partitions
    ]
    there = {each: done[each] for each in partitions if ends[each] is not None}
    return rows, await lag_behind(cluster, there)
