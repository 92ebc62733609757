"""Transcripts: a command, a line of dashes, and everything the controller said to it (after etcd's).

    lose 1
    ----
    journal broker 1: lost, broker epoch 10
    write #2 set partition orders-0 leader 2 epoch 1 isr [2] version 1 if version 0
    > write #2 committed
    journal partition orders-0: leader 1 lost; elected 2 from ISR [1,2], ISR [1,2]→[2], epoch 0→1

A line that begins with > is an answer of the store. Blocks are separated by empty lines; a line that begins with # is a
remark. A command is a word, bare values, and `name=value`s.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from tests.controller.shell import Shell

from strandline.controller import events, requests
from strandline.controller.effects import TimerKind
from strandline.controller.events import Outcome
from strandline.controller.settings import ControllerSettings
from strandline.controller.values import ReplicaAssignment, TopicAssignment
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition

Words = dict[str, str]


def replayed(text: str) -> str:
    """The transcript with the answers of this controller."""
    player = Player()
    return "\n\n".join(player.played(block) for block in text.strip().split("\n\n")) + "\n"


def partition(text: str) -> TopicPartition:
    topic, _, index = text.rpartition("-")
    return TopicPartition(topic, int(index))


def numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(",") if number)


class Player:
    def __init__(self) -> None:
        self.shell = Shell()
        self.request = 0

    def played(self, block: str) -> str:
        lines = block.split("\n")
        head = lines[: lines.index("----")] if "----" in lines else lines
        asked = [line for line in head if not line.startswith("#")]
        if not asked:
            return block
        self.shell.lines = []
        for line in asked:
            verb, *rest = line.split()
            words = dict(word.split("=", 1) for word in rest if "=" in word)
            self._command(verb, [word for word in rest if "=" not in word], words)
        return "\n".join([*head, "----", *(self.shell.lines or ["nothing"])])

    def _command(self, verb: str, values: list[str], words: Words) -> None:
        if verb == "settings":
            self.shell = Shell(ControllerSettings.from_properties({}, words))
        elif verb in STORE:
            STORE[verb](self.shell, values, words)
        elif verb in SEEN:
            self.shell.step(SEEN[verb](values, words))
        else:
            asked = [[topic] for topic in values] if verb == "delete" else [values]
            first, self.request = self.request + 1, self.request + len(asked)
            self.shell.step(*(REQUESTS[verb](number, each, words) for number, each in enumerate(asked, first)))


def brokers(shell: Shell, values: list[str], words: Words) -> None:
    """Before the first controller: `brokers 1 2 3 racks=a,b,c`."""
    racks = words.get("racks", "")
    shell.brokers(
        *map(int, values), racks=dict(zip(map(int, values), racks.split(","), strict=True)) if racks else None
    )


def restart_all(shell: Shell, values: list[str], _words: Words) -> None:
    """All brokers go, the controller with them; these are back, and the first of them is controller."""
    shell.brokers()
    shell.brokers(*map(int, values))
    shell.take_over(int(values[0]))


def hold(shell: Shell, _values: list[str], _words: Words) -> None:
    shell.is_holding = True


def release(shell: Shell, _values: list[str], _words: Words) -> None:
    shell.is_holding = False
    shell.answer_all()


def shut_out(shell: Shell, _values: list[str], _words: Words) -> None:
    """Somebody else becomes controller, and this one has not noticed."""
    shell.store.controller_epoch += 1


def tool_creates(shell: Shell, values: list[str], _words: Words) -> None:
    """`tool-creates orders 0:1,2 1:2,3`: straight into the store."""
    topic, *placed = values
    assignments = {
        int(index): ReplicaAssignment(numbers(ids)) for index, _, ids in (one.partition(":") for one in placed)
    }
    version = shell.store.topics[topic][1] + 1 if topic in shell.store.topics else 0
    shell.store.topics[topic] = (TopicAssignment(UUID(int=7), assignments), version)
    shell.step(shell.store.topic_seen(topic))


def tool_deletes(shell: Shell, values: list[str], _words: Words) -> None:
    shell.store.deletion_requests |= set(values)
    shell.step(events.DeletionRequestsSeen(frozenset(shell.store.deletion_requests)))


def tool_moves(shell: Shell, _values: list[str], words: Words) -> None:
    shell.store.move_requests = {partition(name): numbers(to) for name, to in words.items()}
    shell.step(events.MoveRequestsSeen(dict(shell.store.move_requests)))


def tool_elects(shell: Shell, values: list[str], _words: Words) -> None:
    shell.store.election_request = frozenset(map(partition, values))
    shell.step(events.ElectionRequestSeen(shell.store.election_request))


def at(shell: Shell, values: list[str], _words: Words) -> None:
    shell.now_ms = int(values[0])
    if shell.timer_at_ms is not None and shell.timer_at_ms <= shell.now_ms:
        shell.timer_at_ms = None
        shell.step(events.TimerFired(TimerKind.REBALANCE))


def store(shell: Shell, _values: list[str], _words: Words) -> None:
    """What the znodes say."""
    for topic, (assignment, version) in sorted(shell.store.topics.items()):
        shell.lines.append(f"topic {topic} {assignment} version {version}")
    for name, leadership in sorted(shell.store.leaderships.items()):
        shell.lines.append(f"partition {name} {leadership}")


STORE: dict[str, Callable[[Shell, list[str], Words], None]] = {
    "brokers": brokers,
    "controller": lambda shell, values, _words: shell.take_over(int(values[0])),
    "join": lambda shell, values, _words: shell.join(*map(int, values)),
    "lose": lambda shell, values, _words: shell.lose(*map(int, values)),
    "restart-all": restart_all,
    "bounce": lambda shell, values, _words: shell.bounce(int(values[0])),
    "hold": hold,
    "release": release,
    "answer": lambda shell, _values, _words: shell.answer(),
    "lose-answer": lambda shell, _values, words: shell.lose_answer(is_written=words["written"] == "yes"),
    "refuse": lambda shell, _values, words: shell.refuse(Outcome[words["outcome"]]),
    "write-silently": lambda shell, _values, _words: shell.write_silently(),
    "shut-out": shut_out,
    "isr": lambda shell, values, words: shell.change_isr(
        partition(values[0]), *numbers(values[1]), is_notified=words.get("notified") != "no"
    ),
    "stopped": lambda shell, values, words: shell.answer_stops(
        int(values[0]), ErrorCode[words.get("error", ErrorCode.NONE.name)]
    ),
    "storage-error": lambda shell, values, _words: shell.storage_error(int(values[0]), *map(partition, values[1:])),
    "tool-creates": tool_creates,
    "tool-deletes": tool_deletes,
    "tool-moves": tool_moves,
    "tool-elects": tool_elects,
    "at": at,
    "store": store,
}

SEEN: dict[str, Callable[[list[str], Words], events.Event]] = {
    "log-dir-failed": lambda values, _words: events.LogDirFailuresSeen(
        frozenset(map(int, values)), ("log_dir_event_0000000000",)
    ),
    "unclean": lambda values, words: events.UncleanElectionChanged(
        words.get("topic"), {"true": True, "false": False}.get(values[0])
    ),
    "moved-away": lambda _values, _words: events.ControllerMoved("the session is over"),
}


def create(request: int, values: list[str], words: Words) -> requests.Request:
    """`create orders partitions=2 replicas=3 start=0`, or `create orders placement=1,2/2,3`."""
    placement = dict(enumerate(map(numbers, words["placement"].split("/")))) if "placement" in words else None
    return requests.CreateTopicRequest(
        request=request,
        topic=values[0],
        topic_id=UUID(int=1000 + request),
        partition_count=int(words.get("partitions", "1")),
        replication_factor=int(words.get("replicas", "1")),
        placement=placement,
        start_index=int(words.get("start", "0")),
        shift=int(words.get("shift", "0")),
        validate_only="validate" in values,
    )


def grow(request: int, values: list[str], words: Words) -> requests.Request:
    placement = tuple(map(numbers, words["placement"].split("/"))) if "placement" in words else None
    return requests.AddPartitionsRequest(
        request=request, topic=values[0], partition_count=int(words["to"]), placement=placement
    )


def move(request: int, values: list[str], words: Words) -> requests.Request:
    may_change_factor = words.pop("factor", "") != "kept"
    targets: dict[TopicPartition, tuple[int, ...] | None] = {partition(name): None for name in values}
    targets |= {partition(name): numbers(to) for name, to in words.items()}
    return requests.AlterReassignmentsRequest(request=request, targets=targets, may_change_factor=may_change_factor)


def elect(request: int, values: list[str], _words: Words) -> requests.Request:
    kind, *names = values
    return requests.ElectLeadersRequest(
        request=request,
        kind=requests.ElectionKind(kind),
        partitions=None if names == ["all"] else tuple(map(partition, names)),
    )


def shutdown(request: int, values: list[str], words: Words) -> requests.Request:
    return requests.ControlledShutdownRequest(
        request=request, broker_id=int(values[0]), broker_epoch=int(words.get("epoch", "1000"))
    )


REQUESTS: dict[str, Callable[[int, list[str], Words], requests.Request]] = {
    "create": create,
    "grow": grow,
    "delete": lambda request, values, _words: requests.DeleteTopicRequest(request=request, topic=values[0]),
    "move": move,
    "cancel": move,
    "elect": elect,
    "shutdown": shutdown,
}
