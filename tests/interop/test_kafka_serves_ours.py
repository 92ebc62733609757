"""A real Kafka broker starts on what we wrote, mends nothing, and serves it to Kafka's own client (SPEC L1, L7, L8).

docs/interop.md says how a broker comes to know of topics that it has not created.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from tests.interop.broker import (
    CLUSTER_ID,
    NODE_ID,
    Broker,
    check_believed,
    format_directory,
    kraft_broker,
    zookeeper,
    zookeeper_broker,
)
from tests.interop.client import Client
from tests.interop.kafka import Kafka
from tests.interop.ours import TOPICS, Writer, now_ms, read_records_of, strandline, write_topics
from tests.interop.znodes import register_directory

from strandline.log.meta_properties import META_PROPERTIES, MetaProperties, encode_meta_properties
from strandline.log.partition_metadata import decode_id
from strandline.model.partitions import TopicPartition

pytestmark = pytest.mark.interop


@contextmanager
def kafka_3_on(kafka: Kafka, data: Path, work: Path) -> Iterator[Broker]:
    with zookeeper(kafka, work / "zookeeper", work) as address:
        register_directory(kafka, address, data)
        with zookeeper_broker(kafka, data, work, address) as broker:
            yield broker


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


def test_kafka_3_on_a_directory_that_is_all_ours(kafka_3: Kafka, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with strandline(data) as directory:
        written = write_topics(directory, {topic: uuid4() for topic in TOPICS})
        identity = MetaProperties(version=0, node_id=NODE_ID, cluster_id=CLUSTER_ID)
        (data / META_PROPERTIES).write_bytes(encode_meta_properties(identity))
    with kafka_3_on(kafka_3, data, tmp_path) as broker:
        client = Client(kafka_3, broker)
        check_served(client, written)
        check_believed(broker)
        client.produce("codecs", 4, "kafka")
    check_taken_back(data, written["codecs"])


def test_kafka_4_on_folders_that_are_ours(kafka_4: Kafka, tmp_path: Path) -> None:
    data = tmp_path / "data"
    format_directory(kafka_4, data, tmp_path)
    with kraft_broker(kafka_4, data, tmp_path) as broker:
        client = Client(kafka_4, broker)
        topic_ids = {topic: decode_id(client.create(topic)) for topic in TOPICS}
    for topic in TOPICS:
        shutil.rmtree(data / f"{topic}-0")
    with strandline(data) as directory:
        written = write_topics(directory, topic_ids)
    with kraft_broker(kafka_4, data, tmp_path) as broker:
        client = Client(kafka_4, broker)
        check_served(client, written)
        check_believed(broker)
        client.produce("codecs", 4, "kafka")
    check_taken_back(data, written["codecs"])


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
