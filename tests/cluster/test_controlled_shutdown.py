"""Brokers that are stopped hand over first: clients notice nothing that a retry does not hide (SPEC R6)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from tests.cluster.three_brokers import Acknowledged, Brokers, consumed, create_topic, three_brokers, wait_until

from strandline.cluster.zookeeper_ensemble import ZooKeeperEnsemble


@pytest.fixture
def brokers(zookeeper: ZooKeeperEnsemble, tmp_path: Path) -> Iterator[Brokers]:
    with three_brokers(zookeeper, tmp_path) as three:
        yield three


def test_a_rolling_restart_under_load_loses_nothing(brokers: Brokers, capsys: pytest.CaptureFixture[str]) -> None:
    """Each broker in turn, so the controller and the leader too. When one has stopped, another leads already."""
    admin = brokers.admin()
    create_topic(admin)
    producer = Acknowledged(brokers.bootstrap)
    sent = 0
    for broker_id, broker in brokers.by_id.items():
        stopping = Thread(target=broker.stop)
        stopping.start()
        producer.send(range(sent, sent + 500))
        stopping.join()
        leader, isr = brokers.leader_and_isr(admin)
        assert leader != broker_id
        assert broker_id not in isr
        producer.send(range(sent + 500, sent + 600))
        producer.flush()
        sent += 600
        broker.start()
        wait_until(lambda: brokers.leader_and_isr(admin)[1] == [1, 2, 3])
    assert consumed(brokers.bootstrap, sent) == list(range(sent)), "none lost, none doubled, order kept"
    with capsys.disabled():
        print(f"\nlongest wait for an acknowledgement over three stops: {producer.longest_gap_s:.1f} s")


def test_brokers_stop_without_their_zookeeper(brokers: Brokers, zookeeper: ZooKeeperEnsemble) -> None:
    """KAFKA-9189: nobody could take over, and the stop must not wait for that. It is clean all the same."""
    (server,) = zookeeper.servers
    server.stop()
    try:
        for broker in brokers.by_id.values():
            broker.stop()  # fails where it takes too long or does not end well
    finally:
        server.start()
        server.wait_until_ready()


def test_a_whole_cluster_stops_at_once(brokers: Brokers) -> None:
    """All of them shut down, so none waits for another to take over; and the next start has everything."""
    admin = brokers.admin()
    create_topic(admin)
    producer = Acknowledged(brokers.bootstrap)
    producer.send(range(100))
    producer.flush()
    stopping = [Thread(target=broker.stop) for broker in brokers.by_id.values()]
    for thread in stopping:
        thread.start()
    for thread in stopping:
        thread.join()
    for broker in brokers.by_id.values():
        broker.start()
    assert consumed(brokers.bootstrap, 100) == list(range(100))
