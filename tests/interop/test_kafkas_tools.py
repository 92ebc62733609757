"""Kafka's own command-line tools do with our broker what they do with Kafka's (SPEC P1)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.interop.kafka import Kafka
from tests.interop.tools import Tools

from strandline.testing import Broker

pytestmark = pytest.mark.interop


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    with Broker(process=True) as broker:
        yield broker


@pytest.fixture
def tools(kafka: Kafka, broker: Broker) -> Tools:
    return Tools(kafka, broker.bootstrap)


@pytest.fixture
def topic(tools: Tools, request: pytest.FixtureRequest) -> str:
    """With three partitions, made by kafka-topics."""
    name = re.sub(r"\W+", "-", request.node.name).strip("-")
    tools("kafka-topics", "--create", "--topic", name, "--partitions", "3", "--config", "retention.ms=86400000")
    return name


def test_topics(tools: Tools, topic: str) -> None:
    assert topic in tools("kafka-topics", "--list").splitlines()
    described = tools("kafka-topics", "--describe", "--topic", topic)
    assert "PartitionCount: 3" in described
    assert "retention.ms=86400000" in described
    assert re.search(r"Partition: 2\s+Leader: 1\s+Replicas: 1\s+Isr: 1", described)
    tools("kafka-topics", "--alter", "--topic", topic, "--partitions", "5")
    assert "PartitionCount: 5" in tools("kafka-topics", "--describe", "--topic", topic)
    tools("kafka-topics", "--delete", "--topic", topic)
    assert topic not in tools("kafka-topics", "--list").splitlines()


def test_what_cannot_be_is_said_as_kafka_says_it(tools: Tools, topic: str) -> None:
    again = tools.run("kafka-topics", "--bootstrap-server", tools.bootstrap, "--create", "--topic", topic)
    assert again.exit_code != 0
    assert "TopicExistsException" in again.stdout + again.stderr
    wide = tools.run(
        "kafka-topics",
        "--bootstrap-server",
        tools.bootstrap,
        "--create",
        "--topic",
        "wide",
        "--replication-factor",
        "9",
    )
    assert "InvalidReplicationFactorException" in wide.stdout + wide.stderr


def test_configs_of_topics_and_brokers(tools: Tools, topic: str) -> None:
    of_topic = ("--entity-type", "topics", "--entity-name", topic)
    tools(
        "kafka-configs", "--alter", *of_topic, "--add-config", "cleanup.policy=[compact,delete],segment.bytes=10485760"
    )
    described = tools("kafka-configs", "--describe", *of_topic)
    assert "segment.bytes=10485760" in described
    assert "DYNAMIC_TOPIC_CONFIG:segment.bytes=10485760" in described
    tools("kafka-configs", "--alter", *of_topic, "--delete-config", "segment.bytes")
    assert "segment.bytes=10485760" not in tools("kafka-configs", "--describe", *of_topic)
    of_broker = ("--entity-type", "brokers", "--entity-name", "1")
    tools("kafka-configs", "--alter", *of_broker, "--add-config", "log.retention.ms=3600000")
    assert "log.retention.ms=3600000" in tools("kafka-configs", "--describe", *of_broker)
    assert "log.segment.bytes=1073741824" in tools("kafka-configs", "--describe", "--all", *of_broker)
    tools("kafka-configs", "--alter", *of_broker, "--delete-config", "log.retention.ms")


def test_console_producer_and_consumer_and_their_group(tools: Tools, topic: str) -> None:
    lines = "".join(f"k{number}:v{number}\n" for number in range(50))
    properties = ("--property", "parse.key=true", "--property", "key.separator=:")
    tools("kafka-console-producer", "--topic", topic, *properties, stdin=lines)
    consumed = tools(
        "kafka-console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "50", "--timeout-ms", "20000",
        "--group", f"group-{topic}", "--property", "print.key=true", "--property", "key.separator=:",
    )  # fmt: skip
    records = [line for line in consumed.splitlines() if not line.startswith("Option ")]  # 4.3 dislikes --property
    assert sorted(records) == sorted(lines.splitlines())
    described = tools("kafka-consumer-groups", "--describe", "--group", f"group-{topic}")
    lags = [line.split() for line in described.splitlines() if topic in line.split()]
    assert sum(int(columns[3]) for columns in lags) == 50
    assert all(columns[5] == "0" for columns in lags)


def test_groups_are_listed_reset_and_deleted(tools: Tools, topic: str) -> None:
    tools("kafka-console-producer", "--topic", topic, stdin="a\nb\nc\n")
    group = ("--group", f"group-{topic}")
    tools(
        "kafka-console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "3", "--timeout-ms", "20000",
        *group,
    )  # fmt: skip
    assert f"group-{topic}" in tools("kafka-consumer-groups", "--list").splitlines()
    reset = tools("kafka-consumer-groups", "--reset-offsets", *group, "--topic", topic, "--to-earliest", "--execute")
    assert all(line.split()[-1] == "0" for line in reset.splitlines() if f"group-{topic}" in line)
    again = tools("kafka-console-consumer", "--topic", topic, "--max-messages", "3", "--timeout-ms", "20000", *group)
    assert sorted(again.split()) == ["a", "b", "c"]
    assert "was successful" in tools("kafka-consumer-groups", "--delete", *group)


def test_offsets_and_deleted_records(tools: Tools, topic: str, tmp_path: Path) -> None:
    tools("kafka-console-producer", "--topic", topic, stdin="".join(f"{number}\n" for number in range(30)))
    ends = dict(line.rsplit(":", 1) for line in tools("kafka-get-offsets", "--topic", topic).split())
    assert sum(map(int, ends.values())) == 30
    fullest = max(range(3), key=lambda index: int(ends[f"{topic}:{index}"]))
    plan = {"partitions": [{"topic": topic, "partition": fullest, "offset": 5}], "version": 1}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    tools("kafka-delete-records", "--offset-json-file", str(tmp_path / "plan.json"))
    starts = tools("kafka-get-offsets", "--topic", topic, "--time", "-2").split()
    assert f"{topic}:{fullest}:5" in starts


def test_log_dirs(tools: Tools, topic: str, broker: Broker) -> None:
    tools("kafka-console-producer", "--topic", topic, stdin="a\n")
    described = tools("kafka-log-dirs", "--describe", "--topic-list", topic).splitlines()[-1]
    (found,) = json.loads(described)["brokers"]
    (directory,) = found["logDirs"]
    assert directory["logDir"] == broker.data
    assert {each["partition"] for each in directory["partitions"]} == {f"{topic}-{index}" for index in range(3)}
    assert sum(each["size"] for each in directory["partitions"]) > 0


def test_perf_tests(tools: Tools, topic: str) -> None:
    produced = tools.run(
        "kafka-producer-perf-test", "--topic", topic, "--num-records", "20000", "--record-size", "100",
        "--throughput", "-1", "--producer-props", f"bootstrap.servers={tools.bootstrap}",
    )  # fmt: skip
    assert "20000 records sent" in produced.stdout, produced.stderr
    consumed = tools.run(
        "kafka-consumer-perf-test", "--bootstrap-server", tools.bootstrap, "--topic", topic, "--messages", "20000",
        "--timeout", "20000",
    )  # fmt: skip
    assert consumed.exit_code == 0, consumed.stderr
    assert "20000" in consumed.stdout


def test_verifiable_producer_and_consumer(tools: Tools, topic: str) -> None:
    produced = tools("kafka-verifiable-producer", "--topic", topic, "--max-messages", "500", "--acks", "-1")
    assert json.loads(produced.splitlines()[-1])["acked"] == 500
    consumed = tools(
        "kafka-verifiable-consumer", "--topic", topic, "--group-id", f"group-{topic}", "--max-messages", "500",
        "--reset-policy", "earliest",
    )  # fmt: skip
    counts = [json.loads(line) for line in consumed.splitlines() if "records_consumed" in line]
    assert sum(each["count"] for each in counts) >= 500


def test_what_the_broker_can_do_and_whose_it_is(tools: Tools) -> None:
    versions = tools("kafka-broker-api-versions")
    assert re.search(r"Produce\(0\): 0 to 13", versions)
    cluster = tools.run("kafka-cluster", "cluster-id", "--bootstrap-server", tools.bootstrap)
    assert re.search(r"Cluster ID: \S{22}", cluster.stdout)
