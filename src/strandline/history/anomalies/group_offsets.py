"""Where groups go on: at the offset that was committed last.

Which commit was the last is not always known: two may overlap, one of unknown outcome may count or not. A group may
begin at any that could have been the last. Groups in which somebody commits by itself are not judged: not all commits
are known. Nor is a start where somebody with another clock has committed: nobody knows when, compared with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator

from strandline.history.anomalies.aborted_offsets import begun_from_aborted
from strandline.history.anomalies.place_of_group import NEVER_US, Candidates, Committed, PlaceOfGroup
from strandline.history.anomalies.resets import may_be_beginning, may_be_end
from strandline.history.expectations import Expectations
from strandline.history.index import History
from strandline.history.operations import Commit, Outcome
from strandline.history.reading import Start
from strandline.history.transaction import Fate
from strandline.history.verdict import Anomaly, Kind
from strandline.model.partitions import TopicPartition


def lost_commits(history: History, expectations: Expectations) -> Iterator[Anomaly]:
    """A group went on before the offset that it had committed last.

    Excused is the beginning of a log where the offsets of groups may be deleted.
    """
    for start, candidates in _judged_starts(history):
        lowest = candidates.lowest
        if start.offset < max(lowest.offset, 0) and lowest.offset > history.log(start.partition).trims.offset_by(
            start.assign
        ):
            is_beginning = expectations.may_delete_from(start.partition.topic) or may_be_beginning(history, start)
            is_bad = not (expectations.may_forget_offsets and is_beginning)
            yield _wrong_start(Kind.LOST_COMMIT, is_bad, start, lowest, "the group had committed")


def phantom_commits(history: History, expectations: Expectations) -> Iterator[Anomaly]:
    """A group went on after the offset that it had committed last, past records that it should have read.

    Excused is the end of a log where the offsets of groups may be deleted.
    """
    unmoved = (start for start, place in _starts(history) if _is_without_commit(history, start, place))
    yield from begun_from_aborted(history, expectations, unmoved)
    for start, candidates in _judged_starts(history):
        highest = candidates.highest
        is_committed = history.lives.reads_committed(start.assign)
        log = history.log(start.partition)
        if expectations.may_delete_from(start.partition.topic) or highest.offset < log.trims.offset_by(start.assign):
            continue  # its place may be deleted: then `auto.offset.reset` led it to where it began
        if log.between(highest.offset, start.offset, start.assign, is_committed=is_committed):
            is_bad = not (expectations.may_forget_offsets and may_be_end(history, start))
            yield _wrong_start(Kind.PHANTOM_COMMIT, is_bad, start, highest, "the group had committed no more than")


def _judged_starts(history: History) -> Iterator[tuple[Start, Candidates]]:
    for start, place in _starts(history):
        if place is not None and place.timelines == {history.lives.timeline(start.assign)}:
            candidates = place.candidates(start.assign.began_us, start.known_us)
            if candidates is not None:
                yield start, candidates


def _is_without_commit(history: History, start: Start, place: PlaceOfGroup | None) -> bool:
    if place is None:
        return True
    return place.timelines == {history.lives.timeline(start.assign)} and place.is_empty_until(start.known_us)


def _starts(history: History) -> Iterator[tuple[Start, PlaceOfGroup | None]]:
    """With what the group has ever committed there."""
    unjudged = {client.group for client in history.lives.clients() if client.commits_by_itself}
    places = {is_stable: _places(history, is_stable=is_stable) for is_stable in (True, False)}
    for start in history.starts:
        group = history.lives.client(start.assign).group
        if group not in unjudged:
            yield start, places[history.lives.reads_committed(start.assign)].get((group, start.partition))


def _places(history: History, *, is_stable: bool) -> dict[tuple[str | None, TopicPartition], PlaceOfGroup]:
    """As they are told to those who ask for stable offsets, which readers of committed records do, and to others."""
    commits: dict[tuple[str | None, TopicPartition], list[Committed]] = defaultdict(list)
    for commit in history.commits:
        times = _times(history, commit, is_stable=is_stable)
        if times is not None:
            for partition, offset in commit.offsets:
                commits[commit.group, partition].append(Committed(*times, offset, commit))
    return {key: PlaceOfGroup(entries) for key, entries in commits.items()}


def _times(history: History, commit: Commit, *, is_stable: bool) -> tuple[int, int, Hashable] | None:
    """When it took effect, and by which clock, or None if it never did.

    An end is acknowledged before its markers are written: until then, who does not wait for them is told what was.
    """
    timeline = history.lives.timeline(commit)
    if commit.outcome is Outcome.FAIL:
        return None
    if commit.transaction is None:
        return commit.began_us, commit.ended_us if commit.outcome is Outcome.OK else NEVER_US, timeline
    transaction = history.transactions.by_name[commit.transaction]
    if transaction.fate is Fate.ABORTED:
        return None
    end = transaction.acknowledged_end
    if end is None or commit.outcome is not Outcome.OK or not is_stable:
        return commit.began_us, NEVER_US, timeline
    return end.began_us, end.ended_us, history.lives.timeline(end)


def _wrong_start(kind: Kind, is_bad: bool, start: Start, committed: Committed, what: str) -> Anomaly:
    return Anomaly(
        kind,
        is_bad,
        f"{start.assign.process} began to read {start.partition} at offset {start.offset} for its group, where {what}"
        f" {committed.offset} (by {committed.commit.process})",
        start.partition,
        (start.offset, committed.offset),
        (),
        tuple(dict.fromkeys((start.assign.process, committed.commit.process))),
        (start.assign.number, committed.commit.number),
    )
