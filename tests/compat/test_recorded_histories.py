"""confluent-kafka's clients at a real broker, recorded, and their histories checked: sound ones, and damaged ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from confluent_kafka import KafkaException, Message, TopicPartition
from tests.compat.conftest import GROUP_SETTINGS
from tests.compat.group_members import HEARTBEAT_MS, SESSION_MS, WAIT_S, wait_until

from strandline.cli.main import cli
from strandline.history.checker import check
from strandline.history.expectations import Expectations
from strandline.history.lines import LineParser
from strandline.history.operations import Begin, Commit, End, Operation, Poll, Send
from strandline.history.recording import Journal, RecordingConsumer, RecordingProducer
from strandline.history.verdict import Kind, Verdict
from strandline.testing import Broker

EVERYTHING = Expectations(is_read_to_end=True, is_every_writer_recorded=True)
CLASSIC = {"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": HEARTBEAT_MS}


class Recorded:
    """A broker, a topic, and a folder with one journal for each client."""

    def __init__(self, bootstrap: str, topic: str, folder: Path) -> None:
        self.bootstrap, self.topic, self.folder = bootstrap, topic, folder
        self._numbers = count(1)

    @contextmanager
    def producer(self, process: str = "anna", **settings: Any) -> Iterator[RecordingProducer]:
        told = {"bootstrap.servers": self.bootstrap, "enable.idempotence": True, **_dotted(settings)}
        with Journal(self.folder / f"{process}.jsonl", process) as journal, RecordingProducer(told, journal) as client:
            yield client

    @contextmanager
    def consumer(self, process: str = "carl", **settings: Any) -> Iterator[RecordingConsumer]:
        told = {
            "bootstrap.servers": self.bootstrap,
            "group.id": f"{self.topic}-group",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **_dotted(settings),
        }
        with Journal(self.folder / f"{process}.jsonl", process) as journal, RecordingConsumer(told, journal) as client:
            yield client

    def send(self, producer: RecordingProducer, number: int, partitions: int = 1) -> None:
        for each in range(number):
            producer.produce(self.topic, f"number {each}", partition=each % partitions)
        assert producer.flush(WAIT_S) == 0

    def read(self, consumer: RecordingConsumer, number: int) -> list[bytes | None]:
        values: list[bytes | None] = []

        def arrive() -> bool:
            values.extend(message.value() for message in consumer.consume(50, 0.05))
            return len(values) >= number

        wait_until(arrive)
        return values

    def read_all(self, number: int, process: str = "zoe") -> None:
        """By somebody who begins at the beginning."""
        with self.consumer(process) as consumer:
            consumer.assign([TopicPartition(self.topic, 0, -2)])
            self.read(consumer, number)

    def operations(self) -> Iterator[Operation]:
        parser = LineParser()
        number = 0
        for path in sorted(self.folder.glob("*.jsonl")):
            for line in path.read_bytes().splitlines():
                number += 1
                yield parser.operation(line, number)

    def verdict(self) -> Verdict:
        return check(self.operations(), EVERYTHING)


def _dotted(settings: dict[str, Any]) -> dict[str, Any]:
    """As keywords, but for callbacks, whose names have no dots."""
    return {name if callable(value) else name.replace("_", "."): value for name, value in settings.items()}


@pytest.fixture
def recorded(broker: Broker, topic: str, tmp_path: Path) -> Recorded:
    return Recorded(broker.bootstrap, topic, tmp_path)


@pytest.fixture
def recorded_group(group_broker: Broker, topic: str, tmp_path: Path) -> Recorded:
    return Recorded(group_broker.bootstrap, topic, tmp_path)


@pytest.fixture
def recorded_mortal(mortal_broker: Broker, topic: str, tmp_path: Path) -> Recorded:
    return Recorded(mortal_broker.bootstrap, topic, tmp_path)


def assert_sound(verdict: Verdict, *, sent: int, read: int | None = None) -> None:
    assert verdict.findings == {}, verdict
    assert verdict.operations["send", "ok"] == sent
    assert verdict.counts["records_read"] == (sent if read is None else read)


def test_the_first_consume_of_a_member_tells_how_long_nothing_came(
    recorded_group: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is given its partitions amid that call, and looks for records from then on."""
    monkeypatch.setattr("strandline.history.recording.silence.TOLD_FROM_US", 200_000)
    with recorded_group.producer() as producer:
        recorded_group.send(producer, 1)
    with recorded_group.consumer(auto_offset_reset="latest") as consumer:
        consumer.subscribe([recorded_group.topic])
        consumer.consume(5, 4.0)
    polls = [each for each in recorded_group.operations() if isinstance(each, Poll)]
    assert [poll.records for poll in polls] == [()]
    assert polls[0].ended_us - polls[0].began_us >= 200_000


