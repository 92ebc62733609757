"""Apache Spark with its own source and sink for Kafka, `format("kafka")`.

PySpark has everything but the connector, which is on Maven Central alone and fits one version of Spark. So
`spark-kafka/pom.xml` names that version, and PySpark is of the same one: this Python's, if it is that, or else one that
pip puts into `.interop/`, beside the jars. What cannot be had is a `RefereeMissing`.
"""

from __future__ import annotations

import fcntl
import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tests.interop.kafka import FETCH_TIMEOUT_SECONDS, HERE, STORE, RefereeMissing, copy_jars, need, version_in

POM = HERE / "spark-kafka" / "pom.xml"
HOME = STORE / "spark-kafka"
HEAP_MB = 512
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
JAVA_OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dinterop.level=ERROR",
    f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}",
)
# The default writer of checkpoints starts a program for each file.
CHECKPOINTS = "org.apache.spark.sql.execution.streaming.FileSystemBasedCheckpointFileManager"


@dataclass(frozen=True)
class Spark:
    version: str
    jars: Path
    packages: Path | None  # where PySpark is, if it is not this Python's own

    @contextmanager
    def session(self, folder: Path) -> Iterator[Any]:
        """A `SparkSession` in a JVM that ends with it."""
        if self.packages is not None:
            sys.path.insert(0, str(self.packages))
        # Without an address Spark looks for one of this machine's, which may be one that others reach.
        os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").appName("interop")
        for name, value in {
            "spark.driver.extraClassPath": f"{self.jars}/*",
            "spark.driver.extraJavaOptions": " ".join(JAVA_OPTIONS),
            "spark.driver.memory": f"{HEAP_MB}m",
            "spark.local.dir": str(folder),
            "spark.sql.codegen.wholeStage": "false",  # which pays for larger data than ours
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
    wanted = version_in(POM, "spark.version")
    need("java", "Java 17 to run Apache Spark")
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        copy_jars(POM, HOME / "jars", stamp=HOME / "stamp", what="Spark's connector for Kafka")
        if installed_version() == wanted:
            return Spark(wanted, HOME / "jars", None)
        packages = HOME / f"pyspark-{wanted}"
        if not packages.exists():
            _install(f"pyspark=={wanted}", packages)
    return Spark(wanted, HOME / "jars", packages)


def installed_version() -> str | None:
    try:
        return version("pyspark")
    except PackageNotFoundError:
        return None


def _install(package: str, target: Path) -> None:
    unfinished = target.with_name(f"{target.name}-unfinished")
    try:
        installed = subprocess.run(
            [*PIP, "install", "--quiet", "--upgrade", "--target", str(unfinished), package],
            capture_output=True,
            text=True,
            timeout=FETCH_TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise RefereeMissing(f"pip did not install {package} within {FETCH_TIMEOUT_SECONDS} seconds.") from None
    if installed.returncode != 0:
        reason = (installed.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise RefereeMissing(f"pip could not install {package}: {reason}")
    unfinished.rename(target)
