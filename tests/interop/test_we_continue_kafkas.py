"""We open what a real broker left, cleanly stopped or killed, read what its client read, write on, and give it back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.golden.make import segment_bytes_property
from tests.interop.broker import Broker, check_believed, format_directory, kraft_broker
from tests.interop.client import Client, ServedLog
from tests.interop.kafka import Kafka
from tests.interop.ours import Writer, read_records_of, strandline

from strandline.log.log_directory import LogDirectory
from strandline.model.partitions import TopicPartition

pytestmark = pytest.mark.interop

WORKLOAD = str(Path(__file__).parents[1] / "golden" / "Workload.java")
TOPICS = ("orders", "payments", "clicks")


def run_workload(kafka: Kafka, broker: Broker, steps: Sequence[Sequence[str]]) -> None:
    for step in steps:
        done = kafka.run(WORKLOAD, broker.bootstrap, *step)
        assert done.exit_code == 0, done.stderr


def check_read(directory: LogDirectory, served: dict[str, ServedLog]) -> None:
    for topic, log_served in served.items():
        log = directory.logs[TopicPartition(topic, 0)]
        assert (log.log_start_offset, log.log_end_offset) == (log_served.first_offset, log_served.end_offset)
        assert read_records_of(log) == log_served.records, topic


@pytest.mark.parametrize("is_killed", [False, True], ids=["stopped", "killed"])
def test_there_and_back(kafka: Kafka, tmp_path: Path, is_killed: bool) -> None:
    data = tmp_path / "data"
    format_directory(kafka, data, tmp_path)
    with kraft_broker(kafka, data, tmp_path) as broker:
        run_workload(kafka, broker, [["create", segment_bytes_property(kafka)], ["first"]])
        client = Client(kafka, broker)
        served = client.consume(*TOPICS)
        if is_killed:
            broker.server.kill()

    with strandline(data) as directory:
        assert directory.was_clean is not is_killed
        assert directory.findings == []
        check_read(directory, served)
        epoch = served["orders"].records[-1].leader_epoch
        writer = Writer(directory.logs[TopicPartition("orders", 0)], leader_epoch=epoch)
        writer.append([(b"from", b"strandline"), (None, b"too")], headers=(("by", b"us"),))

    with kraft_broker(kafka, data, tmp_path) as broker:
        served_again = Client(kafka, broker).consume(*TOPICS)
        assert served_again["orders"].records == served["orders"].records + writer.records
        assert served_again["payments"].records == served["payments"].records
        assert served_again["clicks"].records == served["clicks"].records
        check_believed(broker)
