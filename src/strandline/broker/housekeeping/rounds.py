"""Going round all partitions without keeping anybody waiting for the whole round.

A broker may have ten thousand of them. A few are visited in each turn of the event loop, and one that touches the disk
ends the turn. One that waits for the disk, in a thread, lets the round wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum

from strandline.broker.host import Host
from strandline.broker.partition import Partition
from strandline.broker.partitions import Partitions
from strandline.model.failures import StorageFailed

VISITS_PER_TURN = 20


class Visit(Enum):
    DONE = "on to the next one"
    AGAIN = "the disk was touched; the same one once more, in the next turn"
    LATER = "the same one once more, when `go_on` is called"


class Rounds:
    def __init__(
        self, host: Host, partitions: Partitions, visit: Callable[[Partition, Callable[[], None]], Visit]
    ) -> None:
        """`visit` is given what to call if the round has to wait."""
        self._host = host
        self._partitions = partitions
        self._visit = visit
        self._left: deque[Partition] = deque()

    def begin(self) -> None:
        """Unless the last round is still under way."""
        if not self._left:
            self._left.extend(self._partitions)
            self._go_on()

    def stop(self) -> None:
        self._left.clear()

    def _go_on(self) -> None:
        for _ in range(VISITS_PER_TURN):
            if not self._left:
                return
            visit = self._visit_if_usable(self._left[0])
            if visit is Visit.LATER:
                return
            if visit is Visit.AGAIN:
                break
            if self._left:
                self._left.popleft()
        self._host.call_soon(self._go_on)

    def _visit_if_usable(self, partition: Partition) -> Visit:
        if partition.log.is_closed or partition.log.failure is not None:
            return Visit.DONE
        try:
            return self._visit(partition, self._go_on)
        except StorageFailed:
            return Visit.DONE  # which its directory has told everybody
