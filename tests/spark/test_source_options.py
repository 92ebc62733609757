"""Spark's options for its Kafka source: the same names, defaults and refusals (SPEC D1)."""

from __future__ import annotations

from typing import Any

import pytest

from strandline.client.offsets import EARLIEST, LATEST
from strandline.model.partitions import TopicPartition
from strandline.model.settings import BadSetting
from strandline.spark.failures import BadOption
from strandline.spark.offset_limits import AllAt, AllAtTime, EachAt, EachAtTime
from strandline.spark.source_options import SourceOptions, Subscription, parse_source_options

NOW_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
BROKER = {"kafka.bootstrap.servers": "localhost:9092"}


def parse(*, is_streaming: bool = False, **options: Any) -> SourceOptions:
    given = {"subscribe": "orders"} if not options.keys() & {"subscribe", "subscribePattern", "assign"} else {}
    every = {**BROKER, **given, **options}
    return parse_source_options(
        {name.lower(): value for name, value in every.items()}, is_streaming=is_streaming, now_ms=NOW_MS
    )


def refusal(*, is_streaming: bool = False, **options: Any) -> str:
    with pytest.raises((BadOption, BadSetting)) as raised:
        parse(is_streaming=is_streaming, **options)
    return str(raised.value)


def test_a_batch_is_everything_and_a_stream_what_comes_from_now_on() -> None:
    batch, stream = parse(), parse(is_streaming=True)
    assert (batch.starting, batch.ending) == (AllAt(EARLIEST), AllAt(LATEST))
    assert stream.starting == AllAt(LATEST)
    assert (stream.fail_on_data_loss, stream.include_headers) == (True, False)
    assert (stream.max_offsets_per_trigger, stream.min_offsets_per_trigger, stream.max_trigger_delay_ms) == (
        None,
        None,
        15 * 60_000,
    )
    assert (stream.poll_timeout_ms, stream.offset_retries, stream.offset_retry_interval_ms) == (120_000, 3, 10)
    assert stream.isolation == "read_uncommitted"


def test_three_ways_to_say_what_to_read() -> None:
    assert parse(subscribe=" a, b ,,a").subscription == Subscription(topics=("a", "b"))
    assert parse(subscribePattern=" or.* ").subscription == Subscription(pattern="or.*")
    assigned = parse(assign='{"a":[1,0],"b":[2]}').subscription
    assert assigned.partitions == (TopicPartition("a", 1), TopicPartition("a", 0), TopicPartition("b", 2))


def test_offsets_and_times_in_every_form() -> None:
    orders = TopicPartition("orders", 0)
    assert parse(startingOffsets=" Earliest ").starting == AllAt(EARLIEST)
    assert parse(startingOffsets='{"orders":{"0":23}}').starting == EachAt({orders: 23})
    assert parse(startingTimestamp="5").starting == AllAtTime(5, or_latest=False)
    assert parse(startingOffsetsByTimestamp='{"orders":{"0":7}}').starting == EachAtTime({orders: 7}, or_latest=False)
    strategy: dict[str, Any] = {"startingTimestamp": "5", "startingOffsetsByTimestampStrategy": "LATEST"}
    assert parse(**strategy).starting == AllAtTime(5, or_latest=True)
    # Ours.
    assert parse(startingOffsets="@-1h").starting == AllAtTime(NOW_MS - HOUR_MS, or_latest=True)
    assert parse(startingTimestamp="@-1h").starting == AllAtTime(NOW_MS - HOUR_MS, or_latest=False)
    assert parse(startingOffsets="2023-11-14T22:13:20Z").starting == AllAtTime(NOW_MS, or_latest=True)
    assert parse(endingOffsets="@2023-11-14T22:13:20Z").ending == AllAtTime(NOW_MS, or_latest=True)


