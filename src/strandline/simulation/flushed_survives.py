"""What counts as flushed is there after a loss of power."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from strandline.broker.broker import Broker
from strandline.log.log import Log
from strandline.log.log_directories import LogDirectories
from strandline.model.failures import CorruptLog
from strandline.model.partitions import TopicPartition
from strandline.simulation.machine import DATA, Machine
from strandline.simulation.observed import batches_from


class FlushedSurvives:
    """Power goes; whatever lies below the recovery point of a log is found by the next process, batch for batch: up to
    there recovery does not even look. What survives of the rest is drawn from a stream that nobody else draws from."""

    name = "FlushedSurvives"

    def check(self, machine: Machine, broker: Broker) -> Iterator[str]:
        disk = machine.disk.crash(Random(f"{machine.world.seed}/flushed"))
        now_ms = machine.world.now_ms
        opened = LogDirectories.open(disk, [DATA], broker.configuration.log_settings, now_ms=now_ms)
        for directory in broker.directories.online():
            for name, log in directory.logs.items():
                yield from lost_of(name, log, opened.log_of(name))


def lost_of(name: TopicPartition, log: Log, opened: Log | None) -> Iterator[str]:
    flushed = [each for each in batches_from(log, log.log_start_offset) if each.last_offset < log.recovery_point]
    if opened is None:
        if flushed:
            yield f"{name} is gone, with what it had flushed up to {log.recovery_point}"
        return
    try:
        there = {each.base_offset: each for each in batches_from(opened, opened.log_start_offset)}
    except CorruptLog as damage:
        yield f"{name} has flushed up to {log.recovery_point}, and opened again it cannot be read: {damage}"
        return
    for batch in flushed:
        if there.get(batch.base_offset) != batch and batch.last_offset >= opened.log_start_offset:
            yield f"{name} has flushed up to {log.recovery_point}, and opened again it lacks {batch}"
