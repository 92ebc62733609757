"""What a process was when it did something: its settings may be others since it was started again.

A process tells of itself when it starts, by a `client` line; that line is for those that follow it. As a producer and
as a consumer it may tell apart, and be started again apart: each has lives of its own. The first life has also what was
written before its line.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable
from typing import TypeAlias

from strandline.history.operations import Begin, Client, End, Isolation, Send, TimedOperation

Role: TypeAlias = dict[str, list[Client]]  # by process, one for each life


class Lives:
    def __init__(self) -> None:
        self._producers: Role = {}
        self._consumers: Role = {}
        self._roles = (self._producers, self._consumers)

    def note(self, client: Client) -> None:
        if client.tells_of_producer:
            self._producers.setdefault(client.process, []).append(client)
        if client.tells_of_consumer:
            self._consumers.setdefault(client.process, []).append(client)

    def settle(self) -> None:
        """Once all are noted. Who tells of one role is that in the other too."""
        for one, other in ((self._producers, self._consumers), (self._consumers, self._producers)):
            for process, clients in one.items():
                clients.sort(key=lambda client: client.number)
                other.setdefault(process, clients)
        for process in self._producers:
            self._share_clock_of_roles(process)

    def _share_clock_of_roles(self, process: str) -> None:
        """Who has one life as the one, and named no clock, has that of the other, if that was the same in all lives."""
        for role, other in (self._roles, self._roles[::-1]):
            first, clocks = role[process][0], {client.clock for client in other[process]}
            if len(role[process]) == len(clocks) == 1 and first.clock is None:
                role[process] = [first._replace(clock=clocks.pop())]

    def clients(self) -> list[Client]:
        return [client for role in self._roles for lives in role.values() for client in lives]

    def was_started_again(self, process: str) -> bool:
        """As a producer."""
        return len(self._producers.get(process, ())) > 1

    def client(self, operation: TimedOperation) -> Client:
        """The defaults, of a process that told nothing."""
        lives = self._role(operation).get(operation.process)
        if lives is None:
            return Client(0, operation.process)
        return lives[0] if len(lives) == 1 else lives[_index(lives, operation)]

    def number(self, operation: TimedOperation) -> int:
        """Which of its lives it was, from 0."""
        lives = self._role(operation).get(operation.process)
        return 0 if lives is None or len(lives) == 1 else _index(lives, operation)

    def timeline(self, operation: TimedOperation) -> Hashable:
        """Operations are compared by time if they have the same: of who names no clock, that of this life."""
        clock = self.client(operation).clock
        return (operation.process, self.number(operation)) if clock is None else clock

    def share_clock(self, one: TimedOperation, other: TimedOperation) -> bool:
        return self.timeline(one) == self.timeline(other)

    def reads_committed(self, operation: TimedOperation) -> bool:
        return self.client(operation).isolation is Isolation.READ_COMMITTED

    def is_promised(self, send: Send) -> bool:
        """An acknowledgement by all in-sync replicas: any other may be broken by a change of leaders."""
        return self.client(send).acks == -1

    def _role(self, operation: TimedOperation) -> Role:
        return self._producers if isinstance(operation, Send | Begin | End) else self._consumers


def _index(lives: list[Client], operation: TimedOperation) -> int:
    return max(0, bisect_right(lives, operation.number, key=lambda client: client.number) - 1)
