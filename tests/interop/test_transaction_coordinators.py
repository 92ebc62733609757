"""Transactions change hands between our coordinator and Kafka's, through `__transaction_state` alone (SPEC P3)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import pytest
from tests.interop.broker import Broker, kraft_broker, zookeeper, zookeeper_broker
from tests.interop.client import Client, ServedRecord
from tests.interop.home import make_home
from tests.interop.kafka import Kafka
from tests.interop.ours import Writer, now_ms, read_records_of, strandline
from tests.interop.znodes import register_directory
from tests.transactions.producing import add, ended, started
from tests.transactions.shell import Shell

from strandline.log.log_directory import LogDirectory
from strandline.model.partitions import TopicPartition
from strandline.records.builder import build_batch
from strandline.records.record import Record
from strandline.transactions.epochs import Producer
from strandline.transactions.formats import decode_record
from strandline.transactions.records import Transaction

pytestmark = pytest.mark.interop

STATE = "__transaction_state"
TOPICS = ("orders", STATE)
SETTINGS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}
DEADLINE_SECONDS = 30


@contextmanager
def broker_on(kafka: Kafka, data: Path, work: Path) -> Iterator[Broker]:
    if kafka.series != "3.9":
        with kraft_broker(kafka, data, work, SETTINGS) as broker:
            yield broker
        return
    with zookeeper(kafka, work / "zookeeper", work) as address:
        register_directory(kafka, address, data)
        with zookeeper_broker(kafka, data, work, address, SETTINGS) as broker:
            yield broker


def our_transactions(kafka: Kafka) -> tuple[Shell, dict[str, Producer]]:
    """One decided to be committed, one to be aborted, one that is about to run out of time; no marker is written."""
    shell = Shell(transaction_version=0 if kafka.series == "3.9" else 2)
    shell.now_ms = now_ms() - 120_000
    producers = {name: started(shell, name) for name in ("committed", "aborted", "late")}
    for name, producer in producers.items():
        add(shell, producer, "orders-0", transactional_id=name)
    ended(shell, producers["committed"], is_commit=True, transactional_id="committed")
    ended(shell, producers["aborted"], is_commit=False, transactional_id="aborted")
    return shell, producers


def write_directory(directory: LogDirectory, topic_ids: dict[str, UUID], kafka: Kafka) -> Writer:
    shell, producers = our_transactions(kafka)
    logs = {
        topic: directory.create(TopicPartition(topic, 0), now_ms=now_ms(), topic_id=topic_ids[topic])
        for topic in TOPICS
    }
    orders = Writer(logs["orders"])
    for name, producer in producers.items():
        orders.append([(name.encode(), b"in a transaction")], producer=(*producer, 0), is_transactional=True)
    records = [Record(index, now_ms(), key, value) for index, (key, value) in enumerate(shell.log)]
    logs[STATE].append([build_batch(records)], leader_epoch=0, now_ms=now_ms(), from_client=False)
    return orders


def stored_transactions(records: list[ServedRecord]) -> dict[str, Transaction | None]:
    found = (decode_record(record.key or b"", record.value) for record in records)
    return {record.transactional_id: record.transaction for record in found if record is not None}


def await_committed(client: Client, end_offset: int) -> list[ServedRecord]:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        served = client.consume("orders", isolation="read_committed")["orders"]
        if served.end_offset >= end_offset:
            return served.records
        time.sleep(0.05)
    raise AssertionError(f"Kafka left a transaction open:\n{client.broker.server.log_tail()}")


def test_kafka_completes_what_we_decided_and_we_go_on_from_there(kafka: Kafka, tmp_path: Path) -> None:
    home = make_home(kafka, tmp_path, TOPICS)
    with strandline(home.data) as directory:
        written = write_directory(directory, home.topic_ids, kafka)
        records_end = written.log.log_end_offset
    with broker_on(kafka, home.data, tmp_path) as broker:
        committed = await_committed(Client(kafka, broker), records_end + 3)
    assert [record.key for record in committed] == [b"committed"]
    with strandline(home.data) as directory:
        kafkas = read_records_of(directory.logs[TopicPartition(STATE, 0)])
    states = {name: value.state.title for name, value in stored_transactions(kafkas).items() if value is not None}
    assert states == {"committed": "CompleteCommit", "aborted": "CompleteAbort", "late": "CompleteAbort"}
    check_we_go_on(kafkas)


def check_we_go_on(kafkas: list[ServedRecord]) -> None:
    shell = Shell()
    shell.log = [(record.key or b"", record.value) for record in kafkas]
    shell.committed = len(shell.log)
    shell.restart()
    assert shell.sent == []
    for name, transaction in stored_transactions(kafkas).items():
        assert transaction is not None
        following = started(shell, name)
        assert following == Producer(transaction.producer_id, transaction.producer_epoch + 1)


def test_kafkas_tool_reads_our_records(kafka: Kafka, tmp_path: Path) -> None:
    shell, _ = our_transactions(kafka)
    records = [Record(index, 0, key, value) for index, (key, value) in enumerate(shell.log)]
    log = tmp_path / f"{0:020}.log"
    log.write_bytes(build_batch(records))
    dump = kafka.dump_log_segments([log], "--transaction-log-decoder", "--deep-iteration")
    assert dump.exit_code == 0, dump.stderr
    assert dump.stderr == ""
    for name in ("committed", "aborted", "late"):
        assert dump.stdout.count(name) >= 2
    assert dump.stdout.count("orders") >= 3
