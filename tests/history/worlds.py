"""A small Kafka that is right by construction, clients at it, and ways to break it.

Logs are lists. Every step is one operation of one client, whose outcome may stay unknown whether it took effect or
not. What a `World` writes down must look sound; with a fault in it, the checker must find out.
"""

from __future__ import annotations

from random import Random
from typing import Any

from tests.history.planting import TOPIC, Line, operations

from strandline.history.operations import Operation

PARTITIONS = 3
STEP_US = 1000
SILENCE_US = 6_000_000


class Entry:
    """A record, or the marker that ends a transaction."""

    def __init__(self, value: str | None, transaction: str | None) -> None:
        self.value, self.transaction = value, transaction


class World:
    def __init__(self, seed: int, fault: str | None = None, repeated: float = 0) -> None:
        self.random = Random(seed)
        self.fault = fault
        self.repeated = repeated  # how many of the values were sent before
        self.lines: list[Line] = []
        self.now_us = 0
        self.logs: list[list[Entry]] = [[] for _ in range(PARTITIONS)]
        self.fates: dict[str, bool] = {}  # of transactions that ended: whether they were committed
        self.committed = [0] * PARTITIONS  # the group's offsets
        self.copied = [0] * PARTITIONS  # those of the copier's
        self.stable_ends: list[int] | None = None  # beyond which readers of committed records never come
        self.owners: list[Member] = []
        self.count = 0
        self.producers = [Producer(self, f"producer-{number}", number > 1) for number in range(4)]
        self.readers = [Reader(self, f"reader-{level}", level) for level in ("read_committed", "read_uncommitted")]
        self.members = [Member(self, f"member-{number}") for number in range(2)]
        self.copier = Copier(self)
        self.owners = [self.members[partition % 2] for partition in range(PARTITIONS)]
        for partition, owner in enumerate(self.owners):
            owner.gets(partition)

    def run(self, steps: int) -> list[Operation]:
        actors: list[Producer | Reader] = [*self.producers, *self.producers, *self.readers, *self.members]
        actors += [self.copier] * 2
        for step in range(steps):
            self.now_us += STEP_US
            if self.fault == "withholds" and step == steps // 2:
                self.stable_ends = [len(log) for log in self.logs]
            self.random.choice(actors).step()
            if self.random.random() < 0.02:
                self.rebalance()
        for producer in self.producers:
            producer.finish()
        self.copier.ends_what_it_has_begun()
        for reader in self.readers:
            reader.finish()
        if self.fault == "loses-its-end":
            for log in self.logs:
                del log[-3:]
        self.now_us += STEP_US
        Reader(self, "reader-late", "read_committed").finish()
        return operations(*self.lines)

    def rebalance(self) -> None:
        partition = self.random.randrange(PARTITIONS)
        old, new = self.owners[partition], self.random.choice(self.members)
        self.now_us += STEP_US
        old.loses(partition)
        self.owners[partition] = new
        self.now_us += STEP_US
        new.gets(partition)

    def tell(self, op: str, process: str, late_us: int = 300, **fields: Any) -> None:
        """It takes effect now; it began before and ends after."""
        began_us, ended_us = self.now_us - 300, self.now_us + self.random.randint(0, late_us)
        self.lines.append((op, {"process": process, "began_us": began_us, "ended_us": ended_us, **fields}))

    def ask(self, op: str, process: str, **fields: Any) -> None:
        """Before it is done; whoever is not killed then tells what came of it."""
        self.lines.append((op, {"process": process, "began_us": self.now_us - 300, "outcome": "asked", **fields}))

    def kills(self) -> bool:
        return self.random.random() < 0.1

    def outcome(self) -> tuple[str, bool]:
        """What the client hears, and whether it happened."""
        return self.random.choice([("ok", True)] * 8 + [("unknown", True), ("unknown", False)])

    def value(self) -> str:
        self.count += 1
        is_repeated = self.repeated and self.random.random() < self.repeated
        return f"v{self.random.randint(1, self.count) if is_repeated else self.count}"

    def has(self, fault: str, chance: float = 0.1) -> bool:
        return self.fault == fault and self.random.random() < chance

    def append(self, partition: int, value: str, transaction: str | None) -> int:
        log = self.logs[partition]
        if self.has("truncates") and len(log) > 3:
            log.pop()
        log.append(Entry(value, transaction))
        if self.has("repeats"):
            log.append(Entry(value, transaction))
        return len(log) - 1

    def end(self, transaction: str, is_committed: bool) -> None:
        self.fates[transaction] = is_committed
        for log in self.logs:
            if any(entry.transaction == transaction for entry in log):
                log.append(Entry(None, transaction))

    def visible(self, partition: int, first: int, isolation: str) -> list[tuple[int, str]]:
        found = []
        for offset, entry in enumerate(self.logs[partition][first:], first):
            if isolation == "read_committed" and self.stable_ends and offset >= self.stable_ends[partition]:
                break
            if isolation == "read_committed" and entry.transaction is not None and self.hides(entry.transaction):
                if entry.transaction not in self.fates:
                    break
                continue
            if entry.value is not None and not self.has("skips", 0.02):
                found.append((offset, entry.value))
        return found

    def hides(self, transaction: str) -> bool:
        if transaction not in self.fates:
            return not self.has("reads-open-ones", 0.3)
        return not self.fates[transaction] and not self.has("reads-aborted-ones", 0.3)


