"""Groups by the command line, on a real broker."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from tests.cli.commands import WAIT_S, Commands

from strandline.testing import Broker


@pytest.fixture
def group(commands: Commands, topic: str) -> str:
    """A group of the topic's name, which has read 4 of 10 records and has no member."""
    commands("produce", topic, stdin=b"".join(b"%d\n" % number for number in range(10)))
    assert len(commands.lines("consume", topic, "-g", topic, "-n", "4")) == 4
    return topic


def committed(commands: Commands, group: str) -> list[int]:
    (row,) = commands.rows("group", "describe", group)
    return [each["committed"] for each in row["partitions"]]


def test_groups_are_listed_and_described(commands: Commands, group: str) -> None:
    (row,) = [row for row in commands.rows("group", "list") if row["group"] == group]
    assert (row["state"], row["type"], row["protocol"]) == ("Empty", "Classic", "consumer")
    assert group in commands("group", "list", "--state", "Empty")
    assert group not in commands("group", "list", "--state", "Stable")
    (row,) = commands.rows("group", "describe", group)
    assert (row["state"], row["lag"], row["members"]) == ("Empty", 6, 0)
    assert [(each["committed"], each["end"], each["lag"]) for each in row["partitions"]] == [(4, 10, 6)]
    assert "topic" in commands("group", "describe", group)
    (row,) = commands.rows("group", "lag", group)
    assert (row["topic"], row["lag"], row["partitions"]) == (group, 6, 1)
    assert group in {row["group"] for row in commands.rows("group", "lag")}


def test_a_member_is_shown_with_its_partitions(commands: Commands, group: str) -> None:
    with commands.start("consume", group, "-g", group, "-X", "client.id=reader") as member:
        assert member.stdout is not None
        assert member.stdout.readline() == b"4\n"
        (row,) = commands.rows("group", "describe", group)
        (shown,) = row["member_list"]
        assert (row["state"], shown["client"], shown["partitions"]) == ("Stable", "reader", [f"{group}-0"])
        assert "stop its consumers first" in commands.refused("group", "seek", group, "--to", "start", "--execute")
        (row,) = commands.rows("group", "delete", group, "--execute", exit_code=1)
        assert row["error"] == "NON_EMPTY_GROUP"
        refusal = commands.refused("group", "offset-delete", group, "-t", group, "--execute")
        assert "GROUP_SUBSCRIBED_TO_TOPIC" in refusal
        member.send_signal(signal.SIGINT)
        assert member.wait(WAIT_S) == 0


def test_a_lag_that_nobody_knows_is_not_nothing(commands: Commands, topic: str) -> None:
    """A member that has committed nothing yet: Kafka's tools show a dash."""
    commands("topic", "create", topic)
    with commands.start("consume", topic, "-g", topic, "-X", "auto.commit.interval.ms=600000") as member:
        until = time.monotonic() + WAIT_S
        while not (rows := [row for row in commands.rows("group", "lag") if row["group"] == topic]):
            assert time.monotonic() < until
        (described,) = commands.rows("group", "describe", topic)
        assert (rows[0]["lag"], rows[0]["largest"], described["lag"]) == (None, None, None)
        member.send_signal(signal.SIGINT)
        assert member.wait(WAIT_S) == 0


@pytest.mark.parametrize(
    ("arguments", "offset"),
    [
        (("--to", "start"), 0),
        (("--to", "end"), 10),
        (("--to", "7"), 7),
        (("--to", "99"), 10),
        (("--to", "-3"), 7),
        (("--to", "+2"), 2),
        (("--shift-by", "3"), 7),
        (("--shift-by", "-9"), 0),
        (("--to", "@-1h"), 0),
    ],
)
def test_a_group_is_moved(commands: Commands, group: str, arguments: tuple[str, ...], offset: int) -> None:
    (row,) = commands.rows("group", "seek", group, *arguments)
    assert (row["before"], row["after"], row["lag"]) == (4, offset, 10 - offset)
    assert committed(commands, group) == [4]
    (row,) = commands.rows("group", "seek", group, *arguments, "--execute")
    assert committed(commands, group) == [offset]


