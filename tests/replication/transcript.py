"""Transcripts: what happens, a line of dashes, and everything the replicas said to it (after etcd's).

    partition 1,2
    produce 1 m1
    fetch 2
    ----
    1: log end 1
    2: fetch from 0 (leader epoch 0)

Blocks are separated by empty lines; a line that begins with # is a remark. A line is a word, a broker where it is about
one, and `name=value`s. By itself the store commits what is proposed, and every live broker hears the controller.

    settings NAME=VALUE …       of replication; leader-epochs=off: Kafka before KIP-101; unclean=on: such elections
    partition 1,2,3 [isr=1]     starts the brokers and elects the first
    produce N m1,m2 [acks=all]  acks=0, 1 or all; 1 where nothing is said
    fetch N [count=3] [wait]    a question and its answer; with `wait`, a fetch for which there is nothing is parked
    sync N                      questions and answers until there is nothing new
    ask N, hear N               the same in two halves; `send N` and `arrive N` are the halves of the first
    drop N                      the answers on the way to N are lost
    kill N, power-loss N end=3  the process dies, and with the power the end of its log
    start N [checkpoint=1]      it starts with the high watermark it had, or an older one
    notice N                    the controller learns that N is dead, or that it is back
    elect N [isr=1,2] [to=2,3]  the controller makes N the leader, and only some hear of it
    tell 1,2 [epoch=3]          what the store has, or what the controller said of that epoch
    assign 1,2,4                other replicas
    store holds|commits         hold: proposals and reads stay on the way until `commit`, `refuse`, `lose`, `read`
    at ms=5000                  time passes; leaders look at their ISR every half of the lag, parked fetches expire
    delete N before=5           records below are deleted there
    show                        all replicas
"""

from __future__ import annotations

from collections.abc import Callable

from tests.replication.world import Broker, World

from strandline.model.failures import ErrorCode
from strandline.replication.events import NO_LEADER, IsrRefused, IsrUnknown, LeaderAndIsr
from strandline.replication.leader import ACKS_ALL
from strandline.replication.settings import ReplicationSettings

Words = dict[str, str]


def replayed(text: str) -> str:
    """The transcript with the answers of these replicas."""
    player = Player()
    return "\n\n".join(player.played(block) for block in text.strip().split("\n\n")) + "\n"


def numbers(text: str) -> tuple[int, ...]:
    return tuple(int(item) for item in text.split(",") if item)


