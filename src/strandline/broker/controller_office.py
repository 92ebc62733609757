"""A controller at work: what it must know is read from the store, what it decides is done.

Watches are set by the reads themselves, again each time. `/brokers/topics` and each topic are watched, the requests
under `/admin`, the notifications of leaders and brokers. What one of them says is read and given to the controller
whole; it finds out what is new. Only that a topic is gone which it is just removing is not news.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from strandline.broker.controller_notices import ControllerNotices
from strandline.broker.controller_outbox import ControllerOutbox
from strandline.broker.controller_values import leadership, live_broker, restarted_since, topic_assignment
from strandline.broker.controller_writes import ControllerWrites
from strandline.broker.host import Host, Timer
from strandline.broker.peers import Peers
from strandline.broker.procedures import each_of
from strandline.broker.store_reads import StoreReads
from strandline.controller.changes import RemoveTopic
from strandline.controller.controller import Controller
from strandline.controller.effects import (
    Effect,
    Journal,
    LeaderAndIsr,
    ReadPartitions,
    ReadTopic,
    Resign,
    SetTimer,
    StopReplica,
    TimerKind,
    UpdateMetadata,
    Write,
)
from strandline.controller.events import (
    BrokersSeen,
    ControllerMoved,
    Event,
    IsrChangesSeen,
    Outcome,
    PartitionsRead,
    Snapshot,
    TimerFired,
    TopicSeen,
    WriteAnswered,
)
from strandline.controller.journal import JournalEntry
from strandline.controller.replies import Reply
from strandline.controller.requests import Request
from strandline.controller.values import LiveBroker, TopicAssignment
from strandline.metadata import paths
from strandline.metadata.answer import Answer, Unanswered
from strandline.metadata.store import EventKind, NodeData, Session, WatchEvent
from strandline.model.partitions import TopicPartition


class NotController(Unanswered):
    """Another broker is, or will be."""


class Office:
    """One election, one session, one life."""

    def __init__(
        self,
        controller: Controller,
        session: Session,
        peers: Peers,
        host: Host,
        request_timeout_ms: int,
        tell: Callable[[JournalEntry], object],
        resigned: Callable[[str], None],
    ) -> None:
        self.controller = controller
        self._host = host
        self._tell = tell
        self._resigned = resigned
        self._reads = StoreReads(session, host)
        self._notices = ControllerNotices(self._reads, self.step)
        self._writes = ControllerWrites(session)
        self._outbox = ControllerOutbox(peers, host, request_timeout_ms, self.step)
        self._timers: dict[TimerKind, Timer] = {}
        self._asked: dict[int, Answer[Reply]] = {}
        self._next_request = 0
        self._known_topics: set[str] = set()  # each of them is watched
        self._watched_moves: set[TopicPartition] = set()
        self.is_in_charge = False
        self._was_interrupted = False
        self._early: list[Event] = []  # what happened before it is in charge

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits for a reply, and no broker has to be told anything."""
        return not self._asked and self._outbox.is_empty

    def close(self, reason: str) -> None:
        if not self._reads.is_open:
            return
        if self.controller.is_active:
            self.controller.step(ControllerMoved(reason), self._host.elapsed_ms())
        self._reads.close()
        self._outbox.close()
        for timer in self._timers.values():
            timer.cancel()
        asked, self._asked = self._asked, {}
        for answer in asked.values():
            answer.deliver(NotController(reason))

    def take_over(self, unclean_topics: dict[str, bool]) -> None:
        self._reads.begin(self._take_over(unclean_topics))

    async def _take_over(self, unclean_topics: dict[str, bool]) -> None:
        brokers = await self._brokers()
        names = await self._reads.names_in(paths.TOPICS, self._topics_changed)
        topics = dict(zip(names, await each_of(self._topic(name) for name in names), strict=True))
        found = {name: topic for name, topic in topics.items() if topic is not None}
        self._known_topics = set(found)
        wanted = [
            TopicPartition(topic, index) for topic, (assignment, _) in found.items() for index in assignment.partitions
        ]
        states = {name: node for name, node in (await self._states(wanted)).items() if node is not None}
        leaderships = {name: leadership(name, node) for name, node in states.items()}
        deletions = await self._notices.deletion_requests()
        snapshot = Snapshot(
            brokers,
            found,
            leaderships,
            deletions,
            unclean_topics,
            {name: restarted_since(node, leaderships[name], brokers) for name, node in states.items()},
        )
        self._carry_out(self.controller.take_over(snapshot, self._host.elapsed_ms()))
        self.is_in_charge = True
        early, self._early = self._early, []
        for event in early:
            self.step(event)
        self._notices.see_all()
        if self._was_interrupted:
            self.look_again()

    def look_again(self) -> None:
        """Watches were lost with the connection. Whoever has not taken over yet asks on until it is answered."""
        if not (self._reads.is_open and self.is_in_charge):
            self._was_interrupted = True
            return
        for see in (self._see_brokers, self._see_topics, self._notices.see_deletions):
            self._reads.begin(see())
        self._notices.see_all()
        for topic in sorted(self._known_topics):
            self._reads.begin(self._see_topic(topic))
        for partition in sorted(self._watched_moves):
            self._state_changed(partition)

    def step(self, *events: Event) -> None:
        """In their order, once it knows what there is: who knew of no topic would tell brokers to have no replica."""
        if self._reads.is_open and not self.is_in_charge:
            self._early += events
        elif self._reads.is_open:
            self._carry_out(self.controller.steps(events, self._host.elapsed_ms()))

    def ask(self, make_requests: Sequence[Callable[[int], Request]]) -> list[Answer[Reply]]:
        first = self._next_request + 1
        self._next_request += len(make_requests)
        answers: list[Answer[Reply]] = [Answer() for _ in make_requests]
        self._asked.update(enumerate(answers, first))
        self.step(*(make_request(number) for number, make_request in enumerate(make_requests, first)))
        return answers

    # What it decides.

    def _carry_out(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case LeaderAndIsr() | UpdateMetadata() | StopReplica():
                    self._outbox.send(effect)
                    if isinstance(effect, LeaderAndIsr):
                        self._watch_moves(effect)
                case Write():
                    self._reads.begin(self._write(effect))
                case ReadPartitions(partitions):
                    self._reads.begin(self._see_partitions(partitions))
                case ReadTopic(topic):
                    self._reads.begin(self._see_topic(topic))
                case SetTimer(kind, at_ms):
                    self._set_timer(kind, at_ms)
                case Journal(entry):
                    self._tell(entry)
                case Resign(reason):
                    self._host.call_soon(lambda reason=reason: self._resigned(reason))  # type: ignore[misc]
                case _:
                    self._reply(effect)

    async def _write(self, write: Write) -> None:
        outcome = await self._writes.write(write)
        is_in_the_way = outcome is Outcome.DECLINED and any(isinstance(one, RemoveTopic) for one in write.changes)
        if outcome is Outcome.UNKNOWN or is_in_the_way:
            await self._reads.pause()  # who will want the same again at once must not do nothing else
        self.step(WriteAnswered(write.write_id, outcome))

    def _set_timer(self, kind: TimerKind, at_ms: int) -> None:
        if kind in self._timers:
            self._timers[kind].cancel()
        delay_ms = max(0, at_ms - self._host.elapsed_ms())
        self._timers[kind] = self._host.call_later(delay_ms, lambda: self.step(TimerFired(kind)))

    def _reply(self, reply: Reply) -> None:
        answer = self._asked.pop(reply.request, None)
        if answer is not None:
            self._host.call_soon(lambda: answer.deliver(reply))

    # Brokers.

    async def _brokers(self) -> tuple[LiveBroker, ...]:
        names = await self._reads.names_in(paths.BROKER_IDS, self._reads.watch(self._see_brokers))
        nodes = await each_of(self._reads.node(paths.broker_path(int(name))) for name in names)
        brokers = tuple(
            live_broker(int(name), node) for name, node in zip(names, nodes, strict=True) if node is not None
        )
        self._outbox.brokers_seen({broker.broker_id: broker.broker_epoch for broker in brokers})
        return tuple(sorted(brokers, key=lambda broker: broker.broker_id))

    async def _see_brokers(self) -> None:
        self.step(BrokersSeen(await self._brokers()))

    # Topics.

    async def _topic(self, topic: str) -> tuple[TopicAssignment, int] | None:
        node = await self._reads.node(paths.topic_path(topic), lambda event: self._topic_changed(topic, event))
        return None if node is None else (topic_assignment(topic, node.data), node.stat.version)

    def _topic_changed(self, topic: str, event: WatchEvent) -> None:
        """That it is gone by our own hand need not be read. Who makes it anew changes `/brokers/topics` too."""
        if self._reads.is_open:
            if event.kind is EventKind.DELETED and self.controller.is_removing(topic):
                self._known_topics.discard(topic)
            else:
                self._reads.begin(self._see_topic(topic))

    async def _see_topic(self, topic: str) -> None:
        found = await self._topic(topic)
        if found is None:
            self._known_topics.discard(topic)
            if self.controller.knows(topic) or not self.is_in_charge:  # else it has removed it itself
                self.step(TopicSeen(topic, None))
        else:
            self._known_topics.add(topic)
            self.step(TopicSeen(topic, *found))

    def _topics_changed(self, _: WatchEvent) -> None:
        if self._reads.is_open:
            self._reads.begin(self._see_topics())

    async def _see_topics(self) -> None:
        names = set(await self._reads.names_in(paths.TOPICS, self._topics_changed))
        new = names - self._known_topics
        self._known_topics |= new
        await each_of(self._see_topic(topic) for topic in sorted(new))

    async def _states(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, NodeData | None]:
        nodes = await each_of(self._reads.node(paths.partition_state_path(name)) for name in partitions)
        return dict(zip(partitions, nodes, strict=True))

    async def _see_partitions(self, partitions: tuple[TopicPartition, ...]) -> None:
        nodes = await self._states(partitions)
        found = {name: node and leadership(name, node) for name, node in nodes.items()}
        brokers = self.controller.cluster.brokers.values()
        restarted = {
            name: restarted_since(node, leadership(name, node), brokers)
            for name, node in nodes.items()
            if node is not None
        }
        self.step(PartitionsRead(found, restarted))

    # Moves. They end when the new replicas are in sync, and leaders take seconds to give notice of that.

    def _watch_moves(self, orders: LeaderAndIsr) -> None:
        for order in orders.partitions:
            if order.assignment.is_moving and order.partition not in self._watched_moves:
                self._watched_moves.add(order.partition)
                self._reads.begin(self._watch_state(order.partition))

    async def _watch_state(self, partition: TopicPartition) -> None:
        await self._reads.node(paths.partition_state_path(partition), lambda _: self._state_changed(partition))

    def _state_changed(self, partition: TopicPartition) -> None:
        if not self._reads.is_open:
            return
        if self.controller.moving_partitions((partition,)):
            self._reads.begin(self._watch_state(partition))
        else:
            self._watched_moves.discard(partition)
        self.step(IsrChangesSeen(frozenset((partition,)), ()))