def test_sending_and_reading(recorded: Recorded) -> None:
    """The same values again and again: records are told apart by the marks in their headers."""
    with recorded.producer() as producer:
        recorded.send(producer, 500)
        recorded.send(producer, 500)
    recorded.read_all(1000)
    assert_sound(recorded.verdict(), sent=1000)


def test_the_programs_of_the_documentation(recorded_group: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "history.md").read_text(encoding="utf-8")
    program, reading = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    here = {"localhost:9092": recorded_group.bootstrap, "orders": recorded_group.topic, "10.0": "4.0"}
    for written, meant in here.items():
        program = program.replace(written, meant)
    monkeypatch.chdir(recorded_group.folder)
    exec(program, {})
    result = CliRunner().invoke(cli, ["check-history", "anna.jsonl", "carl.jsonl", "--read-to-end", "--all-writers"])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Sound: 1,0")
    assert "; revoke 1 ok; " in result.stdout
    assert "1,000 records read from " in result.stdout
    names: dict[str, Any] = {}
    exec(reading, names)
    assert names["verdict"].operations["send", "ok"] == 1000


def test_headers_and_callbacks_are_the_applications(recorded: Recorded) -> None:
    delivered = []
    with recorded.producer() as producer:
        for headers in ([("a", b"1")], {"a": b"1"}):
            producer.produce(
                recorded.topic, b"v", b"k", headers=headers, on_delivery=lambda *heard: delivered.append(heard)
            )
        with pytest.raises(TypeError):
            producer.produce(recorded.topic, object())  # type: ignore[arg-type]
        assert len(producer) > 0
        producer.flush(WAIT_S)
    assert [error for error, _ in delivered] == [None, None]
    with recorded.consumer() as consumer:
        consumer.assign([TopicPartition(recorded.topic, 0, 0)])
        messages: list[Message] = []
        while len(messages) < 2:
            messages += consumer.consume(2, WAIT_S)
        assert [next(iter(message.headers() or ())) for message in messages] == [("a", b"1")] * 2
        consumer.seek(TopicPartition(recorded.topic, 0, 0))
        recorded.read(consumer, 2)
    assert_sound(recorded.verdict(), sent=2, read=4)


