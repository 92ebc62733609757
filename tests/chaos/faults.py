"""What the nemesis can do to processes: each fault chooses its victim, strikes, waits until it must have been noticed,
and heals. Nothing here decides whether the cluster did well; that is for the histories."""

from __future__ import annotations

import time
from typing import Protocol

from tests.chaos.sight import ClusterSight, Sight

from strandline.cluster.process import ProcessFailed
from strandline.cluster.process_cluster import ProcessCluster

NOTICED_TIMEOUT_S = 40.0
ZOOKEEPER_AWAY_S = 1.0
ZOOKEEPER_ATTEMPTS = 3


class Fault(Protocol):
    @property
    def name(self) -> str: ...

    def strike(self, sight: Sight) -> str:
        """Returns at once, with who it was."""
        ...

    def hold(self, sight: ClusterSight) -> None:
        """As long as it has to last."""
        ...

    def heal(self) -> None: ...

    def felt(self) -> int:
        """Grows when a process has met it, where one can tell; else the nemesis asks ZooKeeper and the brokers."""
        ...


class Unfelt:
    def felt(self) -> int:
        return 0


def leader_of_first(sight: Sight) -> int:
    """Of the first partition."""
    return sight.partitions[min(sight.partitions)].leader


def follower_of_first(sight: Sight) -> int:
    first = sight.partitions[min(sight.partitions)]
    return next(broker_id for broker_id in first.in_sync if broker_id not in (first.leader, sight.controller))


def controller(sight: Sight) -> int:
    return sight.controller


VICTIMS = {"leader": leader_of_first, "follower": follower_of_first, "controller": controller}


def without(sight: Sight, broker_id: int) -> bool:
    """Whether the cluster has got over its loss."""
    return sight.controller != broker_id and not any(
        broker_id in (state.leader, *state.in_sync) for state in sight.partitions.values()
    )


class Kill(Unfelt):
    """SIGKILL, and a start when the others have got over it."""

    def __init__(self, cluster: ProcessCluster, whom: str) -> None:
        self.name = f"kill-{whom}"
        self._cluster = cluster
        self._choose = VICTIMS[whom]
        self._victim = 0

    def strike(self, sight: Sight) -> str:
        self._victim = self._choose(sight)
        self._cluster.kill(self._victim)
        return f"broker {self._victim}"

    def hold(self, sight: ClusterSight) -> None:
        sight.wait_until(lambda it: without(it, self._victim), f"to be without {self._victim}", NOTICED_TIMEOUT_S)

    def heal(self) -> None:
        self._cluster.start(self._victim)


class KillAll(Unfelt):
    """Every broker at the same moment. What was acknowledged is in the page cache, and must be there afterwards."""

    name = "kill-all"

    def __init__(self, cluster: ProcessCluster) -> None:
        self._cluster = cluster

    def strike(self, sight: Sight) -> str:  # noqa: ARG002
        for broker_id in self._cluster.brokers:
            self._cluster.kill(broker_id)
        return "all brokers"

    def hold(self, sight: ClusterSight) -> None:
        """They are started at once, while ZooKeeper still has their earlier lives."""

    def heal(self) -> None:
        self._cluster.up()


class Bounce(Unfelt):
    """A controlled shutdown, and a start: nobody should have to wait."""

    def __init__(self, cluster: ProcessCluster, whom: str) -> None:
        self.name = f"bounce-{whom}"
        self._cluster = cluster
        self._choose = VICTIMS[whom]
        self._victim = 0

    def strike(self, sight: Sight) -> str:
        self._victim = self._choose(sight)
        self._cluster.stop(self._victim)
        return f"broker {self._victim}"

    def hold(self, sight: ClusterSight) -> None:
        sight.wait_until(lambda it: without(it, self._victim), f"to be without {self._victim}", NOTICED_TIMEOUT_S)

    def heal(self) -> None:
        self._cluster.start(self._victim)


class Pause(Unfelt):
    """SIGSTOP for a while, after which it goes on as if nothing had happened: a zombie, if its session is over."""

    def __init__(self, cluster: ProcessCluster, whom: str, for_s: float, name: str = "pause") -> None:
        self.name = f"{name}-{whom}"
        self._cluster = cluster
        self._choose = VICTIMS[whom]
        self._for_s = for_s
        self._victim = 0

    def strike(self, sight: Sight) -> str:
        self._victim = self._choose(sight)
        self._cluster.pause(self._victim)
        return f"broker {self._victim}"

    def hold(self, sight: ClusterSight) -> None:  # noqa: ARG002
        time.sleep(self._for_s)

    def heal(self) -> None:
        self._cluster.resume(self._victim)


def start_zookeeper(cluster: ProcessCluster) -> None:
    """On a machine with much to do an ensemble does not always find together in the time that it has."""
    assert cluster.zookeeper is not None
    for attempts_left in reversed(range(ZOOKEEPER_ATTEMPTS)):
        try:
            cluster.zookeeper.start()
            return
        except ProcessFailed:
            if not attempts_left:
                raise


class ZooKeeperAway(Unfelt):
    """All of its servers are stopped, and started again."""

    def __init__(self, cluster: ProcessCluster, for_s: float = ZOOKEEPER_AWAY_S) -> None:
        self.name = "zookeeper-restart" if for_s <= ZOOKEEPER_AWAY_S else "zookeeper-outage"
        self._cluster = cluster
        self._for_s = for_s

    def strike(self, sight: Sight) -> str:  # noqa: ARG002
        for server in self._cluster.zookeepers:
            server.process.kill()
        return "all of ZooKeeper"

    def hold(self, sight: ClusterSight) -> None:  # noqa: ARG002
        time.sleep(self._for_s)

    def heal(self) -> None:
        start_zookeeper(self._cluster)


class KillZooKeeperLeader(Unfelt):
    """Of an ensemble: the others elect another."""

    name = "kill-zookeeper-leader"

    def __init__(self, cluster: ProcessCluster) -> None:
        self._cluster = cluster

    def strike(self, sight: Sight) -> str:  # noqa: ARG002
        assert self._cluster.zookeeper is not None
        leader = self._cluster.zookeeper.leader()
        assert leader is not None, "an ensemble that has lost its leader is healed before the next fault"
        leader.kill()
        return leader.process.title

    def hold(self, sight: ClusterSight) -> None:
        sight.wait_until(lambda _: True, "to find another leader of ZooKeeper", NOTICED_TIMEOUT_S)

    def heal(self) -> None:
        start_zookeeper(self._cluster)
