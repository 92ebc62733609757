"""Entries of the journal as records: JSON, with the numbers for programs and `says` for people (SPEC R6).

{"time":1700000000000,"broker":1,"kind":"isr","topic":"orders","partition":0,
 "before":[1,2,3],"after":[1,2],"cause":"3 ends at 10 of 25, 10012 ms behind",
 "says":"partition orders-0: ISR 1,2,3→1,2, because 3 ends at 10 of 25, 10012 ms behind"}

leadership    an election, or another change of leader, ISR or epoch that the controller has decided
isr           a shrink or growth that the leader has had committed
epoch         where in the log the records of a new leader begin
truncation    what a follower has cut off, and why
assignment    which replicas a partition has, or is getting
topic, broker, controller     came, went, took over
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple, assert_never

from strandline.controller.journal import (
    AssignmentChanged,
    BrokerHappened,
    ControllerHappened,
    JournalEntry,
    LeadershipChanged,
    TopicHappened,
)
from strandline.controller.values import Leadership
from strandline.model.partitions import TopicPartition
from strandline.replication.effects import AssignEpoch, IsrChanged, TruncateFullyAndStartAt, TruncateTo, ids

ReplicaEntry = IsrChanged | AssignEpoch | TruncateTo | TruncateFullyAndStartAt


class Entry(NamedTuple):
    """One thing that has happened, with its time and who tells it."""

    time_ms: int
    broker_id: int
    kind: str
    says: str
    key: str  # what it is about
    facts: dict[str, Any]

    def value(self) -> bytes:
        told = {"time": self.time_ms, "broker": self.broker_id, "kind": self.kind, **self.facts, "says": self.says}
        return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()


def controller_entry(entry: JournalEntry, broker_id: int, now_ms: int) -> Entry:
    kind, key, facts = _controller_facts(entry)
    return Entry(now_ms, broker_id, kind, str(entry), key, facts)


def _controller_facts(entry: JournalEntry) -> tuple[str, str, dict[str, Any]]:
    match entry:
        case LeadershipChanged():
            facts = {
                **_place(entry.partition),
                "occasion": entry.occasion.value,
                "cause": entry.cause,
                "before": _leadership(entry.before),
                "after": _leadership(entry.after),
                "live": list(entry.live),
            }
            return "leadership", str(entry.partition), facts
        case AssignmentChanged():
            before = None if entry.before is None else str(entry.before)
            facts = {**_place(entry.partition), "cause": entry.cause, "before": before, "after": str(entry.after)}
            return "assignment", str(entry.partition), facts
        case TopicHappened(topic):
            return "topic", topic, {"topic": topic}
        case BrokerHappened(broker_id):
            return "broker", f"broker {broker_id}", {"about_broker": broker_id}
        case ControllerHappened(controller_id, controller_epoch):
            return "controller", "controller", {"controller": controller_id, "controller_epoch": controller_epoch}
        case _ as unreachable:
            assert_never(unreachable)


def replica_entry(partition: TopicPartition, effect: ReplicaEntry, broker_id: int, now_ms: int) -> Entry:
    kind, says, facts = _replica_facts(effect, broker_id)
    return Entry(
        now_ms, broker_id, kind, f"partition {partition}: {says}", str(partition), {**_place(partition), **facts}
    )


def _replica_facts(effect: ReplicaEntry, broker_id: int) -> tuple[str, str, dict[str, Any]]:
    match effect:
        case IsrChanged(previous_isr, isr, partition_epoch, cause):
            says = f"ISR {ids(previous_isr)}→{ids(isr)}, because {cause}"
            facts = {
                "before": list(previous_isr),
                "after": list(isr),
                "partition_epoch": partition_epoch,
                "cause": cause,
            }
            return "isr", says, facts
        case AssignEpoch(epoch, start_offset):
            says = f"broker {broker_id} leads, epoch {epoch} begins at {start_offset}"
            return "epoch", says, {"leader_epoch": epoch, "start_offset": start_offset}
        case TruncateTo(offset, cause):
            return "truncation", f"broker {broker_id} cuts its log at {offset}, because {cause}", _cut(offset, cause)
        case TruncateFullyAndStartAt(offset, cause):
            says = f"broker {broker_id} empties its log and begins at {offset}, because {cause}"
            return "truncation", says, _cut(offset, cause)
        case _ as unreachable:
            assert_never(unreachable)


def _place(partition: TopicPartition) -> dict[str, Any]:
    return {"topic": partition.topic, "partition": partition.partition}


def _leadership(leadership: Leadership | None) -> dict[str, Any] | None:
    if leadership is None:
        return None
    return {"leader": leadership.leader, "leader_epoch": leadership.leader_epoch, "isr": list(leadership.isr)}


def _cut(offset: int, cause: str) -> dict[str, Any]:
    return {"offset": offset, "cause": cause}