def test_a_group_is_moved_to_another_or_by_a_file(commands: Commands, group: str, tmp_path: Path) -> None:
    other = f"{group}-other"
    assert "there is no such group" in commands.refused("group", "seek", other, "--to-group", group)
    commands("group", "seek", other, "--to-group", group, "--allow-new-topics", "--execute")
    assert committed(commands, other) == [4]
    file = tmp_path / "offsets"
    file.write_text(f"# topic, partition, offset\n{group},0,6\n")
    commands("group", "seek", other, "--to-file", str(file), "--execute")
    assert committed(commands, other) == [6]
    file.write_text("nonsense\n")
    assert (
        "line 1 is not topic, partition"
        in commands.run("group", "seek", other, "--to-file", str(file), exit_code=2).stderr
    )
    commands("group", "seek", f"{group}-third", "--to", "end", "-t", group, "--allow-new-topics", "--execute")
    assert committed(commands, f"{group}-third") == [10]


def test_offsets_and_groups_are_deleted(commands: Commands, group: str) -> None:
    (row,) = commands.rows("group", "offset-delete", group, "-t", f"{group}:0")
    assert (row["committed"], row["status"]) == (4, "would be deleted")
    (row,) = commands.rows("group", "delete", group)
    assert (row["offsets"], row["status"]) == (1, "would be deleted")
    assert "has no committed offset there" in commands.refused("group", "offset-delete", group, "-t", f"{group}:7")
    assert committed(commands, group) == [4]
    (row,) = commands.rows("group", "delete", group, "--execute")
    assert row["status"] == "deleted"
    assert "there is no such group" in commands.refused("group", "describe", group)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("group", "seek", "g"), "say where to with one of"),
        (("group", "seek", "g", "--to", "start", "--shift-by", "1"), "say where to with one of"),
        (("group", "seek", "g", "--to", "1:5"), "is not one place"),
        (("group", "offset-delete", "g"), "Missing option"),
        (("group", "offset-delete", "g", "-t", "t:x"), "is not a list of partitions"),
    ],
)
def test_misuse_ends_with_2(commands: Commands, arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in commands.run(*arguments, exit_code=2).stderr


def test_benchmarks_tell_what_kafkas_tools_tell(commands: Commands, topic: str) -> None:
    (line,) = commands.lines("bench", "produce", topic, "-n", "500", "-s", "50")
    assert line.startswith("500 records sent, ")
    assert line.endswith(" ms 99.9th.")
    heading, line = commands.lines("bench", "consume", topic)
    assert heading.startswith("start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec,")
    assert len(line.split(", ")) == len(heading.split(", "))
    assert line.split(", ")[4] == "500"
    *_, average, percentiles = commands.lines("bench", "e2e", f"{topic}-e2e", "-n", "3")
    assert average.startswith("Avg latency: ")
    assert percentiles.startswith("Percentiles: 50th = ")


def test_benchmarks_in_json(commands: Commands, topic: str) -> None:
    (row,) = commands.rows("bench", "produce", topic, "-n", "200", "-s", "50", "--throughput", "10000")
    assert (row["records"], row["bytes"]) == (200, 10_000)
    assert row["latency_ms"].keys() == {"average", "maximum", "p50", "p95", "p99", "p99.9"}
    (row,) = commands.rows("bench", "consume", topic)
    assert (row["records"], row["bytes"]) == (200, 10_000)
    (row,) = commands.rows("bench", "consume", topic, "--raw")
    assert row["records"] == 200
    assert row["bytes"] > 10_000
    (row,) = commands.rows("bench", "e2e", f"{topic}-e2e", "-n", "3")
    assert row["records"] == 3
    assert "holds 200 records, fewer than asked for" in commands.run("bench", "consume", topic, "-n", "300").stderr


def test_who_waits_for_a_coordinator_hears_what_for(caplog: pytest.LogCaptureFixture) -> None:
    """A group's topic has no place for its replicas: a remark soon, a sentence with the next step in the end."""
    with Broker(offsets_topic_replication_factor=3) as broker:
        broker.create_topic("orders")
        arguments = ("consume", "orders", "-g", "readers", "-X", "default.api.timeout.ms=4000")
        remark, sentence = Commands(broker.bootstrap).run(*arguments, exit_code=1).stderr.splitlines()
    assert remark.startswith("strandline: waiting, for now: group readers: no __consumer_offsets")
    assert "start the brokers that are down, or lower offsets.topic.replication.factor" in sentence
    warnings = [each for each in caplog.records if "__consumer_offsets cannot be created" in each.getMessage()]
    assert len(warnings) == 1
