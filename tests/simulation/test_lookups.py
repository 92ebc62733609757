"""What a leader may answer to whoever asks for an offset, where records come and go meanwhile."""

from __future__ import annotations

from strandline.client.offsets import EARLIEST, LATEST, NONE_FOUND
from strandline.model.partitions import TopicPartition
from strandline.records.record import Record
from strandline.simulation.consumers import READ_UNCOMMITTED
from strandline.simulation.loads import LOADS, loads_of
from strandline.simulation.lookups import Question, Shown, Times, complaints_about_answer
from strandline.simulation.observed import Batch, PartitionTruth
from strandline.wire.messages.list_offsets import ListOffsetsPartitionResponse

PARTITION = TopicPartition("diary", 0)
TIMESTAMPS = (100, 400, 200, 300, 500, 600)  # two records in each batch; the second and third batch are of epoch 2


def complaints(timestamp: int, said: tuple[int, int, int], asked: Shown, heard: Shown | None = None) -> list[str]:
    """By name, of an answer of this offset, timestamp and epoch."""
    truth, written = PartitionTruth(PARTITION, b""), {}
    for number in range(3):
        truth.committed.append(Batch(2 * number, 2 * number + 1, 2 if number else 1, crc=number))
        written[number] = [Record(0, time, None, b"") for time in TIMESTAMPS[2 * number : 2 * number + 2]]
    times = Times(written)
    times.follow(truth)
    offset, time, epoch = said
    found = ListOffsetsPartitionResponse(0, 0, time, offset, epoch)
    question = Question(PARTITION, timestamp, READ_UNCOMMITTED)
    return [name for name, _ in complaints_about_answer(question, asked, heard or asked, truth, times, found)]


def test_where_a_log_ends_is_what_was_committed_when_it_was_asked_or_when_it_was_heard() -> None:
    asked, heard = Shown(2, 0, 4), Shown(2, 0, 6)
    assert [complaints(LATEST, (offset, -1, 2), asked, heard) for offset in (4, 5, 6)] == [[], [], []]
    assert complaints(LATEST, (2, -1, 2), asked, heard) == ["LatestGoesUp"]
    assert complaints(LATEST, (7, -1, 2), asked, heard) == ["LatestGoesUp"]
    assert complaints(LATEST, (6, -1, 1), asked, heard) == ["LatestGoesUp"], "the epoch is the leader's"


def test_where_a_log_begins_goes_up_meanwhile() -> None:
    asked, heard = Shown(2, 0, 6), Shown(2, 2, 6)
    assert complaints(EARLIEST, (0, -1, 1), asked, heard) == []
    assert complaints(EARLIEST, (2, -1, 2), asked, heard) == []
    assert complaints(EARLIEST, (4, -1, 2), asked, heard) == ["EarliestIsTheStart"]
    assert complaints(EARLIEST, (0, -1, 2), asked, heard) == ["EarliestIsTheStart"], "its batch is of another epoch"


def test_the_first_record_of_a_time_is_found_not_its_batch_and_not_a_later_one() -> None:
    shown = Shown(2, 0, 6)
    assert complaints(250, (1, 400, 1), shown) == []
    assert complaints(250, (0, 100, 1), shown) == ["FirstOfItsTime"]
    assert complaints(250, (3, 300, 2), shown) == ["FirstOfItsTime"]
    assert complaints(250, (1, 250, 1), shown) == ["FirstOfItsTime"], "it says of which time it is"


def test_a_record_that_goes_meanwhile_may_be_found_or_the_next() -> None:
    asked, heard = Shown(2, 0, 6), Shown(2, 2, 6)
    assert complaints(250, (1, 400, 1), asked, heard) == []
    assert complaints(250, (3, 300, 2), asked, heard) == []
    assert complaints(250, (4, 500, 2), asked, heard) == ["FirstOfItsTime"]


def test_nothing_is_found_only_where_nothing_was_committed_of_that_time() -> None:
    nothing = (NONE_FOUND, -1, -1)
    assert complaints(550, nothing, Shown(2, 0, 6)) == ["FirstOfItsTime"]
    assert complaints(550, nothing, Shown(2, 0, 4), Shown(2, 0, 6)) == [], "it was committed after the question"
    assert complaints(700, nothing, Shown(2, 0, 6)) == []


def test_lookups_join_any_other_loads_and_are_drawn_beside_them() -> None:
    drawn = [loads_of(seed) for seed in range(400)]
    with_lookups = [loads for loads in drawn if "lookups" in loads]
    assert 60 < len(with_lookups) < 140
    assert all(len(loads) > 1 for loads in with_lookups)
    assert {load for loads in with_lookups for load in loads} == {*LOADS}
