"""`strandline pipeline run`: until it is interrupted, or has read all there is (SPEC D3)."""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import replace
from functools import partial
from typing import Any

import click

from strandline.cli.pipeline_command import PipelineCommand, file_argument
from strandline.client.blocking import Blocking
from strandline.client.cluster import Cluster
from strandline.client.failures import ClientError
from strandline.client.settings import ClientSettings
from strandline.model.partitions import TopicPartition
from strandline.pipeline.lag import Lag, lag_behind
from strandline.pipeline.own_topics import make_sure_of_topics
from strandline.pipeline.spec import Pipeline
from strandline.pipeline.validation import read_pipeline


@click.command("run", cls=PipelineCommand, short_help="Run a pipeline on Spark, and show its progress.")
@file_argument
@click.option("--once", is_flag=True, help="Read what is there now, and then end, whatever the file's trigger is.")
@click.option("--master", metavar="URL", help="Another Spark than the file names: local[2], spark://host:7077 …")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def run_pipeline(file: str, once: bool, master: str | None, quiet: bool) -> None:
    """Run a pipeline on Spark, and show its progress.

    It goes on from where it left off: that is in its checkpoint. Ctrl-C ends it after the batch that is under
    way, twice at once; a batch that was not done is run again next time.
    """
    pipeline = read_pipeline(file)
    pipeline = replace(pipeline, master=master or pipeline.master, trigger="once" if once else pipeline.trigger)
    client = Blocking(ClientSettings.of(pipeline.client))
    with client:
        client(lambda cluster: make_sure_of_topics(cluster, pipeline))
        from strandline.pipeline.session import start_session

        session = start_session(pipeline)
        try:
            _run(pipeline, session, client, quiet)
        finally:
            session.stop()


def _run(pipeline: Pipeline, session: Any, client: Blocking, quiet: bool) -> None:
    from strandline.pipeline.running import Run

    run = Run(pipeline, session)

    def stop(*_: object) -> None:
        run.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        run.wait(None if quiet else partial(_show, client))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _show(client: Blocking, progress: dict[str, Any], steps: Any) -> None:
    from strandline.pipeline.progress import progress_line

    line = progress_line(progress, steps.tally, _lag(client, progress))
    is_terminal = sys.stderr.isatty()
    click.echo(f"\r\033[K{line}" if is_terminal else line, err=True, nl=not is_terminal)


def _lag(client: Blocking, progress: dict[str, Any]) -> Lag | None:
    from strandline.spark.progress_listener import offsets_in

    positions: dict[TopicPartition, int] = {}
    for source in progress["sources"]:
        positions |= offsets_in(_text(source.get("endOffset")))
    try:
        return client(partial(_behind, positions))
    except ClientError:
        return None


async def _behind(positions: dict[TopicPartition, int], cluster: Cluster) -> Lag:
    return await lag_behind(cluster, positions)


def _text(offset: Any) -> str | None:
    return offset if offset is None or isinstance(offset, str) else json.dumps(offset)
