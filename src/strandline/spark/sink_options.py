"""What a user may ask of the sink: Spark's options for Kafka, and how sure delivery shall be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from strandline.model.partitions import is_topic_name
from strandline.spark.failures import BadOption
from strandline.spark.option_values import (
    boolean_option,
    check_settings,
    client_properties,
    refuse_unknown,
    whole_option,
)

OURS = ("topic", "includeHeaders", "delivery", "sinkId", "batchId")
SPARKS = ("checkpointLocation", "queryName")  # which every sink is told of
KNOWN = (*OURS, *SPARKS)
PROTECTED = {
    "key.serializer": " as keys are serialized with ByteArraySerializer.",
    "value.serializer": " as value are serialized with ByteArraySerializer.",
    "transactional.id": ": each task has its own; set the option delivery to exactly-once instead.",
    "group.id": " by the sink.",
}
SINK_ID_MAX = 200
SINK_ID = re.compile(rf"[A-Za-z0-9._-]{{1,{SINK_ID_MAX}}}")
AT_LEAST_ONCE = "at-least-once"
EXACTLY_ONCE = "exactly-once"
# Tasks have much to send, and all of it at once.
DEFAULTS = {"batch.size": str(128 * 1024), "linger.ms": "0", "client.id": "strandline-spark"}
# As long as brokers allow (transaction.max.timeout.ms): a transaction is open until the slowest task is done.
TRANSACTION_DEFAULTS = {"transaction.timeout.ms": str(15 * 60_000)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    topic: str | None = None  # beats the column
    delivery: str = AT_LEAST_ONCE
    sink_id: str = ""  # empty: that of the query
    batch_id: int | None = None  # of a batch that may be written again, as in foreachBatch
    properties: dict[str, str] = field(default_factory=dict)  # of the client

    @property
    def is_exactly_once(self) -> bool:
        return self.delivery == EXACTLY_ONCE


def parse_sink_options(options: Mapping[str, str]) -> SinkOptions:
    refuse_unknown(options, KNOWN, "sink")
    boolean_option(
        options, "includeHeaders", False
    )  # of no consequence, as in Spark: headers that are there are written
    topic = options["topic"].strip() if "topic" in options else None
    if topic is not None and not is_topic_name(topic):
        raise BadOption(f"option topic={topic!r} is not a topic name: use 1 to 249 of a-z A-Z 0-9 . _ -")
    delivery = options.get("delivery", AT_LEAST_ONCE).strip().lower()
    if delivery not in (AT_LEAST_ONCE, EXACTLY_ONCE):
        raise BadOption(f"option delivery={delivery!r}: choose from {AT_LEAST_ONCE}, {EXACTLY_ONCE}")
    properties = DEFAULTS | client_properties(options, PROTECTED, "producer")
    if delivery == EXACTLY_ONCE:
        _check_acknowledged(properties)
        properties = TRANSACTION_DEFAULTS | properties
    check_settings(properties)
    sink_id, batch_id = _sink_id(options, delivery), whole_option(options, "batchId")
    if batch_id is not None and not sink_id:
        raise BadOption("option batchId says which batch of a sink this is: name the sink with the option sinkId")
    if batch_id is not None and batch_id < 0:
        raise BadOption("batchId must be at least 0")
    return SinkOptions(topic=topic, delivery=delivery, sink_id=sink_id, batch_id=batch_id, properties=properties)


def _sink_id(options: Mapping[str, str], delivery: str) -> str:
    if "sinkid" not in options:
        return ""
    sink_id = options["sinkid"].strip()
    if not SINK_ID.fullmatch(sink_id):
        raise BadOption(f"option sinkId={sink_id[:SINK_ID_MAX]!r}: use 1 to {SINK_ID_MAX} of a-z A-Z 0-9 . _ -")
    if delivery != EXACTLY_ONCE:
        raise BadOption(f"option sinkId is for delivery={EXACTLY_ONCE}: set that too, or leave sinkId out")
    return sink_id


def _check_acknowledged(properties: Mapping[str, str]) -> None:
    for name, wanted in (("acks", ("all", "-1")), ("enable.idempotence", ("true",))):
        if properties.get(name, wanted[0]).lower() not in wanted:
            raise BadOption(f"option kafka.{name}={properties[name]} cannot be exactly-once: leave it out")
