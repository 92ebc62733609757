"""Spark's exactly-once sink as a client of a run: a driver in a process of its own, and somebody who looks after it.

A driver that ends is started again from its checkpoint, as whoever runs such programs would do; how often, and what it
said, is in the account.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from tests.chaos.sight import ClusterSight, Sight, Waited
from tests.chaos.spark_account import Place, SparkAccount, judge
from tests.exactness.topics import held_up, messages_in
from tests.interop.process import die_with_parent
from tests.spark.standalone import environment

from strandline.history.recording.marks import HEADER, mark_of
from strandline.model.partitions import TopicPartition
from strandline.pipeline.checkpoint import Checkpoint
from strandline.spark.offsets_json import PartitionOffsets

PROGRAM = (sys.executable, "-m", "tests.chaos.spark_program")
POLL_S = 0.1
PAUSE_S = 1.0  # before a driver that ended by itself is started again
START_TIMEOUT_S = 600.0  # a session takes minutes on a machine with far too much to do
END_TIMEOUT_S = 600.0
AT_WORK_TIMEOUT_S = 120.0
# Longer than any clock jumps: coordinators go by their time of day, here as in Kafka, and would end a decided batch.
TRANSACTION_TIMEOUT_MS = 3 * 60 * 60_000


class SparkClient:
    def __init__(
        self, directory: str, bootstrap: str, source: str, partitions: int, program: Sequence[str] = PROGRAM
    ) -> None:
        os.makedirs(directory, exist_ok=True)
        self.target = f"{source}-in-spark"
        self.kills = 0
        self.fell: list[str] = []
        self._directory = directory
        self._bootstrap = bootstrap
        self._source = source
        self._partitions = partitions
        self._program = program
        self._checkpoint = Checkpoint(directory)
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._driver: subprocess.Popen[bytes] | None = None
        self._keeper = threading.Thread(target=self._keep, name="spark", daemon=True)

    @property
    def batches(self) -> int:
        """That are done."""
        last = self._checkpoint.last_done()
        return 0 if last is None else last.batch_id + 1

    def start(self) -> None:
        """Returns when the first batch is done: from then on a fault meets a Spark at work."""
        self._keeper.start()
        self._wait(lambda: self.batches > 0, "Spark's first batch", START_TIMEOUT_S)

    def wait_for(self, ends: Mapping[TopicPartition, int]) -> None:
        """Until it has written all that is in the source."""
        wanted = {name: end for name, end in ends.items() if name.topic == self._source}

        def is_there() -> bool:
            done = self._done()
            return all(done.get(name, 0) >= end for name, end in wanted.items())

        self._wait(is_there, f"that Spark comes to the end of {self._source}", END_TIMEOUT_S)

    def stop(self) -> None:
        self._stopping.set()
        self._kill()
        self._keeper.join()

    def kill(self) -> None:
        """The driver, and all that it started."""
        self.kills += 1
        self._kill()

    def account(self, wanted: dict[Place, str]) -> SparkAccount:
        """When it is stopped."""
        open_in = tuple(map(str, held_up(self._bootstrap, {self.target: self._partitions})))
        account = judge(wanted, self._written(), batches=self.batches, kills=self.kills, fell=self.fell)
        return replace(account, held_up=open_in)

    def _written(self) -> Iterator[tuple[Place, str]]:
        for message in messages_in(self._bootstrap, self.target, self._partitions):
            key = message.key() or b""
            partition, _, offset = (key.decode() if isinstance(key, bytes) else key).partition(":")
            yield (int(partition), int(offset)), mark_of(message.headers(), message.value(), HEADER)

    def _done(self) -> PartitionOffsets:
        last = self._checkpoint.last_done()
        return {} if last is None else last.offsets

    def _wait(self, holds: Callable[[], bool], what: str, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not holds():
            if time.monotonic() > deadline:
                raise Waited(f"{what} did not come true within {timeout_s:g} s, after {self.batches} batches")
            time.sleep(POLL_S)

    # Its keeper.

    def _keep(self) -> None:
        life = 0
        while not self._stopping.is_set():
            life += 1
            path = f"{self._directory}/driver-{life}.log"
            if self._live(path) > 0:
                self.fell.append(_last_line(path))
                self._stopping.wait(PAUSE_S)

    def _live(self, log_path: str) -> int:
        """One driver, to its end."""
        with open(log_path, "wb") as log, self._lock:
            if self._stopping.is_set():
                return 0
            self._driver = subprocess.Popen(
                [*self._program, self._bootstrap, self._source, self.target, self._directory],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment(),
                start_new_session=True,  # so that its JVM and its workers die with it
                preexec_fn=die_with_parent,
            )
        code = self._driver.wait()
        _kill_group(self._driver.pid)
        return code

    def _kill(self) -> None:
        with self._lock:
            if self._driver is not None:
                _kill_group(self._driver.pid)


class KillSpark:
    """SIGKILL of the driver and its workers. It must go on where it was."""

    name = "kill-spark"

    def __init__(self, client: SparkClient) -> None:
        self._client = client
        self._batches = 0

    def strike(self, sight: Sight) -> str:  # noqa: ARG002
        self._batches = self._client.batches
        self._client.kill()
        return "Spark's driver"

    def hold(self, sight: ClusterSight) -> None:  # noqa: ARG002
        """Until it is at work again: the next fault shall not meet one that is just starting."""
        deadline = time.monotonic() + AT_WORK_TIMEOUT_S
        while self._client.batches <= self._batches and time.monotonic() < deadline:
            time.sleep(POLL_S)

    def heal(self) -> None:
        pass

    def felt(self) -> int:
        return self._client.kills


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _last_line(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as log:
        said = [line.strip() for line in log if line.strip()]
    return said[-1][:300] if said else "nothing"