def test_a_time_for_all_beats_times_for_each_beats_offsets() -> None:
    each: dict[str, Any] = {"startingOffsetsByTimestamp": '{"orders":{"0":7}}', "startingOffsets": "earliest"}
    assert isinstance(parse(**each).starting, EachAtTime)
    assert isinstance(parse(**each, startingTimestamp="1").starting, AllAtTime)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"subscribe": "a", "assign": "{}"}, "Only one of the following options can be specified for Kafka source"),
        ({"subscribe": " , "}, "No topics to subscribe to as specified value for option 'subscribe' is ' , '"),
        ({"subscribePattern": " "}, "Pattern to subscribe is empty as specified value for option 'subscribePattern'"),
        ({"subscribePattern": "("}, "is not a regular expression"),
        ({"assign": "orders"}, "No topicpartitions to assign as specified value for option 'assign' is 'orders'"),
        ({"assign": '{"a":["0"]}'}, 'Expected e.g. {"topicA":[0,1],"topicB":[0,1]}, got {"a":["0"]}'),
        ({"startingOffsets": "latest"}, "starting offset can't be latest for batch queries on Kafka"),
        ({"startingOffsets": '{"t":{"0":-1}}'}, "startingOffsets for t-0 can't be latest for batch queries on Kafka"),
        ({"endingOffsets": "earliest"}, "ending offset can't be earliest for batch queries on Kafka"),
        ({"endingOffsets": '{"t":{"0":-2}}'}, "ending offset for t-0 can't be earliest for batch queries on Kafka"),
        ({"startingOffsets": '{"t":{"0":"x"}}'}, "Expected e.g. "),
        ({"startingOffsets": '{"t":[0]}'}, "Expected e.g. "),
        ({"startingOffsets": "soon"}, "Expected e.g. "),
        ({"startingTimestamp": "soon"}, "Expected a single long value, got soon"),
        ({"startingOffsetsByTimestampStrategy": "maybe"}, "choose from error, latest"),
        ({"minPartitions": "0"}, "minPartitions must be positive"),
        ({"minPartitions": "many"}, "option minPartitions='many': expected a whole number"),
        ({"maxRecordsPerPartition": "-1"}, "maxRecordsPerPartition must be positive"),
        ({"failOnDataLoss": "no"}, "option failOnDataLoss='no': expected true or false"),
        ({"maxTriggerDelay": "soon"}, "expected a length of time, as in 15m"),
        ({"kafka.auto.offset.reset": "earliest"}, "Kafka option 'auto.offset.reset' is not supported"),
        ({"kafka.enable.auto.commit": "true"}, "Kafka option 'enable.auto.commit' is not supported"),
        ({"kafka.interceptor.classes": "x"}, "Kafka option 'interceptor.classes' is not supported"),
        ({"kafka.key.deserializer": "x"}, "Kafka option 'key.deserializer' is not supported as keys"),
        ({"kafka.value.deserializer": "x"}, "Kafka option 'value.deserializer' is not supported as values"),
        ({"kafka.fetch.min.byte": "1"}, "fetch.min.byte is not a setting of the client; did you mean fetch.min.bytes?"),
        ({"group.id": "g"}, "option group.id is not known to the source; did you mean kafka.group.id?"),
        ({"startingOffset": "earliest"}, "did you mean startingOffsets?"),
        ({"path": "orders"}, 'format("strandline") has no path: name topics with the option subscribe'),
        ({"kafka.security.protocol": "TLS"}, "security.protocol='TLS': choose from PLAINTEXT, SSL"),
        ({"kafka.ssl.truststore.location": "trust.jks"}, "key stores of Java are not read here; export PEM"),
        ({"startingOffsets": '{"t":{"0":-3}}'}, "Expected e.g. "),
        ({"startingOffsets": '{"t":{"0":9223372036854775808}}'}, "Expected e.g. "),
        ({"startingOffsets": '{"t":{"2147483648":0}}'}, "Expected e.g. "),
        ({"startingOffsets": '{"t":' + "[" * 100_000}, "Expected e.g. "),
        ({"endingOffsets": '{"t":{"0":-3}}'}, "Expected e.g. "),
        ({"startingOffsetsByTimestamp": '{"t":{"0":-1}}'}, "Expected e.g. "),
        ({"startingTimestamp": "-1"}, "-1 is before 1970, when no record is: use earliest"),
        ({"startingOffsets": "1960-01-01"}, "1960-01-01 is before 1970, when no record is: use earliest"),
        ({"assign": "{}"}, "No topicpartitions to assign as specified value for option 'assign' is '{}'"),
        ({"assign": '{"t":[]}'}, "No topicpartitions to assign as specified value for option 'assign' is"),
        ({"assign": '{"t":[2147483648]}'}, 'Expected e.g. {"topicA":[0,1],"topicB":[0,1]}, got {"t":[2147483648]}'),
        ({"assign": '{"a b":[0]}'}, "option assign: 'a b' is not a topic name: use 1 to 249 of a-z A-Z 0-9 . _ -"),
        ({"subscribe": "a, b c"}, "option subscribe: 'b c' is not a topic name: use 1 to 249 of a-z A-Z 0-9 . _ -"),
        ({"subscribePattern": "a{99999999999}"}, "is not a regular expression: the repetition number is too large"),
        ({"kafkaConsumer.pollTimeoutMs": "0"}, "kafkaConsumer.pollTimeoutMs must be at least 1"),
        ({"fetchOffset.numRetries": "-1"}, "fetchOffset.numRetries must be at least 0"),
        ({"fetchOffset.retryIntervalMs": "-1"}, "fetchOffset.retryIntervalMs must be at least 0"),
        ({"partition.metadata.cache.ttl.ms": "-2"}, "partition.metadata.cache.ttl.ms must be at least -1"),
        (
            {"startingOffsets": '{"t":{"0":5}}', "endingOffsets": '{"t":{"0":4}}'},
            "The specified start offset 5 is greater than the end offset 4 for topic t partition 0",
        ),
        (
            {"startingOffsets": '{"t":{"0":5}}', "endingOffsets": '{"t":{"1":7}}'},
            "The specified start offset and end offset should have the same topic-partitions.",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_and_not_ignored(options: dict[str, Any], sentence: str) -> None:
    assert sentence in refusal(**options)


def test_a_stream_has_no_end_and_needs_a_broker_and_a_topic() -> None:
    assert refusal(is_streaming=True, endingOffsets="latest") == "ending offset not valid in streaming queries"
    assert refusal(is_streaming=True, endingTimestamp="1") == "ending timestamp not valid in streaming queries"
    limits: dict[str, Any] = {"minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "4"}
    assert "minOffsetPerTrigger(5) is higher than the maxOffsetsPerTrigger(4)" in refusal(is_streaming=True, **limits)
    with pytest.raises(BadOption, match=r"Option 'kafka\.bootstrap\.servers' must be specified"):
        parse_source_options({"subscribe": "orders"}, is_streaming=True, now_ms=NOW_MS)
    with pytest.raises(BadOption, match="One of the following options must be specified for Kafka source"):
        parse_source_options(BROKER, is_streaming=True, now_ms=NOW_MS)


def test_what_follows_kafka_goes_to_the_client_but_for_the_group() -> None:
    given: dict[str, Any] = {"kafka.group.id": "g", "kafka.fetch.max.wait.ms": "7"}
    given["kafka.security.protocol"] = "PLAINTEXT"
    options = parse(**given)
    assert options.group_id == "g"
    assert options.properties["fetch.max.wait.ms"] == "7"
    assert "group.id" not in options.properties
    assert options.properties["max.partition.fetch.bytes"] == str(8 * 2**20)
