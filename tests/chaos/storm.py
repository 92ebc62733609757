"""Many faults at once: for a while brokers are killed, started, paused and cut off at random, without waiting for
anybody to recover; then all is mended. Nothing need be available meanwhile, and nothing acknowledged may be lost.

Faults that come one at a time meet a cluster in order. Here an election is interrupted by the loss of who was elected,
a broker comes back while its follower is just being moved, a controller dies in office as soon as it has it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random

from tests.chaos.faults import Unfelt
from tests.chaos.network import Network
from tests.chaos.networked_cluster import broker_name
from tests.chaos.sight import ClusterSight, Sight

from strandline.cluster.process_cluster import ProcessCluster

PAUSES_S = (0.2, 2.5)


class Storm(Unfelt):
    name = "storm"

    def __init__(self, cluster: ProcessCluster, seed: int, for_s: float, network: Network | None = None) -> None:
        self._cluster = cluster
        self._network = network
        self._chance = Random(seed)
        self._for_s = for_s
        self._done: list[str] = []

    def strike(self, sight: Sight) -> str:  # noqa: ARG002
        self._done = []
        ends_s = time.monotonic() + self._for_s
        actions: list[Callable[[int], None]] = [self._kill, self._start, self._start, self._pause, self._resume]
        if self._network is not None:
            actions += [self._cut, self._mend]
        while time.monotonic() < ends_s:
            self._chance.choice(actions)(self._chance.choice(list(self._cluster.brokers)))
            time.sleep(self._chance.uniform(*PAUSES_S))
        return ", ".join(self._done)

    def hold(self, sight: ClusterSight) -> None:
        """It is over already."""

    def heal(self) -> None:
        self._mend(0)
        for broker_id in self._cluster.brokers:
            self._resume(broker_id)
            self._start(broker_id)

    def _kill(self, broker_id: int) -> None:
        if self._cluster.broker(broker_id).is_running:
            self._done.append(f"kill {broker_id}")
            self._cluster.kill(broker_id)

    def _start(self, broker_id: int) -> None:
        """Without waiting until it serves."""
        broker = self._cluster.broker(broker_id)
        if not broker.is_running:
            self._done.append(f"start {broker_id}")
            broker.start()

    def _pause(self, broker_id: int) -> None:
        broker = self._cluster.broker(broker_id)
        if broker.is_running and not broker.process.is_paused:
            self._done.append(f"pause {broker_id}")
            self._cluster.pause(broker_id)

    def _resume(self, broker_id: int) -> None:
        broker = self._cluster.broker(broker_id)
        if broker.is_running and broker.process.is_paused:
            self._done.append(f"resume {broker_id}")
            self._cluster.resume(broker_id)

    def _cut(self, broker_id: int) -> None:
        assert self._network is not None
        other = self._chance.choice([each for each in self._cluster.brokers if each != broker_id])
        self._done.append(f"cut {broker_id} to {other}")
        self._network.cut(broker_name(broker_id), broker_name(other))

    def _mend(self, _: int) -> None:
        if self._network is not None:
            self._done.append("mend")
            self._network.mend()
