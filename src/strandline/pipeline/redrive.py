"""Dead letters sent once more to where they came from, none of them twice.

The group `strandline-redrive-<topic>` keeps what was sent. Its offset in a partition of the dead-letter topic is the
first letter that was not; the metadata beside it lists those above that were, as ranges: `1 12-15,20`.

Between sending and noting there is a moment in which a crash would forget what was sent. So before each portion the
group also notes where the topics that it goes to end. Who comes after a crash reads on from there, and knows letters
that arrived by the header that each carries (`strandline.redriven.from`). One redrive of a topic at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from strandline.client.cluster import Cluster
from strandline.client.fetched import ConsumedRecord
from strandline.client.fetching import Fetcher
from strandline.client.group_offsets import commit_offsets, committed_offsets
from strandline.client.offsets import EARLIEST, LATEST, READ_COMMITTED, offsets_at
from strandline.client.producer import Producer
from strandline.model.partitions import TopicPartition
from strandline.pipeline.dead_letter_headers import REDRIVEN_FROM, origin_of, without_errors
from strandline.pipeline.failures import PipelineFailed

FORMAT = "1"
UNDER_WAY = "under way"  # in a target: what lies above may be of a portion that was not noted
NOTE_BYTES_MAX = 4000  # brokers keep 4,096 (offset.metadata.max.bytes)
PORTION = 1000


@dataclass(slots=True)
class Sent:
    """Letters of one partition that were sent."""

    offsets: set[int] = field(default_factory=set)  # at or above the committed one
    first_open: int = 0  # everything below was sent, or is gone

    def __contains__(self, offset: int) -> bool:
        return offset < self.first_open or offset in self.offsets


def write_ranges(offsets: Collection[int]) -> str:
    ranges: list[list[int]] = []
    for offset in sorted(offsets):
        if ranges and ranges[-1][1] + 1 == offset:
            ranges[-1][1] = offset
        else:
            ranges.append([offset, offset])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def read_ranges(text: str) -> set[int]:
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


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
    sent = {each: Sent() for each in await partitions_of(cluster, topic)}
    targets: dict[TopicPartition, int] = {}
    for partition, committed in (await committed_offsets(cluster, group_of(topic))).items():
        if partition.topic == topic and partition in sent:
            sent[partition].first_open = committed.offset
            sent[partition].offsets = read_ranges(committed.metadata.partition(" ")[2])
        elif committed.metadata == UNDER_WAY:
            targets[partition] = committed.offset
    if targets:
        ends = await offsets_at(cluster, targets, LATEST)
        for record in await read_records(cluster, targets, ends, is_committed=False):
            letter = _letter_of(record, topic)
            if letter is not None and letter[0] in sent:
                sent[letter[0]].offsets.add(letter[1])
    return sent


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
    firsts = await offsets_at(cluster, sent, EARLIEST)
    held = {(each.partition, each.offset) for each in await read_letters(cluster, topic)}
    wanted = [each for each in letters if each.offset not in sent[each.partition]]
    names = {target_of(each, to) for each in wanted}
    if None in names:
        raise PipelineFailed("there are letters that do not say where they came from: name a topic with --to")
    targets = [each for name in sorted(filter(None, names)) for each in await partitions_of(cluster, name)]
    for at in range(0, len(wanted), PORTION):
        portion = wanted[at : at + PORTION]
        ends = await offsets_at(cluster, targets, LATEST)
        await _note(cluster, topic, sent, firsts, held, dict.fromkeys(ends, UNDER_WAY), ends)
        await _send(cluster, portion, to)
        for each in portion:
            sent[each.partition].offsets.add(each.offset)
    ends = await offsets_at(cluster, targets, LATEST)
    await _note(cluster, topic, sent, firsts, held, {}, ends)
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


async def _note(
    cluster: Cluster,
    topic: str,
    sent: Mapping[TopicPartition, Sent],
    firsts: Mapping[TopicPartition, int],
    held: Collection[tuple[TopicPartition, int]],
    notes: Mapping[TopicPartition, str],
    ends: Mapping[TopicPartition, int],
) -> None:
    """In one commit, which is kept as a whole or not at all."""
    offsets, metadata = dict(ends), dict(notes)
    for partition, known in sent.items():
        known.first_open = max(known.first_open, firsts[partition])
        last = max(known.offsets, default=-1)
        while known.first_open <= last and (
            known.first_open in known.offsets or (partition, known.first_open) not in held
        ):
            known.first_open += 1
        known.offsets = {offset for offset in known.offsets if offset >= known.first_open}
        metadata[partition] = f"{FORMAT} {write_ranges(known.offsets)}"
        offsets[partition] = known.first_open
        if len(metadata[partition]) > NOTE_BYTES_MAX:
            raise PipelineFailed(
                f"the letters of {partition} that are to be sent are too scattered to be kept track of: choose them by"
                " offset, or send all of them"
            )
    await commit_offsets(cluster, group_of(topic), offsets, metadata=metadata)
