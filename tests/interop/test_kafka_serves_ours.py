"""A real Kafka broker starts on what we wrote, mends nothing, and serves it to Kafka's own client (SPEC L1, L7, L8)."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from tests.interop.broker import MENDING, check_believed
from tests.interop.client import Client, ServedRecord
from tests.interop.dumps import check_sound
from tests.interop.endless_writer import key_of
from tests.interop.home import Home
from tests.interop.ours import TOPICS, Writer, now_ms, read_records_of, strandline, write_topics
from tests.interop.process import Child

from strandline.log.clean_shutdown import CLEAN_SHUTDOWN_MARKER
from strandline.model.ids import encode_id
from strandline.model.partitions import TopicPartition

pytestmark = pytest.mark.interop


def check_served(client: Client, written: dict[str, Writer]) -> None:
    for topic, served in client.consume(*written).items():
        writer = written[topic]
        start = writer.log.log_start_offset
        assert served.records == [record for record in writer.records if record.offset >= start], topic
        assert (served.first_offset, served.end_offset) == (start, writer.log.log_end_offset)
    payments = written["payments"]
    committed = client.consume("payments", isolation="read_committed")["payments"]
    assert committed.records == payments.committed()
    assert committed.end_offset == payments.open_from
    middle = written["codecs"].records[30]
    assert client.offset_for_time("codecs", middle.timestamp) == (middle.offset, middle.timestamp)


def test_after_a_clean_stop(home: Home, tmp_path: Path) -> None:
    with strandline(home.data) as directory:
        written = write_topics(directory, {topic: home.topic_ids[topic] for topic in TOPICS})
    with home.broker(tmp_path) as broker:
        client = Client(home.kafka, broker)
        check_served(client, written)
        check_believed(broker)
        client.produce("codecs", 4, "kafka")
    check_taken_back(home.data, written["codecs"])


def test_after_kill_9(home: Home, tmp_path: Path) -> None:
    """Killed among appends and compactions: Kafka recovers all that was written, and we open what it made of it."""
    written = kill_a_writer(home, tmp_path)
    with home.broker(tmp_path) as broker:
        served = Client(home.kafka, broker).consume("codecs", "table")
        errors = [line for line in broker.server.log().splitlines() if "] ERROR " in line and MENDING.search(line)]
    check_recovered(served["codecs"].records, served["table"].records, written)
    assert errors == []
    with strandline(home.data) as directory:
        assert directory.was_clean
        assert directory.findings == []
        for topic, log in served.items():
            assert read_records_of(directory.logs[TopicPartition(topic, 0)]) == log.records
    check_sound(home.data)


def kill_a_writer(home: Home, work: Path) -> int:
    """How many records it had written before the last thing that it could say."""
    topic_ids = [f"{topic}={encode_id(home.topic_ids[topic])}" for topic in ("codecs", "table")]
    command = [sys.executable, "-m", "tests.interop.endless_writer", str(home.data), *topic_ids]
    with Child(command, work / "writer.log", ready_line="written 330") as writer:
        writer.kill()
    assert not (home.data / CLEAN_SHUTDOWN_MARKER).exists()
    return int(re.findall(r"written (\d+)\n", writer.log())[-1]) + 1


def check_recovered(codecs: list[ServedRecord], table: list[ServedRecord], written: int) -> None:
    assert [(record.offset, record.value) for record in codecs] == [
        (number, b"%d" % number) for number in range(len(codecs))
    ]
    assert len(codecs) >= written
    last = table[-1].offset
    assert written - 1 <= last <= written
    newest = {record.key: record.value for record in table}
    assert newest == {key_of(number): b"%d" % number for number in range(last + 1)}
    assert len(table) < written / 2  # it had been compacted


def check_taken_back(data: Path, writer: Writer) -> None:
    """Kafka wrote on where we had stopped; we find both, at the leader epochs that each had."""
    with strandline(data) as directory:
        assert directory.was_clean
        assert directory.findings == []
        records = read_records_of(directory.logs[TopicPartition("codecs", 0)])
    ours, kafkas = records[: len(writer.records)], records[len(writer.records) :]
    assert ours == writer.records
    assert [record.value for record in kafkas] == [b"kafka-0", b"kafka-1", b"kafka-2", b"kafka-3"]
    assert all(record.leader_epoch > writer.leader_epoch for record in kafkas)
    assert all(record.timestamp <= now_ms() for record in kafkas)
