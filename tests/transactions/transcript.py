"""Transcripts: a command, a line of dashes, and everything the coordinator said to it (after etcd's).

    init id=pay
    ----
    append pay -> {state=EMPTY producer_id=1000 producer_epoch=0 timeout_ms=60000 last_update_ms=0}
    reply InitProducerIdReply producer_id=1000 producer_epoch=0

Blocks are separated by empty lines; a line that begins with # is a remark. A command is a word and `name=value`s. A
producer is written as its id and epoch, `1000/0`; `old=yes` is a client before KIP-890 and before PRODUCER_FENCED.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.transactions.shell import Shell, partitions

from strandline.model.failures import ErrorCode
from strandline.transactions import commands
from strandline.transactions.commands import Command
from strandline.transactions.markers import Marker
from strandline.transactions.records import Transaction
from strandline.transactions.settings import TransactionSettings
from strandline.transactions.states import TransactionState

Words = dict[str, str]


def replayed(text: str) -> str:
    """The transcript with the answers of this coordinator."""
    player = Player()
    return "\n\n".join(player.played(block) for block in text.strip().split("\n\n")) + "\n"


class Player:
    def __init__(self) -> None:
        self.shell = Shell()

    def played(self, block: str) -> str:
        lines = block.split("\n")
        head = lines[: lines.index("----")] if "----" in lines else lines
        asked = [line for line in head if not line.startswith("#")]
        if not asked:
            return block
        answers = [line for command in asked for line in self.answers(command)]
        return "\n".join([*head, "----", *(answers or ["nothing"])])

    def answers(self, line: str) -> list[str]:
        verb, *rest = line.split()
        words = dict(word.split("=", 1) for word in rest)
        if verb in COMMANDS:
            return list(self.shell.decide(COMMANDS[verb](words)).lines())
        answers: list[str] | None = getattr(self, verb.replace("-", "_"))(words)
        return answers or []

    def settings(self, words: Words) -> None:
        version = int(words.pop("transaction.version", "2"))
        self.shell = Shell(TransactionSettings.from_properties({}, words), version)

    def log(self, words: Words) -> None:
        self.shell.append_error = ErrorCode[words["error"]] if "error" in words else None

    def blocks(self, words: Words) -> None:
        self.shell.has_blocks = words["come"] == "yes"

    def restart(self, _words: Words) -> list[str]:
        return list(self.shell.restart().lines())

    def resign(self, _words: Words) -> list[str]:
        return list(self.shell.shard.resigned(self.shell.now_ms).lines())

    def clock(self, words: Words) -> None:
        """Set: the timers, which go by another clock, fire no sooner and no later."""
        self.shell.set_clock(int(words["ms"]))

    def at(self, words: Words) -> list[str]:
        answers = []
        for key, decision in self.shell.advance(int(words["ms"])):
            answers += [f"{self.shell.now_ms}: {key} fires", *(f"  {line}" for line in decision.lines())]
        return answers

    def record(self, words: Words) -> None:
        producer_id, _, producer_epoch = words["producer"].partition("/")
        self.shell.put(
            words["id"],
            Transaction(
                state=TransactionState[words["state"]],
                producer_id=int(producer_id),
                producer_epoch=int(producer_epoch),
                timeout_ms=60_000,
                partitions=partitions(words.get("partitions", "").split(",")),
                start_ms=int(words.get("start", "-1")),
                last_update_ms=self.shell.now_ms,
            ),
        )

    def written(self, words: Words) -> list[str]:
        """The results of the marker that was last sent for an id, or that `number` says; all partitions are well, or
        `all=ERROR`, or `results=orders-0:ERROR`."""
        number = int(words.get("number", "0"))
        marker = next(marker for marker in reversed(self.shell.sent) if is_meant(marker, words["id"], number))
        event = marker.all_partitions(ErrorCode[words.get("all", "NONE")])
        if "results" in words:
            found = (entry.partition(":") for entry in words["results"].split(","))
            event = marker.written((partitions([name])[0], ErrorCode[error or "NONE"]) for name, _, error in found)
        return list(self.shell.markers_written(event).lines())


def is_meant(marker: Marker, transactional_id: str, number: int) -> bool:
    return marker.transactional_id == transactional_id and number in (0, marker.number)


def producer_of(words: Words) -> dict[str, int]:
    producer_id, _, producer_epoch = words.get("producer", "-1/-1").partition("/")
    return {"producer_id": int(producer_id), "producer_epoch": int(producer_epoch)}


def init(words: Words) -> Command:
    return commands.InitProducerId(
        transactional_id=words["id"],
        transaction_timeout_ms=int(words.get("timeout", "60000")),
        knows_fencing=words.get("old") != "yes",
        **producer_of(words),
    )


def add(words: Words) -> Command:
    return commands.AddPartitions(
        transactional_id=words["id"],
        partitions=partitions(words["partitions"].split(",")),
        verify_only=words.get("verify") == "yes",
        client_version=0 if "old" in words or "verify" in words else 2,
        knows_fencing=words.get("old") != "yes",
        **producer_of(words),
    )


def offsets(words: Words) -> Command:
    return commands.AddOffsets(
        transactional_id=words["id"],
        offsets_partition=int(words["partition"]),
        knows_fencing=words.get("old") != "yes",
        **producer_of(words),
    )


def end(words: Words, is_commit: bool) -> Command:
    return commands.EndTransaction(
        transactional_id=words["id"],
        is_commit=is_commit,
        bumps_epoch=words.get("old") != "yes",
        knows_fencing=words.get("old") != "yes",
        **producer_of(words),
    )


def listed(words: Words) -> Command:
    return commands.ListTransactions(
        states=tuple(name for name in words.get("states", "").split(",") if name),
        producer_ids=tuple(int(number) for number in words.get("producers", "").split(",") if number),
        longer_than_ms=int(words.get("longer", "-1")),
    )


COMMANDS: dict[str, Callable[[Words], Command]] = {
    "init": init,
    "add": add,
    "offsets": offsets,
    "commit": lambda words: end(words, is_commit=True),
    "abort": lambda words: end(words, is_commit=False),
    "describe": lambda words: commands.DescribeTransactions(transactional_ids=tuple(words["ids"].split(","))),
    "list": listed,
    "deleted": lambda words: commands.PartitionsDeleted(partitions=partitions(words["partitions"].split(","))),
}
