"""A recording client beside the plain one, without a broker: the same calls, the same answers."""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from strandline.history.checker import check
from strandline.history.lines import LineParser
from strandline.history.recording import Journal, RecordingConsumer, RecordingProducer

NOBODY = {"log_level": 0}  # and no broker to look for: what comes of that would be counted
PLACE = TopicPartition("orders", 0, 5)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "anna.jsonl", "anna") as journal:
        yield journal


def rows(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "anna.jsonl").read_bytes().splitlines()]


def answer(call: Callable[[Any], Any], client: object) -> object:
    try:
        return call(client)
    except Exception as error:
        return type(error)


def ignore(*_: object) -> None:
    pass


CONSUMER_CALLS: dict[str, Callable[[Any], Any]] = {
    "poll(0)": lambda it: it.poll(0),
    "poll(timeout=0)": lambda it: it.poll(timeout=0),
    "consume": lambda it: it.consume(1, 0),
    "consume, by name": lambda it: it.consume(num_messages=2, timeout=0),
    "consume none": lambda it: it.consume(0, 0),
    "consume fewer than none": lambda it: it.consume(-1, 0),
    "consume more than a million": lambda it: it.consume(1_000_001, 0),
    "subscribe": lambda it: it.subscribe(["orders"]),
    "subscribe, by name": lambda it: it.subscribe(
        topics=["orders"], on_assign=ignore, on_revoke=ignore, on_lost=ignore
    ),
    "subscribe, by place": lambda it: it.subscribe(["orders"], ignore, ignore, ignore),
    "subscribe, no callback": lambda it: it.subscribe(["orders"], on_assign=5),
    "assign": lambda it: it.assign([PLACE]),
    "incremental": lambda it: (it.assign([]), it.incremental_assign([PLACE]), it.incremental_unassign([PLACE])),
    "seek": lambda it: it.seek(partition=PLACE),
    "pause": lambda it: (it.assign([PLACE]), it.pause([PLACE]), it.resume([PLACE])),
    "pause, by name": lambda it: (it.assign([PLACE]), it.pause(partitions=[PLACE]), it.resume(partitions=[PLACE])),
    "assignment": lambda it: (it.assign([PLACE]), it.assignment()),
    "unassign": lambda it: (it.unassign(), it.unsubscribe()),
    "commit": lambda it: it.commit(None, [TopicPartition("orders", 0)], True),
    "commit, by name": lambda it: it.commit(offsets=[TopicPartition("orders", 0)], asynchronous=True),
    "commit, nothing": lambda it: it.commit(),
    "metadata": lambda it: isinstance(it.consumer_group_metadata(), bytes),
    "truth": bool,
    "closed twice": lambda it: (it.close(), it.close()),
    "poll, closed": lambda it: (it.close(), it.poll(0)),
    "consume, closed": lambda it: (it.close(), it.consume(1, 0)),
    "with": lambda it: it.__enter__() is it,
}


@pytest.mark.parametrize("call", CONSUMER_CALLS.values(), ids=CONSUMER_CALLS)
def test_a_consumer_answers_as_the_plain_one(journal: Journal, call: Callable[[Any], Any]) -> None:
    settings = {**NOBODY, "group.id": "kitchen"}
    plain, recording = Consumer(settings), RecordingConsumer(settings, journal)
    assert answer(call, recording) == answer(call, plain)
    recording.close()
    plain.close()


PRODUCER_CALLS: dict[str, Callable[[Any], Any]] = {
    "produce": lambda it: it.produce("orders", "value", b"key", 0, ignore, ignore, 5, [("a", b"1")]),
    "produce, by name": lambda it: it.produce(
        topic="orders", value="v", key="k", partition=0, callback=ignore, timestamp=1, headers={"a": b"1"}
    ),
    "produce, no topic": lambda it: it.produce(None),
    "produce, no partition": lambda it: it.produce("orders", partition=None),
    "produce many": lambda it: it.produce_batch("orders", [{"value": "a"}, {"value": "b", "partition": 1}]),
    "poll": lambda it: (it.poll(0), it.poll(timeout=0)),
    "flush": lambda it: it.flush(timeout=0),
    "length": lambda it: (it.produce("orders", "v"), len(it)),
    "truth": bool,
    "purge": lambda it: (it.produce("orders", "v"), it.purge(in_queue=True), it.flush(1)),
    "begin": lambda it: it.begin_transaction(),
    "commit": lambda it: it.commit_transaction(0.01),
    "abort": lambda it: it.abort_transaction(0.01),
    "offsets": lambda it: it.send_offsets_to_transaction([PLACE], b"", 0.01),
    "init": lambda it: it.init_transactions(0.01),
}


@pytest.mark.parametrize("call", PRODUCER_CALLS.values(), ids=PRODUCER_CALLS)
@pytest.mark.parametrize("more", [{}, {"transactional.id": "t"}], ids=["plain", "transactional"])
def test_a_producer_answers_as_the_plain_one(
    journal: Journal, call: Callable[[Any], Any], more: dict[str, Any]
) -> None:
    plain, recording = Producer({**NOBODY, **more}), RecordingProducer({**NOBODY, **more}, journal)
    assert answer(call, recording) == answer(call, plain)
    plain.purge()
    assert recording.close(0) is True


