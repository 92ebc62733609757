"""Who sent a record: known by its value, or, where several sent the same value, by where it was acknowledged.

What all in-sync replicas have acknowledged lies where they said, so that a record there is that one. What the leader
alone has acknowledged may have been replaced by another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from strandline.history.operations import Outcome, Record, Send


class Writers:
    def __init__(self) -> None:
        self._by_value: dict[tuple[str, str], Send] = {}
        self._ambiguous: set[tuple[str, str]] = set()
        self._by_place: dict[Record, Send | None] = {}  # only of ambiguous values; None: several were told of it

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
            place = _place(send)
            if place is not None and self.is_ambiguous(send.topic, send.value) and is_promised(send):
                self._by_place[place] = None if place in self._by_place else send

    def by_value(self, topic: str, value: str) -> Send | None:
        """None also where several sent it, so that none can be blamed."""
        return self._by_value.get((topic, value))

    def of(self, record: Record) -> Send | None:
        writer = self._by_value.get((record.partition.topic, record.value))
        return writer if writer is not None else self._by_place.get(record)

    def is_ambiguous(self, topic: str, value: str) -> bool:
        return (topic, value) in self._ambiguous

    @property
    def ambiguous_count(self) -> int:
        return len(self._ambiguous)


def _place(send: Send) -> Record | None:
    if send.outcome is not Outcome.OK or send.partition is None or send.offset is None:
        return None
    return Record(send.partition, send.offset, send.value)
