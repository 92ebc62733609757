"""What the source and the sink of `format("strandline")` would refuse of a pipeline, asked before Spark is started."""

from __future__ import annotations

import time

from strandline.model.settings import BadSetting
from strandline.pipeline.fields import Fields
from strandline.pipeline.spec import Pipeline, TopicSink
from strandline.pipeline.topics import client_options, stream_options
from strandline.spark.failures import BadOption
from strandline.spark.sink_options import parse_sink_options
from strandline.spark.source_options import parse_source_options


def check_options(fields: Fields, pipeline: Pipeline) -> None:
    """Of a pipeline that has no other mistake."""
    now_ms = time.time_ns() // 1_000_000
    try:
        parse_source_options(_in_lower_case(stream_options(pipeline)), is_streaming=True, now_ms=now_ms)
        if pipeline.dead_letter or any(isinstance(sink, TopicSink) for sink in pipeline.sinks):
            parse_sink_options(_in_lower_case(client_options(pipeline.client) | {"delivery": pipeline.delivery}))
    except (BadOption, BadSetting) as error:
        is_about_start = isinstance(error, BadOption) and not str(error).startswith(("Kafka option", "option kafka."))
        fields.note("source" if is_about_start else "kafka", str(error))


def _in_lower_case(options: dict[str, str]) -> dict[str, str]:
    return {name.lower(): text for name, text in options.items()}
