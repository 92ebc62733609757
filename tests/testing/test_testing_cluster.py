"""`strandline.testing.Cluster`: several brokers in this process, and every fault that it offers (SPEC R1 to R8)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from strandline.testing import BrokerFailed, Cluster

QUIET = {"log_level": 0, "log.connection.close": False}
WAIT_S = 30.0


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(min_insync_replicas=2) as three:
        three.create_topic("orders")
        yield three


class Sent:
    """A producer, and what was acknowledged."""

    def __init__(self, cluster: Cluster, **settings: str) -> None:
        self.acknowledged: list[bytes] = []
        self.errors: list[str] = []
        self._producer = Producer(
            {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, **QUIET, **settings}
        )

    def send(self, *values: bytes) -> None:
        for value in values:
            self._producer.produce("orders", value, on_delivery=self._heard)
        assert self._producer.flush(WAIT_S) == 0

    def _heard(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(error.name())
        else:
            value = message.value()
            assert isinstance(value, bytes)
            self.acknowledged.append(value)


def read(bootstrap: str, count: int) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "readers", **QUIET})
    consumer.assign([TopicPartition("orders", 0, 0)])
    values: list[bytes] = []
    while len(values) < count:
        [message] = consumer.consume(1, WAIT_S)
        assert message.error() is None
        value = message.value()
        assert isinstance(value, bytes)
        values.append(value)
    consumer.close()
    return values


def leader_of(cluster: Cluster) -> int:
    leader = cluster.leader("orders")
    assert leader is not None
    return leader


def wait_for_another_leader(cluster: Cluster, than: int) -> None:
    cluster.wait_for(lambda: cluster.leader("orders") not in (None, than), "another leader")


def test_what_was_acknowledged_outlives_its_leader(cluster: Cluster) -> None:
    sent = Sent(cluster)
    sent.send(b"a", b"b")
    leader, epoch = leader_of(cluster), cluster.leader_epoch("orders")
    cluster.kill(leader)
    assert not cluster.is_running(leader)
    sent.send(b"c")
    assert (cluster.leader("orders") != leader, cluster.leader_epoch("orders") > epoch) == (True, True)
    cluster.restart(leader)
    cluster.wait_in_sync("orders")
    assert (sent.acknowledged, sent.errors) == ([b"a", b"b", b"c"], [])
    assert read(cluster.bootstrap, 3) == [b"a", b"b", b"c"]


def test_a_paused_leader_is_replaced_and_follows_when_it_wakes(cluster: Cluster) -> None:
    leader = leader_of(cluster)
    others = [cluster.address(each) for each in cluster.broker_ids if each != leader]
    cluster.pause(leader)
    wait_for_another_leader(cluster, leader)
    sent = Sent(cluster, **{"bootstrap.servers": ",".join(others)})  # a client would wait for one that stands still
    sent.send(b"a")
    cluster.resume(leader)
    cluster.wait_in_sync("orders")
    assert cluster.leader("orders") != leader
    assert read(cluster.bootstrap, 1) == [b"a"]


def test_a_leader_without_followers_and_store_acknowledges_nothing(cluster: Cluster) -> None:
    """SPEC R8: it goes on leading in its own eyes, and what it takes is never committed."""
    leader = leader_of(cluster)
    others = set(cluster.broker_ids) - {leader}
    cluster.partition({leader}, {*others, "store"})
    wait_for_another_leader(cluster, leader)
    alone = Sent(cluster, **{"bootstrap.servers": cluster.address(leader), "message.timeout.ms": "2000"})
    alone.send(b"never")
    assert (alone.acknowledged, alone.errors) == ([], ["_MSG_TIMED_OUT"])
    cluster.heal()
    cluster.wait_in_sync("orders")
    sent = Sent(cluster)
    sent.send(b"kept")
    assert read(cluster.bootstrap, 1) == [b"kept"]


def test_followers_that_do_not_reach_the_leader_leave_the_isr_and_return(cluster: Cluster) -> None:
    sent, leader = Sent(cluster), leader_of(cluster)
    away = next(broker_id for broker_id in cluster.broker_ids if broker_id != leader)
    cluster.partition({away}, set(cluster.broker_ids) - {away})
    sent.send(b"a")  # waits until the ISR goes on without it
    assert away not in cluster.in_sync("orders")
    cluster.heal()
    cluster.wait_in_sync("orders")
    assert cluster.leader("orders") == leader


def test_lost_fetches_and_slow_disks_only_take_time(cluster: Cluster) -> None:
    sent = Sent(cluster)
    cluster.drop("OffsetForLeaderEpoch", 0.3)
    cluster.slow_disk(leader_of(cluster), 20)
    sent.send(*(b"%d" % number for number in range(50)))
    cluster.heal()
    assert len(sent.acknowledged) == 50


def test_the_controller_moves_on(cluster: Cluster) -> None:
    controller = cluster.controller()
    assert controller is not None
    cluster.kill(controller)
    cluster.wait_for(lambda: cluster.controller() not in (None, controller), "another controller")
    cluster.restart(controller)
    cluster.wait_in_sync()
    assert cluster.create_topic("late", partitions=2) == "late"
    assert {len(replicas) for replicas in cluster.replicas("late").values()} == {3}


def test_a_group_that_begins_after_a_kill_finds_its_coordinator() -> None:
    """The topics of coordinators need three replicas: they are there before the first harm is done."""
    with Cluster(default_replication_factor=1) as cluster:
        cluster.kill(2)
        consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "late", **QUIET})
        cluster.wait_for(lambda: not consumer.committed([TopicPartition("orders", 0)], WAIT_S)[0].error, "an answer")
        consumer.close()
        for topic in ("__consumer_offsets", "__transaction_state"):
            assert cluster.replicas(topic).keys() == {0}
            assert set(cluster.replicas(topic)[0]) == {1, 2, 3}


def test_a_cluster_of_two_makes_do_with_two_replicas() -> None:
    with Cluster(brokers=2) as cluster:
        cluster.stop(1)
        assert {len(cluster.replicas(topic)[0]) for topic in ("__consumer_offsets", "__transaction_state")} == {2}


def test_what_cannot_be_asked_for() -> None:
    with pytest.raises(ValueError, match="0 are too few"):
        Cluster(brokers=0)
    cluster = Cluster(brokers=1)
    with pytest.raises(BrokerFailed, match="has not been started"):
        _ = cluster.bootstrap
    with pytest.raises(BrokerFailed, match=r"min.insync.replica is no setting of a broker; did you mean min.insync"):
        Cluster(min_insync_replica=2).start()
    with cluster:
        for question in (lambda: cluster.kill(2), lambda: cluster.address(2), lambda: cluster.leader("nothing")):
            with pytest.raises(BrokerFailed, match="there is no"):
                question()
        with pytest.raises(BrokerFailed, match=r"no request 'Fetchh'; did you mean 'Fetch'\?"):
            cluster.drop("Fetchh", 0.5)
        with pytest.raises(BrokerFailed, match="a share is between 0"):
            cluster.drop("Fetch", 30)
        with pytest.raises(BrokerFailed, match="there is no broker 7: they are 1 to 1"):
            cluster.partition({1}, {7})
        with pytest.raises(BrokerFailed, match="there is no broker stor:"):
            cluster.partition({1}, {"stor"})
        with pytest.raises(BrokerFailed, match="1 is in two groups"):
            cluster.partition({1}, {1, "store"})
        cluster.kill(1)
        with pytest.raises(BrokerFailed, match="broker 1 does not run"):
            cluster.pause(1)
