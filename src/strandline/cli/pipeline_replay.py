"""`strandline pipeline replay`: a range once more, into another place, with a checkpoint of its own (SPEC D3)."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace

import click

from strandline.cli.consuming import choose_partitions
from strandline.cli.offset_language import OffsetRange
from strandline.cli.offset_option import OffsetPoint
from strandline.cli.offset_positions import Offsets, resolve
from strandline.cli.output import counted
from strandline.cli.pipeline_command import PipelineCommand, file_argument
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.settings import ClientSettings
from strandline.pipeline.failures import PipelineFailed
from strandline.pipeline.spec import SINK_NAMES, Pipeline
from strandline.pipeline.validation import read_pipeline


@click.command("replay", cls=PipelineCommand, short_help="Run a pipeline once more over a range, into another place.")
@file_argument
@click.option("--from", "start", type=OffsetPoint(), required=True, help="start, 47, -100, @-2h, @2026-11-15 …")
@click.option("--to", "end", type=OffsetPoint(), default="end", help="Where to stop.  [default: end]")
@click.option(
    "--into", multiple=True, required=True, metavar="[SINK=]PLACE", help="A folder, topic, table; or console."
)
@click.option("--dead-letter", default="", metavar="TOPIC", help="For bad records, which are only counted otherwise.")
@click.option("--checkpoint", metavar="DIR", help="Of this replay.  [default: beside the pipeline's own]")
@click.option("--master", metavar="URL", help="Another Spark than the file names.")
def replay_range(
    file: str,
    start: OffsetRange,
    end: OffsetRange,
    into: tuple[str, ...],
    dead_letter: str,
    checkpoint: str | None,
    master: str | None,
) -> None:
    """Run a pipeline once more over a range, into another place.

    The pipeline itself may be running; nothing of it is touched. The same replay, run again, writes nothing twice.

    \b
    strandline pipeline replay orders.yaml --from @-2h --to @-1h --into /tmp/orders-again
    strandline pipeline replay orders.yaml --from start --into topic=orders.again
    """
    pipeline = read_pipeline(file)
    starts, ends = run(ClientSettings.of(pipeline.client), lambda cluster: _range(cluster, pipeline, start, end))
    own = f"{pipeline.checkpoint}-replays/{_name(into, starts, ends)}"
    own = own if checkpoint is None else os.path.abspath(checkpoint)
    if own == pipeline.checkpoint:
        raise PipelineFailed(f"{own} is the checkpoint of the pipeline itself: name another")

    from strandline.pipeline.session import require_spark, start_session

    require_spark()
    from strandline.pipeline.replay import kept_range, records_between, redirected, replay

    moved = redirected(replace(pipeline, master=master or pipeline.master), targets_of(into), dead_letter)
    click.echo(f"replaying {counted(records_between(starts, ends), 'record')}, checkpoint {own}", err=True)
    kept = kept_range(own)
    if kept is not None and kept != (starts, ends):
        number = counted(records_between(*kept), "record")
        click.echo(
            f"{own} holds a replay of other offsets, and goes on with these ({number}): name another with --checkpoint",
            err=True,
        )
    session = start_session(moved)
    try:
        tally = replay(moved, session, own, starts, ends)
    finally:
        session.stop()
    bad = f"{counted(tally.dead_letters, 'dead letter')}, {tally.dropped:,} dropped"
    click.echo(f"replayed {counted(tally.records, 'record')}: {bad}", err=True)


def targets_of(into: tuple[str, ...]) -> dict[str, str]:
    """By the kind of the sink; "" where none is named. A place may have an = in it, as addresses of databases do."""
    found: dict[str, str] = {}
    for each in into:
        sink, equals, place = each.partition("=")
        is_named = bool(equals) and sink.strip() in SINK_NAMES.values()
        name = sink.strip() if is_named else ""
        if name in found:
            raise PipelineFailed(f"--into is given twice{f' for {name}' if name else ''}: name each sink once")
        found[name] = (place if is_named else each).strip()
    if "" in found and len(found) > 1:
        raise PipelineFailed("--into names some sinks, and one place for the only sink: name the sink of each place")
    return found


def _name(into: tuple[str, ...], starts: Offsets, ends: Offsets) -> str:
    """Of what is asked for: the same records into the same place have the same checkpoint."""
    asked = [*into, *(f"{each} {start} {ends[each]}" for each, start in sorted(starts.items()))]
    return hashlib.sha256("\n".join(asked).encode()).hexdigest()[:16]


async def _range(cluster: Cluster, pipeline: Pipeline, start: OffsetRange, end: OffsetRange) -> tuple[Offsets, Offsets]:
    topics = pipeline.source.topics
    if pipeline.source.pattern:
        view = await cluster.refresh(None)
        found = [name for name, topic in view.topics.items() if not topic.is_internal]
        topics = tuple(sorted(name for name in found if pipeline.source.reads(name)))
        if not topics:
            raise PipelineFailed(f"no topic has {pipeline.source.pattern} in its name")
    partitions = await choose_partitions(cluster, topics, None)
    starts, _ = await resolve(cluster, partitions, start, lambda _: None)
    ends, _ = await resolve(cluster, partitions, end, lambda _: None)
    if all(ends[each] <= starts[each] for each in partitions):
        raise PipelineFailed("there are no records between --from and --to")
    return starts, {each: max(ends[each], starts[each]) for each in partitions}
