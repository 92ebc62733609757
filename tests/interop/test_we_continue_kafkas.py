"""We open what a broker left, stopped or killed, read what its client read, write and clean on, and give it back."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interop.broker import check_believed, kraft_broker
from tests.interop.client import Client
from tests.interop.dumps import check_dumps_agree, check_praised, check_sound
from tests.interop.kafka import Kafka
from tests.interop.lives import STREAM, STREAMED_BEFORE_DEATH, TOPICS, Life
from tests.interop.ours import Writer, compact, newest_of_each_key, now_ms, read_records_of, strandline

from strandline.log.log_directory import LogDirectory
from strandline.model.partitions import TopicPartition

pytestmark = pytest.mark.interop


def check_read(directory: LogDirectory, life: Life) -> None:
    for topic, log_served in life.served.items():
        log = directory.logs[TopicPartition(topic, 0)]
        assert (log.log_start_offset, log.log_end_offset) == (log_served.first_offset, log_served.end_offset)
        assert read_records_of(log) == log_served.records, topic
    streamed = read_records_of(directory.logs[TopicPartition(STREAM, 0)])
    assert [record.value for record in streamed] == [b"%d" % number for number in range(len(streamed))]
    assert len(streamed) >= life.streamed() > STREAMED_BEFORE_DEATH


def writer_to(directory: LogDirectory, life: Life, topic: str) -> Writer:
    epoch = life.served[topic].records[-1].leader_epoch
    return Writer(directory.logs[TopicPartition(topic, 0)], leader_epoch=epoch)


def test_there_and_back(kafka: Kafka, life: Life, tmp_path: Path) -> None:
    data = life.copy(tmp_path / "data")
    with strandline(data) as directory:
        assert directory.was_clean is not life.is_killed
        assert directory.findings == []
        check_read(directory, life)
        orders = writer_to(directory, life, "orders")
        orders.append([(b"from", b"strandline"), (None, b"too")], headers=(("by", b"us"),))
        accounts = writer_to(directory, life, "accounts")
        accounts.append([(b"account-1", b"ours"), (b"account-2", None), (b"account-9", b"new")])
        cleaned_to = compact(directory, accounts.log, now_ms=now_ms())

    check_sound(data)
    check_praised(check_dumps_agree(kafka, data, "accounts-0"))
    with kraft_broker(kafka, data, tmp_path) as broker:
        client = Client(kafka, broker)
        served = client.consume(*TOPICS)
        assert served["orders"].records == life.served["orders"].records + orders.records
        assert served["payments"].records == life.served["payments"].records
        assert served["clicks"].records == life.served["clicks"].records
        committed = life.committed["accounts"].records + accounts.records
        assert served["accounts"].records == newest_of_each_key(committed, cleaned_to=cleaned_to)
        assert client.consume("accounts", isolation="read_committed")["accounts"].records == served["accounts"].records
        check_believed(broker)
