"""Dead letters sent once more to where they came from, none of them twice.

The group `strandline-redrive-<topic>` keeps what was sent. Its offset in a partition of the dead-letter topic is the
first letter that was not; the metadata beside it lists those above that were, as ranges: `1 12-15,20`.

Between sending and noting there is a moment in which a crash would forget what was sent. So before each portion the
group also notes where the topics that it goes to end. Who comes after a crash reads on from there, and knows letters
that arrived by the header that each carries (`strandline.redriven.from`). One redrive of a topic at a time.

A note has room for so many ranges. Where those at the end would have no room, nothing is sent. Where only those in
between have none, the notes stay as they are: what the targets hold above them is looked at all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy

from strandline.client.cluster import Cluster
from strandline.client.fetched import ConsumedRecord
from strandline.client.fetching import Fetcher
from strandline.client.group_offsets import Committed, commit_offsets, committed_offsets
from strandline.client.offsets import EARLIEST, LATEST, READ_COMMITTED, offsets_at
from strandline.client.producer import Producer
from strandline.model.partitions import TopicPartition
from strandline.pipeline.dead_letter_headers import REDRIVEN_FROM, origin_of, without_errors
from strandline.pipeline.failures import PipelineFailed
from strandline.pipeline.redriven import Sent

UNDER_WAY = "under way"  # in a target: what lies above may be of a portion that was not noted
PORTION = 1000


def group_of(topic: str) -> str:
    return f"strandline-redrive-{topic}"


async def partitions_of(cluster: Cluster, topic: str) -> list[TopicPartition]:
    view = (await cluster.topics([topic], fresh=True))[topic]
    return [TopicPartition(topic, index) for index in sorted(view.partitions)]


async def read_records(
    cluster: Cluster, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], *, is_committed: bool
) -> list[ConsumedRecord]:
    records: list[ConsumedRecord] = []
    with Fetcher(cluster, starts, ends) as fetcher:
        fetcher.is_read_committed = is_committed
        while fetcher.positions:
            for fetched in await fetcher.poll():
                records += fetched.read()
    return sorted(records, key=lambda record: (record.partition, record.offset))


async def read_letters(cluster: Cluster, topic: str) -> list[ConsumedRecord]:
    """All that the topic holds now, of batches that are committed."""
    partitions = await partitions_of(cluster, topic)
    starts = await offsets_at(cluster, partitions, EARLIEST)
    ends = await offsets_at(cluster, partitions, LATEST, READ_COMMITTED)
    return await read_records(cluster, starts, ends, is_committed=True)


async def sent_before(cluster: Cluster, topic: str) -> dict[TopicPartition, Sent]:
    """What the group knows, and what it would know had nothing been cut short."""
    committed = await committed_offsets(cluster, group_of(topic))
    sent = {each: Sent() for each in await partitions_of(cluster, topic)}
    for partition in committed.keys() & sent.keys():
        try:
            sent[partition] = Sent.read(committed[partition].offset, committed[partition].metadata)
        except ValueError:
            raise PipelineFailed(
                f"the group {group_of(topic)} keeps what was redriven, and another program has committed to it:"
                f" `strandline group delete {group_of(topic)}` forgets all of it"
            ) from None
    targets = under_way(committed)
    if targets:
        ends = await offsets_at(cluster, targets, LATEST)
        for record in await read_records(cluster, targets, ends, is_committed=False):
            letter = _letter_of(record, topic)
            if letter is not None and letter[0] in sent:
                sent[letter[0]].offsets.add(letter[1])
    return sent


def under_way(committed: Mapping[TopicPartition, Committed]) -> dict[TopicPartition, int]:
    return {partition: each.offset for partition, each in committed.items() if each.metadata == UNDER_WAY}


def _letter_of(record: ConsumedRecord, topic: str) -> tuple[TopicPartition, int] | None:
    for name, value in reversed(record.headers):
        if name == REDRIVEN_FROM and value is not None:
            of, _, place = value.decode("utf-8", "replace").rpartition("/")
            partition, _, offset = place.partition("@")
            if of == topic and partition.isdigit() and offset.isdigit():
                return TopicPartition(topic, int(partition)), int(offset)
    return None


def target_of(record: ConsumedRecord, to: str | None) -> str | None:
    return to or origin_of(record.headers).topic


async def redrive(cluster: Cluster, topic: str, letters: Sequence[ConsumedRecord], to: str | None = None) -> int:
    """Sends those that were not sent before; gives how many that were."""
    sent = await sent_before(cluster, topic)
    wanted = [each for each in letters if each.offset not in sent[each.partition]]
    names = {target_of(each, to) for each in wanted}
    if None in names:
        raise PipelineFailed("there are letters that do not say where they came from: name a topic with --to")
    if topic in names:
        raise PipelineFailed(f"{topic} is the topic of the dead letters itself: name another with --to")
    targets = [each for name in sorted(filter(None, names)) for each in await partitions_of(cluster, name)]
    notes = _Notes(cluster, topic, sent)
    await notes.open(wanted)
    for at in range(0, len(wanted), PORTION):
        portion = wanted[at : at + PORTION]
        await notes.begin(await offsets_at(cluster, targets, LATEST))
        await _send(cluster, portion, to)
        for each in portion:
            sent[each.partition].offsets.add(each.offset)
    await notes.end(await offsets_at(cluster, targets, LATEST))
    return len(wanted)


async def _send(cluster: Cluster, letters: Iterable[ConsumedRecord], to: str | None) -> None:
    async with Producer(cluster) as producer:
        for each in letters:
            mark = f"{each.partition.topic}/{each.partition.partition}@{each.offset}".encode()
            headers = (*without_errors(each.headers), (REDRIVEN_FROM, mark))
            target = target_of(each, to)
            assert target is not None
            await producer.send(target, each.value, key=each.key, headers=headers)
    if producer.failure is not None:
        raise producer.failure


class _Notes:
    """What the group is told. Each commit is kept as a whole or not at all."""

    def __init__(self, cluster: Cluster, topic: str, sent: Mapping[TopicPartition, Sent]) -> None:
        self._cluster = cluster
        self._topic = topic
        self._sent = sent
        self._firsts: dict[TopicPartition, int] = {}
        self._held: dict[TopicPartition, set[int]] = {}
        self._under_way: dict[TopicPartition, int] = {}

    async def open(self, wanted: Sequence[ConsumedRecord]) -> None:
        """PipelineFailed if there would be no room for what was sent, once these were."""
        self._firsts = await offsets_at(self._cluster, self._sent, EARLIEST)
        self._held = {partition: set() for partition in self._sent}
        for each in await read_letters(self._cluster, self._topic):
            self._held[each.partition].add(each.offset)
        self._under_way = under_way(await committed_offsets(self._cluster, group_of(self._topic)))
        for partition, sent in deepcopy(dict(self._sent)).items():
            sent.offsets |= {each.offset for each in wanted if each.partition == partition}
            sent.close_up(self._firsts[partition], self._held[partition])
            if not sent.has_room:
                raise PipelineFailed(
                    f"the letters of {partition} that are to be sent are too scattered to be kept track of: choose them"
                    " by offset, or send all of them"
                )

    async def begin(self, ends: Mapping[TopicPartition, int]) -> None:
        """Before a portion is sent."""
        if self._has_room():
            await self._commit(ends, UNDER_WAY, with_sent=True)
            self._under_way |= ends
            return
        new = {partition: end for partition, end in ends.items() if partition not in self._under_way}
        if new:
            await self._commit(new, UNDER_WAY, with_sent=False)
            self._under_way |= new

    async def end(self, ends: Mapping[TopicPartition, int]) -> None:
        """Nothing is under way any more, also not to where an earlier redrive sent."""
        self._has_room()
        await self._commit({**self._under_way, **ends}, "", with_sent=True)

    def _has_room(self) -> bool:
        for partition, sent in self._sent.items():
            sent.close_up(self._firsts[partition], self._held[partition])
        return all(sent.has_room for sent in self._sent.values())

    async def _commit(self, ends: Mapping[TopicPartition, int], mark: str, *, with_sent: bool) -> None:
        offsets, metadata = dict(ends), dict.fromkeys(ends, mark)
        for partition, sent in self._sent.items() if with_sent else ():
            offsets[partition], metadata[partition] = sent.first_open, sent.note
        await commit_offsets(self._cluster, group_of(self._topic), offsets, metadata=metadata)
