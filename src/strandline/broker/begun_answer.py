"""Records of an answer that has only begun to come, appended while the rest is under way (SPEC R2).

A follower has one fetch under way. If it wrote when the answer is complete, its leader would wait while it writes, and
it would wait while the leader sends. So it writes what is there already, and when the last bytes have come there is
little left to do before it asks again.

That is safe, for an answer that ends after any whole batch is a good answer. The batches are those of this leader and
this epoch, verified as always, and go on where the log ends; whether this is still what the follower asks for is looked
at each time. Nobody is told of them: the next fetch tells the leader, and goes out when the answer is complete and all
of it is in the log. The leader's high watermark and log start count from then on, too. An answer that diverges has no
records (KIP-595); if one had, what was appended here would lie beyond the cut.

What is wrong with a batch is found again when the answer is complete, and told then.
"""

from __future__ import annotations

from strandline.broker.partition import Partition
from strandline.model.failures import CorruptData, StorageFailed
from strandline.replication.requests import Fetch


class BegunAnswer:
    __slots__ = ("_is_over", "_partition", "request", "taken_bytes")

    def __init__(self, partition: Partition, request: Fetch) -> None:
        self._partition = partition
        self._is_over = False
        self.request = request  # to which what has not been taken is the answer
        self.taken_bytes = 0  # of the records

    def take(self, records: memoryview, now_ms: int) -> None:
        """These have come so far."""
        follower = self._partition.follower
        if self._is_over or follower is None or not follower.still_asks(self.request):
            return
        self._is_over = True  # unless all goes well
        try:
            self.taken_bytes += self._partition.log.take_replicated(records[self.taken_bytes :], now_ms=now_ms)
        except (CorruptData, StorageFailed):
            return
        following = follower.request(now_ms)
        if isinstance(following, Fetch):
            self.request, self._is_over = following, False
