"""Three broker processes on a real ZooKeeper: what was acknowledged outlives leaders, controllers, sessions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.three_brokers import (
    WAIT_S,
    Acknowledged,
    Brokers,
    consumed,
    create_topic,
    three_brokers,
    wait_until,
)

from strandline.cluster.zookeeper_ensemble import ZooKeeperEnsemble


@pytest.fixture
def brokers(zookeeper: ZooKeeperEnsemble, tmp_path: Path) -> Iterator[Brokers]:
    with three_brokers(zookeeper, tmp_path) as three:
        yield three


def test_a_killed_leader_takes_nothing_with_it_that_was_acknowledged(
    brokers: Brokers, capsys: pytest.CaptureFixture[str]
) -> None:
    """And neither does the controller, which is the first broker."""
    admin = brokers.admin()
    create_topic(admin)
    producer = Acknowledged(brokers.bootstrap)
    sent = 0
    for _ in range(3):
        producer.send(range(sent, sent + 300))
        leader, _ = brokers.leader_and_isr(admin)
        brokers.by_id[leader].kill()
        producer.send(range(sent + 300, sent + 600))
        producer.flush()
        sent += 600
        brokers.by_id[leader].start()
        wait_until(lambda: brokers.leader_and_isr(admin)[1] == [1, 2, 3])
    assert producer.values == list(range(sent))
    assert consumed(brokers.bootstrap, sent) == list(range(sent)), "none lost, none doubled, order kept"
    with capsys.disabled():
        print(f"\nlongest time without an acknowledgement over three kills: {producer.longest_gap_s:.1f} s")


def test_a_cluster_outlives_its_zookeeper(brokers: Brokers, zookeeper: ZooKeeperEnsemble) -> None:
    """Away for longer than a session: leaders go on serving, and afterwards all brokers are registered again."""
    admin = brokers.admin()
    create_topic(admin)
    producer = Acknowledged(brokers.bootstrap)
    producer.send(range(10))  # a producer id comes out of the store
    producer.flush()
    (server,) = zookeeper.servers
    server.stop()
    producer.send(range(10, 500))
    producer.flush()
    server.start()
    server.wait_until_ready()
    wait_until(lambda: len(admin.list_topics(timeout=WAIT_S).brokers) == 3)
    leader, _ = brokers.leader_and_isr(admin)
    brokers.by_id[leader].kill()
    producer.send(range(500, 600))
    producer.flush()
    assert consumed(brokers.bootstrap, 600) == list(range(600))
