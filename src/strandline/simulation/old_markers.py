"""The fault of old markers: what a coordinator tells a leader at the end of a transaction is held up, and comes when
another coordinator has ended it, and its producer is in the middle of the next one there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.broker.cluster_image import TRANSACTION_STATE
from strandline.simulation.machine import Machine
from strandline.simulation.observed import Kind, PartitionTruth

if TYPE_CHECKING:
    from strandline.simulation.aimed_faults import AimedFaults
    from strandline.simulation.nemesis import Nemesis

SECOND_US = 1_000_000
PATIENCE_S = 30


class OldMarkers:
    def __init__(self, aimed: AimedFaults, nemesis: Nemesis) -> None:
        self._aimed = aimed
        self._nemesis = nemesis
        self._simulation = nemesis.simulation
        self._world = self._simulation.world
        self._until_us = self._world.now_us + PATIENCE_S * SECOND_US
        self._held_up = self._simulation.network.damage()
        self._epochs: dict[PartitionTruth, dict[int, int]] = {}  # of producers, where markers are held up

    def begin(self) -> None:
        self._aimed.when_changed = self._look_for_markers
        self._world.after(PATIENCE_S * SECOND_US, self._give_up)

    def _look_for_markers(self, changed: PartitionTruth) -> None:
        """They are sent when the end of a transaction is committed in the coordinators' topic."""
        if changed.name.topic != TRANSACTION_STATE or changed.stored is None or not self._simulation.is_calm:
            return
        coordinator = self._simulation.machines[changed.stored.leader - 1]
        if coordinator.broker is None:
            return
        for leader_id in sorted(coordinator.broker.transactions.marker_sender.under_way - {coordinator.broker_id}):
            self._hold_up(coordinator, self._simulation.machines[leader_id - 1])
            return

    def _hold_up(self, coordinator: Machine, leader: Machine) -> None:
        self._aimed.is_busy = True
        self._aimed.when_changed = self._look_for_the_next
        self._epochs = {
            truth: {batch.producer_id: batch.producer_epoch for batch in truth.committed if batch.producer_id >= 0}
            for truth in self._simulation.observer.living
            if truth.stored is not None and truth.stored.leader == leader.broker_id
        }
        self._held_up.cut(coordinator.name, leader.name)
        self._nemesis.struck("old_markers", f"{self._held_up} until the next transaction")
        store = self._simulation.store
        for session_id, link in list(store.links.items()):
            if link.host is coordinator.host:
                store.expire(session_id)  # so that another is elected

    def _look_for_the_next(self, changed: PartitionTruth) -> None:
        """Transaction of whoever has one that is held up."""
        known = self._epochs.get(changed, {})
        last = changed.committed[-1] if changed.committed else None
        if last is None or last.kind is not Kind.TRANSACTIONAL:
            return
        if last.producer_epoch > known.get(last.producer_id, last.producer_epoch):
            self._end()

    def _give_up(self) -> None:
        if self._aimed.when_changed in (self._look_for_markers, self._look_for_the_next):
            self._end()

    def _end(self) -> None:
        self._aimed.when_changed, self._aimed.is_busy = None, False
        held_up = str(self._held_up)
        if self._held_up.mend():
            self._world.tell(f"mended: old_markers {held_up}")
