"""Going round all partitions without keeping anybody waiting for the whole round.

A broker may have ten thousand of them. A few are visited in each turn of the event loop, and one that touches the disk
ends the turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from strandline.broker.host import Host
from strandline.broker.partition import Partition
from strandline.broker.partitions import Partitions
from strandline.model.failures import StorageFailed

VISITS_PER_TURN = 20


class Rounds:
    def __init__(self, host: Host, partitions: Partitions, visit: Callable[[Partition], bool]) -> None:
        """`visit` says whether it touched the disk and should be called again for the same partition."""
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
            if self._visit_if_usable(self._left[0]):
                break
            if self._left:
                self._left.popleft()
        self._host.call_soon(self._go_on)

    def _visit_if_usable(self, partition: Partition) -> bool:
        if partition.log.is_closed or partition.log.failure is not None:
            return False
        try:
            return self._visit(partition)
        except StorageFailed:
            return False  # which its directory has told everybody
