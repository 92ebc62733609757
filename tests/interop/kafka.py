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
import tempfile
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
SOON_READY = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")  # for programs that live for seconds


class RefereeMissing(Exception):
    """Apache Kafka or Spark cannot be had on this machine; the sentence says what is absent."""


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
        self,
        program: str,
        *arguments: str,
        heap_mb: int = TOOL_HEAP_MB,
        log_level: str = "ERROR",
        java_flags: Sequence[str] = SOON_READY,
    ) -> list[str]:
        """`program` is a class name, or the path of a single-file Java program, which is compiled once."""
        path = f"{self.jars}/*"
        if program.endswith(".java"):
            path, program = f"{path}{os.pathsep}{self._compiled(Path(program))}", Path(program).stem
        return [
            "java",
            f"-Xmx{heap_mb}m",
            *java_flags,
            f"-Dinterop.level={log_level}",
            f"-Dlog4j.configuration=file:{HERE / 'log4j.properties'}",
            f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}",
            "-cp",
            path,
            program,
            *arguments,
        ]

    def _compiled(self, source: Path) -> Path:
        """The folder with its classes; a change of the source makes another one."""
        digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
        classes = self.jars.parent / "classes" / f"{source.stem}-{digest}"
        if not classes.exists():
            classes.parent.mkdir(exist_ok=True)
            unfinished = tempfile.mkdtemp(dir=classes.parent)
            subprocess.run(["javac", "-cp", f"{self.jars}/*", "-d", unfinished, str(source)], check=True)
            os.rename(unfinished, classes)
        return classes

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
    kafka = Kafka(series, version_in(pom, "kafka.version"), home / "jars")
    need("java", "Java 17 to run Apache Kafka")
    need("javac", "a JDK, not only a Java runtime, for its single-file programs")
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        copy_jars(pom, kafka.jars, stamp=home / "stamp", what="Apache Kafka")
    return kafka


def copy_jars(pom: Path, jars: Path, stamp: Path, what: str) -> None:
    """Those that the pom names, unless they are there."""
    digest = hashlib.sha256(pom.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    need("mvn", f"Maven to fetch {what}")
    shutil.rmtree(jars, ignore_errors=True)
    try:
        copied = subprocess.run(
            [*MAVEN, "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={jars}"],
            capture_output=True,
            text=True,
            timeout=FETCH_TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise RefereeMissing(f"Maven did not fetch {what} within {FETCH_TIMEOUT_SECONDS} seconds.") from None
    if copied.returncode != 0:
        reason = next((line for line in copied.stdout.splitlines() if "ERROR" in line), "no reason given")
        raise RefereeMissing(f"Maven could not fetch {what}: {reason.strip()}")
    stamp.write_text(digest)


def need(program: str, what: str) -> None:
    if shutil.which(program) is None:
        raise RefereeMissing(f"Interop needs {what}: there is no `{program}` on the path.")


def version_in(pom: Path, name: str) -> str:
    found = re.search(rf"<{re.escape(name)}>(.+?)</{re.escape(name)}>", pom.read_text())
    assert found is not None
    return found.group(1)
