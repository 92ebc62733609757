"""Faults that are aimed: each brings about one situation that chance would seldom find.

lose_answer    a write to the store is done, and the connection breaks before anybody says so
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
from strandline.simulation.machine import Machine
from strandline.simulation.observed import PartitionTruth
from strandline.simulation.old_life import OldLife
from strandline.simulation.old_markers import OldMarkers
from strandline.simulation.simulated_store import STORE

if TYPE_CHECKING:
    from strandline.simulation.nemesis import Nemesis

SECOND_US = 1_000_000
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

    def lose_answer(self) -> None:
        links = list(self._simulation.store.links.values())
        if links:
            self._chance.choice(links).loses_next_answer = True

    def slow_store(self) -> None:
        leader = self._nemesis.leader()
        follower = self._chance.choice([machine for machine in self._simulation.machines if machine is not leader])
        self._network.slow_down(STORE, leader.name, STORE_DELAY_US)
        self._network.slow_down(follower.name, leader.name, FOLLOWER_DELAY_US)
        self._nemesis.later(self._network.mend, 5, 20)

    def slow_client(self) -> bool:
        careful = [producer for producer in self._simulation.producers if producer.is_idempotent]
        if not careful:
            return False
        client = self._chance.choice(careful)
        for machine in self._simulation.machines:
            self._network.slow_down(client.name, machine.name, CLIENT_DELAY_US)
        self._slow_until_us[client.name] = self._world.now_us + SLOW_CLIENT_S[1] * SECOND_US
        self._nemesis.later(self._network.mend, *SLOW_CLIENT_S)
        return True

    def lag_follower(self) -> bool:
        """Only in a cluster that is whole, and nothing else happens meanwhile. Where it is the controller that is cut
        off, nobody has to get on in an epoch that it has given out meanwhile: with the store in reach it stays in
        office, moves leaders to where they should be, and cannot tell them, in Kafka too."""
        if not self._simulation.is_calm:
            return False
        machine = self._chance.choice(self._simulation.machines)
        epochs = self._leader_epochs() if machine is self._controller() else None
        for other in self._simulation.machines:
            if other is not machine:
                self._cut_apart(machine, other)
        began_us, lives, self.is_busy = self._world.now_us, self._lives(), True
        self._world.seasons.stay_busy(began_us + LAG_S * SECOND_US)

        def look() -> None:
            self.is_busy = False
            if self._lives() == lives and all(each.is_serving for each in self._simulation.machines):
                self._expect_progress(machine, began_us, epochs)
            self._network.mend()

        self._world.after(LAG_S * SECOND_US, look)
        return True

    def die_at_commit(self) -> bool:
        truth = self._partition()
        if truth is None:
            return False
        leader, follower, *_ = self._replicas_of(truth)
        self._cut_apart(leader, follower)
        until_us, ends = self._world.now_us + DIE_PATIENCE_S * SECOND_US, list[int]()

        def look(changed: PartitionTruth) -> None:
            if self._world.now_us > until_us:
                self.when_changed = None
            elif changed is truth and truth.stored is not None and follower.broker_id not in truth.stored.isr:
                ends.append(truth.committed_end)
                if ends[-1] > ends[0]:
                    self.when_changed = None
                    self._world.after(0, leader.kill, leader.host)
                    self._nemesis.later(leader.start, 8, 20)

        self.when_changed = look
        self._nemesis.later(self._network.mend, DIE_PATIENCE_S, DIE_PATIENCE_S + 5)
        return True

    def old_life(self) -> bool:
        truth = self._partition()
        if truth is not None:
            leader, follower, *_ = self._replicas_of(truth)
            OldLife(self, self._nemesis, truth, leader, follower).begin()
        return truth is not None

    def old_markers(self) -> bool:
        if not self._simulation.is_calm or len(self._simulation.machines) < 3:
            return False
        OldMarkers(self, self._nemesis).begin()
        return True

    def zombie(self) -> bool:
        controller = self._controller()
        if controller is None or not self._simulation.is_calm or len(self._simulation.machines) < 3:
            return False
        others = [machine for machine in self._simulation.machines if machine is not controller]
        reached_late, expiring = self._chance.sample(others, 2)
        self._network.cut(controller.name, reached_late.name)
        for session_id, link in list(self._simulation.store.links.items()):
            if link.host is expiring.host:
                self._simulation.store.expire(session_id)  # so that there is something to be told
        self._nemesis.later(controller.pause, 0.1, 2)
        self._nemesis.later(self._network.mend, 9, 14)
        self._nemesis.later(controller.resume, 15, 25)
        return True

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

    def _cut_apart(self, one: Machine, other: Machine) -> None:
        self._network.cut(one.name, other.name)
        self._network.cut(other.name, one.name)

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
