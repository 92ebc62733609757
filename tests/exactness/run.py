"""A run: the input is filled, then Spark copies and sorts it while one process after another is killed, and is counted.

    input -> the pipeline -> output (a topic), Parquet, Delta; bad records -> dead (a topic)
          -> a plain query -> copy (a topic)

A kill comes when batches were done since the last one, so that it meets a Spark at work. Who ends is started again, as
whoever looks after such programs would: a driver also if it ends by itself with an error, which is told.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.exactness import places
from tests.exactness.account import Verdict, judge_place
from tests.exactness.brokers import Brokers
from tests.exactness.records import PARTITIONS, RULE, SCHEMA, fill, is_bad
from tests.exactness.topics import held_up
from tests.spark.standalone import StandaloneSpark, environment, settings

INPUT, OUTPUT, DEAD, COPY = "input", "output", "dead", "copy"
SINK_PARTITIONS = 3
KINDS = ("python worker", "broker", "executor", "driver")
BATCHES_PER_KILL = 3
PAUSE_S = 3.0  # at most, between a batch that is done and the next kill
POLL_S = 0.05

Tell = Callable[[str], object]


@dataclass
class Outcome:
    verdicts: list[Verdict] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)
    fell: list[str] = field(default_factory=list)  # what drivers said that ended by themselves
    held_up: list[str] = field(default_factory=list)
    batches: int = 0
    seconds: float = 0.0

    @property
    def is_exact(self) -> bool:
        return bool(self.verdicts) and all(each.is_exact for each in self.verdicts) and not self.held_up


class Run:
    def __init__(
        self,
        directory: Path,
        brokers: Brokers,
        *,
        records: int,
        kills: int,
        seed: int = 0,
        batches_per_kill: int = BATCHES_PER_KILL,
        pause_s: float = PAUSE_S,
        tell: Tell = print,
    ) -> None:
        self.directory = directory
        self.brokers = brokers
        self.records = records
        self.outcome = Outcome()
        self._kills_left = [KINDS[number % len(KINDS)] for number in range(kills)]
        self._batch_records = max(100, records // (batches_per_kill * max(kills, 1)))
        self._chance = Random(seed)
        self._pause_s = pause_s
        self._tell = tell
        self._strike_at_s: float | None = None
        self._done_at_strike = 0

    def run(self, timeout_s: float) -> Outcome:
        for topic, partitions in ((INPUT, PARTITIONS), *((name, SINK_PARTITIONS) for name in (OUTPUT, DEAD, COPY))):
            self.brokers.create_topic(topic, partitions)
        fill(self.brokers.bootstrap, INPUT, self.records)
        self._tell(f"{self.records:,} records are in, {self._batch_records:,} to a batch")
        began_s = time.monotonic()
        with StandaloneSpark(self.directory) as spark:
            self._write_pipeline(spark.master)
            while not self._live_once(spark, began_s + timeout_s):
                pass
        self.outcome.seconds = time.monotonic() - began_s
        self.outcome.batches = self._done()
        self._take_account()
        return self.outcome

    def _write_pipeline(self, master: str) -> None:
        options = "".join(f"  {name}: {value!r}\n" for name, value in settings(self.directory).items())
        (self.directory / "pipeline.yaml").write_text(
            f"""
name: exactness
brokers: {self.brokers.bootstrap.split(",")}
source: {{topics: [{INPUT}], start: earliest, max_records_per_batch: {self._batch_records}}}
parse: {{format: json, schema: "{SCHEMA}"}}
expect: [{{name: positive, rule: {RULE}, otherwise: dead-letter}}]
sink:
  - topic: {{topic: {OUTPUT}, key: _key}}
  - parquet: {{path: parquet}}
  - delta: {{path: delta}}
dead_letter: {DEAD}
trigger: once
checkpoint: checkpoint
master: {master}
spark:
{options}"""
        )

    # A life of the driver

    def _live_once(self, spark: StandaloneSpark, deadline_s: float) -> bool:
        """Whether it came to its end. It is killed in between, or falls."""
        log_file = self.directory / "driver.log"
        with log_file.open("w") as log:
            driver = subprocess.Popen(
                [sys.executable, "-m", "tests.exactness.driver", str(self.directory / "pipeline.yaml"), INPUT, COPY],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment(),
                start_new_session=True,  # so that its JVM dies with it
            )
        try:
            while driver.poll() is None:
                assert time.monotonic() < deadline_s, f"not done in time, after {dict(self.outcome.kills)}"
                if self._is_time() and self._strike(spark, driver):
                    self._strike_at_s, self._done_at_strike = None, self._done()
                time.sleep(POLL_S)
        finally:
            _kill_group(driver)
        if driver.returncode == 0:
            return True
        if driver.returncode > 0:
            said = [line for line in log_file.read_text().splitlines() if line.strip()]
            self.outcome.fell.append(said[-1][:300] if said else "nothing")
            self._tell(f"the driver fell: {self.outcome.fell[-1]}")
        return False

    def _is_time(self) -> bool:
        if not self._kills_left or self._done() <= self._done_at_strike:
            return False
        if self._strike_at_s is None:
            self._strike_at_s = time.monotonic() + self._chance.uniform(0, self._pause_s)
        return time.monotonic() >= self._strike_at_s

    def _strike(self, spark: StandaloneSpark, driver: subprocess.Popen[bytes]) -> bool:
        """False where there is nobody of that kind right now."""
        kind = self._kills_left[0]
        if kind == "broker":
            self.brokers.kill_one(self._chance)
        elif kind == "driver":
            _kill_group(driver)
        else:
            victims = spark.executors if kind == "executor" else spark.python_workers
            if not victims:
                return False
            try:
                os.kill(self._chance.choice(victims), signal.SIGKILL)
            except ProcessLookupError:
                return False
        self._kills_left.pop(0)
        self.outcome.kills[kind] += 1
        self._tell(f"kill {self.outcome.kills.total()}: {kind}, after {self._done()} batches")
        return True

    def _done(self) -> int:
        """Batches of both queries."""
        folders = (self.directory / "checkpoint" / "query" / "commits", self.directory / "copy" / "commits")
        return sum(_last_number(folder) + 1 for folder in folders)

    # The account

    def _take_account(self) -> None:
        bootstrap, count = self.brokers.bootstrap, self.records
        sinks = dict.fromkeys((OUTPUT, DEAD, COPY), SINK_PARTITIONS)
        self.outcome.held_up = [str(each) for each in held_up(bootstrap, sinks)]

        def is_good(number: int) -> bool:
            return not is_bad(number)

        found = [
            ("topic, exactly once", is_good, places.numbers_in(bootstrap, OUTPUT, SINK_PARTITIONS)),
            ("Parquet", is_good, places.numbers_in_parquet(self.directory / "parquet")),
            ("Delta", is_good, places.numbers_in_delta(self.directory / "delta")),
            ("dead letters", is_bad, places.keys_in(bootstrap, DEAD, SINK_PARTITIONS)),
            ("copy of the topic", lambda _: True, places.keys_in(bootstrap, COPY, SINK_PARTITIONS)),
        ]
        self.outcome.verdicts = [judge_place(name, count, wanted, numbers) for name, wanted, numbers in found]


def _last_number(folder: Path) -> int:
    try:
        return max((int(name) for name in os.listdir(folder) if name.isdigit()), default=-1)
    except FileNotFoundError:
        return -1


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
