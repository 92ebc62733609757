"""Whether Spark has written each committed record once: what it found by place, against what others read there. Pure.

What must be there is what a reader of committed data has read to the end of the source, and whatever a producer without
transactions was told is acknowledged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from strandline.history.operations import Operation, Outcome, Poll, Send

Place: TypeAlias = tuple[int, int]
"""A partition of the source, and an offset."""


@dataclass(frozen=True)
class SparkAccount:
    records: int  # that must be there
    batches: int
    lost: int
    doubled: int
    wrong: int  # other records than stood there, or such as are not committed
    kills: int
    fell: Sequence[str] = ()  # what was said by each query that ended by itself
    held_up: Sequence[str] = field(default=())  # partitions in which a transaction was left open

    @property
    def is_exact(self) -> bool:
        return not (self.lost or self.doubled or self.wrong or self.held_up)

    @property
    def restarts(self) -> int:
        return self.kills + len(self.fell)

    def as_fields(self) -> dict[str, Any]:
        return asdict(self) | {"restarts": self.restarts, "exact": self.is_exact}

    def __str__(self) -> str:
        ended = f"{self.restarts} restarts ({self.kills} of them after kills)"
        held_up = f"; a transaction is open in {', '.join(self.held_up)}" if self.held_up else ""
        return (
            f"Spark: {self.records:,} records in {self.batches:,} batches, lost {self.lost}, doubled {self.doubled},"
            f" wrong {self.wrong}, {ended}{held_up}"
        )


def committed_records(operations: Iterable[Operation], topic: str, reader: str) -> dict[Place, str]:
    """The marks of the records that must be there."""
    found: dict[Place, str] = {}
    for each in operations:
        if isinstance(each, Poll) and each.process == reader:
            records = [record for record in each.records if record.partition.topic == topic]
            found |= {(record.partition.partition, record.offset): record.value for record in records}
        elif isinstance(each, Send) and each.topic == topic and _is_acknowledged(each):
            assert each.partition is not None
            found[each.partition.partition, each.offset or 0] = each.value
    return found


def _is_acknowledged(send: Send) -> bool:
    return send.outcome is Outcome.OK and send.transaction is None and send.offset is not None


def judge(
    wanted: dict[Place, str], found: Iterable[tuple[Place, str]], *, batches: int, kills: int, fell: Sequence[str]
) -> SparkAccount:
    times: Counter[Place] = Counter()
    wrong = 0
    for place, mark in found:
        if wanted.get(place) == mark:
            times[place] += 1
        else:
            wrong += 1
    lost = sum(place not in times for place in wanted)
    doubled = sum(count - 1 for count in times.values())
    return SparkAccount(len(wanted), batches, lost, doubled, wrong, kills, tuple(fell))
