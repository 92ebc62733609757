"""kill -9 of a recorded client between a commit that came to be and its line: what is left behind is judged right."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.compat.dying_clients import COMMIT_RECORDS, MEMBER, WAYS

from strandline.history.checker import check
from strandline.history.expectations import Expectations
from strandline.history.lines import LineParser
from strandline.history.operations import Assign, Operation, Poll
from strandline.history.recording import Journal, RecordingConsumer, RecordingProducer
from strandline.history.verdict import Kind
from strandline.testing import Broker

CHECKOUT = Path(__file__).parents[2]
RECORDS = 3 * COMMIT_RECORDS
WAIT_S = 30.0
EVERYTHING = Expectations(is_every_writer_recorded=True)


class Story:
    """Anna sends, carl reads and is killed, dora goes on in his place."""

    def __init__(self, broker: Broker, topic: str, folder: Path) -> None:
        self._broker, self._topic, self._folder = broker, topic, folder
        self._there = {"bootstrap.servers": broker.bootstrap}
        broker.create_topic(topic, 1)
        broker.create_topic(f"{topic}-copied", 1)

    def happens(self, how: str) -> None:
        settings = {**self._there, "enable.idempotence": True}
        with Journal(self._folder / "anna.jsonl", "anna") as journal, RecordingProducer(settings, journal) as producer:
            for number in range(RECORDS):
                producer.produce(self._topic, f"number {number}", partition=0)
            assert producer.flush(WAIT_S) == 0
        command = [sys.executable, "-m", "tests.compat.dying_clients", how]
        ended = subprocess.run(
            [*command, self._broker.bootstrap, self._topic, str(self._folder)], cwd=CHECKOUT, check=False
        )
        assert ended.returncode == -signal.SIGKILL
        settings = {**self._there, **MEMBER, "group.id": self._topic}
        with Journal(self._folder / "dora.jsonl", "dora") as journal, RecordingConsumer(settings, journal) as consumer:
            consumer.subscribe([self._topic])
            for _ in range(COMMIT_RECORDS):
                assert consumer.consume(1, WAIT_S)

    def lines(self, process: str) -> list[bytes]:
        return (self._folder / f"{process}.jsonl").read_bytes().splitlines()

    def operations(self) -> list[Operation]:
        parser, lines = LineParser(), [line for process in ("anna", "carl", "dora") for line in self.lines(process)]
        return [parser.operation(line, number) for number, line in enumerate(lines, 1)]


@pytest.mark.parametrize("how", WAYS)
def test_a_commit_of_which_nobody_heard(broker: Broker, topic: str, tmp_path: Path, how: str) -> None:
    story = Story(broker, topic, tmp_path)
    story.happens(how)
    operations = story.operations()
    starts = [each.positions[0][1] for each in operations if isinstance(each, Assign)]
    assert starts == [-2, 2 * COMMIT_RECORDS], "the commit came to be"
    verdict = check(operations, EVERYTHING)
    assert verdict.is_sound, verdict
    assert verdict.counts["records_read"] == RECORDS
    assert check(without_the_end_of("carl", operations)).bad_kinds == {Kind.PHANTOM_COMMIT}


def without_the_end_of(process: str, operations: list[Operation]) -> list[Operation]:
    """Without what it wrote after its last poll, since that was for the commit."""
    last = max(each.number for each in operations if isinstance(each, Poll) and each.process == process)
    return [each for each in operations if each.process != process or each.number <= last]
