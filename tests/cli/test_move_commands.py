"""Leaders and replicas by the command line, on a cluster of three."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.commands import Commands

from strandline.testing import Cluster

LISTED = "leader.replication.throttled.replicas"
RATE = "leader.replication.throttled.rate"
NO_LIMIT = str(2**63 - 1)
WAIT_S = 20
SETTINGS = {
    "auto.leader.rebalance.enable": "false",
    "default.replication.factor": 2,
    "replica.fetch.wait.max.ms": 50,
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(SETTINGS, brokers=3) as running:
        yield running


@pytest.fixture
def commands(cluster: Cluster) -> Commands:
    """Of one broker alone: another may hear of a change a moment later."""
    return Commands(cluster.bootstrap.partition(",")[0])


def replicas_of(commands: Commands, topic: str) -> list[int]:
    (row,) = [row for row in commands.rows("cluster", "partitions") if row["topic"] == topic]
    found: list[int] = row["replicas"]
    return found


def create(commands: Commands, topic: str, *brokers: int) -> None:
    """With some records, one partition, and its replicas there."""
    commands("topic", "create", topic, "-p", "1", "-r", str(len(brokers)))
    commands("produce", topic, stdin=b"first\nsecond\n")
    commands("reassign", "execute", f"{topic}/0={','.join(map(str, brokers))}")
    deadline = time.monotonic() + WAIT_S
    while replicas_of(commands, topic) != list(brokers):  # the controller says that it is done before all have heard
        assert time.monotonic() < deadline
        time.sleep(0.01)


class TestReassign:
    def test_replicas_move(self, commands: Commands, topic: str) -> None:
        create(commands, topic, 1, 2)
        (row,) = commands.rows("reassign", "execute", f"{topic}/0=3,1")
        assert (row["before"], row["after"], row["adding"], row["removing"]) == ([1, 2], [3, 1], [3], [2])
        assert (row["status"], row["error"]) == ("moved", None)
        assert replicas_of(commands, topic) == [3, 1]
        assert commands.lines("consume", topic, "-e", "-f", r"%v\n") == ["first", "second"]

    def test_a_dry_run_moves_nothing(self, commands: Commands, topic: str) -> None:
        create(commands, topic, 1, 2)
        (row,) = commands.rows("reassign", "execute", f"{topic}/0=3,1", "--dry-run")
        assert row["status"] == "would move"
        assert replicas_of(commands, topic) == [1, 2]

    def test_a_plan_is_shown_written_and_executed(self, commands: Commands, topic: str, tmp_path: Path) -> None:
        create(commands, topic, 1, 2)
        path = str(tmp_path / "plan.json")
        (row,) = commands.rows("reassign", "plan", topic, "--brokers", "1,3", "-o", path)
        assert (row["before"], row["after"], row["status"]) == ([1, 2], [1, 3], "would move")
        assert json.loads(Path(path).read_text())["partitions"][0]["replicas"] == [1, 3]
        assert replicas_of(commands, topic) == [1, 2]
        (row,) = commands.rows("reassign", "execute", "-f", path)
        assert row["status"] == "moved"
        again = commands.run("reassign", "plan", topic, "--brokers", "1,3")
        assert again.stderr == "Nothing would move: replicas and leaders are spread as evenly as they can be.\n"

    def test_a_move_that_is_throttled_is_seen_and_cancelled(self, commands: Commands, topic: str) -> None:
        """Nothing is given to it, once something was counted."""
        create(commands, topic, 1, 2)
        commands("config", "set", topic, f"{LISTED}=*")
        for broker_id in "123":
            commands("config", "set", broker_id, f"{RATE}=0", "--entity", "broker")
        commands("produce", topic, "-p", "0", stdin=b"third\n")
        commands("reassign", "execute", f"{topic}/0=3,2", "--no-wait")
        (row,) = commands.rows("reassign", "status", topic)
        assert (sorted(row["before"]), row["after"], row["adding"]) == ([1, 2], [3, 2], [3])
        assert 0 <= row["copied_bytes"] < row["of_bytes"]
        dry_run = commands.run("reassign", "cancel", topic)
        assert "would be cancelled" in dry_run.stdout
        (row,) = commands.rows("reassign", "cancel", topic, "--execute")
        assert (sorted(row["after"]), row["status"]) == ([1, 2], "cancelled")
        assert commands.run("reassign", "status", topic).stderr == "Nothing is on the move.\n"
        assert not self._is_throttled(commands, topic)
        assert sorted(replicas_of(commands, topic)) == [1, 2]

    @staticmethod
    def _is_throttled(commands: Commands, topic: str) -> bool:
        (listed,) = commands.rows("config", "get", topic, LISTED)
        rates = [commands.rows("config", "get", each, RATE, "--entity", "broker")[0] for each in "123"]
        return bool(listed["value"]) or any(rate["value"] != NO_LIMIT for rate in rates)

    def test_a_throttle_is_lifted_when_all_is_done(self, commands: Commands, topic: str) -> None:
        create(commands, topic, 1, 2)
        commands("reassign", "execute", f"{topic}/0=3,1", "--throttle", "50M", "--no-wait")
        assert self._is_throttled(commands, topic)
        (listed,) = commands.rows("config", "get", topic, LISTED)
        assert listed["value"] == "0:1,0:2"
        commands("reassign", "status", topic, "--wait")
        assert not self._is_throttled(commands, topic)
        (row,) = commands.rows("reassign", "execute", f"{topic}/0=2,1", "--throttle", "50M")
        assert row["status"] == "moved"
        assert not self._is_throttled(commands, topic)

    def test_what_cannot_be_is_told(self, commands: Commands, topic: str) -> None:
        create(commands, topic, 1, 2)
        (row,) = commands.rows("reassign", "execute", f"{topic}/0=1,9", exit_code=1)
        assert row["error"] == "INVALID_REPLICA_ASSIGNMENT"
        assert "has no partition 7" in commands.refused("reassign", "execute", f"{topic}/7=1")
        assert "4 replicas need as many brokers" in commands.refused("reassign", "plan", topic, "-r", "4")
        for words in ([], [f"{topic}=1"], [f"{topic}/0=1,1"], [f"{topic}/0=1", "--throttle", "fast"]):
            assert commands.run("reassign", "execute", *words, exit_code=2).stderr


class TestLeaders:
    def test_the_preferred_leader_comes_back(self, cluster: Cluster, commands: Commands, topic: str) -> None:
        create(commands, topic, 2)
        commands("reassign", "execute", f"{topic}/0=1,2")  # it is led by 2 still
        assert cluster.leader(topic) == 2
        cluster.wait_for(lambda: commands.rows("leader", "elect", topic) or None, "the metadata")
        dry_run = commands.run("leader", "elect", topic)
        assert "would be elected" in dry_run.stdout
        assert cluster.leader(topic) == 2
        (row,) = commands.rows("leader", "elect", f"{topic}/0", "--execute")
        assert (row["leader"], row["preferred"], row["status"]) == (2, 1, "elected")
        assert cluster.leader(topic) == 1
        cluster.wait_for(lambda: commands.rows("leader", "elect", topic) == [] or None, "the metadata")

    def test_who_is_led_is_not_led_uncleanly(self, commands: Commands, topic: str) -> None:
        create(commands, topic, 2, 1)
        assert commands.rows("leader", "elect", topic, "--unclean") == []
        assert "does not exist" in commands.refused("leader", "elect", "nobody")
