"""The parts of the recorder: its file, its marks, and what it takes for certain."""

from __future__ import annotations

import json
import re
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from strandline.history.checker import check
from strandline.history.expectations import Expectations
from strandline.history.lines import LineParser, line_of
from strandline.history.operations import Client, Outcome
from strandline.history.recording import Journal, RecordingConsumer, RecordingProducer
from strandline.history.recording.journal import clock_name
from strandline.history.recording.marks import mark_of, value_mark, with_mark
from strandline.history.recording.outcomes import outcome_of_send
from strandline.history.recording.silence import Silence
from strandline.history.verdict import Kind
from strandline.model.failures import CorruptData


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_what_is_urgent_is_in_the_file_at_once(tmp_path: Path) -> None:
    """With all before it: killing the process loses nothing of what an application has read."""
    path = tmp_path / "anna.jsonl"
    with Journal(path, "anna") as journal:
        journal.write("send", value="a")
        assert rows(path) == []
        journal.write("poll", is_urgent=True)
        assert rows(path) == [{"op": "send", "process": "anna", "value": "a"}, {"op": "poll", "process": "anna"}]
        journal.write("send", value="b")
    assert len(rows(path)) == 3
    with Journal(path, "anna") as journal:
        journal.write("send", value="c")
    assert len(rows(path)) == 4


def test_a_line_that_a_killed_process_did_not_finish_is_gone_when_another_goes_on(tmp_path: Path) -> None:
    """Amid the history nobody could read it. One that only lacks its end is whole, and counts."""
    path = tmp_path / "anna.jsonl"
    long, whole = line_of("send", value="x" * 200_000), line_of("send", value="b")
    for torn, values in ((long[:40], []), (long[:-5], []), (whole[:-1], ["b"]), (b"", [])):
        for before in ([], ["a"]):
            path.write_bytes(b"".join(line_of("send", value=value) for value in before) + torn)
            with Journal(path, "anna") as journal:
                journal.write("send", value="c")
            assert [row["value"] for row in rows(path)] == [*before, *values, "c"]


def test_zeros_that_a_loss_of_power_left_are_gone_when_another_goes_on(tmp_path: Path) -> None:
    path, whole = tmp_path / "anna.jsonl", line_of("send", value="b")
    for lines, values in ((b"", []), (whole, ["b"]), (whole[:-1], ["b"]), (whole + whole[:-5], ["b"])):
        path.write_bytes(lines + bytes(200_000))
        with Journal(path, "anna") as journal:
            journal.write("send", value="c")
        assert [row["value"] for row in rows(path)] == [*values, "c"]


@pytest.mark.parametrize(
    "line",
    [
        b'{"op":"send"}{"op":', b'{"op":"send","op":"poll"}', b"12", b"note: keep this", b'{"op":"send"}\ngarbage',
        b'{"op":"send"}\ngarbage\n', b'{"op":"se\n', b"\xff\xfe\n", b"\0\0\n", b"a picture" + bytes(99),
    ],
)  # fmt: skip
def test_a_last_line_that_no_journal_wrote_is_left_and_told_of(tmp_path: Path, line: bytes) -> None:
    """Nobody knows whose file it is, or what is to be kept of it."""
    path = tmp_path / "anna.jsonl"
    path.write_bytes(line)
    with pytest.raises(CorruptData, match=re.escape(f"the last line of {path} ")):
        Journal(path, "anna")
    assert path.read_bytes() == line


@pytest.mark.parametrize("process", ["", None, 5])
def test_a_process_has_a_name_that_can_be_read(tmp_path: Path, process: Any) -> None:
    with pytest.raises(ValueError, match="is called by a text"):
        Journal(tmp_path / "anna.jsonl", process)
    assert not (tmp_path / "anna.jsonl").exists()


def test_the_buffer_has_a_bound(tmp_path: Path) -> None:
    path = tmp_path / "anna.jsonl"
    with Journal(path, "anna", buffer_bytes=100) as journal:
        for number in range(10):
            journal.write("send", value=f"{number}")
        assert 7 <= len(rows(path)) <= 10


