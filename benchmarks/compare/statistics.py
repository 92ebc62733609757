"""How many requests librdkafka has sent, from the statistics that it gives of itself."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

INTERVAL_MS = 100
PATIENCE_S = 5.0


class RequestCount:
    """Give `settings` to a client, and `poll` it; `now` waits for the next word of it."""

    def __init__(self) -> None:
        self._requests = 0
        self._told = 0
        self.settings: dict[str, Any] = {"statistics.interval.ms": INTERVAL_MS, "stats_cb": self._note}

    def _note(self, text: str) -> None:
        self._requests = sum(broker["tx"] for broker in json.loads(text)["brokers"].values())
        self._told += 1

    def now(self, poll: Callable[[float], object]) -> int:
        told, deadline = self._told, time.perf_counter() + PATIENCE_S
        while self._told == told and time.perf_counter() < deadline:
            poll(0.02)
        return self._requests
