"""A shell for a controller: a store, brokers that note what they are told, and answers that come when a test wants."""

from __future__ import annotations

from collections.abc import Iterable

from tests.controller.store_twin import StoreTwin

from strandline.controller.controller import Controller
from strandline.controller.effects import (
    Effect,
    Journal,
    LeaderAndIsr,
    ReadPartitions,
    ReadTopic,
    Request,
    Resign,
    SetTimer,
    StopReplica,
    UpdateMetadata,
    Write,
)
from strandline.controller.events import (
    BrokersSeen,
    Event,
    IsrChangesSeen,
    LeaderAndIsrAnswered,
    Outcome,
    PartitionsRead,
    StopReplicaAnswered,
    WriteAnswered,
)
from strandline.controller.replies import Reply
from strandline.controller.settings import ControllerSettings
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition


class Shell:
    """Writes and reads are answered at once, one after the other, unless `is_holding`."""

    def __init__(self, settings: ControllerSettings | None = None, store: StoreTwin | None = None) -> None:
        self.settings = settings or ControllerSettings()
        self.store = store or StoreTwin()
        self.now_ms = 0
        self.is_holding = False
        self.lines: list[str] = []  # what came out, in order
        self.replies: list[Reply] = []
        self.requests: list[Request] = []
        self.entries: list[str] = []
        self.timer_at_ms: int | None = None
        self.resigned = False
        self.open: list[Write | ReadPartitions | ReadTopic] = []

    # Life of a controller.

    def take_over(self, controller_id: int = 1) -> None:
        """Another controller, from the znodes alone; whatever the last one had under way stays unanswered."""
        self.store.controller_epoch += 1
        self.controller = Controller(
            controller_id, self.store.controller_epoch, self.store.controller_epoch_version, self.settings
        )
        self.open = []
        self.resigned = False
        self._carry_out(self.controller.take_over(self.store.snapshot(), self.now_ms))
        self.answer_all()

    def step(self, *events: Event) -> None:
        self._carry_out(self.controller.steps(events, self.now_ms))
        self.answer_all()

    def _carry_out(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            self.lines.append(str(effect))
            match effect:
                case Write() | ReadPartitions() | ReadTopic():
                    self.open.append(effect)
                case LeaderAndIsr() | UpdateMetadata() | StopReplica():
                    self.requests.append(effect)
                case Journal(entry):
                    self.entries.append(str(entry))
                case SetTimer(_, at_ms):
                    self.timer_at_ms = at_ms
                case Resign():
                    self.resigned = True
                case _:
                    self.replies.append(effect)

    # The store's answers.

    def answer_all(self) -> None:
        while self.open and not self.is_holding:
            self.answer()

    def answer(self) -> None:
        """The oldest call, as the store does."""
        call = self.open.pop(0)
        if isinstance(call, Write):
            self._answer_write(call, self.store.apply(call))
        else:
            self.read(call)

    def read(self, call: ReadPartitions | ReadTopic) -> None:
        if isinstance(call, ReadTopic):
            self._event(self.store.topic_seen(call.topic))
        else:
            found = {name: self.store.leaderships.get(name) for name in call.partitions}
            restarted = {name: self.store.restarted(name) for name, each in found.items() if each is not None}
            self._event(PartitionsRead(found, restarted))

    def lose_answer(self, *, is_written: bool) -> None:
        """The connection is lost over the oldest write."""
        call = self.open.pop(0)
        assert isinstance(call, Write)
        if is_written:
            assert self.store.apply(call) is Outcome.COMMITTED
        self._answer_write(call, Outcome.UNKNOWN)

    def write_silently(self) -> None:
        """The oldest write is done, and the controller will not live to hear of it."""
        call = self.open.pop(0)
        assert isinstance(call, Write)
        assert self.store.apply(call) is Outcome.COMMITTED

    def refuse(self, outcome: Outcome) -> None:
        call = self.open.pop(0)
        assert isinstance(call, Write)
        self._answer_write(call, outcome)

    def _answer_write(self, write: Write, outcome: Outcome) -> None:
        self._event(WriteAnswered(write.write_id, outcome))

    def _event(self, event: Event) -> None:
        self.lines.append(f"> {event}")
        self._carry_out(self.controller.step(event, self.now_ms))

    # What happens in the cluster.

    def brokers(self, *broker_ids: int, racks: dict[int, str] | None = None) -> None:
        """These are there; who was not is registered now."""
        for broker_id in list(self.store.brokers):
            if broker_id not in broker_ids:
                del self.store.brokers[broker_id]
        for broker_id in broker_ids:
            if broker_id not in self.store.brokers:
                self.store.register(broker_id, (racks or {}).get(broker_id))

    def see_brokers(self) -> None:
        self.step(BrokersSeen(tuple(self.store.brokers[broker_id] for broker_id in sorted(self.store.brokers))))

    def lose(self, *broker_ids: int) -> None:
        self.brokers(*(broker_id for broker_id in self.store.brokers if broker_id not in broker_ids))
        self.see_brokers()

    def join(self, *broker_ids: int) -> None:
        self.brokers(*{*self.store.brokers, *broker_ids})
        self.see_brokers()

    def bounce(self, broker_id: int) -> None:
        """Away and back before anybody looked."""
        self.store.register(broker_id, self.store.brokers[broker_id].rack)
        self.see_brokers()

    def change_isr(self, partition: TopicPartition, *isr: int, is_notified: bool = True) -> None:
        self.store.change_isr(partition, isr)
        if is_notified:
            self.step(IsrChangesSeen(frozenset({partition}), ("isr_change_0000000000",)))

    def answer_stops(self, broker_id: int, error_code: ErrorCode = ErrorCode.NONE) -> None:
        """The broker has done what all requests to stop and delete asked of it in its present life."""
        epoch = self.store.brokers[broker_id].broker_epoch
        for request in list(self.requests):
            if isinstance(request, StopReplica) and (request.broker_id, request.broker_epoch) == (broker_id, epoch):
                self.requests.remove(request)
                errors = {stopped.partition: error_code for stopped in request.partitions}
                self.step(StopReplicaAnswered(broker_id, epoch, partitions=errors))

    def repair_log_directory(self, broker_id: int, *partitions: TopicPartition) -> None:
        """It works again."""
        epoch = self.store.brokers[broker_id].broker_epoch
        self.step(LeaderAndIsrAnswered(broker_id, epoch, partitions=dict.fromkeys(partitions, ErrorCode.NONE)))

    def storage_error(self, broker_id: int, *partitions: TopicPartition) -> None:
        epoch = self.store.brokers[broker_id].broker_epoch
        errors = dict.fromkeys(partitions, ErrorCode.KAFKA_STORAGE_ERROR)
        self.step(LeaderAndIsrAnswered(broker_id, epoch, partitions=errors))
