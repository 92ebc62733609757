"""The sample of docs/transactions.md, as it stands there: every record once, also after a life that ended amid it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from strandline.testing import Broker

DOCUMENT = Path(__file__).parents[2] / "docs" / "transactions.md"
RECORDS = 1200
WAIT_S = 30.0


@pytest.fixture
def copy() -> Callable[..., None]:
    code = DOCUMENT.read_text().partition("```python\n")[2].partition("```")[0]
    names: dict[str, Any] = {}
    exec(compile(code, str(DOCUMENT), "exec"), names)
    found: Callable[..., None] = names["copy"]
    return found


class Copied:
    """Reads what is committed, and counts."""

    def __init__(self, bootstrap: str) -> None:
        settings = {"group.id": "judge", "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
        self._consumer = Consumer({"bootstrap.servers": bootstrap, **settings})
        self._consumer.subscribe(["copied"])
        self.values: list[bytes | str | None] = []

    def is_missing_some(self) -> bool:
        for message in self._consumer.consume(1000, 0.05):
            assert message.error() is None
            self.values.append(message.value())
        return len(self.values) < RECORDS


def test_the_sample_copies_every_record_once(copy: Callable[..., None]) -> None:
    with Broker(group_initial_rebalance_delay_ms=0) as broker:
        broker.create_topic("numbers", 3)
        broker.create_topic("copied", 3)
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        for number in range(RECORDS):
            producer.produce("numbers", b"n%d" % number)
        assert producer.flush(WAIT_S) == 0

        seen: list[bytes] = []

        def dying(value: bytes) -> bytes:
            seen.append(value)
            if len(seen) == RECORDS // 2:
                raise InterruptedError
            return value.upper()

        with pytest.raises(InterruptedError):
            copy(broker.bootstrap, "numbers", "copied", dying, lambda: True)
        copied = Copied(broker.bootstrap)
        copy(broker.bootstrap, "numbers", "copied", bytes.upper, copied.is_missing_some)
    assert sorted(map(str, copied.values)) == sorted(str(b"N%d" % number) for number in range(RECORDS))
