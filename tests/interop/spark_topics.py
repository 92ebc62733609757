"""Topics for queries on both sides: every shape of record, times a second apart, a cut log, transactions."""

from __future__ import annotations

from confluent_kafka import Producer
from tests.spark.our_side import OurSide, Sent

from strandline.records.record import Headers
from strandline.testing import Broker

FIRST_MS, STEP_MS = 1_700_000_000_000, 1_000
ORDERS, OTHER, EMPTY, CUT, TRANSACTIONS = "orders", "orders.other", "empty", "cut", "transactions"
RECORDS, CUT_AT = 300, 50
PARTITIONS = 2
WAIT_S = 30.0


def time_of(number: int) -> int:
    return FIRST_MS + number * STEP_MS


def record_of(number: int, partition: int) -> Sent:
    return Sent(
        partition,
        None if number % 10 == 9 else f"value {number}".encode(),
        None if number % 5 == 0 else f"key {number % 3}".encode(),
        headers_of(number),
        time_of(number),
    )


def headers_of(number: int) -> Headers:
    return ((), (("one", b"1"),), (("same", b"a"), ("same", None), ("größe", b"\xff\x00")))[number % 3]


def records_of(numbers: range, partitions: int = PARTITIONS) -> list[Sent]:
    return [record_of(number, partition) for number in numbers for partition in range(partitions)]


def make_topics(broker: Broker) -> None:
    ours = OurSide(broker)
    for name in (ORDERS, OTHER, CUT, TRANSACTIONS):
        broker.create_topic(name, PARTITIONS)
    broker.create_topic(EMPTY, 1)
    ours.write(ORDERS, records_of(range(RECORDS)))
    ours.write(OTHER, records_of(range(20)))
    ours.write(CUT, records_of(range(100)))
    for partition in range(PARTITIONS):
        ours.delete_before(CUT, CUT_AT, partition)
    write_transactions(broker.bootstrap)


def write_transactions(bootstrap: str) -> None:
    """Committed, aborted, committed."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "writer", "log_level": 0})
    producer.init_transactions(WAIT_S)
    for name, commits in (("first", True), ("second", False), ("third", True)):
        producer.begin_transaction()
        for number in range(10):
            for partition in range(PARTITIONS):
                value = f"{name} {number}".encode()
                producer.produce(TRANSACTIONS, value, partition=partition, timestamp=time_of(number))
        assert producer.flush(WAIT_S) == 0
        producer.commit_transaction(WAIT_S) if commits else producer.abort_transaction(WAIT_S)
