"""Random walks through everything that can happen to three replicas (SPEC R2, R3, R5, R9; reliability.md 7.1, 1 to 6).

StrongIsr, WeakIsr, LeaderInIsr, one leader in an epoch, logs that agree, high watermarks that never move back, and that
nothing shown or acknowledged is ever lost: after every step. At the end everything heals.
"""

from __future__ import annotations

import random
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.replication import world as world_module
from tests.replication.walk import ELECTIONS, ONE_EPOCH, REPLICAS, WILD, Violation, Walk
from tests.replication.world import World

from strandline.replication import follower as follower_module
from strandline.replication.events import NO_LEADER
from strandline.replication.follower import Follower, FollowerState
from strandline.replication.isr import InSyncReplicas
from strandline.replication.leader import Leader
from strandline.replication.log_view import EpochEnd, LogView
from strandline.replication.progress import FollowerProgress
from strandline.replication.truncation import Cut

SEEDS = 40
STEPS = 150


def walked(seed: int, weights: dict[str, int], *, steps: int = STEPS, **options: Any) -> Walk:
    walk = Walk(random.Random(seed).randrange, weights=weights, **options)
    for _ in range(steps):
        walk.step()
    walk.heal()
    return walk


def told(walks: list[Walk], what: str) -> int:
    return sum(what in line for walk in walks for line in walk.world.lines)


@pytest.mark.parametrize("min_insync_replicas", [1, 2])
@pytest.mark.parametrize("weights", [WILD, ELECTIONS, ONE_EPOCH], ids=["wild", "elections", "one epoch"])
def test_nothing_committed_is_lost(weights: dict[str, int], min_insync_replicas: int) -> None:
    walks = [walked(seed, weights, min_insync_replicas=min_insync_replicas) for seed in range(SEEDS)]
    # Walks in which nothing happens would show nothing.
    assert sum(len(walk.committed) for walk in walks) > 2 * SEEDS
    assert sum(len(walk.world.acknowledged) for walk in walks) > SEEDS / 5
    happens = ["alter isr", "nobody knows"]
    if weights is not ONE_EPOCH:
        assert sum(walk.world.state.leader_epoch for walk in walks) > 5 * SEEDS
        happens += ["truncate to", "FENCED_LEADER_EPOCH", "no longer leader", "fenced: "]
    assert [event for event in happens if told(walks, event) < SEEDS / 5] == []


def test_nothing_committed_is_lost_by_followers_that_fetch_at_once() -> None:
    """As Kafka's do: the answer to a fetch alone tells where the logs part."""

    def fetch_at_once(follower: Follower) -> tuple[()]:
        follower.state = FollowerState.LEADERLESS if follower.leader == NO_LEADER else FollowerState.FETCHING
        return ()

    with patch.object(Follower, "begin", fetch_at_once):
        walks = [walked(seed, WILD) for seed in range(SEEDS)]
    assert told(walks, "answer diverging") > SEEDS / 5


@settings(max_examples=40, deadline=None)
@given(
    st.randoms(use_true_random=False),
    st.integers(1, len(REPLICAS)),
    st.sampled_from([WILD, ELECTIONS, ONE_EPOCH]),
)
def test_the_invariants_hold(numbers: random.Random, min_insync_replicas: int, weights: dict[str, int]) -> None:
    walk = Walk(numbers.randrange, weights=weights, min_insync_replicas=min_insync_replicas)
    for _ in range(40):
        walk.step()
    walk.heal()


def cut_at_the_answer(log: LogView, leader_end: EpochEnd, *, high_watermark: int) -> Cut:
    end_offset = high_watermark if leader_end.is_undefined else leader_end.end_offset
    return Cut(min(end_offset, log.log_end_offset), True)


def has_reached_epoch(leader: InSyncReplicas, progress: FollowerProgress) -> bool:
    return progress.log_end_offset >= leader.epoch_start_offset


def proposed_isr(leader: InSyncReplicas) -> tuple[int, ...]:
    return leader.isr if leader.pending is None else leader.pending.isr


def committed_isr(leader: InSyncReplicas) -> tuple[int, ...]:
    return leader.isr


def give_up(leader: InSyncReplicas, _: object) -> None:
    """A proposal whose end is unknown is taken for refused."""
    leader._settle(leader.isr, leader.partition_epoch)


def never(*_: object, **__: object) -> None:
    """Nothing diverges."""


MUTATIONS: dict[str, tuple[dict[str, int], list[tuple[object, str, object]]]] = {
    "epochs do not matter to where a log is cut": (
        ELECTIONS,
        [(follower_module, "cut_for", cut_at_the_answer), (world_module, "diverging_epoch", never)],
    ),
    "a follower joins below the high watermark": (
        ONE_EPOCH,
        [(InSyncReplicas, "_has_reached_commits", has_reached_epoch)],
    ),
    "a proposed isr counts as committed": (ONE_EPOCH, [(InSyncReplicas, "maximal_isr", property(proposed_isr))]),
    "a proposed isr does not count": (ONE_EPOCH, [(InSyncReplicas, "maximal_isr", property(committed_isr))]),
    "an unknown end is taken for a refusal": (ONE_EPOCH, [(InSyncReplicas, "_compare", give_up)]),
    "the high watermark waits for nobody": (ONE_EPOCH, [(Leader, "_least_in_sync", lambda _: 2**63)]),
}


@pytest.mark.parametrize("safeguard", MUTATIONS)
def test_the_walks_find_what_is_wrong(safeguard: str) -> None:
    weights, changes = MUTATIONS[safeguard]
    with ExitStack() as stack:
        for target, name, replacement in changes:
            stack.enter_context(patch.object(target, name, replacement))
        assert finds_violation(weights)


def test_the_walks_find_a_log_cut_at_the_high_watermark() -> None:
    """Row 1: without leader epochs StrongIsr does not hold."""
    assert finds_violation(ELECTIONS, uses_leader_epochs=False)


def finds_violation(weights: dict[str, int], **options: Any) -> bool:
    for seed in range(1000):
        try:
            walked(seed, weights, **options)
        except Violation:
            return True
    return False


def test_the_leaders_of_the_world_can_be_told_apart() -> None:
    """The walk sees what it should: two that presume to lead, one of which does."""
    world = World(Walk(lambda _: 0).world.settings)
    for replica in REPLICAS:
        world.start(replica)
    world.deliver(world.decide(1, REPLICAS, REPLICAS), 1)
    world.deliver(world.decide(2, REPLICAS), 2)
    assert [replica.presumes_leadership for replica in world.observed()] == [True, True, False]
