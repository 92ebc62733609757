"""One broker process for all clients of a worker: each test has topics and groups of its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from strandline.testing import Broker

NUMBERS = count()


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    with Broker(process=True) as broker:
        yield broker


@pytest.fixture
def bootstrap(broker: Broker) -> str:
    return broker.bootstrap


@pytest.fixture
def topic() -> str:
    """A name that nobody else uses."""
    return f"topic-{next(NUMBERS)}"