def test_no_two_moments_are_the_same(tmp_path: Path) -> None:
    with Journal(tmp_path / "anna.jsonl", "anna") as journal:
        moments: list[int] = []
        threads = [
            threading.Thread(target=lambda: moments.extend(journal.now_us() for _ in range(500))) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(set(moments)) == 2000


def test_processes_of_a_machine_share_a_clock() -> None:
    assert clock_name() == clock_name() != ""


def test_marks() -> None:
    marked = with_mark([("a", b"1"), ("mark", b"of its former life")], "mark", "anna.1")
    assert marked == [("a", b"1"), ("mark", b"anna.1")]
    assert with_mark({"a": b"1"}, "mark", "anna.1") == marked
    assert mark_of(marked, b"value", "mark") == "anna.1"
    assert mark_of(marked, b"value", None) == "value"
    assert mark_of(None, None, "mark") == "null"


def test_values_without_marks() -> None:
    assert value_mark("näme") == value_mark("näme".encode()) == "näme"
    assert value_mark(b"\xff").startswith("sha256:")
    assert value_mark(b"x" * 1000) != value_mark(b"x" * 1001)
    assert len(value_mark(b"x" * 1000)) == 39


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (None, Outcome.OK),
        (KafkaError._UNKNOWN_TOPIC, Outcome.UNKNOWN),
        (KafkaError._PURGE_QUEUE, Outcome.UNKNOWN),
        (KafkaError.MSG_SIZE_TOO_LARGE, Outcome.FAIL),
        (KafkaError.RECORD_LIST_TOO_LARGE, Outcome.FAIL),
        (KafkaError.TOPIC_EXCEPTION, Outcome.FAIL),
        (KafkaError.INVALID_TIMESTAMP, Outcome.FAIL),
        (KafkaError.INVALID_RECORD, Outcome.FAIL),
        (KafkaError._PURGE_INFLIGHT, Outcome.UNKNOWN),
        (KafkaError._MSG_TIMED_OUT, Outcome.UNKNOWN),
        (KafkaError.REQUEST_TIMED_OUT, Outcome.UNKNOWN),
        (KafkaError.NOT_ENOUGH_REPLICAS, Outcome.UNKNOWN),
        (KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Outcome.UNKNOWN),
        (KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, Outcome.UNKNOWN),
    ],
)
def test_what_an_error_says_of_a_send(code: int | None, outcome: Outcome) -> None:
    assert outcome_of_send(code) is outcome


@pytest.mark.parametrize("timeout_ms", [100, 60_000], ids=["timed-out", "still-under-way-at-the-end"])
def test_a_send_that_nobody_heard_of_is_unknown(tmp_path: Path, timeout_ms: int) -> None:
    """There is no broker."""
    path = tmp_path / "anna.jsonl"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        settings = {"bootstrap.servers": f"127.0.0.1:{listener.getsockname()[1]}", "message.timeout.ms": timeout_ms}
        with Journal(path, "anna") as journal:
            producer = RecordingProducer(settings, journal)
            producer.produce("orders", b"a", partition=0)
            producer.close(5 if timeout_ms == 100 else 0.01)
    client, send = rows(path)
    assert (client["acks"], client["idempotent"], client["clock"]) == ("all", False, clock_name())
    assert (send["outcome"], send["topic"], send["partition"]) == ("unknown", "orders", 0)
    assert send["began_us"] < send["ended_us"]


def test_a_commit_of_unknown_outcome_is_told_with_the_offsets_that_went_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """librdkafka reads the positions when it gets to it: records that were read meanwhile are committed too."""

    class Asked:
        def commit(self, *, asynchronous: bool) -> None:
            assert asynchronous

        def close(self) -> None:
            pass

    path = tmp_path / "carl.jsonl"
    with Journal(path, "carl") as journal:
        consumer = RecordingConsumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0}, journal)
        consumer.close()
        monkeypatch.setattr(consumer, "_consumer", Asked())
        monkeypatch.setattr(consumer, "_positions", {("orders", 0): 5, ("orders", 1): 7})
        consumer.commit()
        consumer._committed(KafkaError(KafkaError._TIMED_OUT), [TopicPartition("orders", 1, 9)])
        consumer.commit()
        consumer._committed(None, [TopicPartition("orders", 0, 5), TopicPartition("orders", 1, 9)])
    told = [(row["outcome"], row["offsets"]) for row in rows(path) if row["op"] == "commit"]
    assert told == [
        ("asked", [["orders", 0, 5], ["orders", 1, 7]]),
        ("unknown", [["orders", 0, 5], ["orders", 1, 9]]),
        ("asked", [["orders", 0, 5], ["orders", 1, 7]]),
        ("ok", [["orders", 0, 5], ["orders", 1, 9]]),
    ]


