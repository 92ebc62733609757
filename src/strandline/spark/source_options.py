"""What a user may ask of the source: Spark's options for Kafka by the same names, defaults and refusals.

The names come in lower case. Everything is checked when a query is made, before anybody is asked for anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from strandline.client.offsets import EARLIEST, LATEST
from strandline.model.partitions import TopicPartition, is_topic_name
from strandline.spark.failures import BadOption
from strandline.spark.offset_limits import (
    ENDING,
    STARTING,
    AllAt,
    OffsetLimit,
    check_batch_end,
    check_batch_start,
    check_order,
    parse_limit,
)
from strandline.spark.offsets_json import parse_partitions
from strandline.spark.option_values import (
    boolean_option,
    bounded_option,
    check_settings,
    client_properties,
    duration_option_ms,
    positive_option,
    refuse_unknown,
)

STRATEGIES = ("subscribe", "subscribePattern", "assign")
KNOWN = (
    *STRATEGIES,
    "startingOffsets",
    "endingOffsets",
    "startingTimestamp",
    "endingTimestamp",
    "startingOffsetsByTimestamp",
    "endingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "failOnDataLoss",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "maxRecordsPerPartition",
    "groupIdPrefix",
    "includeHeaders",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "partition.metadata.cache.ttl.ms",
)
_AS_BYTES = " as {} are given as bytes. Use DataFrame operations to explicitly deserialize the {}."
PROTECTED = {
    "auto.offset.reset": ". Instead set the source option 'startingOffsets' to 'earliest' or 'latest' to specify where"
    " to start; a query that resumes goes on from where it left off.",
    "key.deserializer": _AS_BYTES.format("keys", "keys"),
    "value.deserializer": _AS_BYTES.format("values", "values"),
    "enable.auto.commit": "",
    "interceptor.classes": "",
}
FETCH_BYTES_DEFAULT = str(8 * 2**20)  # a task reads one partition, and Arrow likes thousands of rows at a time


@dataclass(frozen=True, slots=True)
class Subscription:
    """Exactly one of these says what to read."""

    topics: tuple[str, ...] = ()
    pattern: str = ""
    partitions: tuple[TopicPartition, ...] = ()

    def __str__(self) -> str:
        if self.pattern:
            return f"subscribePattern={self.pattern}"
        return ", ".join(self.topics or map(str, self.partitions))


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    subscription: Subscription
    starting: OffsetLimit
    ending: OffsetLimit
    fail_on_data_loss: bool = True
    include_headers: bool = False
    max_offsets_per_trigger: int | None = None
    min_offsets_per_trigger: int | None = None
    max_trigger_delay_ms: int = 900_000
    min_partitions: int | None = None
    max_records_per_partition: int | None = None
    poll_timeout_ms: int = 120_000
    offset_retries: int = 3
    offset_retry_interval_ms: int = 10
    metadata_age_max_ms: int = -1
    group_id: str = ""  # to commit progress to; empty for none
    properties: dict[str, str] = field(default_factory=dict)  # of the client

    @property
    def isolation(self) -> str:
        return self.properties.get("isolation.level", "read_uncommitted")


def parse_source_options(options: Mapping[str, str], *, is_streaming: bool, now_ms: int) -> SourceOptions:
    refuse_unknown(options, KNOWN, "source")
    or_latest = _no_match_is_latest(options)
    default_start = AllAt(LATEST if is_streaming else EARLIEST)
    starting = parse_limit(options, STARTING, default_start, or_latest=or_latest, now_ms=now_ms)
    ending = parse_limit(options, ENDING, AllAt(LATEST), or_latest=True, now_ms=now_ms)
    if is_streaming:
        _refuse_ends(options)
    else:
        check_batch_start(starting)
        check_batch_end(ending)
    subscription = _subscription(options)
    properties = client_properties(options, PROTECTED, "consumer")
    group_id = properties.pop("group.id", "")
    properties.setdefault("max.partition.fetch.bytes", FETCH_BYTES_DEFAULT)
    check_settings(properties)
    check_order(starting, ending)
    least, most = positive_option(options, "minOffsetsPerTrigger"), positive_option(options, "maxOffsetsPerTrigger")
    if least is not None and most is not None and least > most:
        raise BadOption(f"The value of minOffsetPerTrigger({least}) is higher than the maxOffsetsPerTrigger({most}).")
    return SourceOptions(
        subscription=subscription,
        starting=starting,
        ending=ending,
        fail_on_data_loss=boolean_option(options, "failOnDataLoss", True),
        include_headers=boolean_option(options, "includeHeaders", False),
        max_offsets_per_trigger=most,
        min_offsets_per_trigger=least,
        max_trigger_delay_ms=duration_option_ms(options, "maxTriggerDelay", "15m"),
        min_partitions=positive_option(options, "minPartitions"),
        max_records_per_partition=positive_option(options, "maxRecordsPerPartition"),
        poll_timeout_ms=bounded_option(options, "kafkaConsumer.pollTimeoutMs", 120_000, at_least=1),
        offset_retries=bounded_option(options, "fetchOffset.numRetries", 3, at_least=0),
        offset_retry_interval_ms=bounded_option(options, "fetchOffset.retryIntervalMs", 10, at_least=0),
        metadata_age_max_ms=bounded_option(options, "partition.metadata.cache.ttl.ms", -1, at_least=-1),
        group_id=group_id,
        properties=properties,
    )


def _no_match_is_latest(options: Mapping[str, str]) -> bool:
    text = options.get("startingoffsetsbytimestampstrategy", "error")
    if text.lower() not in ("error", "latest"):
        raise BadOption(f"option startingOffsetsByTimestampStrategy={text!r}: choose from error, latest")
    return text.lower() == "latest"


def _refuse_ends(options: Mapping[str, str]) -> None:
    if "endingoffsets" in options:
        raise BadOption("ending offset not valid in streaming queries")
    if "endingoffsetsbytimestamp" in options or "endingtimestamp" in options:
        raise BadOption("ending timestamp not valid in streaming queries")


def _subscription(options: Mapping[str, str]) -> Subscription:
    given = [name for name in STRATEGIES if name.lower() in options]
    if len(given) != 1:
        much = "Only one of the following options can" if given else "One of the following options must"
        raise BadOption(
            f"{much} be specified for Kafka source: {', '.join(STRATEGIES)}. See the docs for more details."
        )
    text = options[given[0].lower()]
    if given[0] == "subscribe":
        topics = tuple(dict.fromkeys(topic.strip() for topic in text.split(",") if topic.strip()))
        if not topics:
            raise BadOption(f"No topics to subscribe to as specified value for option 'subscribe' is '{text}'")
        _check_names("subscribe", topics)
        return Subscription(topics=topics)
    if given[0] == "subscribePattern":
        return Subscription(pattern=_pattern(text))
    partitions = tuple(parse_partitions(text)) if text.strip().startswith("{") else ()
    if not partitions:
        raise BadOption(f"No topicpartitions to assign as specified value for option 'assign' is '{text}'")
    _check_names("assign", [partition.topic for partition in partitions])
    return Subscription(partitions=partitions)


def _check_names(option: str, topics: Iterable[str]) -> None:
    for topic in topics:
        if not is_topic_name(topic):
            raise BadOption(f"option {option}: {topic!r} is not a topic name: use 1 to 249 of a-z A-Z 0-9 . _ -")


def _pattern(text: str) -> str:
    pattern = text.strip()
    if not pattern:
        raise BadOption(f"Pattern to subscribe is empty as specified value for option 'subscribePattern' is '{text}'")
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadOption(f"option subscribePattern={text!r} is not a regular expression: {error}") from None
    return pattern
