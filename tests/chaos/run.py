"""A run: clients at work on a cluster, the nemesis at work against both, and the account at the end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from confluent_kafka import KafkaException
from tests.chaos.availability import Acknowledgements
from tests.chaos.complaints import Complaints
from tests.chaos.faults import Fault
from tests.chaos.load import LAST_READER, Load
from tests.chaos.nemesis import Nemesis
from tests.chaos.replica_bytes import differences
from tests.chaos.scoreboard import Scoreboard
from tests.chaos.sight import ClusterSight, Waited
from tests.chaos.spark_account import SparkAccount, committed_records
from tests.chaos.spark_client import TRANSACTION_TIMEOUT_MS, SparkClient
from tests.chaos.work import Work

from strandline.client.failures import ClientError
from strandline.cluster.cluster_plan import ClusterRefused
from strandline.cluster.ports import PortInUse
from strandline.cluster.process import ProcessFailed
from strandline.cluster.process_cluster import ProcessCluster
from strandline.history.checker import check
from strandline.history.expectations import Expectations
from strandline.history.lines import LineParser
from strandline.history.operations import Operation

TOPIC = "orders"
PARTITIONS = 3
IN_SYNC_TIMEOUT_S = 90.0
EXPECTATIONS = Expectations(is_read_to_end=True, is_every_writer_recorded=True)
SETTINGS = {
    "zookeeper.session.timeout.ms": "4000",
    "replica.lag.time.max.ms": "1500",
    "transaction.max.timeout.ms": str(TRANSACTION_TIMEOUT_MS),
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "log.segment.bytes": str(2 * 2**20),  # they roll every minute or so
}

Tell = Callable[[str], object]


class Run:
    def __init__(
        self,
        cluster: ProcessCluster,
        directory: str,
        *,
        spark: SparkClient | None = None,
        tell: Tell = print,
        quiet_s: float = 1.0,
    ) -> None:
        os.makedirs(directory, exist_ok=True)
        others_topics = () if spark is None else (spark.target,)
        self.load = Load(directory, cluster.bootstrap, TOPIC, partitions=PARTITIONS, others_topics=others_topics)
        self.sight = ClusterSight(cluster.connect, self.load.topics)
        self._cluster = cluster
        self._spark = spark
        self._complaints = Complaints(broker.process.log_path for broker in cluster.brokers.values())
        self._nemesis = Nemesis(self.sight, self._complaints, quiet_s=quiet_s, tell=tell)
        self._failures: list[str] = []
        self._tell = tell

    def run(self, faults: Iterable[Fault], *, rate_per_s: float, at_least: int) -> Scoreboard:
        """Strikes one fault after the other, until there are no more or the cluster does not come back."""
        began_s = time.monotonic()
        self.load.create_topics()
        self.load.start(rate_per_s=rate_per_s)
        try:
            if self._spark is not None:
                self._spark.start()
                self._tell("Spark is at work")
            for fault in faults:
                self._nemesis.strike(fault)
        except (Waited, ProcessFailed, ClusterRefused, PortInUse, OSError) as failure:
            self._failures.append(f"{type(failure).__name__}: {failure}")
        self._tell("the faults are over; what was sent is waited for")
        self.load.stop_producing()
        differing, compared = self._compared_replicas()
        if self._spark is not None:
            self._spark.stop()
        self._failures += self.load.stop_reading()
        self._tell("histories are checked")
        operations = list(operations_of(self.load.files))
        spark = self._spark_account(operations)
        return Scoreboard(
            seconds=time.monotonic() - began_s,
            struck=self._nemesis.struck,
            acknowledgements=Acknowledgements(operations),
            work=Work.of(operations, self.load.copies),
            verdict=check(operations, EXPECTATIONS),
            replica_differences=differing,
            replica_bytes=compared,
            crashes=self._complaints.crashes(),
            failures=[*self._failures, *(f"a client ended: {failure!r}" for failure in self.load.failures)],
            at_least=at_least,
            spark=spark,
            replaced=self.load.replaced,
        )

    def _compared_replicas(self) -> tuple[list[str], int]:
        """When all are in sync, and a fresh reader has read all there is."""
        try:
            sight = self.sight.wait_until(lambda it: it.are_in_sync(3), "that all are in sync", IN_SYNC_TIMEOUT_S)
            high_watermarks = self.load.read_to_end()
            if self._spark is not None:
                self._spark.wait_for(high_watermarks)
                high_watermarks |= self.load.ends_of_others()
        except (Waited, AssertionError, KafkaException) as failure:
            self._failures.append(str(failure))
            return [], 0
        directories = {broker_id: broker.data_directories for broker_id, broker in self._cluster.brokers.items()}
        in_sync = {name: state.in_sync for name, state in sight.partitions.items()}
        return differences(directories, high_watermarks, in_sync)

    def _spark_account(self, operations: Sequence[Operation]) -> SparkAccount | None:
        if self._spark is None:
            return None
        try:
            return self._spark.account(committed_records(operations, TOPIC, LAST_READER))
        except (AssertionError, ClientError, KafkaException) as failure:
            self._failures.append(f"what Spark wrote could not be read: {failure}")
            return None


def operations_of(paths: Sequence[str]) -> Iterator[Operation]:
    parser, number = LineParser(), 0
    for path in paths:
        with open(path, "rb") as file:
            for line in file:
                number += 1
                yield parser.operation(line, number)