def test_a_record_that_is_refused_is_not_there(recorded: Recorded) -> None:
    with recorded.producer(message_max_bytes=5_000_000) as producer:
        producer.produce(recorded.topic, b"x" * 2_000_000)
        recorded.send(producer, 10)
    recorded.read_all(10)
    verdict = recorded.verdict()
    assert verdict.operations["send", "fail"] == 1
    assert_sound(verdict, sent=10)


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({**CLASSIC, "partition.assignment.strategy": "range"}, id="range"),
        pytest.param({**CLASSIC, "partition.assignment.strategy": "cooperative-sticky"}, id="cooperative-sticky"),
        pytest.param({"group.protocol": "consumer"}, id="kip-848"),
    ],
)
def test_a_group_that_rebalances(recorded_group: Recorded, settings: dict[str, Any]) -> None:
    """Members come and go while records are sent, and commit what they have read. None is missed, none invented."""
    recorded, sent = recorded_group, 0
    with recorded.producer() as producer, ExitStack() as members:
        team: list[RecordingConsumer] = []
        read = 0

        def take_turns() -> bool:
            nonlocal read
            for member in team:
                arrived = len(member.consume(20, 0.02))
                read += arrived
                if arrived:
                    commit(member)
            return all(member.assignment() for member in team) and read >= sent

        for name in ("carl", "dora", "emil"):
            member = members.enter_context(recorded.consumer(name, **settings))
            member.subscribe([recorded.topic], on_revoke=lambda consumer, _partitions: commit(consumer))
            team.append(member)
            recorded.send(producer, 120, 6)
            sent += 120
            wait_until(take_turns)
        team.pop(0).close()
        recorded.send(producer, 120, 6)
        sent += 120
        wait_until(take_turns)
    verdict = recorded.verdict()
    assert verdict.findings == {}, verdict
    assert verdict.operations["send", "ok"] == sent
    assert verdict.counts["records_read"] >= sent
    assert verdict.operations["assign", "ok"] >= 4
    assert verdict.operations["commit", "ok"] > 0


def commit(consumer: RecordingConsumer) -> None:
    with suppress(KafkaException):  # there is nothing to commit, or others have been given the partitions
        consumer.commit(asynchronous=False)


def test_commits_that_nobody_waits_for(recorded: Recorded) -> None:
    heard = []
    with recorded.producer() as producer:
        recorded.send(producer, 100)
    with recorded.consumer(on_commit=lambda *told: heard.append(told)) as consumer:
        consumer.subscribe([recorded.topic])
        recorded.read(consumer, 100)
        consumer.commit()
        wait_until(lambda: consumer.poll(0.02) is None and len(heard) == 1)
    with recorded.consumer("dora") as consumer, recorded.producer("bert") as producer:
        consumer.subscribe([recorded.topic])
        recorded.send(producer, 5)
        recorded.read(consumer, 5)
    verdict = recorded.verdict()
    assert verdict.operations["commit", "ok"] == 1
    assert_sound(verdict, sent=105)


def test_where_there_was_nothing_to_commit_nothing_was_committed(recorded: Recorded) -> None:
    """In doubt, such a commit would excuse a group that goes back to it whenever it likes."""
    heard = []
    with recorded.producer() as producer:
        recorded.send(producer, 10)
    with recorded.consumer(on_commit=lambda *told: heard.append(told)) as consumer:
        consumer.subscribe([recorded.topic])
        recorded.read(consumer, 10)
        consumer.commit(asynchronous=False)
        with pytest.raises(KafkaException):
            consumer.commit(asynchronous=False)
        consumer.commit()
        wait_until(lambda: consumer.poll(0.02) is None and len(heard) == 1)
    verdict = recorded.verdict()
    outcomes = {each: verdict.operations["commit", each] for each in ("ok", "fail", "unknown")}
    assert outcomes == {"ok": 1, "fail": 2, "unknown": 0}


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_broker_that_goes_away(recorded_mortal: Recorded, mortal_broker: Broker, how: str) -> None:
    """What was under way has an unknown outcome or is tried again; what was acknowledged is there, once, in order."""
    recorded = recorded_mortal
    with recorded.producer(linger_ms=0) as producer, recorded.consumer() as consumer:
        consumer.assign([TopicPartition(recorded.topic, 0, -2)])
        recorded.send(producer, 200)
        recorded.read(consumer, 100)
        for number in range(200):
            producer.produce(recorded.topic, f"{number}", partition=0)
        getattr(mortal_broker, how)()
        mortal_broker.start()
        assert producer.flush(WAIT_S) == 0
        recorded.send(producer, 50)
        recorded.read(consumer, 1)
    recorded.read_all(450)
    verdict = recorded.verdict()
    assert verdict.findings == {}, verdict
    assert verdict.operations["send", "ok"] == 450


