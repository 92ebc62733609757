"""Runs nobody thought of: operations drawn under a seed, power lost between any two of their steps (SPEC L7-L9)."""

from __future__ import annotations

from random import Random

import pytest
from tests.log.crash_oracle import CrashOracle
from tests.log.sample_log import NOW_MS, Step, disk_with_folder, idempotent, marker, plain, transactional

from strandline.log.flush import FlushWork
from strandline.log.log import Log
from strandline.simulation.crash_matrix import run_with_power_loss_at_every_step
from strandline.simulation.disk import SimulatedDisk

OPERATIONS = 30


class RandomRun:
    def __init__(self, seed: int, log: Log, oracle: CrashOracle) -> None:
        self.random = Random(seed)
        self.log = log
        self.oracle = oracle
        self.epoch = 0
        self.flush: FlushWork | None = None

    def play(self) -> None:
        for _ in range(OPERATIONS):
            kinds = (self.append, self.append, self.append, self.flush_some, self.roll, self.truncate, self.remove)
            self.random.choice(kinds)()
        self.end_flush()

    def append(self) -> None:
        self.epoch += self.random.random() < 0.2
        self.oracle.append(self.log, self.random.choice((self._plain, self._idempotent, self._transactional))())

    def _plain(self) -> Step:
        timestamps = [self.random.randrange(1000) for _ in range(self.random.randrange(1, 4))]
        return Step(plain(*timestamps), self.epoch)

    def _idempotent(self) -> Step:
        return Step(idempotent(10, self._next_sequence(10), self.random.randrange(1000)), self.epoch)

    def _transactional(self) -> Step:
        producer_id = self.random.choice((20, 21))
        entry = self.log.producers.entry_of(producer_id)
        if entry is not None and entry.current_transaction_first_offset is not None and self.random.random() < 0.6:
            is_commit = self.random.random() < 0.3
            return Step(marker(producer_id, 500, is_commit=is_commit), self.epoch, from_client=False)
        return Step(transactional(producer_id, self._next_sequence(producer_id), 400), self.epoch)

    def _next_sequence(self, producer_id: int) -> int:
        entry = self.log.producers.entry_of(producer_id)
        return entry.last_batch.last_sequence + 1 if entry is not None and entry.last_batch else 0

    def flush_some(self) -> None:
        """Half of the time the syncs run in the middle of other things, as in a worker thread."""
        if self.random.random() < 0.5:
            self.end_flush()
            self.oracle.flush(self.log)
        elif self.flush is None:
            self.flush = self.log.begin_flush()
        else:
            self.end_flush()

    def end_flush(self) -> None:
        if self.flush is not None:
            self.flush.run()
            self.log.end_flush(self.flush, NOW_MS)
            self.flush = None
            self.oracle.flushed(self.log)

    def roll(self) -> None:
        self.log.roll(NOW_MS)

    def truncate(self) -> None:
        offsets = [batch.base_offset for batch in self.oracle.timelines[-1][-6:]]
        offsets = [offset for offset in offsets if offset > self.log.log_start_offset]
        if offsets:
            self.epoch += 1
            self.oracle.truncate(self.log, self.random.choice(offsets))

    def remove(self) -> None:
        """Retention takes only what is flushed: it goes by the high watermark, which does."""
        oldest, *others = self.log.segments.all()
        if others and others[0].base_offset <= self.log.recovery_point and self.random.random() < 0.5:
            self.oracle.removable_offset = others[0].base_offset
            self.log.remove_segments([oldest], now_ms=NOW_MS)
            self.oracle.log_start_offset = self.log.log_start_offset


@pytest.mark.parametrize("seed", [*range(6), 25, 89])
def test_any_run_leaves_a_prefix_with_all_that_was_promised(seed: int) -> None:
    def run(disk: SimulatedDisk, oracle: CrashOracle) -> None:
        RandomRun(seed, oracle.recovered(disk), oracle).play()

    count = run_with_power_loss_at_every_step(
        run,
        lambda disk, oracle: oracle.verify(disk),
        make_oracle=CrashOracle,
        make_disk=disk_with_folder,
        seeds=1,
        corner_cases_max=4,
    )
    assert count.steps > 30
