"""What the coordinator can be asked. No API version is known here: what a version changes is a field.

Every command answers for itself when it is refused. A producer that has been replaced hears PRODUCER_FENCED, or
INVALID_PRODUCER_EPOCH where its request's version does not know that error yet (`knows_fencing`).
"""

from __future__ import annotations

from strandline.model.failures import ErrorCode, Refused
from strandline.model.lazy_dataclass import dataclass
from strandline.model.partitions import TopicPartition
from strandline.model.text import OneLine
from strandline.transactions.records import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from strandline.transactions.replies import (
    AddOffsetsReply,
    AddPartitionsReply,
    DescribedTransaction,
    DescribeTransactionsReply,
    Done,
    EndTransactionReply,
    InitProducerIdReply,
    ListTransactionsReply,
    PartitionResult,
)

OFFSETS_TOPIC = "__consumer_offsets"
ANY_DURATION = -1


def _error_of(refusal: Refused, knows_fencing: bool) -> ErrorCode:
    if refusal.error_code is ErrorCode.PRODUCER_FENCED and not knows_fencing:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return refusal.error_code


@dataclass(frozen=True, slots=True, kw_only=True)
class InitProducerId(OneLine):
    transactional_id: str
    transaction_timeout_ms: int
    # The pair that the producer has, to go on after an error (KIP-360, version 3 on).
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    knows_fencing: bool = True  # version 4 on

    def refused(self, refusal: Refused) -> InitProducerIdReply:
        return InitProducerIdReply(error_code=_error_of(refusal, self.knows_fencing))


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitions(OneLine):
    """One transaction of AddPartitionsToTxn; a broker sends several in a request (version 4 on)."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...]
    verify_only: bool = False  # are they part of it? (KIP-890, from brokers)
    client_version: int = 0  # 2 from brokers, which add the partitions of clients that no longer do (version 4 on)
    knows_fencing: bool = True  # version 2 on

    def refused(self, refusal: Refused) -> AddPartitionsReply:
        return self.answered(_error_of(refusal, self.knows_fencing))

    def answered(self, error_code: ErrorCode = ErrorCode.NONE) -> AddPartitionsReply:
        results = tuple(PartitionResult(error_code=error_code, partition=partition) for partition in self.partitions)
        return AddPartitionsReply(transactional_id=self.transactional_id, results=results)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOffsets(OneLine):
    """`offsets_partition` is the partition of `__consumer_offsets` that the group belongs to."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    offsets_partition: int
    knows_fencing: bool = True  # version 2 on

    def refused(self, refusal: Refused) -> AddOffsetsReply:
        return AddOffsetsReply(error_code=_error_of(refusal, self.knows_fencing))


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTransaction(OneLine):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    is_commit: bool
    bumps_epoch: bool = True  # version 5 on (KIP-890): the producer takes its next pair from the reply
    knows_fencing: bool = True  # version 2 on

    def refused(self, refusal: Refused) -> EndTransactionReply:
        return EndTransactionReply(error_code=_error_of(refusal, self.knows_fencing))


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTransactions(OneLine):
    transactional_ids: tuple[str, ...]

    def refused(self, refusal: Refused) -> DescribeTransactionsReply:
        return DescribeTransactionsReply(
            transactions=tuple(
                DescribedTransaction(error_code=refusal.error_code, transactional_id=transactional_id)
                for transactional_id in self.transactional_ids
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTransactions(OneLine):
    """Empty filters let everything through."""

    states: tuple[str, ...] = ()
    producer_ids: tuple[int, ...] = ()
    longer_than_ms: int = ANY_DURATION  # version 1 on

    def refused(self, refusal: Refused) -> ListTransactionsReply:
        return ListTransactionsReply(error_code=refusal.error_code)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsDeleted(OneLine):
    """News, not a request: no marker can or need be written to these partitions any more."""

    partitions: tuple[TopicPartition, ...]

    def refused(self, _refusal: Refused) -> Done:
        return Done()


Command = (
    InitProducerId
    | AddPartitions
    | AddOffsets
    | EndTransaction
    | DescribeTransactions
    | ListTransactions
    | PartitionsDeleted
)
