"""What a journal's topic calls too large is written in smaller pieces, and never tried as it is again and again."""

from __future__ import annotations

from random import Random

from strandline.broker.journal import JournalQueue
from strandline.broker.journal_settings import JournalSettings
from strandline.model.partitions import TopicPartition
from strandline.replication.effects import AssignEpoch
from strandline.simulation.simulated_host import SimulatedHost
from strandline.simulation.world import World

EVENTS = TopicPartition("events", 0)


def queue_of(count: int) -> JournalQueue:
    host = SimulatedHost(World(1), "b1", thread_time_us=lambda: 1, chance=Random(1))
    queue = JournalQueue(1, JournalSettings(), host, is_kept=True)
    for epoch in range(count):
        queue.tell_of(EVENTS, AssignEpoch(epoch, 0))
    return queue


def test_half_of_what_is_too_large_is_tried_next() -> None:
    queue = queue_of(40)
    sizes = []
    for _ in range(3):
        batch = queue.next_batch()
        sizes.append(len(batch))
        queue.was_too_large(batch)
    assert sizes == [40, 20, 10]
    queue.written(queue.next_batch())
    assert len(queue.next_batch()) == 10, "and more again once it goes well"
    assert len(queue.entries) == 35
    assert queue.lost_count == 0


def test_one_entry_that_is_too_large_is_lost_and_the_journal_says_so() -> None:
    queue = queue_of(2)
    queue.was_too_large(queue.next_batch())
    queue.was_too_large(queue.next_batch())
    first, *_ = queue.next_batch()
    assert (first.kind, first.facts) == ("lost", {"count": 1})
    queue.written([first])
    assert len(queue.next_batch()) == 1
