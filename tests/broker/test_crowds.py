"""Thousands who connect and do nothing: they are let in as the settings say, and a good client is served (SPEC P6)."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from contextlib import ExitStack
from struct import pack

import pytest
from tests.broker.kafka_peer import WAIT_S, KafkaPeer
from tests.broker.running_broker import BrokerPeer, batch_of

from strandline.testing import Broker

CROWD = 2_000
HALF_FRAME = pack(">i", 1000) + bytes(10)


@pytest.fixture
def _many_descriptors() -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], min(limits[1], CROWD + 500)), limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def descriptors_of(broker: Broker) -> int:
    return len(os.listdir(f"/proc/{broker.pid}/fd"))


def wait_for_descriptors(broker: Broker, *, at_least: int = 0, at_most: int = 10**6) -> None:
    deadline = time.monotonic() + WAIT_S
    while not at_least <= descriptors_of(broker) <= at_most:
        assert time.monotonic() < deadline, descriptors_of(broker)
        time.sleep(0.01)


@pytest.mark.usefixtures("_many_descriptors")
def test_two_thousand_half_open_connections() -> None:
    with Broker(process=True) as broker, BrokerPeer(("127.0.0.1", broker.port)) as good:
        good.create_topic("orders")
        before = descriptors_of(broker)
        with ExitStack() as crowd:
            for _ in range(CROWD):
                crowd.enter_context(KafkaPeer(("127.0.0.1", broker.port))).send(HALF_FRAME)
            wait_for_descriptors(broker, at_least=before + CROWD)
            for _ in range(20):
                assert good.produce("orders", batch_of(b"value"))[0].error_code == 0
        wait_for_descriptors(broker, at_most=before + 20)


def test_those_beyond_the_limit_are_closed_at_once() -> None:
    with Broker(process=True, max_connections=30) as broker, ExitStack() as crowd:
        good = crowd.enter_context(BrokerPeer(("127.0.0.1", broker.port)))
        good.create_topic("orders")
        peers = [crowd.enter_context(KafkaPeer(("127.0.0.1", broker.port))) for _ in range(60)]
        assert all(peer.is_closed_by_broker() for peer in peers[29:])
        assert good.produce("orders", batch_of(b"value"))[0].error_code == 0
