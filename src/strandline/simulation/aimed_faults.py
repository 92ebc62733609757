"""Faults that are aimed: each brings about one situation that chance would seldom find.

slow_store     a leader hears late from the store, while a follower of it is slow
lag_follower   a follower is cut off from the other brokers and from nobody else: what the others lead must go on
die_at_commit  a follower has just left the ISR, and the leader dies with the next commit, of which nobody has heard
slow_client    what a producer sends arrives late, after it has lost patience and sent it again on another line
old_life       a follower that has caught up loses power, and what it last said comes when its next life is known
old_markers    a coordinator's markers come late, amid the next transaction, when another coordinates
zombie         a controller's orders are held up on their way, and it is another's turn when they arrive
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from strandline.metadata import paths
from strandline.metadata.values import decode_controller
from strandline.simulation.durations import SECOND_US, in_seconds
from strandline.simulation.machine import Machine
from strandline.simulation.observed import PartitionTruth
from strandline.simulation.old_life import OldLife
from strandline.simulation.old_markers import OldMarkers
from strandline.simulation.simulated_store import STORE

if TYPE_CHECKING:
    from strandline.simulation.nemesis import Nemesis

LAG_S = 45  # the longest lag that is allowed, the longest pause of a producer, its patience, and some more
DIE_PATIENCE_S = 30
STORE_DELAY_US = 4 * SECOND_US
FOLLOWER_DELAY_US = 400_000
CLIENT_DELAY_US = 12 * SECOND_US
SLOW_CLIENT_S = (10, 40)


class AimedFaults:
    def __init__(self, nemesis: Nemesis) -> None:
        self._nemesis = nemesis
        self._simulation = nemesis.simulation
        self._world = self._simulation.world
        self._network = self._simulation.network
        self._chance = self._world.chance("aimed faults")
        self._slow_until_us: dict[str, int] = {}  # by client, at the latest
        self.is_busy = False  # so that nothing else may happen
        self.when_changed: Callable[[PartitionTruth], None] | None = None  # who waits for something about a partition

    def slow_store(self) -> None:
        leader, damage = self._nemesis.leader(), self._network.damage()
        followers = [machine for machine in self._simulation.machines if machine is not leader]
        damage.slow_down(STORE, leader.name, STORE_DELAY_US)
        if followers:
            damage.slow_down(self._chance.choice(followers).name, leader.name, FOLLOWER_DELAY_US)
        self._nemesis.struck_for("slow_store", str(damage), damage.mend, 5, 20)

    def slow_client(self) -> None:
        careful = [producer for producer in self._simulation.producers if producer.is_idempotent]
        if not careful:
            return
        client, damage = self._chance.choice(careful), self._network.damage()
        for machine in self._simulation.machines:
            damage.slow_down(client.name, machine.name, CLIENT_DELAY_US)
        self._slow_until_us[client.name] = self._world.now_us + SLOW_CLIENT_S[1] * SECOND_US
        self._nemesis.struck_for("slow_client", str(damage), damage.mend, *SLOW_CLIENT_S)

    def lag_follower(self) -> None:
        """Only in a cluster that is whole, and nothing else happens meanwhile. Where it is the controller that is cut
        off, nobody has to get on in an epoch that it has given out meanwhile: with the store in reach it stays in
        office, moves leaders to where they should be, and cannot tell them, in Kafka too."""
        if not self._simulation.is_calm or len(self._simulation.machines) < 3:
            return
        machine, damage = self._chance.choice(self._simulation.machines), self._network.damage()
        epochs = self._leader_epochs() if machine is self._controller() else None
        for other in self._simulation.machines:
            if other is not machine:
                damage.cut_apart(machine.name, other.name)
        began_us, lives, self.is_busy = self._world.now_us, self._lives(), True
        self._world.seasons.stay_busy(began_us + LAG_S * SECOND_US)

        def look() -> bool:
            self.is_busy = False
            if damage and self._lives() == lives and all(each.is_serving for each in self._simulation.machines):
                self._expect_progress(machine, began_us, epochs)
            return damage.mend()

        self._nemesis.struck_for("lag_follower", str(damage), look, LAG_S, LAG_S)

    def die_at_commit(self) -> None:
        truth = self._partition()
        if truth is None:
            return
        leader, follower, *_ = self._replicas_of(truth)
        damage = self._network.damage()
        damage.cut_apart(leader.name, follower.name)
        until_us, ends = self._world.now_us + DIE_PATIENCE_S * SECOND_US, list[int]()

        def look(changed: PartitionTruth) -> None:
            if self._world.now_us > until_us:
                self.when_changed = None
            elif changed is truth and truth.stored is not None and follower.broker_id not in truth.stored.isr:
                ends.append(truth.committed_end)
                if ends[-1] > ends[0]:
                    self.when_changed = None
                    self._world.after(0, die, leader.host)

        def die() -> None:
            start = self._nemesis.start_later(leader, 8, 20)
            self._nemesis.struck("die_at_commit", f"{leader.name} of {truth.name}, {start}")
            leader.kill()

        self.when_changed = look
        self._nemesis.armed("die_at_commit", f"{damage}, until {truth.name} commits without {follower.name}")
        lasts_us = self._nemesis.draw_us(DIE_PATIENCE_S, DIE_PATIENCE_S + 5)
        self._nemesis.mend_after(lasts_us, "die_at_commit", str(damage), damage.mend)

    def old_life(self) -> None:
        truth = self._partition()
        if truth is not None:
            leader, follower, *_ = self._replicas_of(truth)
            OldLife(self, self._nemesis, truth, leader, follower).begin()

    def old_markers(self) -> None:
        if self._simulation.is_calm and len(self._simulation.machines) >= 3:
            OldMarkers(self, self._nemesis).begin()

    def zombie(self) -> None:
        controller = self._controller()
        if controller is None or not self._simulation.is_calm or len(self._simulation.machines) < 3:
            return
        others = [machine for machine in self._simulation.machines if machine is not controller]
        reached_late, expiring = self._chance.sample(others, 2)
        damage, nemesis = self._network.damage(), self._nemesis
        damage.cut(controller.name, reached_late.name)
        paused_us, resumed_us = nemesis.draw_us(0.1, 2), nemesis.draw_us(15, 25)
        lasts_us = nemesis.draw_us(9, 14)
        pause = f"{controller.name} stands still after {in_seconds(paused_us)} until {in_seconds(resumed_us)} from now"
        nemesis.struck("zombie", f"{damage} for {in_seconds(lasts_us)}, {pause}")
        nemesis.mend_after(lasts_us, "zombie", str(damage), damage.mend)
        for session_id, link in list(self._simulation.store.links.items()):
            if link.host is expiring.host:
                self._simulation.store.expire(session_id)  # so that there is something to be told
        self._world.after(paused_us, lambda: nemesis.pause(controller, resumed_us - paused_us))

    def _partition(self) -> PartitionTruth | None:
        """Somebody writes to it with acks=all."""
        if not self._simulation.is_calm or len(self._simulation.machines) < 3:
            return None
        written = {producer.partition for producer in self._simulation.producers if producer.is_idempotent}
        found = [each for each in self._simulation.observer.living if each.name in written]
        return self._chance.choice(found) if found else None

    def _replicas_of(self, truth: PartitionTruth) -> list[Machine]:
        """The leader, and the others in any order."""
        assert truth.stored is not None
        others = [broker_id for broker_id in truth.assigned if broker_id != truth.stored.leader]
        self._chance.shuffle(others)
        return [self._simulation.machines[broker_id - 1] for broker_id in (truth.stored.leader, *others)]

    def _lives(self) -> list[int]:
        return [machine.lives for machine in self._simulation.machines]

    def _controller(self) -> Machine | None:
        node = self._simulation.store.tree.nodes.get(paths.CONTROLLER)
        return None if node is None else self._simulation.machines[decode_controller(node.data).broker_id - 1]

    def _leader_epochs(self) -> dict[PartitionTruth, int]:
        return {truth: truth.stored.leader_epoch for truth in self._simulation.observer.living if truth.stored}

    def _expect_progress(self, lagging: Machine, began_us: int, epochs: dict[PartitionTruth, int] | None) -> None:
        """Of whoever writes to what others lead, and have led in these epochs where there are any. Of one that was slow
        itself nothing is known: its patience may end before what it sends has arrived."""
        led_elsewhere = {
            truth.name
            for truth, epoch in self._leader_epochs().items()
            if truth.stored is not None
            and truth.stored.leader not in (lagging.broker_id, -1)
            and (epochs is None or epochs.get(truth) == epoch)
        }
        for producer in self._simulation.producers:
            if self._slow_until_us.get(producer.name, 0) > began_us:
                continue
            is_told = producer.last_acknowledged_us > began_us
            if producer.is_idempotent and producer.partition in led_elsewhere and not is_told:
                self._simulation.complain(
                    "Progress",
                    f"{producer.name} was told nothing within {LAG_S} s, while one follower alone was cut off,"
                    f" {lagging.name}",
                )
