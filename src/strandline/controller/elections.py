"""Who leads next: one function for each kind of election (SPEC R6, T5).

All take `replicas` in the order of the assignment, of which the first is preferred, and `live`, those that may lead:
registered, not shutting down, on a log directory that works. All answer None where nobody can be elected. A leader out
of the ISR has every committed record; only the unclean election gives that up.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence


def offline_election(replicas: Sequence[int], isr: Collection[int], live: Collection[int]) -> int | None:
    """The leader is gone: the first live replica that is in sync."""
    return next((broker_id for broker_id in replicas if broker_id in live and broker_id in isr), None)


def unclean_election(replicas: Sequence[int], live: Collection[int]) -> int | None:
    """Nobody in sync is left, and it is allowed to lose records rather than wait: the first live replica."""
    return next((broker_id for broker_id in replicas if broker_id in live), None)


def preferred_election(replicas: Sequence[int], isr: Collection[int], live: Collection[int]) -> int | None:
    """Leaders have drifted: the first of the assignment, if it can, and nobody else."""
    return next((broker_id for broker_id in replicas[:1] if broker_id in live and broker_id in isr), None)


def reassignment_election(target: Sequence[int], isr: Collection[int], live: Collection[int]) -> int | None:
    """The partition moves away from its leader: the first of those it moves to."""
    return next((broker_id for broker_id in target if broker_id in live and broker_id in isr), None)


def controlled_shutdown_election(
    replicas: Sequence[int], isr: Collection[int], live: Collection[int], shutting_down: Collection[int]
) -> int | None:
    """The leader is about to go, and still serves: the first in sync that stays."""
    staying = (broker_id for broker_id in replicas if broker_id not in shutting_down)
    return next((broker_id for broker_id in staying if broker_id in live and broker_id in isr), None)
