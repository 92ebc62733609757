"""What became of a write: committed, or to be found out."""

from __future__ import annotations

from strandline.controller.assignments import assignment_committed, assignment_impossible, assignment_uncertain
from strandline.controller.changes import (
    Change,
    CreateLeadership,
    CreateTopic,
    RemoveTopic,
    RequestDeletion,
    SetLeadership,
    SetTopic,
)
from strandline.controller.creation import creation_failed, creation_uncertain, topic_created
from strandline.controller.deletion import (
    deletion_request_uncertain,
    deletion_requested,
    removal_uncertain,
    topic_removed,
)
from strandline.controller.draft import Draft
from strandline.controller.effects import Write
from strandline.controller.events import Outcome, PartitionsRead, WriteAnswered
from strandline.controller.settling import leadership_committed, leadership_read, leadership_uncertain
from strandline.controller.values import counted
from strandline.model.failures import ErrorCode, Refused


def write_answered(draft: Draft, event: WriteAnswered) -> None:
    write = draft.cluster.writes.pop(event.write_id, None)
    if write is None:
        return
    if event.outcome is Outcome.FENCED:
        draft.resign(f"/controller_epoch is not at version {write.controller_epoch_version} any more")
        return
    first = write.changes[0]
    if isinstance(first, CreateTopic):
        creation_answered(draft, write, first, event.outcome)
        return
    for change in write.changes:
        if event.outcome is Outcome.COMMITTED:
            committed(draft, change)
        elif event.outcome is Outcome.IMPOSSIBLE and isinstance(change, SetTopic):
            assignment_impossible(draft, change)
        else:
            uncertain(draft, change, event.outcome, is_alone=len(write.changes) == 1)


def creation_answered(draft: Draft, write: Write, change: CreateTopic, outcome: Outcome) -> None:
    creation = draft.cluster.creating.get(change.topic)
    if creation is None or creation.change is not change:
        return  # another has made such a topic, and we have seen it
    if outcome is Outcome.COMMITTED:
        topic_created(draft, write, creation)
    elif outcome is Outcome.IMPOSSIBLE:
        size = counted(len(change.assignment.partitions), "partition")
        why = f"topic {change.topic!r} with {size} does not fit into a znode"
        creation_failed(draft, creation, Refused(ErrorCode.INVALID_PARTITIONS, why))
    else:
        creation_uncertain(draft, creation)


def committed(draft: Draft, change: Change) -> None:
    match change:
        case CreateLeadership() | SetLeadership():
            leadership_committed(draft, change.partition, change)
        case SetTopic():
            assignment_committed(draft, change)
        case RemoveTopic():
            topic_removed(draft, change)
        case RequestDeletion():
            deletion_requested(draft, change.topic)
        case _:
            pass  # what was dropped was done with


def uncertain(draft: Draft, change: Change, outcome: Outcome, *, is_alone: bool) -> None:
    match change:
        case CreateLeadership() | SetLeadership():
            leadership_uncertain(draft, change.partition, change)
        case SetTopic():
            assignment_uncertain(draft, change)
        case RemoveTopic():
            removal_uncertain(draft, change)
        case RequestDeletion() if outcome is Outcome.UNKNOWN or not is_alone:
            deletion_request_uncertain(draft, change)
        case RequestDeletion():
            deletion_requested(draft, change.topic)  # it is there already
        case _:
            pass  # seen again with the next read, and dropped again


def partitions_read(draft: Draft, event: PartitionsRead) -> None:
    for name, found in event.leaderships.items():
        leadership_read(draft, name, found, event.restarted.get(name, frozenset()))
