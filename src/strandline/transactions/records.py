"""What the coordinator writes to `__transaction_state`: a transactional id, and all there is to know of it.

The topic is compacted: a record replaces every earlier one of its id, and one without a value removes them. So the
coordinator's whole state is the last record of each id. `formats` writes them as bytes.
"""

from __future__ import annotations

from typing import NamedTuple

from strandline.model.lazy_dataclass import dataclass
from strandline.model.partitions import TopicPartition
from strandline.model.text import OneLine, text_of
from strandline.transactions.states import TransactionState

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_TIME = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction(OneLine):
    state: TransactionState
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    partitions: tuple[TopicPartition, ...] = ()  # sorted; none in EMPTY and once complete
    start_ms: int = NO_TIME  # of this transaction, or of the last one
    last_update_ms: int
    client_version: int = 0  # the transaction version by which the state came about
    previous_producer_id: int = NO_PRODUCER_ID  # where this record is the first with its producer id
    next_producer_id: int = NO_PRODUCER_ID  # where this one has no more epochs: the one to go on with once complete
    # The epoch before the last InitProducerId, where the producer proved that it had it (KIP-360). Kafka has no field
    # for it: after a change of coordinator nobody is known to have had it.
    last_producer_epoch: int = NO_PRODUCER_EPOCH


class TransactionRecord(NamedTuple):
    transactional_id: str
    transaction: Transaction | None  # None removes

    def __str__(self) -> str:
        value = "removed" if self.transaction is None else text_of(self.transaction)
        return f"{text_of(self.transactional_id)} -> {value}"
