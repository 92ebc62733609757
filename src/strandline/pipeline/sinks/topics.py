"""Topics: the rows of the sink and the dead letters of one batch, through one writer, and so in one commit."""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F  # noqa: N812

from strandline.pipeline.batch_key import BatchKey
from strandline.pipeline.judging import HEADERS, dead_letters
from strandline.pipeline.spec import EXACTLY_ONCE, RECORD_COLUMNS, Pipeline, TopicSink
from strandline.pipeline.topics import client_options


def outgoing_rows(frame: Any, sink: TopicSink) -> Any:
    columns = [name for name in frame.columns if name not in RECORD_COLUMNS]
    value = F.expr(sink.value) if sink.value else F.to_json(F.struct(*(F.col(f"`{name}`") for name in columns)))
    key = F.expr(sink.key) if sink.key else F.lit(None)
    return frame.select(
        F.lit(sink.topic).alias("topic"),
        _as_bytes(frame, key).alias("key"),
        _as_bytes(frame, value).alias("value"),
        F.lit(None).cast(HEADERS).alias("headers"),
    )


def _as_bytes(frame: Any, column: Any) -> Any:
    """Text and bytes as they are; anything else as Spark writes it."""
    is_binary = frame.select(column.alias("it")).schema["it"].dataType.simpleString() == "binary"
    return column if is_binary else column.cast("string").cast("binary")


def outgoing_dead_letters(judged: Any, pipeline: Pipeline) -> Any:
    dead = dead_letters(judged, pipeline.name)
    return dead.select(F.lit(pipeline.dead_letter).alias("topic"), "key", "value", F.col("headers").cast(HEADERS))


def write_topics(outgoing: Any, pipeline: Pipeline, key: BatchKey) -> None:
    options = client_options(pipeline.client) | {"delivery": pipeline.delivery}
    if pipeline.delivery == EXACTLY_ONCE:
        options |= {"sinkId": f"{pipeline.name}-{key.run_id}", "batchId": str(key.batch_id)}
    outgoing.write.format("strandline").mode("append").options(**options).save()
