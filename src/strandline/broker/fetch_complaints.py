"""What a follower hears instead of an answer, told once it has lasted: else a replica that follows nothing looks quiet.

A refusal, or a leader that is away, is an everyday thing for a moment, and nobody wants to read of it.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable
from typing import NamedTuple

logger = logging.getLogger(__name__)

TOLD_AFTER_MS = 10_000


class _Trouble(NamedTuple):
    since_ms: int
    is_told: bool


class FetchComplaints:
    """`elapsed_ms` is of the clock that nobody can set; `of` is whatever the caller tells troubles apart by."""

    __slots__ = ("_leader_id", "_troubles")

    def __init__(self, leader_id: int) -> None:
        self._leader_id = leader_id
        self._troubles: dict[Hashable, _Trouble] = {}

    def __bool__(self) -> bool:
        return bool(self._troubles)

    def failed(self, of: Hashable, name: str, reason: str, elapsed_ms: int) -> None:
        trouble = self._troubles.setdefault(of, _Trouble(elapsed_ms, False))
        if not trouble.is_told and elapsed_ms - trouble.since_ms >= TOLD_AFTER_MS:
            self._troubles[of] = trouble._replace(is_told=True)
            seconds = TOLD_AFTER_MS // 1000
            logger.warning(
                "%s: nothing was fetched from leader %d for %d s: %s", name, self._leader_id, seconds, reason
            )

    def is_over(self, of: Hashable) -> None:
        self._troubles.pop(of, None)
