"""Copies a topic to another, exactly once: what it has read is committed in the transaction that has the copies.

    python copier.py BOOTSTRAP TRANSACTIONAL_ID SOURCE TARGET RECORDS_PER_TRANSACTION

It knows nothing of recovery: whatever goes wrong ends the process, and the next one goes on where the last transaction
was committed.
"""

from __future__ import annotations

import faulthandler
import sys

from confluent_kafka import Consumer, Producer

WAIT_S = 20.0
QUIET = {"log_level": 0, "log.connection.close": False}


def main(bootstrap: str, transactional_id: str, source: str, target: str, records_per_transaction: int) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "copiers",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 2_000,
            "heartbeat.interval.ms": 300,
            **QUIET,
        }
    )
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": 20_000,
            "retry.backoff.ms": 20,
            "retry.backoff.max.ms": 100,
            **QUIET,
        }
    )
    producer.init_transactions(WAIT_S)
    consumer.subscribe([source])
    while True:
        # librdkafka has been seen to wait for a group's coordinator past its own timeout, with no request under way.
        faulthandler.dump_traceback_later(WAIT_S, exit=True)
        messages = [each for each in consumer.consume(records_per_transaction, 0.2) if each.error() is None]
        if not messages:
            continue
        producer.begin_transaction()
        for message in messages:
            producer.produce(target, message.value(), partition=message.partition() or 0)
            producer.poll(0)
        positions = consumer.position(consumer.assignment())
        read = [position for position in positions if position.offset >= 0]
        producer.send_offsets_to_transaction(read, consumer.consumer_group_metadata(), WAIT_S)
        producer.commit_transaction(WAIT_S)


if __name__ == "__main__":
    _, bootstrap, transactional_id, source, target, count = sys.argv
    main(bootstrap, transactional_id, source, target, int(count))
