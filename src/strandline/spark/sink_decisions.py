"""The decision to commit a batch, kept by the cluster itself: which transactions, of which batch, of which query.

It is one commit of offsets to the group `strandline-sink-<id>`: the offset is the number of the batch, and the metadata
beside it names the transactions. Metadata may have 4,096 bytes (`offset.metadata.max.bytes`), so that a decision on
many tasks is spread over several partitions of a topic that the batch wrote to. A request is one batch in the log of
`__consumer_offsets`, there as a whole or not at all. The next decision takes the place of the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from strandline.client.cluster import Cluster
from strandline.client.group_offsets import Committed, commit_offsets, committed_offsets
from strandline.client.outgoing import ProducerIdentity
from strandline.model.partitions import TopicPartition
from strandline.spark.failures import WriteFailed

FORMAT = "1"
NOTE_BYTES_MAX = 4000


class PreparedTask(NamedTuple):
    """A task whose records are all in the topic, in a transaction that is open."""

    task: int
    attempt: int
    producer_id: int
    producer_epoch: int

    def identity(self, sink_id: str) -> ProducerIdentity:
        return ProducerIdentity(
            self.producer_id, self.producer_epoch, transactional_id(sink_id, self.task, self.attempt)
        )


def transactional_id(sink_id: str, task: int, attempt: int) -> str:
    """Of one attempt: a second one that Spark starts to be faster must not end what the first has written."""
    return f"strandline-sink-{sink_id}-{task}-{attempt}"


def is_of_sink(name: str, sink_id: str) -> bool:
    """Whether a transactional id is one of this sink's."""
    return re.fullmatch(rf"strandline-sink-{re.escape(sink_id)}-[0-9]+-[0-9]+", name) is not None


@dataclass(frozen=True, slots=True)
class Decision:
    batch_id: int
    query_id: str
    tasks: tuple[PreparedTask, ...]


def write_notes(decision: Decision) -> list[str]:
    """The tasks in as many notes as they need; each says which it is, and how many there are."""
    head_bytes = len(f"{FORMAT} {decision.query_id} 9999/9999")
    notes: list[list[str]] = [[]]
    size = head_bytes
    for task in decision.tasks:
        word = ".".join(map(str, task))
        if size + 1 + len(word) > NOTE_BYTES_MAX:
            notes.append([])
            size = head_bytes
        notes[-1].append(word)
        size += 1 + len(word)
    return [
        " ".join([FORMAT, decision.query_id, f"{number}/{len(notes)}", *words])
        for number, words in enumerate(notes, start=1)
    ]


def read_notes(committed: Iterable[Committed]) -> Decision | None:
    """The last decision; what is left of those before it is passed over."""
    found = list(committed)
    if not found:
        return None
    batch_id = max(each.offset for each in found)
    notes = [each.metadata.split(" ") for each in found if each.offset == batch_id]
    numbers = {note[2] for note in notes if len(note) > 2 and note[0] == FORMAT}
    if len(numbers) != len(notes) or any(number.partition("/")[2] != str(len(notes)) for number in numbers):
        raise WriteFailed(
            f"the notes on batch {batch_id} are not whole: another program commits to this group; choose another sinkId"
        )
    tasks = [PreparedTask(*map(int, word.split("."))) for note in notes for word in note[3:]]
    return Decision(batch_id, notes[0][1], tuple(sorted(tasks)))


def group_of(sink_id: str) -> str:
    return f"strandline-sink-{sink_id}"


async def last_decision(cluster: Cluster, sink_id: str) -> Decision | None:
    return read_notes((await committed_offsets(cluster, group_of(sink_id))).values())


async def decide(cluster: Cluster, sink_id: str, decision: Decision, topics: Iterable[str]) -> None:
    """From the moment that this is answered, the batch will be committed, whoever has to do it."""
    notes = write_notes(decision)
    places = await _places(cluster, topics, len(notes))
    offsets: Mapping[TopicPartition, int] = dict.fromkeys(places, decision.batch_id)
    await commit_offsets(cluster, group_of(sink_id), offsets, metadata=dict(zip(places, notes, strict=True)))


async def _places(cluster: Cluster, topics: Iterable[str], count: int) -> list[TopicPartition]:
    views = await cluster.topics(sorted(set(topics)))
    places = [TopicPartition(name, index) for name, view in views.items() for index in view.partitions]
    if len(places) < count:
        raise WriteFailed(
            f"the decision to commit needs {count} partitions for its notes, and the topics have {len(places)}:"
            " write with fewer tasks, as in df.coalesce(100)"
        )
    return places[:count]