class Answering:
    """A client whose records and answers are those that a test gives it."""

    def __init__(self, *polled: Message, committed: object = None) -> None:
        self._polled, self._answer = iter(polled), committed

    def poll(self, _: float) -> Message | None:
        return next(self._polled, None)

    def commit(self, **_: object) -> object:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def close(self) -> None:
        pass


def commits_of(path: Path, client: Answering, *calls: Callable[[RecordingConsumer], object]) -> list[dict[str, Any]]:
    """What is in the file after each call, since the process may be killed there."""
    with Journal(path, "carl") as journal:
        consumer = RecordingConsumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0}, journal)
        consumer.close()
        consumer._consumer = client  # type: ignore[assignment]
        for call in calls:
            with suppress(KafkaException):
                call(consumer)
        return [row for row in rows(path) if row["op"] == "commit"]


def a_record(offset: int, error: KafkaError | None = None) -> Message:
    return Message("orders", 0, offset, b"", b"v", [], error)


def outcomes_of(commits: list[dict[str, Any]]) -> list[tuple[str, list[Any]]]:
    assert len({row["began_us"] for row in commits}) <= 1, "of one call"
    return [(row["outcome"], row["offsets"]) for row in commits]


def test_a_commit_is_told_of_before_it_is_asked_for_and_when_it_is_answered(tmp_path: Path) -> None:
    bare = [TopicPartition("orders", 0, 4), TopicPartition("orders", 1, 9)]
    refused = SimpleNamespace(topic="orders", partition=1, offset=9, error=KafkaError(KafkaError._TIMED_OUT))
    asked = ("asked", [["orders", 0, 4], ["orders", 1, 9]])
    commits = commits_of(tmp_path / "a", Answering(), lambda it: it.commit(offsets=bare))
    assert outcomes_of(commits) == [asked]
    answering = Answering(committed=[bare[0], refused])
    commits = commits_of(tmp_path / "b", answering, lambda it: it.commit(offsets=bare, asynchronous=False))
    assert outcomes_of(commits) == [asked, ("unknown", [["orders", 1, 9]]), ("ok", [["orders", 0, 4]])]


def test_what_is_read_while_a_commit_is_under_way_may_be_committed_too(tmp_path: Path) -> None:
    """librdkafka reads the positions when it gets to it. Not where the commit names its offsets."""
    client = Answering(a_record(0), a_record(1))
    commits = commits_of(tmp_path / "a", client, lambda it: it.poll(0), lambda it: it.commit(), lambda it: it.poll(0))
    assert outcomes_of(commits) == [("asked", [["orders", 0, 1]]), ("asked", [["orders", 0, 2]])]
    client = Answering(a_record(0), a_record(1))
    named = commits_of(tmp_path / "b", client, lambda it: it.commit(message=it.poll(0)), lambda it: it.poll(0))
    assert outcomes_of(named) == [("asked", [["orders", 0, 1]])]


def test_what_the_client_refuses_was_not_committed(tmp_path: Path) -> None:
    """It was not even sent; where somebody waits, it may have been. A record with an error has no offset."""
    refusing = Answering(a_record(0), committed=KafkaException(KafkaError(KafkaError._STATE)))
    commits = commits_of(tmp_path / "a", refusing, lambda it: it.poll(0), lambda it: it.commit())
    assert [outcome for outcome, _ in outcomes_of(commits)] == ["asked", "fail"]
    failed = a_record(0, KafkaError(KafkaError._PARTITION_EOF))
    assert commits_of(tmp_path / "b", refusing, lambda it: it.commit(message=failed)) == []


def test_a_transaction_that_was_never_begun_has_no_end(tmp_path: Path) -> None:
    """A line without its name could not be read."""
    path, settings = tmp_path / "anna.jsonl", {"transactional.id": "t", "log_level": 0}
    with Journal(path, "anna") as journal, RecordingProducer(settings, journal) as producer:
        for end in (producer.commit_transaction, producer.abort_transaction):
            with pytest.raises(KafkaException):
                end(0.01)
    assert [row["op"] for row in rows(path)] == ["client"]


