"""What was asked for before anybody knew what would come of it.

A process that is killed amid a call hears nothing of it, though it may have come to be. So a recorder may note a call
before it makes it; what came of it is another line, or several, of the same operation, process and beginning. Then
only these count. A call of which there is none has an unknown outcome.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from strandline.history.lives import Lives
from strandline.history.operations import Outcome, TimedOperation

Call: TypeAlias = tuple[type[TimedOperation], int, int]  # of a process: the operation, the life, and when it began


class Asked:
    def __init__(self) -> None:
        self._calls: dict[str, list[TimedOperation]] = defaultdict(list)  # by process

    def note(self, call: TimedOperation) -> None:
        self._calls[call.process].append(call)

    def unanswered(self, answers: Mapping[str, Iterable[TimedOperation]], lives: Lives) -> Iterator[TimedOperation]:
        """As operations of unknown outcome. `answers` are all others, by process."""

        def key(operation: TimedOperation) -> Call:
            return type(operation), lives.number(operation), operation.began_us

        for process, calls in self._calls.items():
            kinds = {type(call) for call in calls}
            answered = {key(each) for each in answers.get(process, ()) if type(each) in kinds}
            yield from (call._replace(outcome=Outcome.UNKNOWN) for call in calls if key(call) not in answered)
