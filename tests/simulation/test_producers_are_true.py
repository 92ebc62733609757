"""How much of a producer a log must know after a start."""

from __future__ import annotations

from strandline.log.producer_entry import CachedBatch, ProducerEntry
from strandline.simulation.observed import Batch, Kind, Replica
from strandline.simulation.producers_are_true import Replay, complaints_about_producer

PRODUCER = 7
WRITTEN = [Batch(offset, offset, 1, offset, Kind.PLAIN, PRODUCER, 0, base_sequence=offset) for offset in range(4)]
MARKERS = [Batch(offset, offset, 1, offset, Kind.COMMIT_MARKER, PRODUCER, 0) for offset in (3, 4)]


def complaints(known: list[Batch], replay: Replay) -> list[str]:
    entry = ProducerEntry(PRODUCER, 0)
    entry.batches = [
        CachedBatch(each.base_sequence, each.base_sequence, each.base_offset, each.base_offset, 0) for each in known
    ]
    return [*complaints_about_producer(Replica(1), replay, PRODUCER, entry)]


def begun() -> Replay:
    replay = Replay({}, 0)
    replay.take(WRITTEN[:3], is_appended=False)
    return replay


def test_a_snapshot_has_the_last_batch() -> None:
    assert complaints(WRITTEN[2:3], begun()) == []
    assert len(complaints([], begun())) == 1


def test_what_is_appended_after_it_must_be_known() -> None:
    replay = begun()
    replay.take(WRITTEN[3:], is_appended=True)
    assert complaints(WRITTEN[2:], replay) == []
    assert len(complaints(WRITTEN[2:3], replay)) == 1


def test_markers_bring_no_batch_that_could_be_known() -> None:
    replay = begun()
    replay.take(MARKERS, is_appended=True)
    assert complaints(WRITTEN[2:3], replay) == []
