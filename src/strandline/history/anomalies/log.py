"""Anomalies of a log itself: what lies where, whoever reads it."""

from __future__ import annotations

from collections.abc import Iterator

from strandline.history.expectations import Expectations
from strandline.history.index import History
from strandline.history.operations import Poll, Send
from strandline.history.partition_log import PartitionLog, Witness
from strandline.history.verdict import Anomaly, Kind, listed


def inconsistent_offsets(history: History, _expectations: Expectations) -> Iterator[Anomaly]:
    """An offset with two values. A write that not all in-sync replicas acknowledged may have been replaced."""
    yield from _told_of_one_place(history)
    for log in history.logs.values():
        for offset, others in log.contradictions.items():
            claims = [log.claims[offset], *others.values()]
            told = listed([f"{claim.value!r} {_says(claim.witness)}" for claim in claims])
            yield Anomaly(
                Kind.INCONSISTENT_OFFSETS,
                sum(_is_binding(history, claim.witness) for claim in claims) > 1,
                f"{log.partition} holds several values at offset {offset}: {told}",
                log.partition,
                (offset,),
                tuple(claim.value for claim in claims),
                tuple(dict.fromkeys(claim.witness.process for claim in claims)),
                tuple(claim.witness.number for claim in claims),
            )


def _told_of_one_place(history: History) -> Iterator[Anomaly]:
    """The same of two records of one value: at most one of them is there."""
    for (partition, offset, value), sends in history.told_of_one_place():
        yield Anomaly(
            Kind.INCONSISTENT_OFFSETS,
            sum(history.lives.is_promised(send) for send in sends) > 1,
            f"{partition} holds one record at offset {offset}, and {len(sends)} were acknowledged there that have the"
            f" value {value!r}: to {listed([send.process for send in sends])}",
            partition,
            (offset,),
            (value,),
            tuple(dict.fromkeys(send.process for send in sends)),
            tuple(send.number for send in sends),
        )


def duplicates(history: History, expectations: Expectations) -> Iterator[Anomaly]:
    """A value at several offsets. A producer that is not idempotent may write one again when it tries again."""
    if expectations.is_every_writer_recorded:
        yield from _more_often_than_sent(history)
    for log in history.logs.values():
        for value, repeats in log.repeats.items():
            writer = history.writer(log.partition.topic, value)
            if writer is None:
                continue
            offsets = (log.place_of[value], *(offset for offset, _ in repeats))
            first = log.claims[offsets[0]].witness
            yield Anomaly(
                Kind.DUPLICATE,
                history.lives.client(writer).is_idempotent,
                f"{value!r} was sent once by {writer.process} and lies in {log.partition} at offsets"
                f" {listed([str(offset) for offset in offsets])}",
                log.partition,
                offsets,
                (value,),
                (writer.process,),
                tuple(dict.fromkeys((writer.number, first.number, *(witness.number for _, witness in repeats)))),
            )


def _more_often_than_sent(history: History) -> Iterator[Anomaly]:
    """A value that was sent several times, and lies at more offsets."""
    for log in history.logs.values():
        for value, repeats in log.repeats.items():
            if not history.is_ambiguous(log.partition.topic, value):
                continue
            witnesses = {place: log.witness_of(value, place) for place in (log.place_of[value], *dict(repeats))}
            binding = {place: each for place, each in witnesses.items() if each and _is_binding(history, each)}
            offsets = tuple(sorted(binding))
            sends = history.sent_to(log.partition, value)
            if len(offsets) > len(sends):
                yield Anomaly(
                    Kind.DUPLICATE,
                    all(history.lives.client(send).is_idempotent for send in sends),
                    f"{value!r} was sent {len(sends)} times to {log.partition} and lies there at offsets"
                    f" {listed([str(offset) for offset in offsets])}",
                    log.partition,
                    offsets,
                    (value,),
                    tuple(dict.fromkeys(send.process for send in sends)),
                    tuple(
                        dict.fromkeys([*(send.number for send in sends), *(binding[each].number for each in offsets)])
                    ),
                )


def misplaced(history: History, _expectations: Expectations) -> Iterator[Anomaly]:
    """A value in another partition than the one it was sent to, or in two."""
    yield from _scattered(history)
    for log in history.logs.values():
        for value, offset in log.place_of.items():
            writer = history.writer(log.partition.topic, value)
            if writer is None or writer.partition in (None, log.partition):
                continue
            yield Anomaly(
                Kind.MISPLACED,
                True,
                f"{value!r} was sent to {writer.partition} by {writer.process} and lies in {log.partition} at offset"
                f" {offset}",
                log.partition,
                (offset,),
                (value,),
                (writer.process,),
                (writer.number, log.claims[offset].witness.number),
            )


def _scattered(history: History) -> Iterator[Anomaly]:
    """A value in two partitions, where nobody knows which of them it was sent to."""
    first_log_of: dict[Send, PartitionLog] = {}
    for log in history.logs.values():
        for value, offset in log.place_of.items():
            writer = history.writer(log.partition.topic, value)
            if writer is None or writer.partition is not None:
                continue
            other = first_log_of.setdefault(writer, log)
            if other is not log:
                there = other.place_of[value]
                yield Anomaly(
                    Kind.MISPLACED,
                    True,
                    f"{value!r} was sent once by {writer.process} and lies in {other.partition} at offset {there} and"
                    f" in {log.partition} at offset {offset}",
                    log.partition,
                    (there, offset),
                    (value,),
                    (writer.process,),
                    (writer.number, other.claims[there].witness.number, log.claims[offset].witness.number),
                )


def phantoms(history: History, expectations: Expectations) -> Iterator[Anomaly]:
    """A value that nobody sent. Only told where every writer was recorded: otherwise it is somebody else's."""
    if not expectations.is_every_writer_recorded:
        return
    for log in history.logs.values():
        for offset, (value, witness) in log.claims.items():
            if history.writer(log.partition.topic, value) or history.is_ambiguous(log.partition.topic, value):
                continue
            yield Anomaly(
                Kind.PHANTOM,
                True,
                f"{witness.process} read {value!r} from {log.partition} at offset {offset}, which nobody sent",
                log.partition,
                (offset,),
                (value,),
                (witness.process,),
                (witness.number,),
            )


def _is_binding(history: History, witness: Witness) -> bool:
    return isinstance(witness, Poll) or history.lives.is_promised(witness)


def _says(witness: Witness) -> str:
    return f"read by {witness.process}" if isinstance(witness, Poll) else f"acknowledged to {witness.process}"
