"""What the nemesis can do to the network, to disks and to clocks of a `NetworkedCluster`.

cut-leader, cut-controller     a broker from the other brokers; both have their ZooKeeper and their clients
cut-off-leader                 a broker from everybody but its clients: it leads on, alone, and must not commit
one-way                        what the leader sends does not reach the other brokers, what they send reaches it
ring                           two brokers do not see each other, and both see the third
cut-zookeeper-from-leader      a broker from ZooKeeper alone: its session ends, and it does not know
cut-zookeeper-leader           ZooKeeper's own leader from the rest of the ensemble
slow-disk                      every write and every sync of the leader's takes its time
clock-forward, clock-back      the leader's time of day jumps
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.chaos.faults import VICTIMS, controller, leader_of_first
from tests.chaos.networked_cluster import NetworkedCluster, broker_name, zookeeper_name
from tests.chaos.sight import ClusterSight, Sight

Harm = Callable[[Sight], str]
JUMP_S = 3600.0


class Lasting:
    """A fault that is there for a while: `harm` does it and says to whom, `mend` undoes it."""

    def __init__(
        self, name: str, for_s: float, harm: Harm, mend: Callable[[], object], felt: Callable[[], int] = lambda: 0
    ) -> None:
        self.name = name
        self.felt = felt
        self._for_s = for_s
        self._harm = harm
        self._mend = mend

    def strike(self, sight: Sight) -> str:
        return self._harm(sight)

    def hold(self, sight: ClusterSight) -> None:  # noqa: ARG002
        time.sleep(self._for_s)

    def heal(self) -> None:
        self._mend()


class Cuts:
    def __init__(self, networked: NetworkedCluster, for_s: float) -> None:
        self._networked = networked
        self._network = networked.network
        self._for_s = for_s

    def faults(self) -> list[Lasting]:
        harms: dict[str, Harm] = {
            "cut-leader": lambda sight: self._cut_from_brokers(leader_of_first(sight)),
            "cut-controller": lambda sight: self._cut_from_brokers(controller(sight)),
            "cut-off-leader": self._cut_off,
            "one-way": self._one_way,
            "ring": self._ring,
            "cut-zookeeper-from-leader": self._cut_zookeeper_from_leader,
            "cut-zookeeper-leader": self._cut_zookeeper_leader,
        }
        return [Lasting(name, self._for_s, harm, self._network.mend) for name, harm in harms.items()]

    def _others(self, broker_id: int) -> list[str]:
        return [broker_name(each) for each in self._networked.cluster.brokers if each != broker_id]

    def _zookeepers(self) -> list[str]:
        return [zookeeper_name(each) for each in range(1, len(self._networked.cluster.zookeepers) + 1)]

    def _cut_from_brokers(self, broker_id: int) -> str:
        self._network.part([broker_name(broker_id)], self._others(broker_id))
        return f"broker {broker_id}"

    def _cut_off(self, sight: Sight) -> str:
        broker_id = leader_of_first(sight)
        self._network.part([broker_name(broker_id)], [*self._others(broker_id), *self._zookeepers()])
        return f"broker {broker_id}"

    def _one_way(self, sight: Sight) -> str:
        broker_id = leader_of_first(sight)
        for other in self._others(broker_id):
            self._network.cut(broker_name(broker_id), other)
        return f"broker {broker_id}"

    def _ring(self, sight: Sight) -> str:
        broker_id = leader_of_first(sight)
        other = next(each for each in sight.brokers if each != broker_id)
        self._network.part([broker_name(broker_id)], [broker_name(other)])
        return f"brokers {broker_id} and {other}"

    def _cut_zookeeper_from_leader(self, sight: Sight) -> str:
        broker_id = leader_of_first(sight)
        self._network.part([broker_name(broker_id)], self._zookeepers())
        return f"broker {broker_id}"

    def _cut_zookeeper_leader(self, sight: Sight) -> str:  # noqa: ARG002
        ensemble = self._networked.cluster.zookeeper
        assert ensemble is not None
        leader = ensemble.leader()
        assert leader is not None
        name = zookeeper_name(ensemble.servers.index(leader) + 1)
        self._network.part([name], [each for each in self._zookeepers() if each != name])
        return leader.process.title


class DisksAndClocks:
    def __init__(self, networked: NetworkedCluster, for_s: float) -> None:
        self._faults = networked.faults
        self._for_s = for_s

    def faults(self) -> list[Lasting]:
        return [
            self._of("slow-disk", "leader", sync_delay_s=0.5, write_delay_s=0.05),
            self._of("clock-forward", "leader", clock_offset_s=JUMP_S),
            self._of("clock-back", "leader", clock_offset_s=-JUMP_S),
            self._of("clock-back-controller", "controller", clock_offset_s=-JUMP_S),
        ]

    def _of(self, name: str, whom: str, **what: float) -> Lasting:
        def harm(sight: Sight) -> str:
            broker_id = VICTIMS[whom](sight)
            self._faults[broker_id].set(**what)
            return f"broker {broker_id}"

        def mend() -> None:
            for each in self._faults.values():
                each.set()

        def felt() -> int:
            return sum(each.felt() for each in self._faults.values())

        return Lasting(name, self._for_s, harm, mend, felt)