def test_each_method_takes_what_that_of_the_plain_client_takes() -> None:
    """By the names that its documentation has, in its order. The wrappers may take keywords where it takes none."""
    timeout = {"timeout": -1}
    expected: dict[Callable[..., Any], dict[str, Any]] = {
        RecordingProducer.produce: {
            "topic": inspect.Parameter.empty,
            "value": None,
            "key": None,
            "partition": -1,
            "callback": None,
            "on_delivery": None,
            "timestamp": 0,
            "headers": None,
        },
        RecordingProducer.commit_transaction: timeout,
        RecordingProducer.abort_transaction: timeout,
        RecordingConsumer.poll: {"timeout": None},
        RecordingConsumer.consume: {"num_messages": 1, **timeout},
        RecordingConsumer.commit: {"message": None, "offsets": None, "asynchronous": True},
    }
    for method, defaults in expected.items():
        parameters = list(inspect.signature(method).parameters.values())[1:]
        assert {each.name: each.default for each in parameters} == defaults


@pytest.mark.parametrize("is_recorded", [False, True], ids=["plain", "recorded"])
def test_whom_a_delivery_is_told(journal: Journal, is_recorded: bool) -> None:
    """`callback` before `on_delivery`, and that of the settings where neither is given."""
    heard: list[str] = []

    def hears(who: str) -> Callable[..., None]:
        return lambda *_: heard.append(who)

    settings = {**NOBODY, "on_delivery": hears("settings")}
    producer = RecordingProducer(settings, journal) if is_recorded else Producer(settings)
    producer.produce("orders", "v")
    producer.produce("orders", "v", on_delivery=hears("on_delivery"))
    producer.produce("orders", "v", on_delivery=hears("nobody"), callback=hears("callback"))
    producer.produce_batch("orders", [{"value": "v", "callback": hears("own")}, {}])
    producer.produce_batch("orders", [{}], callback=hears("batch"))
    producer.purge()
    producer.flush(1)
    assert sorted(heard) == sorted(["settings", "on_delivery", "callback", "own", "settings", "batch"])


def test_a_batch_of_which_a_part_is_refused(journal: Journal, tmp_path: Path) -> None:
    settings = {**NOBODY, "queue.buffering.max.messages": 1}
    recording = RecordingProducer(settings, journal)
    for producer in (Producer(settings), recording):
        messages: list[dict[str, Any]] = [{"value": "a"}, {"value": "b"}]
        assert producer.produce_batch("orders", messages, partition=0) == 1
        assert [each["_error"].code() for each in messages if "_error" in each] == [KafkaError._QUEUE_FULL]
        producer.purge()
    recording.close()
    assert [row["outcome"] for row in rows(tmp_path) if row["op"] == "send"] == ["unknown"]


def test_the_group_is_told_to_a_plain_producer_too(journal: Journal) -> None:
    consumer = RecordingConsumer({**NOBODY, "group.id": "kitchen"}, journal)
    told = consumer.consumer_group_metadata()
    assert (told, told.group) == (consumer._consumer.consumer_group_metadata(), "kitchen")
    consumer.close()


def test_a_send_whose_partition_nobody_chose(journal: Journal, tmp_path: Path) -> None:
    """It was purged before the client knew the topic. The history says so, and whoever checks it understands."""
    producer = RecordingProducer(NOBODY, journal)
    producer.produce("orders", "a")
    producer.purge()
    producer.flush(1)
    producer.close()
    (send,) = (row for row in rows(tmp_path) if row["op"] == "send")
    assert send["outcome"] == "unknown"
    assert "partition" not in send
    read = {"op": "poll", "process": "carl", "records": [["orders", 3, 0, send["value"]]]}
    parser = LineParser()
    lines = [*(json.dumps(row) for row in rows(tmp_path)), json.dumps(read)]
    verdict = check([parser.operation(line, number) for number, line in enumerate(lines, 1)])
    assert verdict.is_sound
    assert (verdict.counts["records_recognised"], verdict.counts["foreign_records"]) == (1, 0)


def test_nothing_is_acknowledged_without_a_partition(journal: Journal, tmp_path: Path) -> None:
    class Silent:
        def partition(self) -> None:
            return None

        def offset(self) -> None:
            return None

    producer = RecordingProducer(NOBODY, journal)
    producer.produce("orders", "a")
    producer._heard(1, None)(None, Silent())  # type: ignore[arg-type]
    producer.close(0)
    assert [row["outcome"] for row in rows(tmp_path) if row["op"] == "send"] == ["unknown"]


@pytest.mark.parametrize(
    "said", [True, False, 1, 0, "1", "0", "t", "F", "True", "FALSE"], ids=lambda said: f"{type(said).__name__} {said}"
)
def test_what_is_true_to_librdkafka_is_true_to_the_recorder(journal: Journal, tmp_path: Path, said: Any) -> None:
    """It tells its settings itself, on request."""
    told: list[str] = []
    logger = logging.Logger("settings")
    handler = logging.Handler()
    handler.emit = lambda record: told.append(record.getMessage())  # type: ignore[method-assign]
    logger.addHandler(handler)
    with RecordingProducer({"debug": "conf", "enable.idempotence": said}, journal, logger=logger) as producer:
        producer.poll(0.05)
    settings = {"debug": "conf", "group.id": "kitchen", "enable.auto.commit": said}
    with RecordingConsumer(settings, journal, logger=logger) as consumer:
        consumer.poll(0.05)
    told_by = [row for row in rows(tmp_path) if row["op"] == "client"]
    for name, recorded in (
        ("enable.idempotence", told_by[0]["idempotent"]),
        ("enable.auto.commit", told_by[1]["auto_commit"]),
    ):
        assert any(line.endswith(f"{name} = {str(recorded).lower()}") for line in told)
