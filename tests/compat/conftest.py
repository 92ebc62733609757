"""One broker process for all clients of a worker: each test has topics and groups of its own."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from itertools import count

import pytest

from strandline.testing import Broker

NUMBERS = count()


@pytest.fixture(autouse=True)
def _leftovers_of_clients() -> Iterator[None]:
    """kafka-python leaves sockets to the garbage collector, which says so, in whatever test comes next."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    # Transactions that take too long are looked for every ten seconds otherwise.
    with Broker({"transaction.abort.timed.out.transaction.cleanup.interval.ms": 200}, process=True) as broker:
        yield broker


GROUP_SETTINGS = {
    "num.partitions": 6,
    # Members of KIP-848 hear of changes with their heartbeats: every five seconds would be long for a test.
    "group.consumer.min.heartbeat.interval.ms": 50,
    "group.consumer.heartbeat.interval.ms": 50,
}


@pytest.fixture(scope="session")
def group_broker() -> Iterator[Broker]:
    """Its topics have six partitions, to be shared."""
    with Broker(GROUP_SETTINGS, process=True) as broker:
        yield broker


@pytest.fixture
def mortal_broker() -> Iterator[Broker]:
    """The same, for a test that ends its process."""
    with Broker(GROUP_SETTINGS, process=True) as broker:
        yield broker


@pytest.fixture
def bootstrap(broker: Broker) -> str:
    return broker.bootstrap


@pytest.fixture
def topic() -> str:
    """A name that nobody else uses."""
    return f"topic-{next(NUMBERS)}"
