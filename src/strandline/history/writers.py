"""Who sent a record: known by its value, or, where several sent the same value, by where it was acknowledged.

What all in-sync replicas have acknowledged lies where they said, so that a record there is that one. What the leader
alone has acknowledged may have been replaced by another.

A send that a client tries again by itself is one: two that were told of one place are two records, of which one is not
there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from strandline.history.operations import Outcome, Record, Send
from strandline.model.partitions import TopicPartition


class Writers:
    def __init__(self) -> None:
        self._by_value: dict[tuple[str, str], Send] = {}
        self._ambiguous: set[tuple[str, str]] = set()
        self._by_place: dict[Record, Send | None] = {}  # only of ambiguous values; None: several were told of it
        self._told_of_place: dict[Record, list[Send]] = defaultdict(
            list
        )  # of ambiguous values too, whoever acknowledged
        self._sent: dict[tuple[str, str, TopicPartition | None], list[Send]] = defaultdict(list)  # the same

    def note(self, send: Send) -> None:
        """One that failed wrote nothing, so that it stands only for a value that nobody else sent."""
        key = send.topic, send.value
        other = self._by_value.setdefault(key, send)
        if other is send or send.outcome is Outcome.FAIL:
            return
        if other.outcome is Outcome.FAIL:
            self._by_value[key] = send
        else:
            self._ambiguous.add(key)

    def settle(self, sends: Iterable[Send], is_promised: Callable[[Send], bool]) -> None:
        """Once all are noted."""
        for key in self._ambiguous:
            del self._by_value[key]
        for send in sends if self._ambiguous else ():
            if not self.is_ambiguous(send.topic, send.value):
                continue
            if send.outcome is not Outcome.FAIL:
                self._sent[send.topic, send.value, send.partition].append(send)
            place = _place(send)
            if place is not None:
                self._told_of_place[place].append(send)
                if is_promised(send):
                    self._by_place[place] = None if place in self._by_place else send

    def by_value(self, topic: str, value: str) -> Send | None:
        """None also where several sent it, so that none can be blamed."""
        return self._by_value.get((topic, value))

    def of(self, record: Record) -> Send | None:
        writer = self._by_value.get((record.partition.topic, record.value))
        return writer if writer is not None else self._by_place.get(record)

    def is_ambiguous(self, topic: str, value: str) -> bool:
        return (topic, value) in self._ambiguous

    def told_of_one_place(self) -> Iterator[tuple[Record, list[Send]]]:
        return ((place, sends) for place, sends in self._told_of_place.items() if len(sends) > 1)

    def sent_to(self, partition: TopicPartition, value: str) -> list[Send]:
        """What may lie there of a value that was sent more than once."""
        places = (partition, None)
        return [send for place in places for send in self._sent.get((partition.topic, value, place), ())]

    @property
    def ambiguous_count(self) -> int:
        return len(self._ambiguous)


def _place(send: Send) -> Record | None:
    if send.outcome is not Outcome.OK or send.partition is None or send.offset is None:
        return None
    return Record(send.partition, send.offset, send.value)
