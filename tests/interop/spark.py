"""Apache Spark with its own source and sink for Kafka, `format("kafka")`, beside ours.

PySpark has everything but the connector, which is on Maven Central alone (`spark-kafka/pom.xml`). What cannot be had is
a `RefereeMissing`.
"""

from __future__ import annotations

import fcntl
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tests.interop.kafka import HERE, STORE, RefereeMissing, copy_jars, need

POM = HERE / "spark-kafka" / "pom.xml"
HOME = STORE / "spark-kafka"
SOURCE = str(HERE.parents[1] / "src")
HEAP_MB = 768
OLDEST = (4, 2)
JAVA_OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dinterop.level=ERROR",
    f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}",
)
# The default writer of checkpoints starts a program for each file.
CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"


@dataclass(frozen=True)
class Spark:
    jars: Path

    @contextmanager
    def session(self, folder: Path) -> Iterator[Any]:
        """A `SparkSession` in a JVM that ends with it."""
        # Without an address Spark looks for one of this machine's, which may be one that others reach.
        os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").appName("interop")
        for name, value in {
            "spark.driver.extraClassPath": f"{self.jars}/*",
            "spark.driver.extraJavaOptions": " ".join(JAVA_OPTIONS),
            "spark.driver.memory": f"{HEAP_MB}m",
            "spark.local.dir": str(folder),
            "spark.sql.codegen.wholeStage": "false",  # which pays for larger data than ours
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINTS,
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        try:
            yield session
        finally:
            session.stop()
            _end_gateway(SparkContext)


def _end_gateway(context: Any) -> None:
    gateway, context._gateway, context._jvm = context._gateway, None, None
    gateway.shutdown()
    gateway.proc.stdin.close()  # which is what its JVM waits for
    gateway.proc.wait()
    gc.collect()  # sockets that PySpark has dropped, before others' tests are asked about them


def fetch_spark() -> Spark:
    need("java", "Java 17 to run Apache Spark")
    found = installed_version()
    if found is None or tuple(map(int, found.split(".")[:2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise RefereeMissing(f"Interop needs PySpark {oldest} or later: here is {found or 'none'}.")
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        copy_jars(POM, HOME / "jars", stamp=HOME / "stamp", what="Spark's connector for Kafka")
    return Spark(HOME / "jars")


def installed_version() -> str | None:
    try:
        return version("pyspark")
    except PackageNotFoundError:
        return None
