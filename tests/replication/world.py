"""A partition with pure replicas on brokers that can die, a store, a controller's word, and messages on the way.

Nothing happens by itself: a transcript or a random walk says what happens next, and `lines` tells what came of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tests.replication.memory_log import MemoryLog, Record

from strandline.model.failures import ErrorCode, Refused
from strandline.replication import effects as fx
from strandline.replication.events import (
    NO_LEADER,
    IsrCommitted,
    IsrRefused,
    IsrUnknown,
    LeaderAndIsr,
    LeaderEvent,
    PartitionStateRead,
)
from strandline.replication.invariants import ObservedReplica
from strandline.replication.leader import ACKS_ALL, Leader
from strandline.replication.log_view import EpochEnd
from strandline.replication.replica import Replica
from strandline.replication.requests import AskEpochEnd, AskOffset, Fetch, FetchAnswer, FollowerRequest
from strandline.replication.settings import ReplicationSettings
from strandline.replication.truncation import diverging_epoch

UNDEFINED = EpochEnd(-1, -1)


class Produce(NamedTuple):
    values: tuple[str, ...]
    end_offset: int


class Question(NamedTuple):
    follower: int
    broker_epoch: int
    leader: int
    request: FollowerRequest
    records_max: int


class Answer(NamedTuple):
    follower: int
    broker_epoch: int
    request: FollowerRequest
    error_code: ErrorCode
    fetched: FetchAnswer | None = None
    records: tuple[Record, ...] = ()
    end: EpochEnd = UNDEFINED
    offset: int = -1


class Broker:
    """The process may be dead; the log and the checkpoint of the high watermark stay."""

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.log = MemoryLog()
        self.checkpoint = 0
        self.replica: Replica | None = None
        self.waiting: list[Produce] = []
        self.parked: list[Question] = []

    @property
    def leader(self) -> Leader | None:
        return self.replica.leader if self.replica else None


class World:
    def __init__(self, settings: ReplicationSettings, *, uses_leader_epochs: bool = True) -> None:
        self.settings = settings
        self.uses_leader_epochs = uses_leader_epochs
        self.now_ms = 0
        self.brokers: dict[int, Broker] = {}
        self.live_brokers: dict[int, int] = {}  # with the epoch of each, as the store has them
        self.state = LeaderAndIsr(NO_LEADER, -1, (), (), 0)
        self.decisions: list[LeaderAndIsr] = []
        self.proposals: list[tuple[int, fx.AlterIsr]] = []  # on the way to the store
        self.reads: list[int] = []  # brokers that wait for what the store says
        self.questions: list[Question] = []  # on the way to the leader
        self.answers: list[Answer] = []  # on the way back
        self.acknowledged: list[tuple[int, str]] = []  # (offset, value), by acks=all
        self.lines: list[str] = []
        self._broker_epochs = 0

    def tell(self, broker_id: int, what: object) -> None:
        self.lines.append(f"{broker_id}: {what}")

    # Life and death.

    def start(self, broker_id: int) -> None:
        broker = self.brokers.setdefault(broker_id, Broker(broker_id))
        self._broker_epochs += 1
        self.live_brokers[broker_id] = self._broker_epochs
        broker.replica = Replica(
            broker_id=broker_id,
            log=broker.log,
            high_watermark=broker.checkpoint,
            live_brokers=self.live_brokers,
            settings=self.settings,
            uses_leader_epochs=self.uses_leader_epochs,
        )

    def kill(self, broker_id: int) -> None:
        """The process is gone with all it had in memory. What it wrote is in the page cache and stays."""
        broker = self.brokers[broker_id]
        if broker.replica is not None:
            broker.checkpoint = broker.replica.high_watermark
        broker.replica = None
        broker.waiting.clear()
        broker.parked.clear()

    def lose_power(self, broker_id: int, log_end_offset: int) -> None:
        self.kill(broker_id)
        self.brokers[broker_id].log.truncate_to(log_end_offset)

    # The controller.

    def decide(self, leader: int, isr: tuple[int, ...], replicas: tuple[int, ...] | None = None) -> LeaderAndIsr:
        """Every word of the controller is a new leader epoch, and a new version in the store."""
        replicas = self.state.replicas if replicas is None else replicas
        self.state = LeaderAndIsr(leader, self.state.leader_epoch + 1, isr, replicas, self.state.partition_epoch + 1)
        self.decisions.append(self.state)
        return self.state

    def deliver(self, decision: LeaderAndIsr, broker_id: int) -> None:
        broker = self.brokers[broker_id]
        if broker.replica is not None:
            self._carry_out(broker, broker.replica.decide(decision, self.now_ms))

    # Producers.

    def produce(self, broker_id: int, values: tuple[str, ...], acks: int) -> None:
        broker = self.brokers[broker_id]
        leader = broker.leader
        if leader is None:
            return self.tell(broker_id, "reply NOT_LEADER_OR_FOLLOWER")
        try:
            leader.check_append(acks)
        except Refused as refused:
            return self.tell(broker_id, f"reply {refused.error_code.name}: {refused.reason}")
        broker.log.append(Record(value, leader.leader_epoch) for value in values)
        self.tell(broker_id, f"log end {broker.log.log_end_offset}")
        if acks == ACKS_ALL:
            broker.waiting.append(Produce(values, broker.log.log_end_offset))
        elif acks == 1:
            self.tell(broker_id, f"reply {','.join(values)} NONE")
        self._after(broker, leader, leader.appended(broker.log.log_end_offset, self.now_ms))
        self._wake(broker)
        return None

    def _acknowledge(self, broker: Broker, leader: Leader) -> None:
        for produce in list(broker.waiting):
            error_code = leader.acknowledgement(produce.end_offset)
            if error_code is not None:
                broker.waiting.remove(produce)
                self.tell(broker.broker_id, f"reply {','.join(produce.values)} {error_code.name}")
            if error_code is ErrorCode.NONE:
                first = produce.end_offset - len(produce.values)
                self.acknowledged += list(enumerate(produce.values, first))

    def _after(self, broker: Broker, leader: Leader, moved: int | None) -> None:
        if moved is not None:
            self.tell(broker.broker_id, f"high watermark -> {moved}")
        if moved is not None or leader.effects:
            self._carry_out(broker, leader.take_effects())
            self._acknowledge(broker, leader)

    # Followers ask; leaders answer.

    def ask(self, broker_id: int, records_max: int = 1000) -> bool:
        replica = self.brokers[broker_id].replica
        follower = replica.follower if replica else None
        request = follower.request(self.now_ms) if follower else None
        if follower is None or request is None:
            return False
        self.tell(broker_id, request)
        self.questions.append(Question(broker_id, self.live_brokers[broker_id], follower.leader, request, records_max))
        return True

    def answer(self, question: Question, *, may_park: bool = False) -> None:
        """The question reaches its leader, which answers, or parks a fetch for which there is nothing yet."""
        broker = self.brokers[question.leader]
        try:
            answer = self._answer(broker, question, may_park)
        except Refused as refused:
            self.tell(broker.broker_id, f"answer {refused.error_code.name}: {refused.reason}")
            answer = self._refusal(question, refused.error_code)
        if answer is not None:
            self.answers.append(answer)

    def _refusal(self, question: Question, error_code: ErrorCode) -> Answer:
        fetched = FetchAnswer(error_code) if isinstance(question.request, Fetch) else None
        return Answer(question.follower, question.broker_epoch, question.request, error_code, fetched)

    def _answer(self, broker: Broker, question: Question, may_park: bool) -> Answer | None:
        leader = broker.leader
        if leader is None:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{broker.broker_id} does not lead")
        match question.request:
            case Fetch() as fetch:
                return self._answer_fetch(broker, leader, question, fetch, may_park)
            case AskEpochEnd(leader_epoch, epoch):
                leader.check_epoch(leader_epoch)
                end = EpochEnd(*broker.log.epochs.end_offset_for(epoch, broker.log.log_end_offset))
                self.tell(broker.broker_id, f"answer {end}")
                return self._good(question, end=end)
            case AskOffset(leader_epoch, earliest):
                leader.check_epoch(leader_epoch)
                offset = broker.log.log_start_offset if earliest else broker.log.log_end_offset
                self.tell(broker.broker_id, f"answer {offset}")
                return self._good(question, offset=offset)

    def _good(self, question: Question, *, end: EpochEnd = UNDEFINED, offset: int = -1) -> Answer:
        return Answer(
            question.follower, question.broker_epoch, question.request, ErrorCode.NONE, end=end, offset=offset
        )

    def _answer_fetch(
        self, broker: Broker, leader: Leader, question: Question, fetch: Fetch, may_park: bool
    ) -> Answer | None:
        leader.check_follower_fetch(
            question.follower, leader_epoch=fetch.leader_epoch, broker_epoch=question.broker_epoch
        )
        diverging = diverging_epoch(
            broker.log, last_fetched_epoch=fetch.last_fetched_epoch, fetch_offset=fetch.fetch_offset
        )
        if self.is_acknowledgement(diverging):
            self._count_fetch(broker, leader, question, fetch)
        records = () if diverging else broker.log.read(fetch.fetch_offset, question.records_max)
        if may_park and not records and diverging is None:
            broker.parked.append(question)
            self.tell(broker.broker_id, "parked")
            return None
        fetched = FetchAnswer(ErrorCode.NONE, leader.high_watermark, broker.log.log_start_offset, diverging)
        told = " ".join(map(str, records)) or "no records"
        self.tell(broker.broker_id, f"answer {fetched}" if diverging else f"answer {told}, {fetched}")
        return Answer(question.follower, question.broker_epoch, fetch, ErrorCode.NONE, fetched, records)

    def is_acknowledgement(self, diverging: EpochEnd | None) -> bool:
        """KAFKA-13141: a follower whose log is not a beginning of the leader's has acknowledged nothing."""
        return diverging is None

    def _count_fetch(self, broker: Broker, leader: Leader, question: Question, fetch: Fetch) -> None:
        if not broker.log.log_start_offset <= fetch.fetch_offset <= broker.log.log_end_offset:
            raise Refused(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"the log is from {broker.log.log_start_offset} to {broker.log.log_end_offset}",
            )
        before = leader.followers[question.follower].log_end_offset
        moved = leader.follower_fetched(
            question.follower, fetch.fetch_offset, self.now_ms, fetch.log_start_offset, question.broker_epoch
        )
        if fetch.fetch_offset != before:
            self.tell(broker.broker_id, f"{question.follower} has everything below {fetch.fetch_offset}")
        self._after(broker, leader, moved)

    def _wake(self, broker: Broker) -> None:
        parked, broker.parked = broker.parked, []
        for question in parked:
            self.tell(broker.broker_id, f"wake the fetch of {question.follower}")
            self.answer(question)

    def expire_parked(self) -> None:
        """`replica.fetch.wait.max.ms` is over."""
        for broker in self.brokers.values():
            self._wake(broker)

    def hear(self, answer: Answer) -> None:
        """An answer reaches its follower, if that is still the one that asked."""
        broker = self.brokers[answer.follower]
        follower = broker.replica.follower if broker.replica else None
        if follower is None or self.live_brokers.get(answer.follower) != answer.broker_epoch:
            return
        match answer.request:
            case Fetch() as fetch:
                assert answer.fetched is not None
                effects = follower.fetch_answered(fetch, answer.fetched, self.now_ms)
            case AskEpochEnd() as ask:
                effects = follower.epoch_end_answered(ask, answer.error_code, answer.end, self.now_ms)
            case AskOffset() as ask_offset:
                effects = follower.offset_answered(ask_offset, answer.error_code, answer.offset, self.now_ms)
        self._carry_out(broker, effects, answer.records)

    # What replicas want done.

    def _carry_out(self, broker: Broker, effects: Iterable[fx.ReplicaEffect], records: tuple[Record, ...] = ()) -> None:
        for effect in effects:
            self.tell(broker.broker_id, effect)
            self._do(broker, effect, records)

    def _do(self, broker: Broker, effect: fx.ReplicaEffect, records: tuple[Record, ...]) -> None:
        log, follower = broker.log, broker.replica.follower if broker.replica else None
        match effect:
            case fx.AssignEpoch(epoch, start_offset):
                self.assign_epoch(log, epoch, start_offset)
                self._wake(broker)
            case fx.AlterIsr():
                self.proposals.append((broker.broker_id, effect))
            case fx.ReadPartitionState():
                self.reads.append(broker.broker_id)
            case fx.LeadershipLost():
                for produce in broker.waiting:
                    self.tell(broker.broker_id, f"reply {','.join(produce.values)} NOT_LEADER_OR_FOLLOWER")
                broker.waiting.clear()
                self._wake(broker)
            case fx.AdvanceLogStart(offset):
                log.advance_log_start(offset)
            case fx.AppendFetched(then) if follower:
                log.append(records)
                self.tell(broker.broker_id, f"log end {log.log_end_offset}")
                self._carry_out(broker, follower.appended(then))
            case fx.TruncateTo(offset) if follower:
                log.truncate_to(offset)
                self._carry_out(broker, follower.truncated())
            case fx.TruncateFullyAndStartAt(offset) if follower:
                log.truncate_fully_and_start_at(offset)
                self._carry_out(broker, follower.truncated())

    def assign_epoch(self, log: MemoryLog, epoch: int, start_offset: int) -> None:
        log.epochs.assign(epoch, start_offset)

    # The store.

    def write_isr(self, change: fx.AlterIsr) -> LeaderEvent:
        """A conditional write, and what it gives. Members must be in the life in which they fetched (KIP-903)."""
        if (change.leader_epoch, change.partition_epoch) != (self.state.leader_epoch, self.state.partition_epoch):
            return IsrUnknown(change, f"the store is at version {self.state.partition_epoch}")
        for member, broker_epoch in zip(change.isr, change.broker_epochs, strict=True):
            if member not in change.previous_isr and self.live_brokers.get(member) != broker_epoch:
                return IsrRefused(change, ErrorCode.INELIGIBLE_REPLICA)
        self.state = self.state._replace(isr=change.isr, partition_epoch=self.state.partition_epoch + 1)
        return IsrCommitted(change, self.state.partition_epoch)

    def tell_leader(self, broker_id: int, event: LeaderEvent) -> None:
        broker = self.brokers[broker_id]
        if broker.leader is not None:
            self.tell(broker_id, f"({event})")
            self._after(broker, broker.leader, broker.leader.handle(event, self.now_ms))

    def read_state(self) -> PartitionStateRead:
        return PartitionStateRead(
            self.state.leader, self.state.leader_epoch, self.state.isr, self.state.partition_epoch
        )

    def check_isr(self, broker_id: int) -> None:
        broker = self.brokers[broker_id]
        if broker.leader is not None:
            self._after(broker, broker.leader, broker.leader.maybe_shrink_isr(self.now_ms))

    # Looking.

    def observed(self) -> list[ObservedReplica]:
        return [self._observed(broker) for broker in self.brokers.values()]

    def _observed(self, broker: Broker) -> ObservedReplica:
        replica, leader = broker.replica, broker.leader
        return ObservedReplica(
            broker_id=broker.broker_id,
            presumes_leadership=leader is not None,
            leader_epoch=replica.leader_epoch if replica else -1,
            high_watermark=replica.high_watermark if replica else broker.log.log_start_offset,
            isr=leader.maximal_isr if leader else (),
            log_start_offset=broker.log.log_start_offset,
            records=broker.log.records,
        )
