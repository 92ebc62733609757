"""What the network has done, as plain integers: nothing is looked up or formatted where requests are handled."""

from __future__ import annotations


class NetworkCounters:
    __slots__ = (
        "accepted", "closed", "closed_for_memory", "closed_for_protocol", "closed_idle", "closed_stalled", "cold_reads",
        "received_bytes", "refused", "requests", "sent_bytes",
    )  # fmt: skip

    def __init__(self) -> None:
        self.accepted = 0
        self.refused = 0  # beyond max.connections or max.connections.per.ip
        self.closed = 0
        self.closed_idle = 0
        self.closed_stalled = 0
        self.closed_for_memory = 0
        self.closed_for_protocol = 0
        self.cold_reads = 0
        # Of the connections that are closed; the open ones count for themselves.
        self.requests = 0
        self.received_bytes = 0
        self.sent_bytes = 0

    def add_closed(self, requests: int, received_bytes: int, sent_bytes: int) -> None:
        self.closed += 1
        self.requests += requests
        self.received_bytes += received_bytes
        self.sent_bytes += sent_bytes
