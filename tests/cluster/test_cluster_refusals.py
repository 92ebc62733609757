"""What `strandline cluster` cannot do: one sentence, which says what to do next, and nothing is started."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.cluster.cluster_commands import ClusterCommands

from strandline.cli.main import cli
from strandline.cluster import zookeeper_installation
from strandline.cluster.cluster_plan import ClusterRefused, load_plan
from strandline.cluster.directory_lock import locked
from strandline.cluster.ports import HOST, PORT_MAX
from strandline.cluster.process_cluster import ProcessCluster
from strandline.cluster.zookeeper_ensemble import ZooKeeperEnsemble


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[ClusterCommands]:
    commands = ClusterCommands(tmp_path)
    yield commands
    commands.close()


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.create_server((HOST, 0)) as server:
        yield int(server.getsockname()[1])


def made(commands: ClusterCommands, **options: str) -> ProcessCluster:
    """A cluster that does not run."""
    cluster = ProcessCluster.create(commands.folder / "cluster", brokers=2, **options)  # type: ignore[arg-type]
    cluster.close()
    return cluster


@pytest.mark.parametrize("command", [("status",), ("down",), ("start", "1"), ("stop", "1"), ("kill", "1")])
def test_where_there_is_no_cluster(commands: ClusterCommands, command: tuple[str, ...]) -> None:
    assert commands.refused("cluster", *command, "--dir", "elsewhere") == (
        "There is no cluster in elsewhere: begin one with `strandline cluster up --dir elsewhere`."
    )


@pytest.mark.parametrize("command", ["start", "stop", "kill"])
def test_a_broker_that_the_cluster_does_not_have(commands: ClusterCommands, command: str) -> None:
    made(commands)
    assert commands.refused("cluster", command, "7") == "There is no broker 7 in cluster: its brokers are 1, 2."


@pytest.mark.parametrize("command", ["stop", "kill"])
def test_a_broker_that_does_not_run(commands: ClusterCommands, command: str) -> None:
    made(commands)
    assert commands.refused("cluster", command, "2") == (
        "Broker 2 does not run: start it with `strandline cluster start 2 --dir cluster`."
    )


def test_a_broker_without_its_zookeeper(commands: ClusterCommands) -> None:
    made(commands)
    assert commands.refused("cluster", "start", "1") == (
        "ZooKeeper does not run, without which a broker cannot start:"
        " start all with `strandline cluster up --dir cluster`."
    )


def test_a_folder_of_something_else(commands: ClusterCommands) -> None:
    (commands.folder / "photos").mkdir()
    (commands.folder / "photos" / "sea.jpg").touch()
    (commands.folder / "file").touch()
    for name in ("photos", "file"):
        assert commands.refused("cluster", "up", "--dir", name) == (
            f"{name} has in it what is not a cluster's: choose another --dir."
        )


@pytest.mark.parametrize("content", ["", "{", "[]", '{"brokers": {}}', '{"brokers": {"one": 1}, "settings": {}}'])
def test_a_damaged_plan(commands: ClusterCommands, content: str) -> None:
    made(commands)
    (commands.folder / "cluster" / "cluster.json").write_text(content)
    for command in ("up", "status", "down"):
        assert commands.refused("cluster", command) == (
            "cluster/cluster.json is damaged, and cannot be read as the plan of a cluster:"
            " write it anew, or choose another --dir."
        )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--brokers", "5"), "2 brokers, not 5: leave --brokers out"),
        (("--zookeepers", "3"), "1 server of ZooKeeper, not 3: leave --zookeepers out"),
    ],
)
def test_a_cluster_is_not_made_anew(commands: ClusterCommands, options: tuple[str, ...], sentence: str) -> None:
    made(commands)
    assert commands.refused("cluster", "up", *options) == (
        f"The cluster in cluster has {sentence}, or choose another --dir."
    )


def test_nor_given_another_zookeeper(commands: ClusterCommands) -> None:
    connect = made(commands).connect
    assert commands.refused("cluster", "up", "--zookeeper", "example.org:2181") == (
        f"The cluster in cluster has its ZooKeeper at {connect}, not at example.org:2181:"
        " leave --zookeeper out, or choose another --dir."
    )


def test_a_port_that_is_taken(commands: ClusterCommands, taken: int) -> None:
    advice = "Choose other ports with --port (0 takes any that are free), or end what has it: `ss -ltnp` shows who."
    problem = f"Port {taken} cannot be had: Address already in use. {advice}"
    assert commands.refused("cluster", "up", "--brokers", "1", "--port", str(taken)) == problem
    assert list(commands.folder.iterdir()) == []
    made(commands)
    plan = commands.folder / "cluster" / "cluster.json"
    plan.write_text(plan.read_text().replace(str(load_plan(str(plan.parent)).brokers[2]), str(taken)))
    assert commands.refused("cluster", "up") == f"broker 2 cannot start. {problem}"
    assert set(commands.states().values()) == {"stopped"}


def test_a_cluster_moves_to_other_ports(commands: ClusterCommands) -> None:
    cluster = made(commands)
    first = min(cluster.plan.brokers.values())
    moved = cluster.changed(0, {"num.partitions": "2"})
    try:
        assert min(moved.plan.brokers.values()) != first
        assert load_plan(cluster.directory) == moved.plan
        assert moved.connect == cluster.connect
        assert moved.plan.settings["num.partitions"] == "2"
    finally:
        moved.close()


def test_more_ports_than_there_are(commands: ClusterCommands) -> None:
    assert commands.refused("cluster", "up", "--port", str(PORT_MAX)) == (
        f"There are no 3 ports from {PORT_MAX} on: the last one is {PORT_MAX}."
    )


def test_settings_that_are_not_for_all_brokers_alike(commands: ClusterCommands) -> None:
    assert commands.refused("cluster", "up", "--set", "broker.id=7") == (
        "broker.id is not the same for all brokers, and the cluster sets it: leave it out."
    )


def test_without_java(commands: ClusterCommands) -> None:
    """What runs could still be stopped and looked at."""
    commands.environment["JAVA_HOME"] = "nowhere"
    sentence = "There is no bin/java in nowhere, which JAVA_HOME names."
    assert commands.refused("cluster", "up") == sentence
    assert list(commands.folder.iterdir()) == []
    made(commands)
    assert commands.refused("cluster", "up") == sentence
    assert set(commands.states().values()) == {"stopped"}
    assert commands("cluster", "down") == "Nothing of the cluster in cluster runs.\n"


def test_without_pyspark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(zookeeper_installation, "find_spec", lambda _: None)
    result = CliRunner().invoke(cli, ["cluster", "up", "--dir", str(tmp_path / "cluster")])
    assert result.exit_code == 1
    assert result.stderr.endswith(
        "PySpark, which is not installed: in Strandline's checkout run `pip install -e '.[cluster]'`.\n"
    )


def test_a_zookeeper_that_does_not_answer(commands: ClusterCommands) -> None:
    with socket.socket() as unheard:
        unheard.bind((HOST, 0))
        connect = f"{HOST}:{unheard.getsockname()[1]}/chroot"
        assert commands.refused("cluster", "up", "--port", "0", "--zookeeper", connect) == (
            f"No ZooKeeper answers at {connect}: start it, or leave --zookeeper out,"
            " and the cluster has one of its own."
        )
    assert commands.refused("cluster", "up", "--port", "0", "--dir", "other", "--zookeeper", "::").startswith(
        "zookeeper.connect='::': expected host:port,host:port/chroot"
    )


def test_a_zookeeper_of_another(commands: ClusterCommands, zookeeper: ZooKeeperEnsemble) -> None:
    connect = f"{zookeeper.connect}/{commands.folder.name}"
    options = ("--port", "0", "--zookeeper", connect, "--set", "zookeeper.session.timeout.ms=2000")
    commands("cluster", "up", "--brokers", "2", "--detach", *options)
    found = commands.status()
    assert found["zookeeper"] == connect
    assert [row["process"] for row in found["processes"]] == ["broker 1", "broker 2"]
    commands("produce", "orders", "-b", found["bootstrap"], stdin="one\n")
    said = commands.refused("cluster", "up", "--brokers", "1", "--dir", "twin", *options)
    assert said.startswith("broker 1 has ended while it was waited for; the last line of ")
    commands("cluster", "down")
    assert zookeeper.servers[0].is_running


def test_one_command_at_a_time(tmp_path: Path) -> None:
    sentence = f"^Another command is at work on the cluster in {tmp_path}: try again after it.$"
    with locked(str(tmp_path)), pytest.raises(ClusterRefused, match=sentence), locked(str(tmp_path), timeout_s=0.01):
        pass


def test_misuse_is_told_by_its_own_exit_code(commands: ClusterCommands) -> None:
    for arguments in (
        ("up", "--brokers", "0"),
        ("up", "--zookeepers", "2"),
        ("up", "--zookeepers", "3", "--zookeeper", "localhost:2181"),
        ("kill",),
        ("kill", "two"),
    ):
        assert commands.run("cluster", *arguments).returncode == 2
    assert list(commands.folder.iterdir()) == []
