"""Transcripts: a command, a line of dashes, and everything the coordinator said to it (after etcd's).

    join group=g client=anna
    ----
    reply JoinGroupReply error_code=MEMBER_ID_REQUIRED member_id=anna-1

Blocks are separated by empty lines; a line that begins with # is a remark. A command is a word and `name=value`s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from uuid import UUID

from tests.groups.shell import Shell

from strandline.groups import commands
from strandline.groups.commands import Command, JoinProtocol, LeavingMember, OffsetToCommit, OwnedPartitions
from strandline.groups.settings import GroupSettings
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition

Words = dict[str, str]


def replayed(text: str) -> str:
    """The transcript with the answers of this coordinator."""
    player = Player()
    return "\n\n".join(player.played(block) for block in text.strip().split("\n\n")) + "\n"


class Player:
    def __init__(self) -> None:
        self.shell = Shell()
        self.ids_given: Counter[str] = Counter()

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
        if verb == "settings":
            self.shell = Shell(GroupSettings.from_properties({}, words))
            return []
        if verb == "topics":
            self.shell.set_topics(**{name: int(count) for name, count in words.items()})
            return []
        if verb == "log":
            self.shell.append_error = ErrorCode[words["error"]] if "error" in words else None
            return []
        if verb == "restart":
            return list(self.shell.restart().lines())
        if verb == "at":
            return self._at(int(words["ms"]))
        return list(self.shell.decide(self._command(verb, words)).lines())

    def _at(self, to_ms: int) -> list[str]:
        answers = []
        for key, decision in self.shell.advance(to_ms):
            answers += [f"{self.shell.now_ms}: {key} fires", *(f"  {line}" for line in decision.lines())]
        return answers

    def _command(self, verb: str, words: Words) -> Command:
        if verb in ("join", "beat") and not words.get("member"):
            name = words.get("instance", words.get("client", ""))
            self.ids_given[name] += 1
            words["unique_id"] = str(self.ids_given[name])
        return COMMANDS[verb](words)


def pairs(text: str) -> list[tuple[str, str]]:
    return [(name, rest) for name, _, rest in (item.partition(":") for item in text.split(",") if item)]


def partition(text: str) -> TopicPartition:
    topic, _, index = text.rpartition("-")
    return TopicPartition(topic, int(index))


def names(words: Words, key: str) -> tuple[str, ...]:
    return tuple(item for item in words.get(key, "").split(",") if item)


def join(words: Words) -> Command:
    protocols = pairs(words.get("protocols", "range"))
    return commands.JoinGroup(
        group=words["group"],
        member_id=words.get("member", ""),
        group_instance_id=words.get("instance"),
        client_id=words.get("client", ""),
        client_host="/host",
        session_timeout_ms=int(words.get("session", "10000")),
        rebalance_timeout_ms=int(words.get("rebalance", "60000")),
        protocol_type=words.get("type", "consumer"),
        protocols=tuple(JoinProtocol(name=name, metadata=metadata.encode()) for name, metadata in protocols),
        unique_id=words.get("unique_id", "none"),
        needs_member_id=words.get("old") != "yes",
        may_skip_assignment=words.get("old") != "yes",
    )


def sync(words: Words) -> Command:
    return commands.SyncGroup(
        group=words["group"],
        member_id=words["member"],
        group_instance_id=words.get("instance"),
        generation=int(words["generation"]),
        protocol=words.get("protocol"),
        assignments=tuple((member, data.encode()) for member, data in pairs(words.get("assign", ""))),
    )


def heartbeat(words: Words) -> Command:
    return commands.Heartbeat(
        group=words["group"],
        member_id=words["member"],
        group_instance_id=words.get("instance"),
        generation=int(words["generation"]),
    )


def leave(words: Words) -> Command:
    leaving = [LeavingMember(member_id=member) for member in names(words, "members")]
    leaving += [LeavingMember(group_instance_id=instance) for instance in names(words, "instances")]
    return commands.LeaveGroup(group=words["group"], members=tuple(leaving))


def offsets_of(words: Words) -> tuple[OffsetToCommit, ...]:
    found = []
    for name, rest in pairs(words["offsets"]):
        topic, index = partition(name)
        offset, _, metadata = rest.partition(":")
        found.append(OffsetToCommit(topic=topic, partition=index, offset=int(offset), metadata=metadata or None))
    return tuple(found)


def commit(words: Words) -> Command:
    return commands.OffsetCommit(
        group=words["group"],
        member_id=words.get("member", ""),
        group_instance_id=words.get("instance"),
        generation=int(words.get("generation", "-1")),
        retention_time_ms=int(words.get("retention", "-1")),
        offsets=offsets_of(words),
    )


def fetch(words: Words) -> Command:
    wanted = names(words, "partitions")
    return commands.OffsetFetch(
        group=words["group"],
        member_id=words.get("member"),
        member_epoch=int(words.get("epoch", "-1")),
        partitions=tuple(map(partition, wanted)) if wanted else None,
    )


def delete_offsets(words: Words) -> Command:
    return commands.OffsetDelete(
        group=words["group"], partitions=tuple(partition(name) for name in names(words, "partitions"))
    )


def beat(words: Words) -> Command:
    """`owns=orders-0,orders-1`, or `owns=` for nothing; without it the heartbeat does not say."""
    owned: dict[UUID, list[int]] = {}
    for name in names(words, "owns"):
        topic, index = partition(name)
        owned.setdefault(UUID(int=int.from_bytes(topic.encode()[:12], "big")), []).append(index)
    return commands.ConsumerGroupHeartbeat(
        group=words["group"],
        member_id=words.get("member", ""),
        member_epoch=int(words["epoch"]),
        instance_id=words.get("instance"),
        client_id=words.get("client", "c"),
        client_host="/host",
        rebalance_timeout_ms=int(words.get("rebalance", "-1")),
        subscribed_topic_names=names(words, "topics") if "topics" in words else None,
        subscribed_topic_regex=words.get("regex"),
        server_assignor=words.get("assignor"),
        owned_partitions=tuple(
            OwnedPartitions(topic_id=topic_id, partitions=tuple(held)) for topic_id, held in owned.items()
        )
        if "owns" in words
        else None,
        unique_id=words.get("unique_id", ""),
    )


COMMANDS: dict[str, Callable[[Words], Command]] = {
    "join": join,
    "sync": sync,
    "heartbeat": heartbeat,
    "leave": leave,
    "commit": commit,
    "fetch": fetch,
    "delete-offsets": delete_offsets,
    "delete-groups": lambda words: commands.DeleteGroups(groups=names(words, "groups")),
    "describe": lambda words: commands.DescribeGroups(groups=names(words, "groups")),
    "describe-consumers": lambda words: commands.ConsumerGroupDescribe(groups=names(words, "groups")),
    "list": lambda words: commands.ListGroups(states=names(words, "states"), types=names(words, "types")),
    "beat": beat,
}
