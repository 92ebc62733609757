"""Reading for `consume`: partitions from here to there, or as a member of a group; and printing what was read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

import click

from strandline.cli.offset_language import OffsetRange
from strandline.cli.offset_positions import resolve
from strandline.cli.outlet import Outlet
from strandline.cli.progress import counting
from strandline.cli.record_format import Shown
from strandline.client.cluster import Cluster
from strandline.client.failures import ClientError
from strandline.client.fetched import FetchedPartition
from strandline.client.fetching import Fetcher
from strandline.client.offsets import LATEST, offsets_at
from strandline.model.partitions import TopicPartition

if TYPE_CHECKING:
    from strandline.client.group_consumer import GroupConsumer


class Printer:
    """Writes records until there are enough of them."""

    def __init__(self, show: Callable[[Shown], bytes], count_max: int | None, *, quiet: bool, check_crcs: bool) -> None:
        self.count = 0
        self.is_done = count_max == 0
        self._show = show
        self._count_max = count_max
        self._quiet = quiet
        self._check_crcs = check_crcs
        self._stream = sys.stdout.buffer
        self.outlet = Outlet()

    def print(self, fetched: FetchedPartition) -> int:
        """Gives the offset from which to go on."""
        with self.outlet.printing():
            return self._print(fetched)

    def _print(self, fetched: FetchedPartition) -> int:
        for record in fetched.read(check_crcs=self._check_crcs):
            if self.is_done:
                return record.offset
            self._stream.write(self._show(Shown(record, fetched, self.count)))
            self.count += 1
            self.is_done = self.count == self._count_max
        return fetched.next_offset()

    def flush(self) -> None:
        """After each fetch: whoever reads our output waits for it."""
        with self.outlet.printing():
            self._stream.flush()

    def note(self, text: str) -> None:
        if not self._quiet:
            self.flush()
            click.echo(f"strandline: {text}", err=True)


async def consume_partitions(
    cluster: Cluster,
    topics: Collection[str],
    partitions: Collection[int] | None,
    wanted: OffsetRange,
    printer: Printer,
) -> None:
    chosen = await choose_partitions(cluster, topics, partitions)
    starts, ends = await resolve(cluster, chosen, wanted, printer.note)
    total = sum(max(0, ends[each] - starts[each]) for each in chosen) if ends is not None else 0
    with Fetcher(cluster, starts, ends) as fetcher, counting("reading", total) as advance:
        while fetcher.positions and not printer.is_done:
            for fetched in await fetcher.poll():
                before = printer.count
                printer.print(fetched)
                advance(printer.count - before)
            printer.flush()


async def consume_as_group(
    cluster: Cluster, topics: Collection[str], group_id: str, stops_at_end: bool, printer: Printer
) -> None:
    # Imported where it is used, because reading without a group shall start quickly.
    from strandline.client.group_consumer import GroupConsumer

    chosen = await choose_partitions(cluster, topics, None)
    ends = await offsets_at(cluster, chosen, LATEST) if stops_at_end else None
    async with GroupConsumer(cluster, group_id, topics) as consumer:
        while not printer.is_done and not (ends is not None and _has_reached(consumer, ends)):
            fetched = await consumer.poll(cluster.settings.fetch_max_wait_ms)
            for each in fetched:
                consumer.processed(each.partition, printer.print(each))
            printer.flush()


def _has_reached(consumer: GroupConsumer, ends: dict[TopicPartition, int]) -> bool:
    """Whether our share of the partitions, once we have one, has been read up to these ends."""
    positions = consumer.positions
    return not consumer.member.must_join and all(at >= ends.get(each, 0) for each, at in positions.items())


async def choose_partitions(
    cluster: Cluster, topics: Collection[str], partitions: Iterable[int] | None
) -> list[TopicPartition]:
    views = await cluster.topics(topics)
    chosen = []
    for name in dict.fromkeys(topics):
        there = views[name].partitions
        for index in there if partitions is None else partitions:
            if index not in there:
                raise ClientError(f"topic {name} has no partition {index}: it has 0 to {len(there) - 1}")
            chosen.append(TopicPartition(name, index))
    return chosen
