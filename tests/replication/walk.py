"""A walk through everything that can happen to a partition, chosen by numbers, with the invariants looked at after
every step (after the specification's `Next`).

Messages are lost, repeated and late in any order; so are the controller's words, within the life of a broker. Processes
die and come back with what they wrote and an old checkpoint. Nobody loses power and no election is unclean: then
everything that was ever shown as committed must stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.replication.memory_log import Record
from tests.replication.world import Broker, World

from strandline.replication import invariants
from strandline.replication.events import NO_LEADER, IsrUnknown
from strandline.replication.leader import ACKS_ALL
from strandline.replication.settings import ReplicationSettings

REPLICAS = (1, 2, 3)
ON_THE_WAY_MAX = 6
# How often what happens: everything; elections while messages arrive as they should; one epoch, and its ISR.
WILD = {
    "produce": 3,
    "exchange": 8,
    "ask": 2,
    "answer": 3,
    "hear": 3,
    "lose_message": 1,
    "write_isr": 2,
    "read_state": 1,
    "elect": 1,
    "shrink_by_controller": 1,
    "tell": 4,
    "pass_time": 1,
    "restart": 1,
    "delete": 1,
}
ELECTIONS = {name: WILD[name] for name in WILD if name not in ("ask", "answer", "hear", "lose_message", "delete")}
ONE_EPOCH = {"tell": 2, "produce": 3, "exchange": 6, "write_isr": 4, "read_state": 2, "pass_time": 2}
Choose = Callable[[int], int]  # a number below the one given


class Violation(AssertionError):
    pass


class Walk:
    def __init__(
        self,
        choose: Choose,
        *,
        weights: dict[str, int] = WILD,
        min_insync_replicas: int = 1,
        uses_leader_epochs: bool = True,
    ) -> None:
        self.choose = choose
        self.world = World(
            ReplicationSettings(min_insync_replicas=min_insync_replicas, replica_fetch_backoff_ms=0),
            uses_leader_epochs=uses_leader_epochs,
        )
        self.produced = 0
        self.heard_from: dict[int, int] = {}  # the first decision that reaches a broker in its life
        self.high_watermarks: dict[tuple[int, int], int] = {}  # of (broker, epoch) as leader
        self.committed: dict[int, Record] = {}  # whatever a leader has ever shown
        for replica in REPLICAS:
            self._start(replica)
        self.world.decide(REPLICAS[0], REPLICAS[: 1 + choose(len(REPLICAS))], REPLICAS)
        self.actions = [getattr(self, name) for name, weight in weights.items() for _ in range(weight)]

    def step(self) -> None:
        self.actions[self.choose(len(self.actions))]()
        self.check()

    # What can happen.

    def _start(self, broker_id: int) -> None:
        self.world.start(broker_id)
        self.heard_from[broker_id] = len(self.world.decisions)

    def _broker(self) -> Broker:
        return self.world.brokers[REPLICAS[self.choose(len(REPLICAS))]]

    def produce(self) -> None:
        leaders = [broker for broker in self.world.brokers.values() if broker.leader is not None]
        if leaders:
            self.produced += 1
            acks = ACKS_ALL if self.choose(3) else 1
            self.world.produce(leaders[self.choose(len(leaders))].broker_id, (f"r{self.produced}",), acks)

    def exchange(self) -> None:
        """A question that goes there and back again."""
        world = self.world
        if world.ask(self._broker().broker_id, records_max=1 + self.choose(3)):
            world.answer(world.questions.pop())
            world.hear(world.answers.pop())

    def ask(self) -> None:
        if len(self.world.questions) < ON_THE_WAY_MAX:
            self.world.ask(self._broker().broker_id, records_max=1 + self.choose(3))

    def answer(self) -> None:
        if self.world.questions:
            question = self.world.questions[self.choose(len(self.world.questions))]
            if self.choose(5):
                self.world.questions.remove(question)
            self.world.answer(question)

    def hear(self) -> None:
        if self.world.answers:
            answer = self.world.answers[self.choose(len(self.world.answers))]
            if self.choose(5):
                self.world.answers.remove(answer)
            self.world.hear(answer)

    def lose_message(self) -> None:
        if self.world.questions:
            del self.world.questions[self.choose(len(self.world.questions))]
        if self.world.answers:
            del self.world.answers[self.choose(len(self.world.answers))]

    def write_isr(self) -> None:
        """Written and told; written and not told; told to be unknown while it may still be written."""
        if not self.world.proposals:
            return
        index = self.choose(len(self.world.proposals))
        broker_id, change = self.world.proposals[index]
        outcome = self.choose(4)
        if outcome == 3 and len(self.world.proposals) < ON_THE_WAY_MAX:
            self.world.tell_leader(broker_id, IsrUnknown(change, "the connection was lost"))
            return
        del self.world.proposals[index]
        event = self.world.write_isr(change)
        unknown = IsrUnknown(change, "the connection was lost")
        self.world.tell_leader(broker_id, unknown if outcome == 2 else event)

    def read_state(self) -> None:
        if self.world.reads:
            self.world.tell_leader(self.world.reads.pop(0), self.world.read_state())

    def elect(self) -> None:
        """ControllerElectLeader: any member of the ISR."""
        members = self.world.state.isr
        leader = members[self.choose(len(members))]
        if leader != self.world.state.leader:
            self.world.decide(leader, members)

    def shrink_by_controller(self) -> None:
        """ControllerShrinkIsr: a broker is taken for dead, also if it is not; the last member stays."""
        self._shrink(self._broker().broker_id)

    def _shrink(self, gone: int) -> None:
        state = self.world.state
        isr = tuple(member for member in state.isr if member != gone) or state.isr
        candidates = (*(member for member in isr if member != gone), NO_LEADER)
        leader = candidates[self.choose(len(candidates))] if gone == state.leader else state.leader
        if gone in state.isr:
            self.world.decide(leader, isr)

    def tell(self) -> None:
        broker = self._broker()
        meant_for_it = self.world.decisions[self.heard_from[broker.broker_id] :]
        if meant_for_it:
            age = self.choose(3) and self.choose(len(meant_for_it))  # mostly the newest
            self.world.deliver(meant_for_it[-1 - age], broker.broker_id)

    def pass_time(self) -> None:
        self.world.now_ms += 1000 * (1 + self.choose(8))
        for replica in REPLICAS:
            self.world.check_isr(replica)

    def restart(self) -> None:
        """The controller notices, and begins a new epoch before it says anything to the new life."""
        broker = self._broker()
        self.world.kill(broker.broker_id)
        broker.checkpoint = self.choose(broker.checkpoint + 1)
        self._start(broker.broker_id)
        self._shrink(broker.broker_id)

    def delete(self) -> None:
        broker = self._broker()
        if broker.leader is not None and broker.leader.high_watermark > broker.log.log_start_offset:
            room = broker.leader.high_watermark - broker.log.log_start_offset
            broker.log.advance_log_start(broker.log.log_start_offset + self.choose(room + 1))

    # What must be true.

    def check(self) -> None:
        wrong = next(self._wrong(), None)
        if wrong is not None:
            raise Violation(wrong)

    def _wrong(self) -> Iterator[str]:
        observed = self.world.observed()
        yield from invariants.high_watermark_within_log(observed)
        yield from invariants.one_leader_in_an_epoch(observed)
        yield from invariants.leader_in_isr(self.world.state.leader, self.world.state.isr)
        yield from invariants.weak_isr(observed)
        yield from invariants.strong_isr(observed, self.world.state.isr)
        yield from self._diverged()
        yield from self._moved_back()
        yield from self._uncommitted()

    def _diverged(self) -> Iterator[str]:
        """Logs that have a record of one epoch at the same offset have the same there and in all that lies below."""
        brokers = list(self.world.brokers.values())
        for index, one in enumerate(brokers):
            for other in brokers[index + 1 :]:
                first = max(one.log.log_start_offset, other.log.log_start_offset)
                last = min(one.log.log_end_offset, other.log.log_end_offset)
                agrees = True
                for offset in range(first, last):
                    mine, theirs = one.log.read(offset, 1)[0], other.log.read(offset, 1)[0]
                    if mine.epoch == theirs.epoch and not (agrees and mine == theirs):
                        yield f"{one.broker_id} has {mine} at {offset}, {other.broker_id} has {theirs}"
                    agrees = agrees and mine == theirs

    def _moved_back(self) -> Iterator[str]:
        for broker in self.world.brokers.values():
            if broker.leader is not None:
                key = (broker.broker_id, broker.leader.leader_epoch)
                if broker.leader.high_watermark < self.high_watermarks.get(key, 0):
                    yield f"the high watermark of {key} moved back to {broker.leader.high_watermark}"
                self.high_watermarks[key] = broker.leader.high_watermark

    def _uncommitted(self) -> Iterator[str]:
        """What was shown once is the same for everybody and for ever, and what was acknowledged has been shown."""
        for broker in self.world.brokers.values():
            if broker.leader is not None:
                for offset in range(broker.log.log_start_offset, broker.leader.high_watermark):
                    record = broker.log.read(offset, 1)[0]
                    if self.committed.setdefault(offset, record) != record:
                        yield f"{broker.broker_id} shows {record} at {offset}, where there was {self.committed[offset]}"
        for offset, value in self.world.acknowledged:
            if offset not in self.committed or self.committed[offset].value != value:
                yield f"{value} was acknowledged at {offset}, where there is {self.committed.get(offset)}"

    # And what must come true when nothing more goes wrong.

    def heal(self) -> None:
        """Everybody hears the controller, messages arrive, the store answers: soon all are in sync and the same."""
        self.world.questions.clear()
        self.world.answers.clear()
        leader = self.world.state.leader if self.world.state.leader != NO_LEADER else self.world.state.isr[0]
        self.world.decide(leader, self.world.state.isr)
        for replica in REPLICAS:
            self.world.deliver(self.world.state, replica)
        for _ in range(60):
            self._round()
            self.check()
        logs = {broker.log.read(self._last_start(), 1000) for broker in self._all()}
        ends = {broker.log.log_end_offset for broker in self._all()}
        if set(self.world.state.isr) != set(REPLICAS) or len(logs) != 1 or len(ends) != 1:
            raise Violation(f"not healed: isr {self.world.state.isr}, ends {ends}")
        if any(broker.waiting for broker in self._all()):
            raise Violation("a producer waits for ever")

    def _all(self) -> list[Broker]:
        return list(self.world.brokers.values())

    def _last_start(self) -> int:
        return max(broker.log.log_start_offset for broker in self._all())

    def _round(self) -> None:
        self.world.now_ms += 500
        for replica in REPLICAS:
            self.world.ask(replica)
            self.world.check_isr(replica)
        while self.world.questions:
            self.world.answer(self.world.questions.pop(0))
        while self.world.answers:
            self.world.hear(self.world.answers.pop(0))
        while self.world.proposals:
            broker_id, change = self.world.proposals.pop(0)
            self.world.tell_leader(broker_id, self.world.write_isr(change))
        while self.world.reads:
            self.read_state()
