"""A range of records once more, into another place, with a checkpoint of its own.

It is one batch: its range is fixed when it is first asked for and kept in its checkpoint, so that the same replay,
asked for again, does not write twice. The checkpoint of the pipeline itself is not looked at.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from strandline.model.partitions import TopicPartition, is_topic_name
from strandline.pipeline.batches import BatchSteps, Tally
from strandline.pipeline.checkpoint import Checkpoint
from strandline.pipeline.failures import BadPipeline, PipelineFailed
from strandline.pipeline.running import read_range
from strandline.pipeline.spark_errors import sentence_of
from strandline.pipeline.spec import (
    SINK_NAMES,
    ConsoleSink,
    DeltaSink,
    IcebergSink,
    JdbcSink,
    ParquetSink,
    Pipeline,
    Sink,
    TopicSink,
)
from strandline.spark.offsets_json import PartitionOffsets, from_topics, to_topics

CONSOLE = "console"


def redirected(pipeline: Pipeline, into: Mapping[str, str], dead_letter: str = "") -> Pipeline:
    """The pipeline with other places to write to, by the kind of the sink; `""` is the only sink there is.

    Dead letters are counted and not written, unless a topic is named: the pipeline wrote them when it ran.
    """
    kinds = [SINK_NAMES[type(sink)] for sink in pipeline.sinks]
    if not all(into.values()):
        raise BadPipeline("--into names no place: write a folder, a topic, a table or console after it")
    _check_dead_letter(pipeline, dead_letter, into)
    if set(into.values()) == {CONSOLE}:
        return replace(pipeline, sinks=(ConsoleSink(),), dead_letter=dead_letter)
    if "" in into and len(kinds) > 1:
        raise BadPipeline(f"the pipeline has several sinks: say --into {kinds[0]}=… --into {kinds[1]}=…")
    targets = {kinds[0]: into[""]} if "" in into else dict(into)
    unknown = sorted(set(targets) - set(kinds))
    if unknown:
        raise BadPipeline(f"the pipeline has no sink {unknown[0]}: it has {', '.join(kinds)}")
    sinks = tuple(
        _moved(pipeline, sink, targets[kind])
        for sink, kind in zip(pipeline.sinks, kinds, strict=True)
        if kind in targets
    )
    return replace(pipeline, sinks=sinks, dead_letter=dead_letter)


def _check_dead_letter(pipeline: Pipeline, dead_letter: str, into: Mapping[str, str]) -> None:
    if not dead_letter:
        return
    _check_topic(pipeline, dead_letter)
    if dead_letter in [sink.topic for sink in pipeline.sinks if isinstance(sink, TopicSink)]:
        raise BadPipeline(f"{dead_letter} is where the pipeline itself writes: bad records would be among the good")
    if dead_letter in into.values():
        raise BadPipeline("--dead-letter and --into name the same topic: bad records would be among the good")


def _check_topic(pipeline: Pipeline, topic: str) -> None:
    if not is_topic_name(topic):
        raise BadPipeline(f"{topic!r} is not a topic name: use 1 to 249 of a-z A-Z 0-9 . _ -")
    if pipeline.source.reads(topic):
        raise BadPipeline(f"{topic} is what the pipeline reads: a replay goes somewhere else")


def _moved(pipeline: Pipeline, sink: Sink, target: str) -> Sink:
    match sink:
        case TopicSink(topic=place):
            _check_topic(pipeline, target)
            moved: Sink = replace(sink, topic=target)
        case ParquetSink(path=place) | DeltaSink(path=place):
            target = target if "://" in target else os.path.abspath(target)
            moved = replace(sink, path=target)
        case IcebergSink(table=place) | JdbcSink(table=place):
            moved = replace(sink, table=target)
        case _:
            return sink
    if target in (place, pipeline.dead_letter):
        raise BadPipeline(f"{target} is where the pipeline itself writes: a replay goes somewhere else")
    return moved


def kept_range(checkpoint: str) -> tuple[PartitionOffsets, PartitionOffsets] | None:
    """Of a replay that was asked for before under this checkpoint, if it is on the local disk."""
    kept = Checkpoint(checkpoint)
    found = kept.identity() if kept.is_local else {}
    return (from_topics(found["starts"]), from_topics(found["ends"])) if "starts" in found else None


def replay(
    pipeline: Pipeline, session: Any, checkpoint: str, starts: PartitionOffsets, ends: PartitionOffsets
) -> Tally:
    kept = Checkpoint(checkpoint, session)
    found = kept.identity()
    if not found:
        kept.claim(pipeline.name, starts=to_topics(starts), ends=to_topics(ends))
        found = kept.identity()
    if found.get("pipeline") != pipeline.name or "starts" not in found:
        raise BadPipeline(f"{checkpoint} is the checkpoint of something else: name another with --checkpoint")
    starts, ends = from_topics(found["starts"]), from_topics(found["ends"])
    steps = BatchSteps(pipeline, str(found["run_id"]))
    try:
        steps(read_range(pipeline, session.newSession(), starts, ends), 0)
    except PipelineFailed:
        raise
    except Exception as error:
        raise PipelineFailed(sentence_of(error)) from error
    return steps.tally


def records_between(starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> int:
    return sum(max(0, ends[each] - start) for each, start in starts.items())
