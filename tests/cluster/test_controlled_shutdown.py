"""Brokers that are stopped hand over first: clients notice nothing that a retry does not hide (SPEC R6)."""

from __future__ import annotations

from threading import Thread

import pytest
from tests.cluster.orders import Acknowledged, admin_of, consumed, create_topic, leader_and_isr, wait_until

from strandline.cluster.ports import PortInUse
from strandline.cluster.process_cluster import ProcessCluster


def test_a_rolling_restart_under_load_loses_nothing(
    cluster: ProcessCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each broker in turn, so the controller and the leader too. When one has stopped, another leads already."""
    admin = admin_of(cluster)
    create_topic(admin)
    producer = Acknowledged(cluster.bootstrap)
    sent = 0
    for broker_id in cluster.brokers:
        stopping = Thread(target=cluster.stop, args=[broker_id])
        stopping.start()
        producer.send(range(sent, sent + 500))
        stopping.join()
        leader, isr = leader_and_isr(admin)
        assert leader != broker_id
        assert broker_id not in isr
        producer.send(range(sent + 500, sent + 600))
        producer.flush()
        sent += 600
        cluster.start(broker_id)
        wait_until(lambda: leader_and_isr(admin)[1] == [1, 2, 3])
    assert consumed(cluster.bootstrap, sent) == list(range(sent)), "none lost, none doubled, order kept"
    with capsys.disabled():
        print(f"\nlongest wait for an acknowledgement over three stops: {producer.longest_gap_s:.1f} s")


def test_brokers_stop_without_their_zookeeper(cluster: ProcessCluster) -> None:
    """KAFKA-9189: nobody could take over, and the stop must not wait for that."""
    (server,) = cluster.zookeepers
    server.stop()
    told: list[str] = []
    for broker_id in cluster.brokers:
        cluster.stop(broker_id, told.append)
    assert told == [f"broker {broker_id} has stopped" for broker_id in cluster.brokers]


def is_up(cluster: ProcessCluster) -> bool:
    """A client that tries to come back may have been given the port of a broker to call from."""
    try:
        cluster.up()
    except PortInUse:
        return False
    return True


def test_a_whole_cluster_stops_at_once(cluster: ProcessCluster) -> None:
    """All of them shut down, so none waits for another to take over; and the next start has everything."""
    admin = admin_of(cluster)
    create_topic(admin)
    producer = Acknowledged(cluster.bootstrap)
    producer.send(range(100))
    producer.flush()
    cluster.down()
    wait_until(lambda: is_up(cluster))
    assert consumed(cluster.bootstrap, 100) == list(range(100))
