"""One run: a cluster of real brokers in a simulated world, load, faults, and every invariant after every step.

start      brokers come up one after another, topics are created
faults     clients write and read while the nemesis works
heal       everything is mended; what was promised must be there, and all must go on within `HEAL_MS`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from strandline.broker.broker import Broker
from strandline.model.partitions import TopicPartition
from strandline.simulation.administrator import Administrator
from strandline.simulation.at_rest import complaints_at_rest
from strandline.simulation.consumers import Consumer
from strandline.simulation.failure import OutOfSteps, Violation
from strandline.simulation.history import AcknowledgedStays, History, OnceAndInOrder, ReadsAreTrue, RepeatsAreKnown
from strandline.simulation.invariants import ALL_INVARIANTS, Invariant
from strandline.simulation.load import FLUSHES, WantedTopic
from strandline.simulation.loads import KINDS
from strandline.simulation.machine import Machine
from strandline.simulation.nemesis import FAULTS, Nemesis
from strandline.simulation.network import Network
from strandline.simulation.observed import PartitionTruth, Replica
from strandline.simulation.observer import Observer
from strandline.simulation.options import RECORDS, Options
from strandline.simulation.producers import Producer
from strandline.simulation.replica_invariants import REPLICA_INVARIANTS, ReplicaInvariant
from strandline.simulation.seasons import Seasons
from strandline.simulation.simulated_store import SimulatedStore
from strandline.simulation.unforeseen import Unforeseen
from strandline.simulation.world import World

SECOND_US = 1_000_000
START_S = 60
HEAL_S = 120
SESSION_TIMEOUT_MS = 6_000
STEPS_PER_MOMENT_MAX = 20_000


class Simulation:
    def __init__(self, options: Options, *, transcript_lines_max: int | None = 400) -> None:
        self.options = options
        self.steps_max = options.steps_max  # whoever looks on may end it sooner
        self.world = World(options.seed, transcript_lines_max=transcript_lines_max)
        self.chance = self.world.chance("simulation")
        self.network = Network(self.world, self.world.chance("network"))
        self.store = SimulatedStore(
            self.world, self.network, self.world.chance("store"), session_timeout_ms=SESSION_TIMEOUT_MS
        )
        self.machines = [
            Machine(self.world, self.network, self.store, broker_id, self._properties())
            for broker_id in range(1, options.brokers + 1)
        ]
        self.is_flushed = FLUSHES in options.load  # so that nothing is lost with the power
        self.names = tuple(machine.name for machine in self.machines)
        self.observer = Observer(self.store)
        self.history = History()
        self.nemesis = Nemesis(self, FAULTS if options.faults is None else options.faults)
        self.producers: list[Producer] = []
        self.consumers: list[Consumer] = []
        self.unforeseen = Unforeseen(self.world)
        self.invariants: list[Invariant] = [
            *(invariant() for invariant in ALL_INVARIANTS),
            AcknowledgedStays(self.history),
            OnceAndInOrder(self.history),
            RepeatsAreKnown(self.history),
            ReadsAreTrue(self.history),
        ]
        self.replica_invariants: list[ReplicaInvariant] = [invariant() for invariant in REPLICA_INVARIANTS]
        self._complaints: list[tuple[str, str]] = []
        self.loads = [KINDS[name](self) for name in options.load if name in KINDS]
        for load in self.loads:
            self.invariants += load.invariants
        self._up: set[int] = set()
        self._moment_us = self._moment_step = 0

    def _properties(self) -> dict[str, str]:
        chance = self.world.chance("properties")
        return {
            "auto.create.topics.enable": "false",
            "default.replication.factor": "3",
            "min.insync.replicas": "2",
            "log.segment.bytes": str(chance.choice((1024, 4096, 65536))),
            "log.index.size.max.bytes": "4096",
            "log.index.interval.bytes": "256",
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "3",
            "replica.lag.time.max.ms": str(lag_ms := chance.choice((2_000, 10_000))),
            "replica.socket.timeout.ms": str(chance.choice((9_000, 15_000))),
            "replica.fetch.wait.max.ms": str(min(chance.choice((2_000, 8_000)), lag_ms)),
            "zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_MS),
            "log.cleaner.enable": "false",
            **{
                name: value
                for load in self.options.load
                if load in KINDS
                for name, value in KINDS[load].properties.items()
            },
        }

    def run(self) -> None:
        """Raises `Violation`."""
        with self.unforeseen:
            self._start()
            self.world.seasons = Seasons(self.world.chance("seasons"), self.world.now_us, self.options.seconds)
            self._run_for(self.options.seconds)
            self._heal()

    # Phases.

    def _start(self) -> None:
        for number, machine in enumerate(self.machines):
            self.world.after(number * SECOND_US, machine.start)
        wanted = [WantedTopic("events", 2, {})] if RECORDS in self.options.load else []
        for load in self.loads:
            wanted += load.topics
        for number, topic in enumerate(wanted):
            self._create(topic, "administrator" if number == 0 else f"administrator {number}")
        if RECORDS in self.options.load:
            self._start_records()
        for load in self.loads:
            load.start()
        self.nemesis.start()

    def _create(self, topic: WantedTopic, name: str) -> None:
        ready: list[str] = []
        administrator = Administrator(self.world, self.network, name, self.names)
        administrator.begin(
            administrator.create(
                topic.name,
                topic.partitions,
                topic.replicas or self.options.brokers,
                topic.configs,
                lambda: ready.append(topic.name),
            )
        )
        self._run_until(lambda: bool(ready), START_S, f"{topic.name} was not created")

    def _start_records(self) -> None:
        for index in range(2):
            partition = TopicPartition("events", index)
            acks = self.chance.choice((0, 1))
            self._produce(f"careful-{index}", partition, -1)
            self._produce(f"careless-{index}", partition, acks)
            consumer = Consumer(self.world, self.network, f"reader-{index}", self.names, partition, self.history)
            self.consumers.append(consumer)
            consumer.start()

    def _produce(self, name: str, partition: TopicPartition, acks: int) -> None:
        producer = Producer(self.world, self.network, name, self.names, partition, self.history, acks=acks)
        self.producers.append(producer)
        producer.start()

    def _heal(self) -> None:
        self.world.tell("heal")
        self.nemesis.end()
        healed_us = self.world.now_us
        for client in (*self.producers, *self.consumers):
            client.pace.hurry()
        careful = [producer for producer in self.producers if producer.is_idempotent]
        for load in self.loads:
            load.heal()
        self._run_until(
            lambda: (
                all(producer.last_acknowledged_us > healed_us for producer in careful)
                and all(load.has_got_on() for load in self.loads)
            ),
            HEAL_S,
            "producers do not get on after everything was mended",
        )
        for producer in self.producers:
            producer.is_stopping = True
        for load in self.loads:
            load.stop()
        self._run_until(
            lambda: all(producer.is_done for producer in self.producers) and all(load.is_done() for load in self.loads),
            HEAL_S,
            "producers do not come to their end",
        )
        self._run_until(self._is_whole, HEAL_S, "replicas do not come together again")
        self._run_until(self._is_read, HEAL_S, "consumers do not come to the end")
        self._run_until(self._is_known, HEAL_S, "some broker does not know who leads")
        for load in self.loads:
            self._run_until(load.is_settled, HEAL_S, f"the load of {load.name} is not settled")
        self._check_at_rest()

    def _check_at_rest(self) -> None:
        chosen = self.machines[self.options.seed % len(self.machines)]
        for machine in self.machines:
            for invariant, sentence in complaints_at_rest(machine, is_chosen=machine is chosen):
                self._fail(invariant, sentence)

    def complain(self, invariant: str, sentence: str) -> None:
        """Somebody has seen what may not be; the run ends after this step."""
        self._complaints.append((invariant, sentence))

    @property
    def all_are_serving(self) -> bool:
        return all(
            machine.is_serving and machine.host is not None and not machine.host.is_paused for machine in self.machines
        )

    @property
    def is_calm(self) -> bool:
        """Nothing is broken, and everybody is in sync."""
        return (
            self.all_are_serving
            and self.network.is_whole
            and all(
                truth.stored is not None and len(truth.stored.isr) == len(truth.assigned)
                for truth in self.observer.living
            )
        )

    def _is_known(self) -> bool:
        """Whether every broker would tell clients what is true."""
        for truth in self.observer.living:
            if truth.stored is None:
                continue
            true = (truth.stored.leader, truth.stored.leader_epoch)
            for machine in self.machines:
                image = getattr(machine.broker, "image", None)  # none yet of a broker that is still being opened
                topic = image.topics.get(truth.name.topic) if image is not None else None
                known = None if topic is None else topic.partitions.get(truth.name.partition)
                if known is None or (known.leader_id, known.leader_epoch) != true:
                    return False
        return True

    def _is_read(self) -> bool:
        ends = {truth.name: truth.committed_end for truth in self.observer.living}
        return all(consumer.position >= ends[consumer.partition] for consumer in self.consumers)

    def _is_whole(self) -> bool:
        for truth in self.observer.living:
            if truth.stored is None or sorted(truth.stored.isr) != sorted(truth.assigned):
                return False
            ends = {truth.replica(broker_id).log_end_offset for broker_id in truth.assigned}
            if len(ends) != 1 or any(truth.lacks(truth.replica(each)) is not None for each in truth.assigned):
                return False
        return True

    # Steps.

    def _run_for(self, seconds: int) -> None:
        end_us = self.world.now_us + seconds * SECOND_US
        while self.world.now_us < end_us:
            self.step()

    def _run_until(self, holds: Callable[[], bool], seconds: int, otherwise: str) -> None:
        end_us = self.world.now_us + seconds * SECOND_US
        while not holds():
            if self.world.now_us > end_us:
                self._fail("Progress", f"{otherwise} within {seconds} s")
            self.step()

    def step(self) -> None:
        world = self.world
        if self.steps_max is not None and world.steps >= self.steps_max:
            raise OutOfSteps
        event = world.next_event()
        if event is None or event.callback is None:
            self._fail("Progress", "nothing will ever happen again")
        if world.now_us == self._moment_us:
            self._check_time_passes()
        else:
            self._moment_us, self._moment_step = world.now_us, world.steps
        if event.process is None:
            event.callback()
        else:
            event.process.run(event.callback)
        self._check()

    def _check_time_passes(self) -> None:
        """Whoever goes round and round within one moment would never end."""
        if self.world.steps - self._moment_step > STEPS_PER_MOMENT_MAX:
            self._fail("Progress", f"more than {STEPS_PER_MOMENT_MAX} steps in one moment")

    def _check(self) -> None:
        if self.unforeseen.failures:
            self._fail("Unforeseen", self.unforeseen.failures[0])
        for machine in self.machines:
            if machine.has_acted:
                machine.has_acted = False
                self._look_at(machine)
        if self._complaints:
            self._fail(*self._complaints[0])
        if self.history.complaints:
            self._fail("ReadsAreTrue", self.history.complaints[0])
        if self.observer.changed:
            self._check_changed()

    def _look_at(self, machine: Machine) -> None:
        if machine.broker is not None:
            self._up.add(machine.broker_id)
            self._check_obeyed(machine, machine.broker)
            self.observer.look(machine, machine.broker)
        elif machine.broker_id in self._up:
            self._up.discard(machine.broker_id)
            self.observer.went_down(machine, lost_power=self._has_lost_records(machine))

    def _check_obeyed(self, machine: Machine, broker: Broker) -> None:
        """NewestController: who has heard of a controller obeys no older one in the same life."""
        membership = getattr(broker, "membership", None)
        if membership is None:
            return  # it is still being opened
        epoch, obeyed_epoch = membership.fence.controller_epoch, machine.obeyed_epoch
        machine.obeyed_epoch = epoch
        if epoch < obeyed_epoch:
            self._fail("NewestController", f"{machine.name} obeys epoch {epoch} after it has obeyed {obeyed_epoch}")

    def _has_lost_records(self, machine: Machine) -> bool:
        """What its page cache had, where that was all."""
        return not self.network.is_on(machine.name) and not self.is_flushed

    def _check_changed(self) -> None:
        for truth in self.observer.take_changed():
            for replica in truth.replicas.values():
                if replica.leads_in is not None:
                    truth.commit(replica)
            for replica in truth.replicas.values():
                truth.agree(replica)
                if replica.is_up and not truth.may_lack(replica):
                    replica.has_lost_power = False
            for invariant in self.invariants:
                for sentence in invariant.check(truth):
                    self._fail(invariant.name, f"{truth.name}: {sentence}")
            for replica in truth.replicas.values():
                if replica.is_changed:
                    self._check_replica(truth, replica)
                    replica.was_looked_at()
            if self.nemesis.aimed.when_changed is not None:
                self.nemesis.aimed.when_changed(truth)

    def _check_replica(self, truth: PartitionTruth, replica: Replica) -> None:
        for invariant in self.replica_invariants:
            for sentence in invariant.check(truth, replica):
                self._fail(invariant.name, f"{truth.name}: {sentence}")

    def _fail(self, invariant: str, sentence: str) -> NoReturn:
        raise Violation(invariant, sentence, self.world.steps)
