"""How far a micro-batch reads: everything, at most so many offsets, or nothing until there are enough.

A limit is shared out by how much each partition has to read. Small ones get one offset at least, so that none starves.
"""

from __future__ import annotations

import math

from strandline.spark.offsets_json import PartitionOffsets


def limit_offsets(limit: int, start: PartitionOffsets, until: PartitionOffsets) -> PartitionOffsets:
    """`start` knows where every partition of `until` begins."""
    sizes = {partition: end - start[partition] for partition, end in until.items() if end > start[partition]}
    total = sum(sizes.values())
    if total <= limit:
        return dict(until)
    limited = dict(until)
    for partition, size in sizes.items():
        share = limit * size / total
        whole = math.ceil(share) if share < 1 else math.floor(share)
        limited[partition] = min(until[partition], start[partition] + whole)
    return limited


class EnoughOffsets:
    """`minOffsetsPerTrigger`: a batch waits until there is that much to read, but not longer than `maxTriggerDelay`."""

    def __init__(self, at_least: int, delay_max_ms: int) -> None:
        self._at_least = at_least
        self._delay_max_ms = delay_max_ms
        self._last_batch_ms: int | None = None  # the first one does not wait

    def is_enough(self, start: PartitionOffsets, until: PartitionOffsets, elapsed_ms: int) -> bool:
        """`elapsed_ms` is of a clock that nobody can set, or a batch would wait for as long as it was set back."""
        new = sum(max(0, end - start[partition]) for partition, end in until.items())
        if new < self._at_least and not self._has_waited(elapsed_ms):
            return False
        self._last_batch_ms = elapsed_ms
        return True

    def _has_waited(self, elapsed_ms: int) -> bool:
        return self._last_batch_ms is None or elapsed_ms - self._last_batch_ms >= self._delay_max_ms
