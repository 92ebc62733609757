"""Kafka's command-line tools against a broker of ours, by the names that people know them by."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.interop.kafka import Kafka, ToolResult

# The scripts in Kafka's `bin`, and the class that each starts; the package moved within the 3 and 4 series.
CLASSES = {
    "kafka-broker-api-versions": "BrokerApiVersionsCommand",
    "kafka-cluster": "ClusterTool",
    "kafka-configs": "ConfigCommand",
    "kafka-console-consumer": "ConsoleConsumer",
    "kafka-console-producer": "ConsoleProducer",
    "kafka-consumer-groups": "ConsumerGroupCommand",
    "kafka-consumer-perf-test": "ConsumerPerformance",
    "kafka-delete-records": "DeleteRecordsCommand",
    "kafka-e2e-latency": "EndToEndLatency",
    "kafka-get-offsets": "GetOffsetShell",
    "kafka-log-dirs": "LogDirsCommand",
    "kafka-producer-perf-test": "ProducerPerformance",
    "kafka-replica-verification": "ReplicaVerificationTool",
    "kafka-topics": "TopicCommand",
    "kafka-transactions": "TransactionsCommand",
    "kafka-verifiable-consumer": "VerifiableConsumer",
    "kafka-verifiable-producer": "VerifiableProducer",
}


@dataclass(frozen=True)
class Tools:
    kafka: Kafka
    bootstrap: str

    def run(self, script: str, *arguments: str, stdin: str = "") -> ToolResult:
        return self.kafka.run(class_of(self.kafka.jars, CLASSES[script]), *arguments, stdin=stdin)

    def __call__(self, script: str, *arguments: str, stdin: str = "") -> str:
        """What it prints, with `--bootstrap-server`; it must end well."""
        done = self.run(script, "--bootstrap-server", self.bootstrap, *arguments, stdin=stdin)
        assert done.exit_code == 0, f"{script} {arguments}: {done.stdout}{done.stderr}"
        return done.stdout


@cache
def class_of(jars: Path, name: str) -> str:
    """Its full name, in whichever package this version has it."""
    found = sorted(
        entry.removesuffix(".class").replace("/", ".")
        for jar in jars.glob("kafka*.jar")
        for entry in zipfile.ZipFile(jar).namelist()
        if entry.endswith(f"/{name}.class")
    )
    assert found, f"no class {name} in {jars}"
    return found[-1]  # org.apache.kafka.tools before kafka.tools
