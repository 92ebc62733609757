"""Every invariant after every step, of whatever the step may have changed; the first that is broken ends the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from strandline.broker.broker import Broker
from strandline.simulation.at_rest import complaints_at_rest
from strandline.simulation.client_invariants import AcknowledgedStays, OnceAndInOrder, ReadsAreTrue, RepeatsAreKnown
from strandline.simulation.deleted_was_due import DeletedWasDue
from strandline.simulation.failure import Violation
from strandline.simulation.invariants import ALL_INVARIANTS, Invariant
from strandline.simulation.machine import Machine
from strandline.simulation.observed import PartitionTruth, Replica
from strandline.simulation.replica_invariants import REPLICA_INVARIANTS, ReplicaInvariant
from strandline.simulation.shown_is_committed import ShownIsCommitted
from strandline.simulation.store_invariants import IsrIsAssigned, OneController

if TYPE_CHECKING:
    from strandline.simulation.simulation import Simulation


class Checks:
    def __init__(self, simulation: Simulation) -> None:
        history = simulation.history
        self._simulation = simulation
        self._observer = simulation.observer
        self._machines = simulation.machines
        self._history = history
        self._complaints: list[tuple[str, str]] = []
        self._up: set[int] = set()
        self._acknowledged_stays = AcknowledgedStays(history)
        self._invariants: list[Invariant] = [
            *(invariant() for invariant in (*ALL_INVARIANTS, IsrIsAssigned, ShownIsCommitted)),
            self._acknowledged_stays,
            DeletedWasDue(lambda broker_id: self._machines[broker_id - 1].now_ms()),
            OnceAndInOrder(history),
            RepeatsAreKnown(history),
            ReadsAreTrue(history),
            *(invariant for load in simulation.loads for invariant in load.invariants),
        ]
        self._replica_invariants: list[ReplicaInvariant] = [invariant() for invariant in REPLICA_INVARIANTS]
        simulation.store.when_written.append(OneController(self.complain).written)

    def complain(self, invariant: str, sentence: str) -> None:
        """Somebody has seen what may not be; the run ends after this step."""
        self._complaints.append((invariant, sentence))

    def fail(self, invariant: str, sentence: str) -> NoReturn:
        raise Violation(invariant, sentence, self._simulation.world.steps)

    def after_step(self) -> None:
        failures = self._simulation.unforeseen.failures
        if failures:
            self.fail(*failures[0])
        for machine in self._machines:
            if machine.has_acted:
                machine.has_acted = False
                self._look_at(machine)
        if self._complaints:
            self.fail(*self._complaints[0])
        if self._history.complaints:
            self.fail(ReadsAreTrue.name, self._history.complaints[0])
        if self._observer.changed:
            self._check_changed()

    def at_rest(self) -> None:
        """Everything is mended, and whole."""
        self._check_acknowledged()
        chosen = self._machines[self._simulation.options.seed % len(self._machines)]
        for machine in self._machines:
            for invariant, sentence in complaints_at_rest(machine, is_chosen=machine is chosen):
                self.fail(invariant, sentence)

    def _check_acknowledged(self) -> None:
        """In the logs as they are now, not as they were when they were written."""
        for machine in self._machines:
            for truth, log_start_offset, there in self._observer.read_again(machine):
                for sentence in self._acknowledged_stays.at_rest(truth, machine.broker_id, log_start_offset, there):
                    self.fail(self._acknowledged_stays.name, f"{truth.name}: {sentence}")

    # Brokers.

    def _look_at(self, machine: Machine) -> None:
        if machine.broker is not None:
            self._up.add(machine.broker_id)
            self._check_obeyed(machine, machine.broker)
            self._observer.look(machine, machine.broker)
        elif machine.broker_id in self._up:
            self._up.discard(machine.broker_id)
            self._observer.went_down(machine, lost_power=self._has_lost_records(machine))

    def _check_obeyed(self, machine: Machine, broker: Broker) -> None:
        """NewestController: who has heard of a controller obeys no older one in the same life."""
        membership = getattr(broker, "membership", None)
        if membership is None:
            return  # it is still being opened
        epoch, obeyed_epoch = membership.fence.controller_epoch, machine.obeyed_epoch
        machine.obeyed_epoch = epoch
        if epoch < obeyed_epoch:
            self.fail("NewestController", f"{machine.name} obeys epoch {epoch} after it has obeyed {obeyed_epoch}")

    def _has_lost_records(self, machine: Machine) -> bool:
        """What its page cache had, where that was all."""
        return not self._simulation.network.is_on(machine.name) and not self._simulation.is_flushed

    # Partitions.

    def _check_changed(self) -> None:
        for truth in self._observer.take_changed():
            self._commit(truth)
            for invariant in self._invariants:
                for sentence in invariant.check(truth):
                    self.fail(invariant.name, f"{truth.name}: {sentence}")
            for replica in truth.replicas.values():
                if replica.is_changed:
                    self._check_replica(truth, replica)
                    replica.was_looked_at()
            aimed = self._simulation.nemesis.aimed
            if aimed.when_changed is not None:
                aimed.when_changed(truth)

    def _commit(self, truth: PartitionTruth) -> None:
        for replica in truth.replicas.values():
            truth.commit(replica)
        for replica in truth.replicas.values():
            truth.agree(replica)
            # Before it has orders again its leader may count what it had said: more may be committed by that.
            if replica.is_up and replica.leader_epoch >= 0 and not truth.may_lack(replica):
                replica.has_lost_power = False

    def _check_replica(self, truth: PartitionTruth, replica: Replica) -> None:
        for invariant in self._replica_invariants:
            for sentence in invariant.check(truth, replica):
                self.fail(invariant.name, f"{truth.name}: {sentence}")