class Producer:
    def __init__(self, world: World, name: str, is_transactional: bool) -> None:
        self.world, self.name, self.is_transactional = world, name, is_transactional
        self.transaction: str | None = None
        self.is_in_doubt = False  # of what it has sent: then it does not ask for the commit
        world.lines.append(("client", {"process": name, "clock": "here"}))

    def step(self) -> None:
        if self.is_transactional and self.transaction is None:
            self.world.count += 1
            self.transaction = f"{self.name}.{self.world.count}"
            self.world.tell("begin", self.name, transaction=self.transaction)
        elif self.is_transactional and self.world.random.random() < 0.25:
            self.finish()
        else:
            self.send()

    def send(self) -> None:
        world, partition = self.world, self.world.random.randrange(PARTITIONS)
        value = world.value()
        outcome, happened = world.random.choice([world.outcome(), ("fail", False)] + [world.outcome()] * 5)
        if world.has("writes-what-it-refuses") and outcome == "fail":
            happened = True
        if world.has("forgets") and outcome == "ok":
            world.append(partition, f"other {value}", None)
            happened = False
        self.is_in_doubt |= outcome == "unknown"
        offset = world.append(partition, value, self.transaction) if happened else len(world.logs[partition]) - 1
        told = {"topic": TOPIC, "partition": partition, "value": value, "transaction": self.transaction}
        late_us = 300 if self.transaction else 5 * STEP_US
        is_told_where = outcome == "ok" and not (world.repeated and world.random.random() < 0.1)
        world.tell("send", self.name, late_us, outcome=outcome, offset=offset if is_told_where else None, **told)

    def finish(self) -> None:
        if self.transaction is None:
            return
        world, transaction, self.transaction = self.world, self.transaction, None
        world.now_us += STEP_US
        is_in_doubt, self.is_in_doubt = self.is_in_doubt, False
        if is_in_doubt or world.random.random() < 0.3:
            outcome, _ = world.outcome()
            world.end(transaction, False)
            world.tell("end", self.name, outcome=outcome, transaction=transaction, decision="abort")
        else:
            outcome, is_committed = world.outcome()
            world.end(transaction, is_committed)
            world.tell("end", self.name, outcome=outcome, transaction=transaction, decision="commit")


class Reader:
    """Has all partitions to itself, from the beginning."""

    def __init__(self, world: World, name: str, isolation: str) -> None:
        self.world, self.name, self.isolation = world, name, isolation
        self.positions = [0] * PARTITIONS
        world.lines.append(("client", {"process": name, "clock": "here", "isolation": isolation}))
        world.tell("assign", name, positions=[[TOPIC, partition, 0] for partition in range(PARTITIONS)])

    def step(self) -> None:
        partition = self.world.random.randrange(PARTITIONS)
        self.read(partition, self.world.random.randint(1, 4))
        if self.world.random.random() < 0.05:
            self.seek(partition, self.world.random.randint(0, self.positions[partition]))

    def read(self, partition: int, most: int, transaction: str | None = None) -> None:
        found = self.world.visible(partition, self.positions[partition], self.isolation)[:most]
        if found:
            self.positions[partition] = found[-1][0] + 1
            if self.world.has("returns"):
                self.positions[partition] = max(0, found[-1][0] - 1)
        records = [[TOPIC, partition, offset, value] for offset, value in found]
        self.world.tell("poll", self.name, records=records, transaction=transaction)

    def seek(self, partition: int, offset: int) -> None:
        self.positions[partition] = offset
        self.world.now_us += STEP_US
        self.world.tell("assign", self.name, how="seek", positions=[[TOPIC, partition, offset]])

    def finish(self) -> None:
        """Reads all there is, so that nothing is merely late."""
        for partition in range(PARTITIONS):
            self.world.now_us += STEP_US
            self.read(partition, 10**6)
        self.world.now_us += STEP_US
        self.world.tell("poll", self.name, records=[], ended_us=self.world.now_us + SILENCE_US)


