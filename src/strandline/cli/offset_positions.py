"""The language of offsets, worked out for the partitions of a cluster: where each begins and ends."""

from __future__ import annotations

from collections.abc import Callable, Collection

from strandline.cli.offset_language import Anchor, OffsetRange, Point
from strandline.client.cluster import Cluster
from strandline.client.offsets import EARLIEST, LATEST, READ_COMMITTED, READ_UNCOMMITTED, offsets_at
from strandline.model.partitions import TopicPartition

Offsets = dict[TopicPartition, int]
Note = Callable[[str], None]


async def resolve(
    cluster: Cluster, partitions: Collection[TopicPartition], wanted: OffsetRange, note: Note
) -> tuple[Offsets, Offsets | None]:
    """First offset of each partition and, where there is one, the one to stop before.

    What a partition does not hold (any more, or yet) is left out, and `note` hears of it where it was asked for.
    """
    is_committed = cluster.settings.isolation_level == "read_committed"
    isolation_level = READ_COMMITTED if is_committed else READ_UNCOMMITTED
    firsts = await offsets_at(cluster, partitions, EARLIEST)
    nexts = await offsets_at(cluster, partitions, LATEST, isolation_level)

    async def place(point: Point) -> Offsets:
        if point.anchor is Anchor.TIME:
            at = await offsets_at(cluster, partitions, point.number, isolation_level)
        elif point.anchor is Anchor.OFFSET:
            at = dict.fromkeys(partitions, point.number)
        else:
            base = firsts if point.anchor is Anchor.START else nexts
            at = {partition: base[partition] + point.number for partition in partitions}
        return {partition: min(max(offset, firsts[partition]), nexts[partition]) for partition, offset in at.items()}

    starts = await place(wanted.start)
    if wanted.start.anchor is Anchor.OFFSET:
        _tell_what_is_missing(wanted.start.number, firsts, nexts, note)
    return starts, None if wanted.end is None else await place(wanted.end)


def _tell_what_is_missing(offset: int, firsts: Offsets, nexts: Offsets, note: Note) -> None:
    for partition, first in sorted(firsts.items()):
        if offset < first:
            note(f"{partition} begins at {first}: what was before is deleted")
        elif offset > nexts[partition]:
            note(f"{partition} ends at {nexts[partition]}: there is no {offset} yet")
