"""The records that go through: numbered, and by its number each is known to be good or bad, and why."""

from __future__ import annotations

import json
from collections.abc import Callable

from confluent_kafka import KafkaError, Producer

BAD_ONE_IN = 50
PARTITIONS = 4
WAIT_S = 300.0
SCHEMA = "number BIGINT NOT NULL, amount DOUBLE"
RULE = "amount > 0"

# One for each way in which a record can be bad: not JSON, not the type, against the rule, no value at all.
BAD_VALUES: tuple[Callable[[int], bytes | None], ...] = (
    lambda number: b"{nonsense %d" % number,
    lambda number: b'{"number": "no %d", "amount": 1}' % number,
    lambda number: b'{"number": %d, "amount": -1}' % number,
    lambda _: None,
)


def is_bad(number: int) -> bool:
    return number % BAD_ONE_IN == 0


def value_of(number: int) -> bytes | None:
    if is_bad(number):
        return BAD_VALUES[number // BAD_ONE_IN % len(BAD_VALUES)](number)
    return json.dumps({"number": number, "amount": number + 0.5}).encode()


def fill(bootstrap: str, topic: str, count: int) -> None:
    """Each once, acknowledged by all replicas; the key is the number."""
    failures: list[KafkaError] = []
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 20, "log_level": 0})

    def delivered(error: KafkaError | None, _: object) -> None:
        if error is not None:
            failures.append(error)

    for number in range(count):
        while True:
            try:
                producer.produce(
                    topic, value_of(number), str(number).encode(), number % PARTITIONS, on_delivery=delivered
                )
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    assert producer.flush(WAIT_S) == 0
    assert not failures, failures[0]
