"""A Spark of several processes on the loopback: a master, a worker, and the executors that it starts.

Nothing of ours is installed there: executors have this Python and find our modules by the path that a program names.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from tests.interop.process import Child

ROOT = Path(__file__).resolve().parents[2]
JAVA_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
MASTER_URL = re.compile(r"Starting Spark master at (spark://\S+)")
EXECUTOR = b"CoarseGrainedExecutorBackend"
PYTHON_DAEMON = b"pyspark.daemon"


class StandaloneSpark:
    """Started by `with`. Its executors have one core each."""

    def __init__(self, directory: Path, *, cores: int = 2) -> None:
        self._directory = directory
        self._cores = cores
        self._stack = ExitStack()
        self.master = ""  # once it is started
        self._worker_pid = 0

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            master = stack.enter_context(self._child("master", "--host", "127.0.0.1", "--port", "0"))
            found = MASTER_URL.search(master.log())
            assert found is not None
            self.master = found[1]
            folder = str(self._directory / "work")
            size = ("--cores", str(self._cores), "--memory", "4g", "--work-dir", folder)
            worker = stack.enter_context(self._child("worker", "--host", "127.0.0.1", *size, self.master))
            self._worker_pid = worker.pid
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _child(self, role: str, *arguments: str) -> Child:
        from pyspark.find_spark_home import _find_spark_home

        kind = f"org.apache.spark.deploy.{role}.{role.capitalize()}"
        command = [f"{_find_spark_home()}/bin/spark-class", kind, "--webui-port", "0", *arguments]
        ready = "New state: ALIVE" if role == "master" else "Successfully registered with master"
        options = f"{JAVA_OPTIONS} -Dspark.master.rest.enabled=false"
        child = Child(command, self._directory / f"{role}.log", ready)
        child.environment |= {"SPARK_LOCAL_IP": "127.0.0.1"}
        child.environment |= {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": options}
        return child

    @property
    def executors(self) -> list[int]:
        return [pid for pid in descendants(self._worker_pid) if EXECUTOR in command_line(pid)]

    @property
    def python_workers(self) -> list[int]:
        """Those that run tasks: the daemon of each executor forks them."""
        daemons = [pid for pid in descendants(self._worker_pid) if PYTHON_DAEMON in command_line(pid)]
        return [pid for pid in daemons if any(parent in daemons for parent in parents_of([pid]))]


def environment() -> dict[str, str]:
    """Of a driver."""
    own = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    return os.environ | own | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}


def settings(directory: Path, executor_mb: int = 768) -> dict[str, str]:
    """Of a program that runs there: this checkout, and small processes."""
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": JAVA_OPTIONS,
        "spark.executor.cores": "1",
        "spark.executor.memory": f"{executor_mb}m",
        "spark.executor.extraJavaOptions": JAVA_OPTIONS,
        "spark.executorEnv.PYTHONPATH": str(ROOT / "src"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.sql.streaming.checkpointFileManagerClass": (
            "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
        ),
    }


def descendants(pid: int) -> list[int]:
    found = [pid]
    for parent in found:  # which grows
        found += children_of(parent)
    return found[1:]


def children_of(pid: int) -> list[int]:
    children = []
    for thread in _listed(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                children += [int(child) for child in file.read().split()]
        except OSError:
            continue  # it has just ended
    return children


def parents_of(pids: list[int]) -> list[int]:
    parents = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                parents.append(int(file.read().rpartition(")")[2].split()[1]))
        except OSError:
            continue
    return parents


def command_line(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


def _listed(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
