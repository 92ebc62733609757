"""What the network has done, as plain integers: nothing is looked up or formatted where requests are handled."""

from __future__ import annotations

from typing import NamedTuple


class Traffic(NamedTuple):
    requests: int = 0
    received_bytes: int = 0
    sent_bytes: int = 0

    def plus(self, other: Traffic) -> Traffic:
        return Traffic(*map(sum, zip(self, other, strict=True)))


class NetworkCounters:
    __slots__ = (
        "accepted", "accepting_delayed", "closed", "closed_for_memory", "closed_for_protocol", "closed_idle",
        "closed_stalled", "closed_traffic", "cold_reads", "refused",
    )  # fmt: skip

    def __init__(self) -> None:
        self.accepted = 0
        self.accepting_delayed = 0  # by max.connection.creation.rate
        self.refused = 0  # beyond max.connections or max.connections.per.ip
        self.closed = 0
        self.closed_idle = 0
        self.closed_stalled = 0
        self.closed_for_memory = 0
        self.closed_for_protocol = 0
        self.cold_reads = 0
        self.closed_traffic = Traffic()  # connections that are open count for themselves
