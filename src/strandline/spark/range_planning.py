"""Which task reads what: one for each partition that has something, more where `minPartitions` asks for them.

`maxRecordsPerPartition` cuts first, into equal parts none of which is larger. If these are fewer than `minPartitions`,
large ranges are cut in proportion to their size; small ones, whose share is one task, are left whole and out of the
sum. The number of tasks comes near to `minPartitions`, as with Spark's own source.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from strandline.model.partitions import TopicPartition


class OffsetRange(NamedTuple):
    """`until_offset` is not read any more. Offsets, not records: compaction and transactions leave gaps."""

    partition: TopicPartition
    from_offset: int
    until_offset: int

    @property
    def size(self) -> int:
        return self.until_offset - self.from_offset


def plan_ranges(
    ranges: Iterable[OffsetRange], *, min_partitions: int | None, max_records_per_partition: int | None
) -> list[OffsetRange]:
    planned = [each for each in ranges if each.size > 0]
    if max_records_per_partition is not None:
        planned = [part for each in planned for part in _cut(each, -(-each.size // max_records_per_partition))]
    if min_partitions is None or len(planned) >= min_partitions:
        return planned
    total = sum(each.size for each in planned)
    small = {each for each in planned if _parts(each.size, total, min_partitions) == 1}
    large_total = total - sum(each.size for each in small)
    parts_of_large = max(min_partitions - len(small), 1)
    return [
        part
        for each in planned
        for part in ([each] if each in small else _cut(each, _parts(each.size, large_total, parts_of_large)))
    ]


def _parts(size: int, total: int, wanted: int) -> int:
    return max(int(size / total * wanted + 0.5), 1)


def _cut(whole: OffsetRange, count: int) -> list[OffsetRange]:
    parts = []
    start = whole.from_offset
    for number in range(count):
        end = start + (whole.until_offset - start) // (count - number)
        if end > start:
            parts.append(OffsetRange(whole.partition, start, end))
        start = end
    return parts
