"""Rounds of turns: each load on each side, one after another, and who goes first changes."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from confluent_kafka import KafkaException
from tests.interop.kafka import Kafka

from benchmarks.compare import brokers
from benchmarks.compare.bench import Bench, Scale
from benchmarks.compare.given_memory import given_memory
from benchmarks.compare.load_kind import Load, Measured, Stage
from benchmarks.compare.loads.starting import Start
from benchmarks.compare.pool import Pool, client_pool
from benchmarks.compare.provenance import Provenance
from benchmarks.compare.results import Result, Store
from benchmarks.compare.side import OURS, THEIRS, CompareFailed, Side
from benchmarks.compare.warming import warm, warm_once

Turn = Callable[[], Measured]
FAILURES = (CompareFailed, KafkaException, OSError, ValueError, TimeoutError)


class Runner:
    def __init__(
        self, kafkas: dict[Stage, Kafka], scratch: str, scale: Scale, store: Store, provenance: Provenance
    ) -> None:
        self._kafkas = kafkas
        self._scratch = scratch
        self._scale = scale
        self._store = store
        self._provenance = provenance

    def run(self, loads: Sequence[Load]) -> None:
        for stage in (Stage.UNSTARTED, Stage.ALONE, Stage.IN_THREES):
            wanted = [load for load in loads if load.stage is stage]
            if not wanted:
                continue
            tell(f"{stage.value}:")
            with given_memory(), _folder(f"{self._scratch}/{stage.name.lower()}") as folder:
                if stage is Stage.UNSTARTED:
                    self._run_unstarted(wanted, self._kafkas[stage], folder)
                else:
                    self._run_served(wanted, stage, self._kafkas[stage], folder)

    def _run_unstarted(self, loads: Sequence[Load], kafka: Kafka, folder: str) -> None:
        starters = {
            OURS: brokers.strandline_starter(f"{folder}/{OURS}"),
            THEIRS: brokers.kafka_starter(kafka, f"{folder}/{THEIRS}"),
        }
        versions = {OURS: brokers.our_version(), THEIRS: kafka.version}
        for load in loads:
            assert isinstance(load, Start)
            turns = {name: partial(load.measure, starter, self._scale) for name, starter in starters.items()}
            self._measure(load, versions, turns, preparations={})

    def _run_served(self, loads: Sequence[Load], stage: Stage, kafka: Kafka, folder: str) -> None:
        start = brokers.alone if stage is Stage.ALONE else brokers.in_threes
        with start(kafka, folder) as sides, client_pool() as pool:
            versions = {side.name: side.version for side in sides}
            tell(f"  {warm(sides, self._provenance.warm_s, partial(self._warm_once, pool))}")
            for load in loads:
                with ExitStack() as stack:
                    benches = [stack.enter_context(_bench(side, pool, self._scale)) for side in sides]
                    turns = {bench.side.name: partial(load.turn, bench) for bench in benches}
                    preparations = {bench.side.name: partial(load.prepare, bench) for bench in benches}
                    self._measure(load, versions, turns, preparations)

    def _warm_once(self, pool: Pool, side: Side) -> float:
        with _bench(side, pool, self._scale) as bench:
            return warm_once(bench)

    def _measure(
        self,
        load: Load,
        versions: dict[str, str],
        turns: Mapping[str, Turn],
        preparations: Mapping[str, Callable[[], None]],
    ) -> None:
        begun_s = time.perf_counter()
        result = Result(load.name, load.title_at(self._scale), load.stage.value, versions, {name: [] for name in turns})
        name = ""
        try:
            for name in preparations:
                preparations[name]()
            for name in turns:
                turns[name]()  # the first round is for the caches
            for number in range(min(self._scale.rounds, load.rounds_max)):
                for name in list(turns) if number % 2 == 0 else list(turns)[::-1]:
                    result.turns[name].append(turns[name]())
        except FAILURES as problem:
            result.failure = f"{name}: {str(problem) or type(problem).__name__}"
        result.load_average = os.getloadavg()[0]
        result.is_quick = self._scale.is_quick
        result.provenance = self._provenance
        self._store.save(result)
        tell(f"  {load.name}: {result.failure or _glance(result)}  ({time.perf_counter() - begun_s:.0f} s)")


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _glance(result: Result) -> str:
    """The first figure of the last round."""
    ours, theirs = result.turns[OURS][-1], result.turns[THEIRS][-1]
    metric = next(iter(ours))
    return f"{metric} {ours[metric]:.4g} to {theirs[metric]:.4g}"


@contextmanager
def _bench(side: Side, pool: Pool, scale: Scale) -> Iterator[Bench]:
    """A topic that cannot be deleted any more is no reason to lose what was measured."""
    bench = Bench(side, pool, scale)
    try:
        yield bench
    finally:
        try:
            bench.close()
        except FAILURES as problem:
            tell(f"  {side.name} kept its topics: {problem}")


@contextmanager
def _folder(path: str) -> Iterator[str]:
    os.makedirs(path)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
