"""Apache Kafka itself as the referee: fetched through Maven, its programs run by class name.

Each series has a small committed `kafka-<series>/pom.xml`; Maven copies the jars it names into `.interop/`
(ignored by git). A stamp with the pom's digest makes the second call a file comparison. What is missing
(Java, Maven, the network) is a `RefereeMissing` with one sentence to say so: an interop test without its
referee fails, it never skips.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
STORE = HERE.parents[1] / ".interop"
SERIES = ("3.9", "4.3")
MAVEN = ("mvn", "-q", "-B", "-DincludeScope=runtime")
FETCH_TIMEOUT_SECONDS = 900
TOOL_TIMEOUT_SECONDS = 120
TOOL_HEAP_MB = 128


class RefereeMissing(Exception):
    """Apache Kafka cannot be had on this machine; the sentence says what is absent."""


@dataclass(frozen=True)
class ToolResult:
    exit_code: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Kafka:
    """One version of Apache Kafka, ready to run."""

    series: str
    version: str
    jars: Path

    def command(
        self, program: str, *arguments: str, heap_mb: int = TOOL_HEAP_MB, log_level: str = "ERROR"
    ) -> list[str]:
        """`program` is a class name, or the path of a single-file Java program."""
        return [
            "java",
            f"-Xmx{heap_mb}m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            f"-Dinterop.level={log_level}",
            f"-Dlog4j.configuration=file:{HERE / 'log4j.properties'}",
            f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}",
            "-cp",
            f"{self.jars}/*",
            program,
            *arguments,
        ]

    def run(self, program: str, *arguments: str, stdin: str = "", folder: Path | None = None) -> ToolResult:
        done = subprocess.run(
            self.command(program, *arguments),
            cwd=folder,
            input=stdin.encode(),
            capture_output=True,
            timeout=TOOL_TIMEOUT_SECONDS,
            env=os.environ | {"LC_ALL": "C.UTF-8"},
        )
        # A value may hold a carriage return, which text mode would not leave alone.
        return ToolResult(done.returncode, done.stdout.decode(), done.stderr.decode())

    def dump_log_segments(self, files: Sequence[Path], *flags: str, folder: Path | None = None) -> ToolResult:
        """`kafka-dump-log`, run in `folder`; the text names the files as they are given here."""
        # The tool moved from Kafka's core to its tools module within the 4 series.
        package = "kafka.tools" if self.series == "3.9" else "org.apache.kafka.tools"
        names = ",".join(map(str, files))
        return self.run(f"{package}.DumpLogSegments", *flags, "--files", names, folder=folder)


def fetch(series: str) -> Kafka:
    """Kafka of this series, from the store or from Maven."""
    pom = HERE / f"kafka-{series}" / "pom.xml"
    home = STORE / f"kafka-{series}"
    kafka = Kafka(series, _version_in(pom), home / "jars")
    _need("java", "Java 17 to run Apache Kafka")
    _need("javac", "a JDK, not only a Java runtime, for its single-file programs")
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _copy_jars(pom, kafka.jars, stamp=home / "stamp")
    return kafka


def _copy_jars(pom: Path, jars: Path, stamp: Path) -> None:
    digest = hashlib.sha256(pom.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    _need("mvn", "Maven to fetch Apache Kafka")
    shutil.rmtree(jars, ignore_errors=True)
    try:
        copied = subprocess.run(
            [*MAVEN, "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={jars}"],
            capture_output=True,
            text=True,
            timeout=FETCH_TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise RefereeMissing(f"Maven did not fetch Apache Kafka within {FETCH_TIMEOUT_SECONDS} seconds.") from None
    if copied.returncode != 0:
        reason = next((line for line in copied.stdout.splitlines() if "ERROR" in line), "no reason given")
        raise RefereeMissing(f"Maven could not fetch Apache Kafka: {reason.strip()}")
    stamp.write_text(digest)


def _need(program: str, what: str) -> None:
    if shutil.which(program) is None:
        raise RefereeMissing(f"Interop needs {what}: there is no `{program}` on the path.")


def _version_in(pom: Path) -> str:
    found = re.search(r"<kafka\.version>(.+?)</kafka\.version>", pom.read_text())
    assert found is not None
    return found.group(1)
