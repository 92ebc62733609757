"""The coordinator's state, and a decision in the making."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from strandline.groups.classic_group import ClassicGroup
from strandline.groups.consumer_group import ConsumerGroup
from strandline.groups.decisions import Decision, Released, ReleasedReply, Ticket, TimerKey
from strandline.groups.offsets import Offsets
from strandline.groups.records import GroupRecord
from strandline.groups.replies import Reply
from strandline.groups.settings import GroupSettings
from strandline.model.coordinator_timers import TimedDraft

Group = ClassicGroup | ConsumerGroup


class Topic(NamedTuple):
    topic_id: UUID
    partitions: int


class CoordinatorState:
    __slots__ = ("groups", "last_ticket", "offsets", "settings", "timers", "topics", "topics_version")

    def __init__(self, settings: GroupSettings) -> None:
        self.settings = settings
        self.groups: dict[str, Group] = {}
        self.offsets = Offsets()
        self.topics: Mapping[str, Topic] = {}
        self.topics_version = 0  # goes up with every change of topics
        self.timers: dict[TimerKey, int] = {}  # those set, with their times
        self.last_ticket = 0

    def classic_group(self, group_id: str) -> ClassicGroup | None:
        group = self.groups.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    def consumer_group(self, group_id: str) -> ConsumerGroup | None:
        group = self.groups.get(group_id)
        return group if isinstance(group, ConsumerGroup) else None


class Draft(TimedDraft[TimerKey]):
    __slots__ = ("_records", "_released", "_state", "_ticket")

    def __init__(self, state: CoordinatorState, now_ms: int) -> None:
        super().__init__(state.timers, now_ms)
        self._state = state
        self._records: list[GroupRecord] = []
        self._released: dict[Ticket, ReleasedReply] = {}
        self._ticket: Ticket | None = None

    def append(self, *records: GroupRecord) -> None:
        self._records.extend(records)

    def park(self) -> Ticket:
        """The request at hand waits."""
        self._state.last_ticket += 1
        self._ticket = Ticket(self._state.last_ticket)
        return self._ticket

    def release(self, ticket: Ticket | None, reply: ReleasedReply) -> None:
        if ticket is not None:
            self._released[ticket] = reply

    def decision(self, reply: Reply | None) -> Decision:
        """A request that was parked and released again at once just has its reply."""
        if self._ticket in self._released:
            reply = self._released.pop(self._ticket)
            self._ticket = None
        return Decision(
            records=tuple(self._records),
            reply=reply,
            ticket=self._ticket,
            released=tuple(Released(ticket, answer) for ticket, answer in self._released.items()),
            timers=self._decided_timers(),
        )
