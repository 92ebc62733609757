"""`strandline cluster up` and its companions, with real processes: a whole life of a cluster, and what can go wrong."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.cluster_commands import WAIT_S, ClusterCommands, wait_until

from strandline.cluster.process_cluster import ProcessCluster

QUICK = ("--port", "0", "--set", "zookeeper.session.timeout.ms=2000")
ALL_RUN = {"zookeeper 1": "running", "broker 1": "running", "broker 2": "running", "broker 3": "running"}


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[ClusterCommands]:
    commands = ClusterCommands(tmp_path)
    yield commands
    commands.close()


def test_a_life_of_a_cluster(commands: ClusterCommands) -> None:
    said = commands("cluster", "up", "--brokers", "3", "--detach", *QUICK)
    assert "broker 1 is ready at 127.0.0.1:" in said
    assert "strandline cluster down --dir cluster stops all of it." in said
    assert commands.states() == ALL_RUN
    bootstrap = commands.status()["bootstrap"]
    assert commands.status()["state"] == "up"

    commands("topic", "create", "orders", "-r", "3", "-b", bootstrap)
    commands("produce", "orders", "-b", bootstrap, stdin="one\ntwo\n")
    assert commands("consume", "orders", "-o", "start", "-e", "-b", bootstrap) == "one\ntwo\n"

    assert commands("cluster", "kill", "2").startswith("broker 2 was killed; start it again with `strandline cluster ")
    assert commands.states() == ALL_RUN | {"broker 2": "stopped"}
    assert commands.status()["state"] == "partly up"
    wait_until(lambda: commands.in_sync("orders", bootstrap) == [1, 3])
    assert sum(row["under_replicated"] or 0 for row in commands.status()["processes"]) >= 1
    commands("produce", "orders", "-b", bootstrap, stdin="three\n")

    commands("cluster", "start", "2")
    wait_until(lambda: commands.in_sync("orders", bootstrap) == [1, 2, 3])
    assert commands("cluster", "stop", "1") == "broker 1 has stopped.\n"
    assert commands.states() == ALL_RUN | {"broker 1": "stopped"}
    wait_until(lambda: commands.status()["controller"] in (2, 3))

    down = commands("cluster", "down").splitlines()
    assert sorted(down[:2]) == ["broker 2 has stopped.", "broker 3 has stopped."]
    assert down[2:] == ["zookeeper 1 has stopped."]
    assert set(commands.states().values()) == {"stopped"}
    assert commands("cluster", "down") == "Nothing of the cluster in cluster runs.\n"

    commands("cluster", "up", "--detach")  # the same cluster, with its data, at its ports
    assert commands.status()["bootstrap"] == bootstrap
    assert commands("consume", "orders", "-o", "start", "-e", "-b", bootstrap) == "one\ntwo\nthree\n"
    commands("cluster", "down")


def test_in_the_foreground_until_it_is_interrupted(commands: ClusterCommands) -> None:
    up = commands.start("cluster", "up", "--brokers", "2", *QUICK)
    assert up.stdout is not None
    lines = iter(up.stdout.readline, "")
    said = [next(line for line in lines if line.startswith("Ctrl-C"))]
    commands("cluster", "kill", "2")
    said.append(next(lines))
    commands("cluster", "start", "2")
    said.append(next(lines))
    assert [line.partition("  ")[2] for line in said[1:2]] == ["broker 2 is gone\n"]
    assert "broker 2 runs again, as process " in said[2]
    up.send_signal(signal.SIGINT)
    assert "  zookeeper 1 has stopped\n" in list(lines)
    assert up.wait(WAIT_S) == 0
    assert set(commands.states().values()) == {"stopped"}


def test_the_foreground_ends_with_a_cluster_that_is_taken_down(commands: ClusterCommands) -> None:
    up = commands.start("cluster", "up", "--brokers", "1", *QUICK)
    assert up.stdout is not None
    lines = iter(up.stdout.readline, "")
    next(line for line in lines if line.startswith("Ctrl-C"))
    commands("cluster", "down")
    assert list(lines)[-1] == "Nothing of the cluster runs any more.\n"
    assert up.wait(WAIT_S) == 0


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_while_it_starts_it_leaves_nothing(commands: ClusterCommands, ending: signal.Signals) -> None:
    up = commands.start("cluster", "up", *QUICK)
    wait_until(lambda: (commands.folder / "cluster" / "broker-1" / "broker.pid").exists())
    up.send_signal(ending)
    said, _ = up.communicate(timeout=WAIT_S)
    assert up.returncode == 130
    assert "Interrupted; what this command has started is ended." in said
    assert set(commands.states().values()) == {"stopped"}


def test_what_is_missing_is_started_and_what_runs_is_let_be(commands: ClusterCommands) -> None:
    commands("cluster", "up", "--brokers", "2", "--detach", *QUICK)
    before = {row["process"]: row["pid"] for row in commands.status()["processes"]}
    where = "127.0.0.1:"
    assert commands.refused("cluster", "up", "--detach").startswith(f"The cluster in cluster is up already, at {where}")
    assert commands.refused("cluster", "start", "2") == f"Broker 2 runs already, as process {before['broker 2']}."
    assert commands.refused("cluster", "up", "--set", "num.partitions=2") == (
        "Ports and settings do not change while brokers run, as broker 1, broker 2 in cluster:"
        " first `strandline cluster down --dir cluster`."
    )
    commands("cluster", "kill", "2")
    assert "Running already: zookeeper 1, broker 1.\n" in commands("cluster", "up", "--detach")
    after = {row["process"]: row["pid"] for row in commands.status()["processes"]}
    assert {name for name in after if after[name] != before[name]} == {"broker 2"}


def test_two_that_start_the_same_cluster_do_not_meet(commands: ClusterCommands) -> None:
    ProcessCluster.create(commands.folder / "cluster", brokers=1).close()
    both = [commands.start("cluster", "up", "--detach") for _ in range(2)]
    ends = sorted((up.wait(WAIT_S), up.communicate()[0]) for up in both)
    assert [code for code, _ in ends] == [0, 1]
    assert "is up already" in ends[1][1]


def test_an_ensemble_of_three(commands: ClusterCommands) -> None:
    commands("cluster", "up", "--zookeepers", "3", "--brokers", "1", "--detach", *QUICK)
    found = commands.status()
    assert [row["process"] for row in found["processes"]] == ["zookeeper 1", "zookeeper 2", "zookeeper 3", "broker 1"]
    assert len(found["zookeeper"].split(",")) == 3
    commands("produce", "orders", "-b", found["bootstrap"], stdin="one\n")
    assert commands.refused("cluster", "up", "--zookeepers", "1") == (
        "The cluster in cluster has 3 servers of ZooKeeper, not 1: leave --zookeepers out, or choose another --dir."
    )


def test_a_paused_broker_is_seen_and_can_be_stopped(commands: ClusterCommands) -> None:
    commands("cluster", "up", "--brokers", "2", "--detach", *QUICK)
    cluster = ProcessCluster.find(commands.folder / "cluster")
    cluster.pause(2)
    assert commands.states()["broker 2"] == "paused"
    cluster.resume(2)
    wait_until(lambda: commands.states()["broker 2"] == "running")
    cluster.pause(2)
    commands("cluster", "stop", "2")
    assert commands.states()["broker 2"] == "stopped"


def test_a_pid_that_a_stranger_has_by_now_is_left_alone(commands: ClusterCommands) -> None:
    """As after a reboot: here the stranger is the test itself."""
    ProcessCluster.create(commands.folder / "cluster", brokers=1).close()
    broker = commands.folder / "cluster" / "broker-1"
    broker.mkdir()
    (broker / "broker.pid").write_text(f"{os.getpid()} 1")
    assert commands.states()["broker 1"] == "stopped"
    sentence = "Broker 1 does not run: start it with `strandline cluster start 1 --dir cluster`."
    assert commands.refused("cluster", "kill", "1") == sentence
    assert commands.refused("cluster", "stop", "1") == sentence
    commands("cluster", "down")
    commands("cluster", "up", "--detach")
    assert commands.states()["broker 1"] == "running"


def test_a_broker_that_does_not_start_takes_the_others_with_it(commands: ClusterCommands) -> None:
    said = commands.refused("cluster", "up", *QUICK, "--set", "num.partitions=many")
    assert said.startswith("broker ")
    assert "has ended while it was waited for; the last line of " in said
    assert "broker.log: strandline: num.partitions='many': expected a whole number" in said
    assert set(commands.states().values()) == {"stopped"}
