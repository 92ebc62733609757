"""A cluster lives through anything, and what must hold holds (SPEC R6, R7, R9; KAFKA-1483, KAFKA-6082, KAFKA-14144).

Brokers come and go, leaders change their ISR, people ask for things, answers of the store are late or lost,
controllers die in the middle. After every step the rules of leadership hold; when it is quiet again, everybody has been
told the truth.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.controller.broker_twin import BrokerTwin
from tests.controller.shell import Shell

from strandline.controller import requests
from strandline.controller.effects import Effect, LeaderAndIsr, StopReplica, TimerKind, UpdateMetadata, Write
from strandline.controller.events import IsrChangesSeen, LeaderAndIsrAnswered, StopReplicaAnswered, TimerFired
from strandline.controller.settings import ControllerSettings
from strandline.controller.states import ReplicaState
from strandline.controller.values import NO_LEADER, Leadership
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition

BROKERS = (1, 2, 3, 4)
TOPICS = ("a", "b")
brokers = st.sampled_from(BROKERS)
topics = st.sampled_from(TOPICS)
partitions = st.builds(TopicPartition, topics, st.integers(0, 2))
replicas = st.lists(brokers, min_size=1, max_size=3, unique=True).map(tuple)


class ToldShell(Shell):
    """Requests reach the brokers; each may tell of nothing that is not in the store."""

    def __init__(self, controller_settings: ControllerSettings) -> None:
        super().__init__(controller_settings)
        self.twins = {broker_id: BrokerTwin(broker_id) for broker_id in BROKERS}

    def _carry_out(self, effects: Iterable[Effect]) -> None:
        effects = tuple(effects)
        for effect in effects:
            assert "\n" not in str(effect)
            match effect:
                case LeaderAndIsr(broker_id=broker_id):
                    for order in effect.partitions:
                        assert (order.partition, order.leadership) in self.store.written
                        assert effect.broker_id in order.assignment.replicas
                    self.twins[broker_id].lead_and_follow(effect)
                case StopReplica(broker_id=broker_id):
                    self.twins[broker_id].stop(effect)
                case UpdateMetadata():
                    for broker_id, broker_epoch in effect.recipients:
                        self.twins[broker_id].update_metadata(broker_epoch, effect)
                case Write():
                    assert effect.controller_epoch_version == self.controller.cluster.controller_epoch_version
        super()._carry_out(effects)

    def restart(self, broker_id: int) -> None:
        self.twins[broker_id].start(self.store.register(broker_id).broker_epoch)


class ClusterLife(RuleBasedStateMachine):
    may_be_unclean = False

    @initialize(there=st.sets(brokers, min_size=2))
    def begin(self, there: set[int]) -> None:
        self.shell = ToldShell(ControllerSettings(unclean_leader_election_enable=self.may_be_unclean))
        self.store = self.shell.store
        self.request = 0
        self.checked = 0
        self.newest: dict[TopicPartition, Leadership] = {}
        for broker_id in sorted(there):
            self.shell.restart(broker_id)
        self.shell.take_over()
        self.shell.is_holding = True

    def ask(self) -> int:
        self.request += 1
        return self.request

    # Brokers.

    @rule(broker_id=brokers)
    def broker_starts(self, broker_id: int) -> None:
        """It may have been there, and nobody has seen it go."""
        self.shell.restart(broker_id)
        self.shell.see_brokers()

    @rule(broker_ids=st.sets(brokers, min_size=1, max_size=3))
    def brokers_die(self, broker_ids: set[int]) -> None:
        for broker_id in broker_ids & set(self.store.brokers):
            del self.store.brokers[broker_id]
        self.shell.see_brokers()

    @rule(broker_id=brokers)
    def broker_shuts_down(self, broker_id: int) -> None:
        if broker_id in self.store.brokers:
            epoch = self.store.brokers[broker_id].broker_epoch
            self.shell.step(
                requests.ControlledShutdownRequest(request=self.ask(), broker_id=broker_id, broker_epoch=epoch)
            )

    @rule(broker_id=brokers, name=partitions)
    def log_directory_fails(self, broker_id: int, name: TopicPartition) -> None:
        if broker_id in self.store.brokers:
            self.shell.storage_error(broker_id, name)

    @rule(broker_id=brokers, error_code=st.sampled_from((ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR)))
    def broker_answers_stops(self, broker_id: int, error_code: ErrorCode) -> None:
        self.answer_stops(broker_id, error_code)

    def answer_stops(self, broker_id: int, error_code: ErrorCode) -> None:
        twin = self.shell.twins[broker_id]
        stops, twin.stops = twin.stops, []
        for stop in stops:
            errors = dict.fromkeys((stopped.partition for stopped in stop.partitions), error_code)
            self.shell.step(StopReplicaAnswered(broker_id, stop.broker_epoch, partitions=errors))

    @rule(name=partitions, wanted=st.sets(brokers), is_notified=st.booleans())
    def leader_changes_isr(self, name: TopicPartition, wanted: set[int], is_notified: bool) -> None:
        """By what the leader has been told, as leaders do."""
        current = self.store.leaderships.get(name)
        if current is None or current.leader not in self.store.brokers:
            return
        order = self.shell.twins[current.leader].orders.get(name)
        if order is None or order.leadership.leader_epoch != current.leader_epoch:
            return
        able = [one for one in order.assignment.replicas if one in self.store.brokers]
        isr = tuple(one for one in able if one in wanted or one == current.leader)
        if isr != current.isr and current.leader in isr:
            self.shell.change_isr(name, *isr, is_notified=is_notified)

    # People.

    @rule(topic=topics, count=st.integers(1, 3), factor=st.integers(1, 3), start=st.integers(0, 3))
    def create(self, topic: str, count: int, factor: int, start: int) -> None:
        number = self.ask()
        self.shell.step(
            requests.CreateTopicRequest(
                request=number,
                topic=topic,
                topic_id=UUID(int=number),
                partition_count=count,
                replication_factor=factor,
                start_index=start,
            )
        )

    @rule(topic=topics, count=st.integers(1, 3))
    def grow(self, topic: str, count: int) -> None:
        self.shell.step(requests.AddPartitionsRequest(request=self.ask(), topic=topic, partition_count=count))

    @rule(topic=topics)
    def delete(self, topic: str) -> None:
        self.shell.step(requests.DeleteTopicRequest(request=self.ask(), topic=topic))

    @rule(moves=st.dictionaries(partitions, st.none() | replicas, min_size=1, max_size=3))
    def move(self, moves: dict[TopicPartition, tuple[int, ...] | None]) -> None:
        self.shell.step(requests.AlterReassignmentsRequest(request=self.ask(), targets=moves))

    @rule(names=st.none() | st.lists(partitions, max_size=3, unique=True).map(tuple))
    def elect_preferred(self, names: tuple[TopicPartition, ...] | None) -> None:
        kind = requests.ElectionKind.PREFERRED
        self.shell.step(requests.ElectLeadersRequest(request=self.ask(), kind=kind, partitions=names))

    @rule()
    def timer_fires(self) -> None:
        self.shell.step(TimerFired(TimerKind.REBALANCE))

    # The store.

    @precondition(lambda self: self.shell.open)
    @rule(count=st.integers(1, 5))
    def store_answers(self, count: int) -> None:
        for _ in range(min(count, len(self.shell.open))):
            self.shell.answer()

    @precondition(lambda self: any(isinstance(call, Write) for call in self.shell.open[:1]))
    @rule(is_written=st.booleans())
    def answer_is_lost(self, is_written: bool) -> None:
        call = self.shell.open[0]
        assert isinstance(call, Write)
        if is_written:
            self.store.apply(call)
        self.shell.lose_answer(is_written=False)

    @rule(is_written=st.booleans(), controller_id=brokers)
    def controller_dies(self, is_written: bool, controller_id: int) -> None:
        if is_written and self.shell.open:
            call = self.shell.open[0]
            if isinstance(call, Write):
                self.store.apply(call)
        self.shell.take_over(controller_id)

    # What must hold.

    @invariant()
    def leaderships_are_sound(self) -> None:
        if not hasattr(self, "store"):
            return
        for name, leadership in self.store.written[self.checked :]:
            before = self.newest.get(name)
            assert leadership.isr
            assert leadership.leader == NO_LEADER or leadership.leader in leadership.isr
            if before is not None and leadership.partition_epoch > 0:
                self.check_succession(before, leadership)
            self.newest[name] = leadership
        self.checked = len(self.store.written)

    def check_succession(self, before: Leadership, after: Leadership) -> None:
        assert after.partition_epoch == before.partition_epoch + 1
        assert after.leader_epoch in (before.leader_epoch, before.leader_epoch + 1)
        if after.leader_epoch == before.leader_epoch:
            assert after.leader == before.leader, "one leader for each epoch"
        is_clean = after.leader == NO_LEADER or (after.leader in before.isr and set(after.isr) <= set(before.isr))
        if after.leader_epoch > before.leader_epoch:
            assert is_clean or self.may_be_unclean, "only who is in sync may lead, and nobody joins the ISR with it"

    def teardown(self) -> None:
        """Peace: all brokers are there, everything is answered. Then everybody knows the truth."""
        if not hasattr(self, "shell"):
            return
        self.shell.is_holding = False
        self.shell.answer_all()
        for broker_id in BROKERS:
            if broker_id not in self.store.brokers or self.needs_restart(broker_id):
                self.shell.restart(broker_id)
        self.shell.see_brokers()
        for _ in range(3):
            for broker_id in BROKERS:
                self.repair_log_directories(broker_id)
                self.answer_stops(broker_id, ErrorCode.NONE)
        self.leaderships_are_sound()
        self.check_truth()
        self.announce_isrs()
        self.catch_up()
        self.check_truth()
        self.check_rest()

    def needs_restart(self, broker_id: int) -> bool:
        """It was about to go, or could not delete a log: that is tried again when it comes back."""
        cluster = self.shell.controller.cluster
        states = (partition.replicas[broker_id] for partition in cluster.partitions_on(broker_id))
        return broker_id in cluster.shutting_down or ReplicaState.DELETION_INELIGIBLE in states

    def repair_log_directories(self, broker_id: int) -> None:
        names = list(self.shell.controller.cluster.offline_replicas.get(broker_id, ()))
        epoch = self.store.brokers[broker_id].broker_epoch
        self.shell.step(LeaderAndIsrAnswered(broker_id, epoch, partitions=dict.fromkeys(names, ErrorCode.NONE)))

    def check_truth(self) -> None:
        cluster = self.shell.controller.cluster
        assert not cluster.waiters
        assert not cluster.writes
        assert not self.store.deletion_requests
        assert set(cluster.topics) == set(self.store.topics)
        for name, leadership in self.store.leaderships.items():
            assert leadership.leader != NO_LEADER
            assignment = self.store.topics[name.topic][0].partitions[name.partition]
            for broker_id in assignment.replicas:
                assert self.shell.twins[broker_id].orders[name].leadership.leader_epoch == leadership.leader_epoch
                assert name in self.shell.twins[broker_id].logs
            for twin in self.shell.twins.values():
                assert twin.metadata[name].leadership == self.told(name, leadership)
                assert twin.metadata[name].replicas == assignment.replicas
                assert twin.metadata[name].offline_replicas == ()
                assert set(twin.metadata) == set(self.store.leaderships)
                assert {broker.broker_id for broker in twin.brokers} == set(BROKERS)

    def told(self, name: TopicPartition, leadership: Leadership) -> Leadership:
        """An ISR that its leader has not announced yet is not known."""
        partition = self.shell.controller.cluster.partition(name)
        assert partition is not None
        assert partition.leadership is not None
        assert partition.leadership.leader_epoch == leadership.leader_epoch
        return partition.leadership

    def announce_isrs(self) -> None:
        """What leaders had not come to yet."""
        unknown = {name for name, each in self.store.leaderships.items() if self.told(name, each) != each}
        self.shell.step(IsrChangesSeen(frozenset(unknown), ()))

    def catch_up(self) -> None:
        """Followers have everything, and those who lead them take them into the ISR, by what they have been told."""
        for name, leadership in list(self.store.leaderships.items()):
            order = self.shell.twins[leadership.leader].orders[name]
            assert order.leadership.leader_epoch == leadership.leader_epoch
            isr = tuple(dict.fromkeys((*leadership.isr, *order.assignment.replicas)))
            if isr != leadership.isr:
                self.shell.change_isr(name, *isr)

    def check_rest(self) -> None:
        """All moves are over, everybody is in sync, and another controller finds nothing to do."""
        before = dict(self.store.leaderships)
        for name, leadership in before.items():
            assignment = self.store.topics[name.topic][0].partitions[name.partition]
            assert not assignment.is_moving
            assert set(leadership.isr) == set(assignment.replicas)
        self.shell.take_over()
        assert self.store.leaderships == before


class UncleanClusterLife(ClusterLife):
    may_be_unclean = True


LIFE = settings(max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck))
TestClusterLife = ClusterLife.TestCase
TestClusterLife.settings = LIFE
TestUncleanClusterLife = UncleanClusterLife.TestCase
TestUncleanClusterLife.settings = LIFE