class Member(Reader):
    """Shares the partitions with others, and goes on where the group is. May be killed amid a commit."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name, self.isolation = world, name, "read_committed"
        self.positions = [0] * PARTITIONS
        self.begins_a_life()

    def begins_a_life(self) -> None:
        self.world.lines.append(("client", {"process": self.name, "clock": "here", "group": "kitchen"}))

    @property
    def owned(self) -> list[int]:
        return [partition for partition in range(PARTITIONS) if self.world.owners[partition] is self]

    def step(self) -> None:
        if not self.owned:
            return
        partition = self.world.random.choice(self.owned)
        if self.world.random.random() < 0.7:
            self.read(partition, 3)
        else:
            self.commit(partition)

    def commit(self, partition: int) -> None:
        world = self.world
        outcome, happened = world.outcome()
        told: dict[str, Any] = {"group": "kitchen", "offsets": [[TOPIC, partition, self.positions[partition]]]}
        world.ask("commit", self.name, **told)
        if happened and not (outcome == "ok" and world.has("forgets-commits", 0.5)):
            world.committed[partition] = self.positions[partition]
            if world.has("invents-commits"):
                world.committed[partition] = len(world.logs[partition])
        if world.kills():
            self.dies()
        else:
            world.tell("commit", self.name, outcome=outcome, **told)

    def dies(self) -> None:
        """Its partitions are given to others, or to its next life, and it has revoked nothing."""
        self.begins_a_life()
        for partition in self.owned:
            self.world.now_us += STEP_US
            self.world.owners[partition] = self.world.random.choice(self.world.members)
            self.world.owners[partition].gets(partition)

    def gets(self, partition: int) -> None:
        self.positions[partition] = self.world.committed[partition]
        positions = [[TOPIC, partition, self.positions[partition]]]
        self.world.tell("assign", self.name, how="rebalance", positions=positions)

    def loses(self, partition: int) -> None:
        self.world.tell("revoke", self.name, partitions=[[TOPIC, partition]])


class Copier(Reader):
    """Alone in its group. In a transaction it reads a few records, sends one, and commits how far it has come."""

    def __init__(self, world: World) -> None:
        self.world, self.name, self.isolation = world, "copier", "read_committed"
        self.transaction: str | None = None
        self.begins_a_life()

    def begins_a_life(self) -> None:
        """What another has left open is aborted."""
        world = self.world
        if self.transaction is not None and self.transaction not in world.fates:
            world.end(self.transaction, False)
        self.transaction = None
        self.positions = list(world.copied)
        world.lines.append(("client", {"process": self.name, "clock": "here", "group": "copiers", "acks": "all"}))
        world.now_us += STEP_US
        positions = [[TOPIC, *place] for place in enumerate(self.positions)]
        world.tell("assign", self.name, how="rebalance", positions=positions)

    def step(self) -> None:
        world = self.world
        if self.transaction is None:
            world.count += 1
            self.transaction = f"{self.name}.{world.count}"
            world.tell("begin", self.name, transaction=self.transaction)
        elif world.random.random() < 0.5:
            self.read(world.random.randrange(PARTITIONS), 3, self.transaction)
        elif world.kills():
            self.begins_a_life()
        else:
            self.copies(self.transaction)

    def copies(self, transaction: str) -> None:
        """All in the same moment, but for what must come after the other."""
        world, partition, value = self.world, self.world.random.randrange(PARTITIONS), self.world.value()
        offset = world.append(partition, value, transaction)
        told: dict[str, Any] = {"topic": TOPIC, "partition": partition, "value": value, "offset": offset}
        world.tell("send", self.name, transaction=transaction, **told)
        offsets = [[TOPIC, *place] for place in enumerate(self.positions)]
        world.now_us += STEP_US
        world.tell("commit", self.name, group="copiers", offsets=offsets, transaction=transaction)
        world.now_us += STEP_US
        self.ends(transaction)

    def ends(self, transaction: str) -> None:
        world = self.world
        told: dict[str, Any] = {"transaction": transaction, "decision": "commit"}
        outcome, is_committed = world.outcome()
        world.ask("end", self.name, **told)
        world.end(transaction, is_committed)
        if is_committed and not world.has("forgets-what-was-copied", 0.9):
            world.copied = list(self.positions)
        if outcome == "ok" and not world.kills():
            world.tell("end", self.name, **told)
            self.transaction = None
        else:  # whoever does not know makes room for another, as whoever was killed does
            self.begins_a_life()

    def ends_what_it_has_begun(self) -> None:
        if self.transaction is not None:
            self.begins_a_life()
