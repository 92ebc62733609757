"""Topics and their settings by the command line, on a real broker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.commands import Commands

from strandline.cli.output import iso_time


def fill(commands: Commands, topic: str, count: int = 10) -> None:
    lines = b"".join(b"%d v%d\n" % (1000 + number, number) for number in range(count))
    commands("produce", topic, "-f", r"%d %v\n", "-p", "0", stdin=lines)


def test_a_topic_is_created_listed_and_deleted(commands: Commands, topic: str) -> None:
    assert commands.lines("topic", "create", topic, "-p", "3", "-c", "retention.ms=3600000") == [
        "topic" + " " * (len(topic) - 3) + "status",
        "─" * (len(topic) + 9),
        f"{topic}  created",
    ]
    (row,) = commands.rows("topic", "list", topic)
    assert (row["topic"], row["partitions"], row["replicas"], row["is_internal"]) == (topic, 3, 1, False)
    assert len(row["topic_id"]) == 22
    fill(commands, topic)
    dry_run = commands.run("topic", "delete", topic)
    assert f"{topic}           3       10  would be deleted" in dry_run.stdout
    assert dry_run.stderr == "Nothing was deleted: this is what would be. Add --execute to do it.\n"
    assert commands.rows("topic", "list", topic)
    (row,) = commands.rows("topic", "delete", topic, "--execute")
    assert (row["status"], row["error"]) == ("deleted", None)
    assert commands.refused("topic", "list", topic).startswith(f"topic {topic}: it does not exist")


def test_topics_are_found_by_expression(commands: Commands, topic: str) -> None:
    commands("topic", "create", f"{topic}-a", f"{topic}-b")
    assert [row["topic"] for row in commands.rows("topic", "list", "-r", f"{topic}-.")] == [f"{topic}-a", f"{topic}-b"]
    assert "no topic matches" in commands.refused("topic", "delete", "-r", f"{topic}-c.*")
    assert "is not a regular expression" in commands.run("topic", "list", "-r", "(", exit_code=2).stderr
    assert {row["status"] for row in commands.rows("topic", "delete", "-r", f"{topic}-[ab]", "--execute")} == {
        "deleted"
    }
    names = {row["topic"] for row in commands.rows("topic", "list")}
    assert not names & {f"{topic}-a", f"{topic}-b"}
    assert not any(name.startswith("__") for name in names)


def test_what_cannot_be_created_is_told_for_each(commands: Commands, topic: str) -> None:
    commands("topic", "create", topic)
    rows = commands.rows("topic", "create", topic, f"{topic}-new", "bad/name", exit_code=1)
    assert [row["error"] for row in rows] == ["TOPIC_ALREADY_EXISTS", None, "INVALID_TOPIC_EXCEPTION"]
    (row,) = commands.rows("topic", "create", topic, "--if-not-exists")
    assert row["status"] == "exists already"
    (row,) = commands.rows("topic", "create", f"{topic}-many", "-r", "9", exit_code=1)
    assert row["error"] == "INVALID_REPLICATION_FACTOR"
    (row,) = commands.rows("topic", "create", f"{topic}-odd", "-c", "nonsense=1", exit_code=1)
    assert row["error"] == "INVALID_CONFIG"


def test_a_dry_run_creates_nothing(commands: Commands, topic: str) -> None:
    (row,) = commands.rows("topic", "create", topic, "-p", "2", "--dry-run")
    assert row["status"] == "would be created"
    assert "it does not exist" in commands.refused("topic", "list", topic)


def test_a_topic_is_described_in_parts(commands: Commands, topic: str) -> None:
    commands("topic", "create", topic, "-p", "2", "-c", "retention.ms=1000000")
    fill(commands, topic)
    text = commands("topic", "describe", topic)
    assert f"topic       {topic}\n" in text
    assert "records     10\n" in text
    assert "partition  leader  replicas  in sync  start  high watermark  problem\n" in text
    assert "retention.ms" not in text
    (row,) = commands.rows("topic", "describe", topic, "-p")
    assert [each["high_watermark"] for each in row["partition_list"]] == [10, 0]
    assert "configs" not in row
    (row,) = commands.rows("topic", "describe", topic, "-c")
    assert {each["name"]: (each["value"], each["source"]) for each in row["configs"]}["retention.ms"] == (
        "1000000",
        "topic",
    )
    (row,) = commands.rows("topic", "describe", topic, "-a")
    assert len(row["configs"]) > 20
    assert "partitions" not in commands("topic", "describe", topic, "-c", "--format", "text").splitlines()[-1]


@pytest.mark.parametrize("filter_", ["--under-replicated", "--under-min-isr", "--at-min-isr", "--offline"])
def test_filters_leave_out_what_is_well(commands: Commands, topic: str, filter_: str) -> None:
    commands("topic", "create", topic)
    assert commands.rows("topic", "describe", topic, filter_) == []


def test_settings_of_topics_are_altered(commands: Commands, topic: str) -> None:
    commands("topic", "create", topic, "-c", "cleanup.policy=compact")
    rows = commands.rows("topic", "alter", topic, "-c", "retention.ms=5000", "--unset", "cleanup.policy")
    assert [(row["name"], row["before"], row["after"], row["status"]) for row in rows] == [
        ("retention.ms", "604800000", "5000", "changed"),
        ("cleanup.policy", "compact", "delete", "changed"),
    ]
    (row,) = commands.rows("topic", "alter", topic, "-c", "retention.ms=never", exit_code=1)
    assert (row["after"], row["error"]) == ("5000", "INVALID_CONFIG")
    assert "say what to change" in commands.run("topic", "alter", topic, exit_code=2).stderr


def test_partitions_are_added(commands: Commands, topic: str) -> None:
    commands("topic", "create", topic, "-p", "1")
    (row,) = commands.rows("topic", "add-partitions", topic, "-n", "2", "--dry-run")
    assert row["status"] == "would be added"
    (row,) = commands.rows("topic", "add-partitions", topic, "-n", "2")
    assert (row["before"], row["after"], row["status"]) == (1, 3, "added")
    (row,) = commands.rows("topic", "add-partitions", topic, "-p", "2", exit_code=1)
    assert (row["after"], row["error"]) == (3, "INVALID_PARTITIONS")
    assert "say how many more" in commands.run("topic", "add-partitions", topic, exit_code=2).stderr
    assert len(commands.lines("offsets", topic)) == 2 + 3


def test_the_oldest_records_are_trimmed(commands: Commands, topic: str, tmp_path: Path) -> None:
    commands("topic", "create", topic)
    fill(commands, topic)
    for before, start in (("3", 3), ("-5", 5), ("@1970-01-01T00:00:01.007Z", 7)):
        dry_run = commands.run("topic", "trim", topic, "--before", before, "--format", "json")
        assert json.loads(dry_run.stdout)["new_start"] == start
        assert dry_run.stderr.startswith("Nothing was deleted")
        (row,) = commands.rows("topic", "trim", topic, "--before", before, "--execute")
        assert row["new_start"] == start
        assert commands.rows("offsets", topic)[0]["start"] == start
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 0, "offset": -1}], "version": 1}))
    (row,) = commands.rows("topic", "trim", "--offset-json-file", str(file), "--execute")
    assert (row["new_start"], row["deleted"]) == (10, 3)
    assert commands("consume", topic, "-e") == ""
    file.write_text("[]")
    for arguments in ((topic,), ("--before", "3"), ("--offset-json-file", str(file)), (topic, "--before", "3:5")):
        commands.run("topic", "trim", *arguments, exit_code=2)


def test_to_trim_what_is_not_there_is_said(commands: Commands, topic: str) -> None:
    commands("topic", "create", topic)
    fill(commands, topic)
    said = commands.run("topic", "trim", topic, "--before", "99", "--execute").stderr
    assert said == f"strandline: {topic}-0 ends at 10: there is no 99 yet\n"
    assert commands.rows("offsets", topic)[0]["start"] == 10


def test_offsets_of_a_topic(commands: Commands, topic: str) -> None:
    commands("topic", "create", topic, "-p", "2")
    fill(commands, topic)
    assert commands.rows("offsets", topic) == [
        {"topic": topic, "partition": 0, "start": 0, "stable": 10, "high_watermark": 10, "end": 10, "records": 10},
        {"topic": topic, "partition": 1, "start": 0, "stable": 0, "high_watermark": 0, "end": 0, "records": 0},
    ]
    first, second = commands.rows("offsets", topic, "--at", "1970-01-01T00:00:01.004Z")
    assert (first["offset"], first["time"], second["offset"]) == (4, "1970-01-01T00:00:01.004Z", None)
    assert commands.rows("offsets", topic, "-p", "1")[0]["partition"] == 1
    assert "is not a time" in commands.run("offsets", topic, "--at", "noon", exit_code=2).stderr
    assert "has no partition 5" in commands.refused("offsets", topic, "-p", "5")


def test_settings_are_shown_with_their_source(commands: Commands, topic: str) -> None:
    commands("topic", "create", topic, "-c", "retention.ms=5000")
    shown = commands.run("config", "get", topic)
    assert ["retention.ms", "5000", "topic"] in [line.split() for line in shown.stdout.splitlines()]
    assert "more settings at the default: -a shows all" in shown.stderr
    (row,) = commands.rows("config", "get", topic, "segment.bytes")
    assert (row["value"], row["source"]) == ("1073741824", "default")
    assert len(commands.rows("config", "get", topic, "-a")) > 20
    assert commands.refused("config", "get", topic, "nosuch") == f"topic {topic} has no setting nosuch"
    assert "UNKNOWN_TOPIC_OR_PARTITION" in commands.refused("config", "get", f"{topic}-gone")


def test_settings_are_set_unset_and_compared(commands: Commands, topic: str) -> None:
    commands("topic", "create", f"{topic}-a", f"{topic}-b")
    (row,) = commands.rows("config", "set", f"{topic}-a", "retention.ms=5000", "--dry-run")
    assert row["status"] == "would be changed"
    assert commands.rows("config", "diff", f"{topic}-a", f"{topic}-b") == []
    (row,) = commands.rows("config", "set", f"{topic}-a", "retention.ms=5000")
    assert (row["after"], row["status"]) == ("5000", "changed")
    (row,) = commands.rows("config", "diff", f"{topic}-a", f"{topic}-b")
    assert (row["name"], row["first"], row["second"]) == ("retention.ms", "5000", "604800000")
    (row,) = commands.rows("config", "unset", f"{topic}-a", "retention.ms")
    assert row["after"] == "604800000"
    (row,) = commands.rows("config", "set", f"{topic}-a", "nonsense=1", exit_code=1)
    assert row["error"] == "INVALID_CONFIG"
    assert "is given twice" in commands.run("config", "set", topic, "a=1", "a=2", exit_code=2).stderr


def test_settings_of_brokers(commands: Commands) -> None:
    rows = {row["name"]: row for row in commands.rows("config", "get", "--entity", "broker", "1", "-a")}
    assert rows["group.initial.rebalance.delay.ms"]["value"] == "0"
    assert rows["group.initial.rebalance.delay.ms"]["source"] == "server.properties"
    (row,) = commands.rows("config", "set", "--entity", "broker", "all", "log.retention.ms=777000")
    assert row["status"] == "changed"
    (row,) = commands.rows("config", "get", "--entity", "broker", "1", "log.retention.ms")
    assert (row["value"], row["source"]) == ("777000", "all brokers")
    commands("config", "unset", "--entity", "broker", "all", "log.retention.ms")
    assert "is not the id of a broker" in commands.run("config", "get", "--entity", "broker", "x", exit_code=2).stderr
    assert "there is no broker 77" in commands.refused("config", "get", "--entity", "broker", "77")


def test_replicas_are_found_on_the_disks(commands: Commands, topic: str) -> None:
    commands("topic", "create", topic, "-p", "2")
    fill(commands, topic)
    first, second = commands.rows("log-dirs", topic)
    assert (first["partition"], first["broker"], first["is_future"]) == (0, 1, False)
    assert first["size_bytes"] > second["size_bytes"] == 0
    assert commands.rows("log-dirs", topic, "--broker", "9") == []


def test_the_cluster_is_shown(commands: Commands, topic: str) -> None:
    commands("topic", "create", topic, "-p", "2")
    (info,) = commands.rows("cluster", "info")
    assert (info["controller"], info["brokers"], info["broker_list"][0]["broker"]) == (1, 1, 1)
    assert "broker  host" in commands("cluster", "info")
    assert commands("cluster", "health").startswith("Healthy: 1 broker, ")
    (health,) = commands.rows("cluster", "health")
    assert (health["is_healthy"], health["bad_partitions"]) == (True, [])
    rows = [row for row in commands.rows("cluster", "partitions", "--leader", "1") if row["topic"] == topic]
    assert [(row["partition"], row["leader"], row["in_sync"]) for row in rows] == [(0, 1, [1]), (1, 1, [1])]
    assert commands.rows("cluster", "partitions", "--broker", "9") == []
    assert commands.rows("cluster", "partitions", "--problems") == []
    assert "cluster: " in commands("cluster", "info", "--format", "yaml")


def test_a_refusal_is_a_sentence_on_stderr_too(commands: Commands, topic: str) -> None:
    """Whoever throws the rows away hears of it: docs/commands.md."""
    commands("topic", "create", topic)
    assert commands.refused("topic", "create", topic).startswith(f"{topic}: Topic '{topic}' already exists (TOPIC_")
    said = commands.refused("config", "set", topic, "retention.sm=1")
    assert said.startswith(f"topic {topic}: Topics have no setting 'retention.sm'; did you mean retention.ms?")
    assert commands.refused("topic", "create", topic, f"{topic}/", "a b").startswith("3 failed, the first being ")


def test_a_failure_names_the_next_step(commands: Commands, topic: str) -> None:
    commands("topic", "create", topic, "-p", "2")
    said = commands.refused("explain", f"{topic}/5@4")
    assert said.endswith(f"the topic has 2 partitions, from 0 on; `strandline offsets {topic}` shows what they hold")
    assert "`strandline transaction list` shows" in commands.refused("transaction", "describe", "nobody")
    assert "if broker 1 is meant, add --entity broker" in commands.refused(
        "config", "set", "1", "log.retention.ms=5000"
    )
    assert "there is no such group" in commands.refused("group", "seek", "nobody", "--to", "start")
    said = commands.refused("produce", topic, stdin=b"x" * 2**21)
    assert said.endswith("raise it with -X max.request.size=N, and max.message.bytes of the topic with it")
    said = commands.refused("produce", topic, "-X", "max.request.size=4194304", stdin=b"x" * 2**21)
    assert "max.message.bytes" in said


def test_where_there_is_nothing_to_show_it_says_so(commands: Commands, topic: str) -> None:
    for name in ("a", "b"):
        commands("topic", "create", f"{topic}-{name}")
    said = commands.run("config", "diff", f"{topic}-a", f"{topic}-b")
    assert (said.stdout, said.stderr) == ("", f"topic {topic}-a and topic {topic}-b have the same settings\n")
    said = commands.run("config", "get", f"{topic}-a")
    assert said.stdout == ""
    assert said.stderr.startswith(f"topic {topic}-a has no settings of its own: all ")


def test_producers_have_times_for_people_and_milliseconds_for_programs(commands: Commands, topic: str) -> None:
    commands("produce", topic, stdin=b"x\n")
    (row,) = commands.rows("transaction", "producers", topic)
    assert iso_time(row["last_timestamp_ms"]) in commands("transaction", "producers", topic)
