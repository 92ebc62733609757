"""Offsets of a group that never counted, and from which it went on all the same.

A group that has committed nothing begins where `auto.offset.reset` leads it. If that is neither the beginning nor the
end of the log, and an aborted transaction had asked to commit just this offset, that took effect. It may also be what
the group had committed before the history began; not if the record before it was sent in the history.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from typing import TypeAlias

from strandline.history.anomalies.resets import may_be_beginning, may_be_end, writer_at
from strandline.history.expectations import Expectations
from strandline.history.index import History
from strandline.history.operations import Commit, Outcome
from strandline.history.reading import Start
from strandline.history.transaction import Fate
from strandline.history.verdict import Anomaly, Kind
from strandline.model.partitions import TopicPartition

Asked: TypeAlias = dict[tuple[str | None, TopicPartition, int], dict[Hashable, Commit]]  # by group and place, by clock


def begun_from_aborted(history: History, expectations: Expectations, starts: Iterable[Start]) -> Iterator[Anomaly]:
    """`starts` are those of groups that had committed nothing by then, nor may have."""
    asked = _asked_in_vain(history)
    for start in starts if asked else ():
        key = history.lives.client(start.assign).group, start.partition, start.offset
        commit = asked.get(key, {}).get(history.lives.timeline(start.assign))
        if commit is not None and commit.began_us < start.known_us and not _is_explained(history, expectations, start):
            yield _phantom(start, commit)


def _asked_in_vain(history: History) -> Asked:
    """The first of each clock."""
    asked: Asked = defaultdict(dict)
    for commit in sorted(history.commits, key=lambda each: each.began_us):
        if commit.transaction is None or commit.outcome is Outcome.FAIL:
            continue
        if history.transactions.fate(commit.transaction) is Fate.ABORTED:
            for partition, offset in commit.offsets:
                asked[commit.group, partition, offset].setdefault(history.lives.timeline(commit), commit)
    return asked


def _is_explained(history: History, expectations: Expectations, start: Start) -> bool:
    """Without the commit: by what was deleted, by a reset, by what came before the history, or by what it read."""
    return (
        bool(history.log(start.partition).trims)
        or expectations.may_delete_from(start.partition.topic)
        or may_be_beginning(history, start)
        or may_be_end(history, start)
        or writer_at(history, start, start.offset - 1) is None
        or (start.partition, start.offset) not in start.assign.positions
    )


def _phantom(start: Start, commit: Commit) -> Anomaly:
    return Anomaly(
        Kind.PHANTOM_COMMIT,
        True,
        f"{start.assign.process} began to read {start.partition} at offset {start.offset} for its group, which had"
        f" committed none: {commit.process} had asked for it in {commit.transaction}, which was aborted",
        start.partition,
        (start.offset,),
        (),
        tuple(dict.fromkeys((start.assign.process, commit.process))),
        (start.assign.number, commit.number),
    )
