"""Three broker processes on a real ZooKeeper: what was acknowledged outlives leaders, controllers, sessions."""

from __future__ import annotations

import pytest
from tests.cluster.orders import WAIT_S, Acknowledged, admin_of, consumed, create_topic, leader_and_isr, wait_until

from strandline.cluster.process_cluster import ProcessCluster


def test_a_killed_leader_takes_nothing_with_it_that_was_acknowledged(
    cluster: ProcessCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """And neither does the controller, which is the first broker."""
    admin = admin_of(cluster)
    create_topic(admin)
    producer = Acknowledged(cluster.bootstrap)
    sent = 0
    for _ in range(3):
        producer.send(range(sent, sent + 300))
        leader, _ = leader_and_isr(admin)
        cluster.kill(leader)
        producer.send(range(sent + 300, sent + 600))
        producer.flush()
        sent += 600
        cluster.start(leader)
        wait_until(lambda: leader_and_isr(admin)[1] == [1, 2, 3])
    assert producer.values == list(range(sent))
    assert consumed(cluster.bootstrap, sent) == list(range(sent)), "none lost, none doubled, order kept"
    with capsys.disabled():
        print(f"\nlongest time without an acknowledgement over three kills: {producer.longest_gap_s:.1f} s")


def test_a_cluster_outlives_its_zookeeper(cluster: ProcessCluster) -> None:
    """Away for longer than a session: leaders go on serving, and afterwards all brokers are registered again."""
    admin = admin_of(cluster)
    create_topic(admin)
    producer = Acknowledged(cluster.bootstrap)
    producer.send(range(10))  # a producer id comes out of the store
    producer.flush()
    (server,) = cluster.zookeepers
    server.stop()
    producer.send(range(10, 500))
    producer.flush()
    server.start()
    server.wait_until_ready()
    wait_until(lambda: len(admin.list_topics(timeout=WAIT_S).brokers) == 3)
    leader, _ = leader_and_isr(admin)
    cluster.kill(leader)
    producer.send(range(500, 600))
    producer.flush()
    assert consumed(cluster.bootstrap, 600) == list(range(600))
