"""Which transactions make up a batch, in the metadata that a group's offsets have room for."""

from __future__ import annotations

import pytest

from strandline.client.group_offsets import Committed
from strandline.spark.exactly_once import Prepared, age_of
from strandline.spark.failures import BadOption, WriteFailed
from strandline.spark.sink_decisions import NOTE_BYTES_MAX, Decision, PreparedTask, read_notes, write_notes
from strandline.spark.sink_options import parse_sink_options

QUERY = "4bb2657e-ed3f-41b7-b880-ed9e16dfa98a"


def committed(decision: Decision) -> list[Committed]:
    return [Committed(decision.batch_id, -1, note) for note in write_notes(decision)]


@pytest.mark.parametrize("tasks", [1, 200, 5000])
def test_a_decision_is_read_as_it_was_written_however_many_tasks(tasks: int) -> None:
    decision = Decision(7, QUERY, tuple(PreparedTask(task, task % 3, 2**40 + task, 32_000) for task in range(tasks)))
    notes = committed(decision)
    assert all(len(note.metadata) <= NOTE_BYTES_MAX for note in notes)
    assert read_notes(reversed(notes)) == decision


def test_what_is_left_of_an_earlier_and_larger_batch_does_not_count() -> None:
    before = committed(Decision(6, QUERY, tuple(PreparedTask(task, 0, 2**40, 1) for task in range(500))))
    decision = Decision(7, QUERY, (PreparedTask(0, 0, 5, 2),))
    assert read_notes([*committed(decision), *before[1:]]) == decision
    assert read_notes([]) is None


@pytest.mark.parametrize("notes", [[""], ["1 q 1/2 0.0.1.1"], ["1 q 1/1", "hello"], ["2 q 1/1 0.0.1.1"]])
def test_notes_of_somebody_else_are_refused(notes: list[str]) -> None:
    with pytest.raises(WriteFailed, match="another program commits to this group; choose another sinkId"):
        read_notes([Committed(3, -1, note) for note in notes])


@pytest.mark.parametrize(
    ("now_ms", "age_ms"),
    [
        pytest.param(70_000, 60_000, id="the driver waited for others after the longest task"),
        pytest.param(12_000, 50_000, id="the clock was set back meanwhile, or is behind the executors'"),
    ],
)
def test_a_batch_is_as_old_as_its_first_transaction(now_ms: int, age_ms: int) -> None:
    """The broker aborts what is older than `transaction.timeout.ms`, whatever the driver's clock says."""
    tasks = [(10_000, 50_000), (15_000, 2_000)]
    written = [Prepared("sink", QUERY, began_ms=began_ms, took_ms=took_ms) for began_ms, took_ms in tasks]
    assert age_of(written, now_ms) == age_ms


def test_exactly_once_asks_for_acknowledgements_of_all() -> None:
    options = {"kafka.bootstrap.servers": "localhost:9092", "delivery": "Exactly-Once"}
    assert parse_sink_options(options).properties["transaction.timeout.ms"] == "900000"
    for setting in ({"kafka.acks": "1"}, {"kafka.enable.idempotence": "false"}):
        with pytest.raises(BadOption, match="cannot be exactly-once: leave it out"):
            parse_sink_options(options | setting)
    with pytest.raises(BadOption, match="choose from at-least-once, exactly-once"):
        parse_sink_options(options | {"delivery": "once"})
    with pytest.raises(BadOption, match="set the option delivery to exactly-once instead"):
        parse_sink_options(options | {"kafka.transactional.id": "mine"})