# Damage.


def test_a_consumer_that_skips(recorded: Recorded) -> None:
    with recorded.producer() as producer:
        recorded.send(producer, 100)
    with recorded.consumer() as consumer:
        consumer.assign([TopicPartition(recorded.topic, 0, -2)])
        wait_until(lambda: bool(consumer.consume(10, 0.05)))
        consumer._consumer.seek(TopicPartition(recorded.topic, 0, 60))  # behind the recorder's back
        recorded.read(consumer, 40)
    verdict = recorded.verdict()
    assert Kind.POLL_SKIP in verdict.bad_kinds or Kind.INTERNAL_POLL_SKIP in verdict.bad_kinds
    assert Kind.LOST_WRITE in verdict.bad_kinds
    assert verdict.findings[Kind.LOST_WRITE].bad_count == 100 - verdict.counts["records_read"]


@pytest.fixture
def own_broker() -> Iterator[Broker]:
    """With small segments."""
    with Broker({**GROUP_SETTINGS, "num.partitions": 1, "log.segment.bytes": 20_000}, process=True) as broker:
        yield broker


@pytest.fixture
def recorded_own(own_broker: Broker, topic: str, tmp_path: Path) -> Recorded:
    return Recorded(own_broker.bootstrap, topic, tmp_path)


def test_a_log_that_lost_its_end(recorded_own: Recorded, own_broker: Broker) -> None:
    """Its newest segments are gone: their offsets are given again, to others."""
    recorded = recorded_own
    with recorded.producer(batch_size=2000) as producer:
        recorded.send(producer, 2000)
    recorded.read_all(2000, "yan")
    own_broker.stop()
    logs = sorted((Path(own_broker.data) / f"{recorded.topic}-0").glob("*.log"))
    assert len(logs) > 2
    for log in logs[len(logs) // 2 :]:
        for path in log.parent.glob(f"{log.stem}.*"):
            path.unlink()
    own_broker.start()
    left = int(logs[len(logs) // 2].stem)
    with recorded.producer("bert") as producer:
        recorded.send(producer, 100)
    recorded.read_all(left + 100)
    assert Kind.INCONSISTENT_OFFSETS in recorded.verdict().bad_kinds


def test_a_log_with_a_hole(recorded_own: Recorded, own_broker: Broker) -> None:
    """A segment in the middle is gone, and the broker believes that it stopped cleanly."""
    recorded = recorded_own
    with recorded.producer(batch_size=2000) as producer:
        recorded.send(producer, 2000)
    own_broker.stop()
    logs = sorted((Path(own_broker.data) / f"{recorded.topic}-0").glob("*.log"))
    assert len(logs) > 3
    for path in logs[1].parent.glob(f"{logs[1].stem}.*"):
        path.unlink()
    own_broker.start()
    lost = int(logs[2].stem) - int(logs[1].stem)
    recorded.read_all(2000 - lost)
    verdict = recorded.verdict()
    assert verdict.findings[Kind.LOST_WRITE].bad_count == lost


def test_a_group_whose_offsets_are_gone(recorded_own: Recorded, own_broker: Broker) -> None:
    recorded = recorded_own
    with recorded.producer() as producer:
        recorded.send(producer, 100)
    with recorded.consumer() as consumer:
        consumer.subscribe([recorded.topic])
        recorded.read(consumer, 100)
        consumer.commit(asynchronous=False)
    own_broker.stop()
    for log in (Path(own_broker.data)).glob("__consumer_offsets-*/*"):
        log.unlink()
    own_broker.start()
    with recorded.consumer("dora") as consumer:
        consumer.subscribe([recorded.topic])
        recorded.read(consumer, 100)
    assert recorded.verdict().bad_kinds == {Kind.LOST_COMMIT}


# Transactions: librdkafka brings a cluster of its own, which takes them for granted and keeps no markers.


def test_what_is_read_after_a_commit_was_asked_for_is_in_no_transaction(topic: str, tmp_path: Path) -> None:
    """Nobody heard of the commit, and it may have come to be."""
    with ExitStack() as clients:
        recorded = Recorded("", topic, tmp_path)
        settings = {"test.mock.num.brokers": 1, "transactional.id": topic}
        producer = clients.enter_context(recorded.producer("anna", **settings))
        (broker,) = producer.list_topics(topic, WAIT_S).brokers.values()
        recorded.bootstrap = f"{broker.host}:{broker.port}"
        journal = clients.enter_context(Journal(tmp_path / "carl.jsonl", "carl"))
        told = {"bootstrap.servers": recorded.bootstrap, "group.id": "g", "enable.auto.commit": False}
        consumer = clients.enter_context(RecordingConsumer(told, journal, within=producer))
        consumer.assign([TopicPartition(topic, 0, 0)])
        producer.init_transactions(WAIT_S)
        producer.begin_transaction()
        producer.produce(topic, "own", partition=0)
        with pytest.raises(KafkaException):
            producer.commit_transaction(0.000_001)
        recorded.read(consumer, 1)
        producer.commit_transaction(WAIT_S)
    operations = list(recorded.operations())
    ends = [each for each in operations if isinstance(each, End)]
    assert [each.outcome.value for each in ends] == ["asked", "unknown", "asked", "ok"]
    assert {each.transaction for each in ends} == {
        begin.transaction for begin in operations if isinstance(begin, Begin)
    }
    assert [each.transaction for each in operations if isinstance(each, Poll)] == [None]
    assert check(operations).is_sound


def test_transactions_at_another_cluster(topic: str, tmp_path: Path) -> None:
    with ExitStack() as clients:
        recorded = Recorded("", topic, tmp_path)
        settings = {"test.mock.num.brokers": 1, "transactional.id": topic}
        producer = clients.enter_context(recorded.producer("anna", **settings))
        (broker,) = producer.list_topics(topic, WAIT_S).brokers.values()
        recorded.bootstrap = f"{broker.host}:{broker.port}"
        with recorded.producer("seed") as seed:
            recorded.send(seed, 20)
        journal = clients.enter_context(Journal(tmp_path / "carl.jsonl", "carl"))
        told = {"bootstrap.servers": recorded.bootstrap, "group.id": "g", "enable.auto.commit": False}
        consumer = clients.enter_context(RecordingConsumer(told, journal, within=producer))
        consumer.assign([TopicPartition(topic, 0, 0)])
        producer.init_transactions(WAIT_S)
        for decision in ("commit", "abort", "commit"):
            producer.begin_transaction()
            (message,) = consumer.consume(1, WAIT_S)
            producer.produce(f"{topic}-out", message.value(), partition=0)
            position = TopicPartition(topic, 0, (message.offset() or 0) + 1)
            producer.send_offsets_to_transaction([position], consumer.consumer_group_metadata(), WAIT_S)
            producer.commit_transaction(WAIT_S) if decision == "commit" else producer.abort_transaction(WAIT_S)
    operations = list(recorded.operations())
    names = [each.transaction for each in operations if isinstance(each, Begin)]
    assert len(set(names)) == 3
    assert [each.transaction for each in operations if isinstance(each, Poll)] == names
    assert [each.transaction for each in operations if isinstance(each, Send) and each.process == "anna"] == names
    assert [each.transaction for each in operations if isinstance(each, Commit)] == names
    ends = [(each.outcome.value, each.decision.value) for each in operations if isinstance(each, End)]
    assert ends == [(how, decision) for decision in ("commit", "abort", "commit") for how in ("asked", "ok")]
    verdict = check(operations)
    assert verdict.counts["transactions_committed"] == 2
    assert verdict.counts["transactions_aborted"] == 1
    assert verdict.is_sound, verdict
