"""`strandline cluster events` and `cluster health`, on a cluster of three (SPEC R6, T6)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from tests.cli.commands import Commands

from strandline.cli.event_lines import as_text, by_time, collapsed
from strandline.testing import Cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Which has lost broker 3, and has had it back."""
    with Cluster(offsets_topic_num_partitions=4) as three:
        three.create_topic("orders", 3)
        # What only its leader has of the journal goes with it, and that may be broker 3.
        three.wait_for(lambda: is_told(three), "the creation to be told")
        three.kill(3)
        three.wait_for(lambda: three.in_sync("__consumer_offsets", 3) == tuple(in_sync(three)), "the loss to be seen")
        yield three


def in_sync(cluster: Cluster) -> list[int]:
    return [each for each in cluster.replicas("__consumer_offsets")[3] if each != 3]


def created(cluster: Cluster) -> list[str]:
    lines = Commands(cluster.bootstrap).lines("cluster", "events")
    return [line for line in lines if line.endswith("4 partitions of __consumer_offsets: created")]


def is_told(cluster: Cluster) -> bool:
    with suppress(AssertionError):  # there may be no journal yet
        return len(created(cluster)) == 1
    return False


@pytest.fixture
def commands(cluster: Cluster) -> Commands:
    return Commands(cluster.bootstrap)


def epochs_told(commands: Commands, topic: str) -> dict[int, int]:
    rows = commands.rows("cluster", "events", "-t", topic, "-k", "epoch")
    return {row["partition"]: row["leader_epoch"] for row in rows}


def test_events_are_in_the_order_of_their_times(cluster: Cluster, commands: Commands) -> None:
    cluster.wait_for(lambda: len(epochs_told(commands, "orders")) == 3, "all epochs")
    times = [row["time"] for row in commands.rows("cluster", "events")]
    assert times == sorted(times)


def test_every_epoch_after_the_first_is_told_also_of_an_empty_log(cluster: Cluster, commands: Commands) -> None:
    expected = {index: cluster.leader_epoch("orders", index) for index in range(3)}
    assert min(expected.values()) > 0
    cluster.wait_for(lambda: epochs_told(commands, "orders") == expected, "all epochs")
    assert commands.rows("cluster", "events", "-k", "truncation") == [], "no follower had anything to cut"


def test_internal_topics_take_one_line(cluster: Cluster, commands: Commands) -> None:
    assert len(created(cluster)) == 1
    lines = commands.lines("cluster", "events")
    assert not [line for line in lines if "partition __consumer_offsets-" in line and "created" in line]
    assert [line for line in lines if "partition orders-1: " in line]
    for option in (["--internal"], ["-t", "__consumer_offsets"]):
        assert [line for line in commands.lines("cluster", "events", *option) if "__consumer_offsets-3: " in line]
    assert set(lines) <= set(commands.lines("cluster", "events", "--since", "1h"))


def test_health_too(commands: Commands) -> None:
    told = commands("cluster", "health", exit_code=1).splitlines()
    assert told[0].endswith("missing: broker 3.")
    assert "4 partitions of __consumer_offsets: under-replicated" in told
    assert sum(line.startswith("orders") for line in told) == 3
    assert sum(line.startswith("__consumer") for line in told) == 0
    shown = commands("cluster", "health", "--internal", exit_code=1).splitlines()
    assert sum(line.startswith("__consumer_offsets") for line in shown) == 4


def test_what_happens_again_later_is_told_again() -> None:
    def election(time_ms: int, partition: int, cause: str) -> dict[str, Any]:
        place = {"topic": "__consumer_offsets", "partition": partition}
        says = f"partition __consumer_offsets-{partition}: {cause}"
        return {"time": time_ms, "kind": "leadership", "cause": cause, "says": says, **place}

    entries = [election(5, 1, "leader 1 lost"), election(3, 0, "leader 1 lost"), election(9_000, 0, "leader 1 lost")]
    entries.append(election(4, 2, "replica 1 lost"))
    assert list(map(as_text, collapsed(by_time(entries)))) == [
        "1970-01-01 00:00:00.003  leadership  2 partitions of __consumer_offsets: leader 1 lost",
        "1970-01-01 00:00:00.004  leadership  partition __consumer_offsets-2: replica 1 lost",
        "1970-01-01 00:00:09.000  leadership  partition __consumer_offsets-0: leader 1 lost",
    ]
