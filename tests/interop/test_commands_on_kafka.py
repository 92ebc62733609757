"""Our client and our commands against Apache Kafka itself, 3.9 with ZooKeeper and 4.3 with KRaft.

Everything that `tests/cli` says of our own broker in detail must hold of Kafka in the main.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import WAIT_S, Commands
from tests.interop.broker import Broker, format_directory, kraft_broker, zookeeper, zookeeper_broker
from tests.interop.kafka import Kafka

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def running(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    work = tmp_path_factory.mktemp(f"commands-{kafka.series}")
    data = work / "data"
    if kafka.series != "3.9":
        format_directory(kafka, data, work)
        with kraft_broker(kafka, data, work) as broker:
            yield broker
        return
    data.mkdir()
    with (
        zookeeper(kafka, work / "zookeeper", work) as address,
        zookeeper_broker(kafka, data, work, address) as broker,
    ):
        yield broker


@pytest.fixture(scope="module")
def commands(running: Broker) -> Commands:
    return Commands(running.bootstrap)


@pytest.fixture
def topic(commands: Commands, request: pytest.FixtureRequest) -> str:
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    (row,) = commands.rows("topic", "create", name, "-p", "3", "-c", "retention.ms=3600000")
    assert row["status"] == "created"
    return name


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_go_in_and_come_out(commands: Commands, topic: str, codec: str) -> None:
    lines = b"".join(b"k%d:v%d\n" % (number % 20, number) for number in range(2000))
    commands("produce", topic, "-K", ":", "-z", codec, stdin=lines)
    read = commands("consume", topic, "-e", "-K", ":").encode()
    assert sorted(read.splitlines()) == sorted(lines.splitlines())
    assert len(commands.lines("consume", topic, "-o", "-5", "-e")) == 15


def test_a_round_trip_through_json(commands: Commands, topic: str) -> None:
    commands("produce", topic, "-K", ":", "-Z", "-H", "h=1", stdin=b'a:{"x": 1.0}\nb:\n')
    commands("produce", topic, "-f", r"%k{hex}|%v{hex}\n", stdin=b"ff|fe00\n")
    commands("topic", "create", f"{topic}-copy")
    commands("produce", f"{topic}-copy", "-J", stdin=commands("consume", topic, "-eJ").encode())

    def contents(name: str) -> list[dict[str, object]]:
        places = ("topic", "partition", "offset")
        lines = [json.loads(line) for line in commands.lines("consume", name, "-eJ")]
        kept = [{key: value for key, value in line.items() if key not in places} for line in lines]
        return sorted(kept, key=str)

    assert contents(topic) == contents(f"{topic}-copy")
    assert len(contents(topic)) == 3


def test_a_key_goes_where_javas_client_sends_it(kafka: Kafka, running: Broker, commands: Commands, topic: str) -> None:
    """The same keys, through `kafka-console-producer` and through ours, lie in the same partitions."""
    keys = [f"key-{number}" for number in range(60)]
    commands("produce", topic, "-K", ":", stdin="".join(f"{key}:ours\n" for key in keys).encode())
    console = "kafka.tools.ConsoleProducer" if kafka.series == "3.9" else "org.apache.kafka.tools.ConsoleProducer"
    done = kafka.run(
        console,
        *("--bootstrap-server", running.bootstrap, "--topic", topic),
        *("--property", "parse.key=true", "--property", "key.separator=:"),
        stdin="".join(f"{key}:theirs\n" for key in keys),
    )
    assert done.exit_code == 0, done.stderr
    places = {}
    for value in ("ours", "theirs"):
        lines = commands.lines("consume", topic, "-e", "-f", r"%k %p %v\n")
        places[value] = {line.split()[0]: line.split()[1] for line in lines if line.endswith(value)}
    assert places["ours"] == places["theirs"]
    assert len(places["ours"]) == 60


def test_a_group_is_shared_with_itself_and_goes_on(commands: Commands, topic: str) -> None:
    commands("produce", topic, "-K", ":", stdin=b"".join(b"%d:%d\n" % (n, n) for n in range(60)))
    with commands.start("consume", topic, "-g", topic) as one, commands.start("consume", topic, "-g", topic) as other:
        _until(commands, topic, members=2, lag=0)
        for member in (one, other):
            member.terminate()
            assert member.wait(WAIT_S) == 0
    _until(commands, topic, members=0, lag=0)
    commands("produce", topic, stdin=b"later\n")
    assert commands.lines("consume", topic, "-g", topic, "-e") == ["later"]
    (row,) = commands.rows("group", "seek", topic, "--to", "start", "-t", topic, "--execute")[:1]
    assert row["after"] == 0
    assert len(commands.lines("consume", topic, "-g", topic, "-e")) == 61
    assert commands.rows("group", "lag", topic)[0]["lag"] == 0
    commands("group", "offset-delete", topic, "-t", f"{topic}:0", "--execute")
    (row,) = commands.rows("group", "delete", topic, "--execute")
    assert row["status"] == "deleted"


def _until(commands: Commands, group: str, *, members: int, lag: int) -> None:
    deadline_s = time.monotonic() + WAIT_S
    found: dict[str, Any] = {}
    while (found.get("members"), found.get("lag")) != (members, lag):
        assert time.monotonic() < deadline_s, found
        there = [row["group"] for row in commands.rows("group", "list")]
        if group in there:
            (found,) = commands.rows("group", "describe", group)


def test_topics_settings_and_the_cluster(commands: Commands, topic: str) -> None:
    commands("produce", topic, "-p", "0", stdin=b"".join(b"%d\n" % number for number in range(10)))
    (row,) = commands.rows("topic", "describe", topic, "-a")
    assert [each["high_watermark"] for each in row["partition_list"]] == [10, 0, 0]
    assert {each["name"]: each["source"] for each in row["configs"]}["retention.ms"] == "topic"
    (row,) = commands.rows("topic", "alter", topic, "-c", "retention.ms=7200000")
    assert (row["before"], row["after"]) == ("3600000", "7200000")
    (row,) = commands.rows("config", "unset", topic, "retention.ms")
    assert row["after"] == "604800000"
    (row,) = commands.rows("config", "set", topic, "nonsense=1", exit_code=1)
    assert row["error"] == "INVALID_CONFIG"
    (row,) = commands.rows("config", "get", "--entity", "broker", "1", "num.io.threads")
    assert (row["value"], row["source"]) == ("2", "server.properties")
    (row,) = commands.rows("topic", "add-partitions", topic, "-n", "1")
    assert (row["after"], row["error"]) == (4, None)
    rows = commands.rows("topic", "trim", topic, "--before", "-3", "--execute")
    assert rows[0]["new_start"] == 7
    assert commands.rows("offsets", topic, "-p", "0")[0]["start"] == 7
    assert commands("cluster", "health").startswith("Healthy: 1 broker")
    assert commands.rows("cluster", "info")[0]["brokers"] == 1
    (row,) = commands.rows("topic", "delete", topic, "--execute")
    assert row["status"] == "deleted"


def test_benchmarks(commands: Commands, topic: str) -> None:
    assert commands("bench", "produce", topic, "-n", "1000").startswith("1000 records sent, ")
    assert commands.rows("bench", "consume", topic)[0]["records"] == 1000
    assert commands.rows("bench", "e2e", f"{topic}-e2e", "-p", "1", "-n", "5")[0]["records"] == 5


def test_failures_are_sentences(commands: Commands, topic: str, tmp_path: Path) -> None:
    assert commands.refused("consume", f"{topic}-gone", "-e").startswith(f"topic {topic}-gone: it does not exist")
    assert "there is no such group" in commands.refused("group", "describe", f"{topic}-gone")
    (row,) = commands.rows("topic", "create", topic, exit_code=1)
    assert row["error"] == "TOPIC_ALREADY_EXISTS"
    commands("topic", "alter", topic, "-c", "max.message.bytes=1000")
    assert "MESSAGE_TOO_LARGE" in commands.refused("produce", topic, stdin=b"x" * 5000)
    assert not list(tmp_path.iterdir())