def test_a_client_that_fails_at_its_end_still_leaves_its_sends_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one does that was fenced. Records of which the history knew nothing would be somebody else's."""

    class Fenced:
        def flush(self, _: float) -> int:
            raise KafkaException(KafkaError(KafkaError._FENCED))

    path = tmp_path / "anna.jsonl"
    with Journal(path, "anna") as journal:
        producer = RecordingProducer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}, journal)
        producer.produce("orders", b"a", partition=0)
        monkeypatch.setattr(producer, "_producer", Fenced())
        with pytest.raises(KafkaException):
            producer.close()
    assert [row.get("outcome") for row in rows(path)] == [None, "unknown"]


@pytest.mark.parametrize("client", [RecordingProducer, RecordingConsumer])
def test_without_confluent_kafka_it_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: type[RecordingProducer | RecordingConsumer]
) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with (
        Journal(tmp_path / "anna.jsonl", "anna") as journal,
        pytest.raises(ModuleNotFoundError, match=r"run `pip install 'confluent-kafka>=2\.12'`, or in "),
    ):
        client({"group.id": "g"}, journal)


@pytest.mark.parametrize(
    ("settings", "acks", "is_idempotent"),
    [
        ({}, "all", False),
        ({"acks": 1}, "1", False),
        ({"request.required.acks": "0"}, "0", False),
        ({"acks": "-1"}, "all", False),
        ({"acks": "ALL"}, "all", False),
        ({"acks": 0, "request.required.acks": 1}, "1", False),
        ({"request.required.acks": 1, "acks": 0}, "0", False),
        ({"topic.acks": 1}, "1", False),
        ({"default.topic.config": {"acks": 1}, "acks": 0}, "1", False),
        ({"enable.idempotence": 1}, "all", True),
        ({"enable.idempotence": "0"}, "all", False),
        ({"enable.idempotence": "true"}, "all", True),
        ({"transactional.id": "t"}, "all", True),
    ],
)
def test_what_a_producer_was_promised(tmp_path: Path, settings: dict[str, Any], acks: str, is_idempotent: bool) -> None:
    path = tmp_path / "anna.jsonl"
    with Journal(path, "anna") as journal, RecordingProducer(settings, journal):
        pass
    (client,) = rows(path)
    assert (client["acks"], client["idempotent"]) == (acks, is_idempotent)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, ("read_committed", True)),
        ({"enable.auto.commit": "1"}, ("read_committed", True)),
        ({"enable.auto.commit": "f"}, ("read_committed", False)),
        ({"isolation.level": "READ_UNCOMMITTED"}, ("read_uncommitted", True)),
    ],
)
def test_what_a_consumer_is(tmp_path: Path, settings: dict[str, Any], told: tuple[str, bool]) -> None:
    path = tmp_path / "carl.jsonl"
    nobody = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}
    with Journal(path, "carl") as journal, RecordingConsumer({**nobody, "group.id": "g", **settings}, journal):
        pass
    client = rows(path)[0]
    assert (client["isolation"], client["auto_commit"]) == told
    assert isinstance(LineParser().operation(json.dumps(client), 1), Client)


def test_a_silence_is_told_when_it_has_lasted() -> None:
    silence = Silence()
    assert [silence.goes_on(at_us, at_us + 1_000_000) for at_us in range(0, 6_000_000, 1_000_000)] == [
        *[None] * 4,
        0,
        None,
    ]
    silence.ends()
    assert silence.goes_on(6_000_000, 10_999_999) is None
    assert silence.goes_on(10_999_999, 11_000_000) == 6_000_000
    assert silence.goes_on(20_000_000, 30_000_000) == 20_000_000


