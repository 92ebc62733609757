"""Faults one after the other, with quiet between them, and a note of each: when, who, and whether it bit.

A fault bites if ZooKeeper knows of it afterwards (another leader, epoch, ISR, controller, registration) or a broker
complained, or a process has met it. A run whose faults do not bite says nothing about the cluster.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from tests.chaos.complaints import Complaints
from tests.chaos.faults import Fault
from tests.chaos.sight import ClusterSight, Sight

RECOVERED_TIMEOUT_S = 90.0
REPLICAS = 3


@dataclass
class Struck:
    fault: str
    target: str
    began_us: int
    healed_us: int = 0
    recovered_us: int = 0
    ended_us: int = 0  # with the quiet after it
    has_bitten: bool = False

    def as_fields(self) -> dict[str, Any]:
        return asdict(self)


class Nemesis:
    def __init__(
        self,
        sight: ClusterSight,
        complaints: Complaints,
        *,
        quiet_s: float = 1.0,
        tell: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.struck: list[Struck] = []
        self._sight = sight
        self._complaints = complaints
        self._quiet_s = quiet_s
        self._tell = tell

    def strike(self, fault: Fault) -> Struck:
        """One fault from a healthy cluster to a healthy cluster."""
        before = self._healthy()
        complaints, felt = self._complaints.count(), fault.felt()
        struck = Struck(fault.name, "", _now_us())
        self.struck.append(struck)
        struck.target = fault.strike(before)
        try:
            fault.hold(self._sight)
        finally:
            fault.heal()
            struck.healed_us = _now_us()
        after = self._healthy()
        struck.recovered_us = _now_us()
        struck.has_bitten = before != after or self._complaints.count() > complaints or fault.felt() > felt
        time.sleep(self._quiet_s)
        struck.ended_us = _now_us()
        self._tell(_sentence(struck))
        return struck

    def _healthy(self) -> Sight:
        return self._sight.wait_until(
            lambda sight: len(sight.brokers) >= REPLICAS and sight.controller >= 0 and sight.are_in_sync(REPLICAS),
            "that all replicas are in sync",
            RECOVERED_TIMEOUT_S,
        )


def _now_us() -> int:
    """On the clock of the journals."""
    return time.monotonic_ns() // 1000


def _sentence(struck: Struck) -> str:
    held_s = (struck.healed_us - struck.began_us) / 1e6
    back_s = (struck.recovered_us - struck.healed_us) / 1e6
    bite = "" if struck.has_bitten else ", and nobody noticed"
    return f"{struck.fault}: {struck.target} for {held_s:.1f} s, in sync again {back_s:.1f} s later{bite}"