class Player:
    def __init__(self) -> None:
        self.properties: Words = {}
        self.store_holds = False
        self.world = World(ReplicationSettings())
        self.last_check_ms = 0

    def played(self, block: str) -> str:
        lines = block.split("\n")
        head = lines[: lines.index("----")] if "----" in lines else lines
        asked = [line for line in head if not line.startswith("#")]
        if not asked:
            return block
        for command in asked:
            self.play(command)
        told, self.world.lines = self.world.lines, []
        return "\n".join([*head, "----", *(told or ["nothing"])])

    def play(self, line: str) -> None:
        verb, *rest = line.split()
        words = dict(word.partition("=")[::2] if "=" in word else (self._position(word), word) for word in rest)
        COMMANDS[verb](self, words)
        self.run_store()

    def _position(self, word: str) -> str:
        if word in ("wait", "holds", "commits"):
            return word
        return "which" if word[0].isdigit() else "values"

    def run_store(self) -> None:
        while not self.store_holds and (self.world.proposals or self.world.reads):
            self.commit({}) if self.world.proposals else self.read({})

    # Settings and life.

    def settings(self, words: Words) -> None:
        self.properties |= words
        self.world = World(
            ReplicationSettings.from_properties({}, self.properties),
            uses_leader_epochs=self.properties.get("leader-epochs") != "off",
        )

    def partition(self, words: Words) -> None:
        replicas = numbers(words["which"])
        for broker_id in replicas:
            self.world.start(broker_id)
        self.world.decide(replicas[0], numbers(words["isr"]) if "isr" in words else replicas, replicas)
        self.say(self.world.state)

    def say(self, decision: LeaderAndIsr, to: str | None = None) -> None:
        self.world.lines.append(f"controller: {decision}")
        for broker_id in self.world.brokers if to is None else numbers(to):
            self.world.deliver(decision, broker_id)

    def kill(self, words: Words) -> None:
        self.world.kill(int(words["which"]))

    def power_loss(self, words: Words) -> None:
        self.world.lose_power(int(words["which"]), int(words["end"]))

    def start(self, words: Words) -> None:
        """The broker registers; the controller tells it what there is."""
        broker_id = int(words["which"])
        broker = self.world.brokers.get(broker_id)
        if broker is not None and "checkpoint" in words:
            broker.checkpoint = int(words["checkpoint"])
        self.world.start(broker_id)
        if self.world.state.leader_epoch >= 0:
            self.world.deliver(self.world.state, broker_id)

    def notice(self, words: Words) -> None:
        """SPEC R6."""
        broker_id, state = int(words["which"]), self.world.state
        if self.world.brokers[broker_id].replica is None:
            self.world.live_brokers.pop(broker_id, None)
        alive = [replica for replica in state.replicas if self.world.brokers[replica].replica is not None]
        in_sync = tuple(member for member in state.isr if member in alive)
        candidates = [replica for replica in alive if replica in in_sync]
        if state.leader in candidates and in_sync == state.isr:
            return
        if candidates:
            leader = state.leader if state.leader in candidates else candidates[0]
            self.say(self.world.decide(leader, in_sync))
        elif alive and self.properties.get("unclean") == "on":
            self.say(self.world.decide(alive[0], (alive[0],)))
        elif state.leader != NO_LEADER:
            self.say(self.world.decide(NO_LEADER, state.isr))

    def elect(self, words: Words) -> None:
        isr = numbers(words["isr"]) if "isr" in words else self.world.state.isr
        self.say(self.world.decide(int(words["which"]), isr), words.get("to"))

    def assign(self, words: Words) -> None:
        replicas = numbers(words["which"])
        for broker_id in replicas:
            if broker_id not in self.world.brokers:
                self.world.start(broker_id)
        self.say(self.world.decide(self.world.state.leader, self.world.state.isr, replicas))

    # Records.

    def produce(self, words: Words) -> None:
        acks = words.get("acks", "1")
        self.world.produce(
            int(words["which"]), tuple(words["values"].split(",")), ACKS_ALL if acks == "all" else int(acks)
        )

    def fetch(self, words: Words) -> None:
        if not self.world.ask(int(words["which"]), int(words.get("count", "1000"))):
            self.world.tell(int(words["which"]), "nothing to ask")
        while self.world.questions:
            self.world.answer(self.world.questions.pop(0), may_park="wait" in words)
        self.run_store()
        self.hear_all()

    def hear_all(self) -> None:
        while self.world.answers:
            self.world.hear(self.world.answers.pop(0))

    def sync(self, words: Words) -> None:
        """Until leader and follower agree, or a question and its answer change nothing."""
        broker = self.world.brokers[int(words["which"])]
        before = None
        while not self._agrees(broker) and before != (before := self._picture(broker)):
            self.fetch(words)

    def _agrees(self, broker: Broker) -> bool:
        leader_broker = self.world.brokers.get(self.world.state.leader)
        leader, replica = leader_broker.leader if leader_broker else None, broker.replica
        if leader is None or replica is None or replica.follower is None or broker.broker_id not in leader.followers:
            return False
        ends = {leader.log_end_offset, leader.followers[broker.broker_id].log_end_offset, broker.log.log_end_offset}
        return len(ends) == 1 and replica.high_watermark == leader.high_watermark

    def _picture(self, broker: Broker) -> tuple[object, ...]:
        replica = broker.replica
        state = replica.follower.state if replica and replica.follower else None
        high_watermark = replica.high_watermark if replica else None
        return state, broker.log.log_end_offset, broker.log.epochs.entries(), high_watermark

    def send(self, words: Words) -> None:
        self.world.ask(int(words["which"]), int(words.get("count", "1000")))

    def ask(self, words: Words) -> None:
        self.send(words)
        self.arrive(words)

    def arrive(self, words: Words) -> None:
        for question in [question for question in self.world.questions if question.follower == int(words["which"])]:
            self.world.questions.remove(question)
            self.world.answer(question)

    def drop(self, words: Words) -> None:
        self.world.answers = [answer for answer in self.world.answers if answer.follower != int(words["which"])]

    def tell(self, words: Words) -> None:
        by_epoch = {decision.leader_epoch: decision for decision in self.world.decisions}
        decision = by_epoch[int(words["epoch"])] if "epoch" in words else self.world.state
        for broker_id in numbers(words["which"]):
            self.world.deliver(decision, broker_id)

    def hear(self, words: Words) -> None:
        for answer in [answer for answer in self.world.answers if answer.follower == int(words["which"])]:
            self.world.answers.remove(answer)
            self.world.hear(answer)

    def delete(self, words: Words) -> None:
        self.world.brokers[int(words["which"])].log.advance_log_start(int(words["before"]))

    # The store, and time.

    def store(self, words: Words) -> None:
        self.store_holds = "holds" in words

    def commit(self, _: Words) -> None:
        broker_id, change = self.world.proposals.pop(0)
        self.world.tell_leader(broker_id, self.world.write_isr(change))

    def refuse(self, _: Words) -> None:
        broker_id, change = self.world.proposals.pop(0)
        self.world.tell_leader(broker_id, IsrRefused(change, ErrorCode.INELIGIBLE_REPLICA))

    def lose(self, words: Words) -> None:
        """The connection is lost, before or after the write."""
        broker_id, change = self.world.proposals.pop(0)
        if words.get("written") == "yes":
            self.world.write_isr(change)
        self.world.tell_leader(broker_id, IsrUnknown(change, "the connection was lost"))

    def read(self, _: Words) -> None:
        self.world.tell_leader(self.world.reads.pop(0), self.world.read_state())

    def at(self, words: Words) -> None:
        to_ms, interval_ms = int(words["ms"]), self.world.settings.isr_check_interval_ms
        while self.last_check_ms + interval_ms <= to_ms:
            self.last_check_ms += interval_ms
            self.world.now_ms = self.last_check_ms
            for broker_id in self.world.brokers:
                self.world.check_isr(broker_id)
            self.run_store()
        self.world.now_ms = to_ms
        self.world.expire_parked()
        self.hear_all()

    def show(self, _: Words) -> None:
        for broker in self.world.brokers.values():
            self.world.lines.append(self._shown(broker))

    def _shown(self, broker: Broker) -> str:
        replica, leader = broker.replica, broker.leader
        if replica is None:
            return f"{broker.broker_id} dead: {broker.log}"
        role = f"leader of epoch {replica.leader_epoch}" if leader else f"follower in epoch {replica.leader_epoch}"
        known = f", isr {leader_isr(leader.isr)}" if leader else ""
        for progress in leader.followers.values() if leader else ():
            known += f", {progress.replica_id} at {progress.log_end_offset}"
        ends = f"log end {broker.log.log_end_offset}, high watermark {replica.high_watermark}{known}"
        return f"{broker.broker_id} {role}: {broker.log} | {ends}"


def leader_isr(isr: tuple[int, ...]) -> str:
    return ",".join(map(str, isr))


COMMANDS: dict[str, Callable[[Player, Words], None]] = {
    "settings": Player.settings,
    "partition": Player.partition,
    "kill": Player.kill,
    "power-loss": Player.power_loss,
    "start": Player.start,
    "notice": Player.notice,
    "elect": Player.elect,
    "assign": Player.assign,
    "produce": Player.produce,
    "fetch": Player.fetch,
    "sync": Player.sync,
    "ask": Player.ask,
    "send": Player.send,
    "arrive": Player.arrive,
    "hear": Player.hear,
    "drop": Player.drop,
    "tell": Player.tell,
    "delete": Player.delete,
    "store": Player.store,
    "commit": Player.commit,
    "refuse": Player.refuse,
    "lose": Player.lose,
    "read": Player.read,
    "at": Player.at,
    "show": Player.show,
}