def test_a_consumer_that_polls_in_vain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it may have missed because it was paused, it did not look for."""
    monkeypatch.setattr("strandline.history.recording.silence.TOLD_FROM_US", 20_000)
    path, place = tmp_path / "carl.jsonl", TopicPartition("orders", 0, 0)
    with Journal(path, "carl") as journal, RecordingConsumer({"log_level": 0, "group.id": "g"}, journal) as consumer:
        consumer.assign([place])
        for polls in (lambda: consumer.consume(5, 0.03), lambda: [consumer.poll(0.01) for _ in range(3)]):
            before = len(rows(path))
            polls()
            told = [row["records"] for row in rows(path)[before:]]  # more than one where the machine was busy
            assert told
            assert not any(told)
        consumer.pause([place])
        before = len(rows(path))
        consumer.poll(0.05)
        assert len(rows(path)) == before
        resumed_us = journal.now_us()
        consumer.resume([place])
        consumer.poll(0.001)
        assert all(row["began_us"] > resumed_us for row in rows(path)[before:])
    told = [row for row in rows(path) if row["op"] == "poll"]
    assert all(row["ended_us"] - row["began_us"] >= 20_000 for row in told)


def test_who_chooses_partitions_has_given_up_all_others_before(tmp_path: Path) -> None:
    """By their times, too: the checker goes by these, and would take the assignment back."""
    path = tmp_path / "carl.jsonl"
    with Journal(path, "carl") as journal, RecordingConsumer({"log_level": 0, "group.id": "g"}, journal) as consumer:
        for partition in (0, 1):
            consumer.assign([TopicPartition("orders", partition, 0)])
    told = sorted((row for row in rows(path) if "began_us" in row), key=lambda row: row["began_us"])
    assert [row["op"] for row in told] == ["revoke", "assign", "revoke", "assign", "revoke"]


def test_who_is_closed_gives_up_what_it_has_and_nothing_else(tmp_path: Path) -> None:
    def revokes(*calls: Callable[[RecordingConsumer], object]) -> int:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
        with Journal(path, "carl") as journal:
            consumer = RecordingConsumer({"log_level": 0, "group.id": "g"}, journal)
            for call in calls:
                call(consumer)
            before = len(rows(path))
            consumer.close()
            consumer.close()
            return [row["op"] for row in rows(path)[before:]].count("revoke")

    places = [TopicPartition("orders", partition, 0) for partition in range(2)]
    assert revokes() == 0
    assert revokes(lambda it: it.assign(places)) == 1
    assert revokes(lambda it: it.assign(places), lambda it: it.unassign()) == 0
    assert revokes(lambda it: it.assign(places), lambda it: it.incremental_unassign(places[:1])) == 1
    assert revokes(lambda it: it.assign(places), lambda it: it.incremental_unassign(places)) == 0


def test_a_loss_is_seen_by_who_chose_a_partition_and_found_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strandline.history.recording.silence.TOLD_FROM_US", 20_000)
    path = tmp_path / "carl.jsonl"
    with Journal(path, "carl") as journal, RecordingConsumer({"log_level": 0, "group.id": "g"}, journal) as consumer:
        consumer.assign([TopicPartition("orders", 0, 0)])
        consumer.poll(0.05)
    lines = [
        line_of("client", process="dora", isolation="read_committed", clock=clock_name()),
        line_of("send", process="anna", topic="orders", partition=0, value="a", offset=0),
        line_of("poll", process="dora", records=[["orders", 0, 0, "a"]], began_us=0, ended_us=1),
        *path.read_bytes().splitlines(keepends=True),
    ]
    parser = LineParser()
    found = check(
        [parser.operation(line, number) for number, line in enumerate(lines, 1)], Expectations(is_read_to_end=True)
    )
    assert found.bad_kinds == {Kind.LOST_WRITE}


def test_what_was_read_before_a_failure_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The application does not get it, but its consumer has gone past it."""

    class Fails:
        def __init__(self) -> None:
            self.coming = [Read()]

        def poll(self, _timeout: float) -> Read:
            if not self.coming:
                raise KafkaException(KafkaError(KafkaError._FATAL))
            return self.coming.pop()

        def close(self) -> None:
            pass

    class Read:
        def __getattr__(self, name: str) -> Any:
            told = {"error": None, "topic": "orders", "partition": 0, "offset": 7, "headers": None, "value": b"a"}
            return lambda: told[name]

    path = tmp_path / "carl.jsonl"
    with Journal(path, "carl") as journal:
        consumer = RecordingConsumer({"group.id": "g", "log_level": 0}, journal)
        consumer.close()
        monkeypatch.setattr(consumer, "_consumer", Fails())
        with pytest.raises(KafkaException):
            consumer.consume(5, 1.0)
    (poll,) = [row for row in rows(path) if row["op"] == "poll"]
    assert poll["records"] == [["orders", 0, 7, "a"]]
