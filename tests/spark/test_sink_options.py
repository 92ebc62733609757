"""What the sink refuses before anything is written (SPEC D1)."""

from __future__ import annotations

from typing import Any

import pytest

from strandline.client.failures import ClientError
from strandline.spark.failures import HIDE_TRACEBACK, BadOption, WriteFailed, in_one_sentence
from strandline.spark.sink_options import SinkOptions, parse_sink_options

ONCE = {"delivery": "exactly-once"}


def parse(**options: Any) -> SinkOptions:
    given = {"kafka.bootstrap.servers": "localhost:9092", **options}
    return parse_sink_options({name.lower(): value for name, value in given.items()})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"topic": " "}, "option topic='' is not a topic name"),
        ({"topic": "a,b"}, "option topic='a,b' is not a topic name"),
        ({"delivery": "once"}, "choose from at-least-once, exactly-once"),
        (ONCE | {"kafka.acks": "1"}, "option kafka.acks=1 cannot be exactly-once: leave it out"),
        (ONCE | {"sinkId": "a\nb"}, r"option sinkId='a\nb': use 1 to 200 of a-z A-Z 0-9 . _ -"),
        (ONCE | {"sinkId": ""}, "option sinkId='': use 1 to 200 of a-z A-Z 0-9 . _ -"),
        (ONCE | {"sinkId": "x" * 201}, "use 1 to 200 of a-z A-Z 0-9 . _ -"),
        (ONCE | {"sinkId": "a", "batchId": "-1"}, "batchId must be at least 0"),
        (ONCE | {"batchId": "1"}, "name the sink with the option sinkId"),
        ({"sinkId": "a"}, "option sinkId is for delivery=exactly-once: set that too, or leave sinkId out"),
        ({"kafka.transactional.id": "t"}, "each task has its own; set the option delivery to exactly-once instead"),
        ({"kafka.group.id": "g"}, "Kafka option 'group.id' is not supported by the sink"),
    ],
)
def test_what_cannot_be_used_is_refused_and_not_ignored(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadOption) as raised:
        parse(**options)
    assert sentence in str(raised.value)


def test_a_sink_has_the_id_of_its_query_unless_it_has_a_name() -> None:
    assert parse().topic is None, "each row names its own"
    assert (parse(**ONCE).sink_id, parse(**ONCE).batch_id) == ("", None)
    named = parse(**ONCE, sinkId="large-orders", batchId="7")
    assert (named.sink_id, named.batch_id) == ("large-orders", 7)


def test_a_setting_is_named_as_an_option_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HIDE_TRACEBACK, "")
    with (
        pytest.raises(WriteFailed, match=r"raise it with the option kafka\.max\.request\.size=N, and"),
        in_one_sentence(WriteFailed),
    ):
        raise ClientError("the record is too large: raise it with -X max.request.size=N, and max.message.bytes")
