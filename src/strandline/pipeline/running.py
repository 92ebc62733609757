"""A pipeline as a streaming query, from its start to its end."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from strandline.client.offsets import EARLIEST, LATEST
from strandline.pipeline.batches import BatchSteps
from strandline.pipeline.checkpoint import Checkpoint
from strandline.pipeline.failures import PipelineFailed
from strandline.pipeline.judging import good_rows, judge
from strandline.pipeline.parsing import parse
from strandline.pipeline.spark_errors import sentence_of
from strandline.pipeline.spec import Pipeline
from strandline.pipeline.topics import source_options, stream_options
from strandline.pipeline.transforming import remembers, transform
from strandline.pipeline.triggers import ONCE, milliseconds_of
from strandline.spark.offset_limits import STARTING, AllAt, EachAt, moves, parse_limit
from strandline.spark.offsets_json import PartitionOffsets, to_topics

Watch = Callable[[dict[str, Any], BatchSteps], None]
WATCH_S = 0.2


class Run:
    """Started, and to be waited for."""

    def __init__(self, pipeline: Pipeline, session: Any, *, trigger: str | None = None) -> None:
        self.pipeline = pipeline
        self._stops = 0
        self.checkpoint = Checkpoint(pipeline.checkpoint, session)
        run_id = self.checkpoint.claim(pipeline.name)
        try:
            stream, read_again = _stream(pipeline, session.newSession(), self.checkpoint)
            self.steps = BatchSteps(pipeline, run_id, read_again)
            writer = stream.writeStream.queryName(pipeline.name).outputMode(pipeline.output_mode)
            writer = writer.option("checkpointLocation", self.checkpoint.query).foreachBatch(self.steps)
            self.query = _triggered(writer, trigger or pipeline.trigger).start()
        except PipelineFailed:
            raise
        except Exception as error:
            raise PipelineFailed(sentence_of(error)) from error

    def wait(self, watch: Watch | None = None) -> None:
        """Until it ends, or is told to stop. `watch` is shown the progress of each batch."""
        seen = -1
        try:
            is_over = False
            while not is_over:
                is_over = self.query.awaitTermination(WATCH_S)
                for progress in map(_as_dict, self.query.recentProgress):
                    if progress["batchId"] > seen and watch is not None and "addBatch" in progress["durationMs"]:
                        seen = progress["batchId"]
                        watch(progress, self.steps)
                if self._stops > 1 or (self._stops and not self.query.status["isTriggerActive"]):
                    self.query.stop()
        except Exception as error:
            cause = self.steps.failure
            if isinstance(cause, PipelineFailed):
                raise cause from None
            raise PipelineFailed(sentence_of(cause if cause is not None else error)) from error

    def stop(self) -> None:
        """After the batch that is under way; at once, if told twice. May be called by a handler of signals."""
        self._stops += 1


def _triggered(writer: Any, trigger: str) -> Any:
    if trigger == ONCE:
        return writer.trigger(availableNow=True)
    return writer.trigger(processingTime=f"{milliseconds_of(trigger)} milliseconds")


def _as_dict(progress: Any) -> dict[str, Any]:
    found: dict[str, Any] = progress if isinstance(progress, dict) else json.loads(progress.json)
    return found


def _stream(pipeline: Pipeline, session: Any, checkpoint: Checkpoint) -> tuple[Any, Any]:
    """The stream of records; or that of results, and how to read the records of a batch again."""
    records = session.readStream.format("strandline").options(**stream_options(pipeline)).load()
    good = good_rows(judge(parse(records, pipeline.parse), pipeline.expect))
    results = transform(good, pipeline.transform, pipeline.directory)
    if not remembers(results):
        return records, None
    return results, partial(read_batch, pipeline, checkpoint)


def read_batch(pipeline: Pipeline, checkpoint: Checkpoint, session: Any, batch_id: int) -> Any:
    """Where a batch ends is in the checkpoint before it runs, and so is where it began: the end of the one before.

    Before the first there is none. Of a pipeline that begins at a time or at the end, the first batch is empty.
    """
    end = checkpoint.batch_end(batch_id)
    before = checkpoint.batch_end(batch_id - 1) if batch_id else None
    if end is None:
        raise PipelineFailed(f"the checkpoint {checkpoint.path} does not say where batch {batch_id} ends")
    starts: PartitionOffsets = dict.fromkeys(end.offsets, EARLIEST)
    if before is not None:
        starts |= {each: offset for each, offset in before.offsets.items() if each in end.offsets}
    else:
        starts = _first_starts(pipeline.source.start, end.offsets)
    return read_range(pipeline, session, starts, end.offsets)


def _first_starts(start: str, ends: PartitionOffsets) -> PartitionOffsets:
    now_ms = time.time_ns() // 1_000_000
    limit = parse_limit({"startingoffsets": start}, STARTING, AllAt(LATEST), or_latest=True, now_ms=now_ms)
    if moves(limit):
        return dict(ends)
    if isinstance(limit, EachAt):
        return {each: limit.offsets.get(each, EARLIEST) for each in ends}
    return dict.fromkeys(ends, EARLIEST)


def read_range(pipeline: Pipeline, session: Any, starts: Mapping[Any, int], ends: Mapping[Any, int]) -> Any:
    options = source_options(pipeline)
    for name in ("subscribe", "subscribePattern"):
        options.pop(name, None)
    assigned: dict[str, list[int]] = {}
    for partition in sorted(ends):
        assigned.setdefault(partition.topic, []).append(partition.partition)
    options |= {
        "assign": json.dumps(assigned),
        "startingOffsets": json.dumps(to_topics(starts)),
        "endingOffsets": json.dumps(to_topics(ends)),
    }
    return session.read.format("strandline").options(**options).load()
