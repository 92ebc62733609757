"""What compaction must know of transactions while it walks through a log (KIP-98, KAFKA-8351, KAFKA-13727).

The index of aborted transactions tells which data is aborted: a producer has one transaction at a time, so whatever it
wrote between the first and the last offset of an aborted one belongs to it, wherever the segments begin. Aborted data
goes at once. A marker must stay as long as there is data in front of it: without its abort marker aborted data would
read as committed, without its commit marker a transaction would look open for ever. So a marker may go only after a
walk that met no batch of its transaction, and that walk starts at the first segment.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable

from strandline.log.aborted_index import AbortedTransaction
from strandline.records.batch import BatchHead


class CleanedTransactions:
    """Batches must be shown in the order of the log."""

    __slots__ = ("_aborted", "_with_data")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._aborted: dict[int, deque[AbortedTransaction]] = defaultdict(deque)
        for transaction in sorted(aborted, key=lambda each: each.first_offset):
            self._aborted[transaction.producer_id].append(transaction)
        self._with_data: set[int] = set()  # producers of which there was data after their last marker

    def is_aborted(self, head: BatchHead) -> bool:
        """Show a batch of data; whether its transaction was aborted."""
        if not head.is_transactional:
            return False
        self._with_data.add(head.producer_id)
        transaction = self._at(head.producer_id, head.base_offset)
        return transaction is not None and transaction.first_offset <= head.base_offset

    def end(self, head: BatchHead) -> tuple[bool, AbortedTransaction | None]:
        """Show a marker: whether there was data in front of it, and what the index knew of its transaction."""
        has_data = head.producer_id in self._with_data
        self._with_data.discard(head.producer_id)
        transaction = self._at(head.producer_id, head.base_offset)
        if transaction is None or transaction.last_offset != head.last_offset:
            return has_data, None
        return has_data, transaction

    def _at(self, producer_id: int, offset: int) -> AbortedTransaction | None:
        """The first aborted transaction of this producer that does not end before `offset`."""
        if producer_id not in self._aborted:
            return None
        transactions = self._aborted[producer_id]
        while transactions and transactions[0].last_offset < offset:
            transactions.popleft()
        return transactions[0] if transactions else None
