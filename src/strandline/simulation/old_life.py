"""The fault of an old life: a follower has been away, has caught up, and loses power. What it last asked for, by which
it would join the ISR, comes to its leader when that knows of its next life, in which it lacks what it had (KIP-903).

Nothing is written meanwhile, or what comes would be too old to count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.simulation.machine import Machine
from strandline.simulation.observed import PartitionTruth

if TYPE_CHECKING:
    from strandline.simulation.aimed_faults import AimedFaults
    from strandline.simulation.nemesis import Nemesis

SECOND_US = 1_000_000
PATIENCE_S = 30
SAYS_US = SECOND_US // 20  # until it has asked for what comes next
LOOKS_US = SECOND_US // 5


class OldLife:
    def __init__(
        self, aimed: AimedFaults, nemesis: Nemesis, truth: PartitionTruth, leader: Machine, follower: Machine
    ) -> None:
        self._aimed = aimed
        self._nemesis = nemesis
        self._simulation = nemesis.simulation
        self._network = self._simulation.network
        self._world = self._simulation.world
        self._truth = truth
        self._leader = leader
        self._follower = follower
        self._first_life = follower.lives
        self._until_us = self._world.now_us + PATIENCE_S * SECOND_US
        self._ends: list[int] = []  # of the follower's log, since it is back
        self._known_life: int | None = None
        self._held_up = self._network.damage()

    def begin(self) -> None:
        start = self._nemesis.start_later(self._follower, 3, 8)
        self._nemesis.armed("old_life", f"{self._follower.name}, which follows {self._leader.name}, {start}")
        self._follower.kill()
        self._aimed.when_changed = self._look

    def _look(self, changed: PartitionTruth) -> None:
        follower = self._follower
        if self._world.now_us > self._until_us:
            self._aimed.when_changed = None
        elif changed is self._truth and follower.lives > self._first_life and follower.is_serving:
            self._ends.append(changed.replica(follower.broker_id).log_end_offset)
            if self._ends[-1] > min(self._ends) and self._is_about_to_join() and self._may_lose_power():
                self._aimed.when_changed = None
                self._hold_up()

    def _is_about_to_join(self) -> bool:
        truth, leader_id, follower_id = self._truth, self._leader.broker_id, self._follower.broker_id
        has_all = truth.replica(leader_id).log_end_offset == truth.replica(follower_id).log_end_offset
        return (
            has_all
            and truth.stored is not None
            and truth.stored.leader == leader_id
            and follower_id not in truth.stored.isr
        )

    def _may_lose_power(self) -> bool:
        """Two others have everything."""
        states = [each.stored for each in self._simulation.observer.living]
        return (
            self._simulation.all_are_serving
            and self._network.is_whole
            and all(state is not None and len({*state.isr} - {self._follower.broker_id}) > 1 for state in states)
        )

    def _hold_up(self) -> None:
        writers = [each.name for each in self._simulation.producers if each.partition == self._truth.name]
        for name in (self._follower.name, *writers):
            self._held_up.cut(name, self._leader.name)
        self._known_life, self._aimed.is_busy = self._life_known_to_leader(), True
        self._world.after(SAYS_US, self._lose_power)

    def _lose_power(self) -> None:
        host, store = self._follower.host, self._simulation.store
        self._nemesis.struck("old_life", f"{self._follower.name}, {self._held_up} until its next life is known")
        self._follower.lose_power()
        self._nemesis.power.without_power = self._follower
        for session_id, link in list(store.links.items()):
            if link.host is host:
                store.expire(session_id)  # so that the next life need not wait for it
        self._world.after(LOOKS_US, self._arrive_when_known)

    def _arrive_when_known(self) -> None:
        self._follower.start()
        if self._leader.is_serving and self._life_known_to_leader() in (None, self._known_life):
            self._world.after(LOOKS_US, self._arrive_when_known)
            return
        self._aimed.is_busy = False
        self._world.tell(f"mended: old_life {self._held_up}")
        self._held_up.mend()
        damage = self._network.damage()
        damage.cut(self._leader.name, self._follower.name)  # or it would have at once what it has lost
        self._nemesis.mend_after(self._nemesis.draw_us(1, 2), "old_life", str(damage), damage.mend)

    def _life_known_to_leader(self) -> int | None:
        assert self._leader.broker is not None
        return self._leader.broker.membership.live_brokers.get(self._follower.broker_id)
