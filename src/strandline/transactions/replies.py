"""What the coordinator answers. Handlers turn these into responses of the version the client speaks."""

from __future__ import annotations

from strandline.model.failures import ErrorCode
from strandline.model.lazy_dataclass import dataclass
from strandline.model.partitions import TopicPartition
from strandline.model.text import OneLine
from strandline.transactions.records import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class InitProducerIdReply(OneLine):
    error_code: ErrorCode = ErrorCode.NONE
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionResult(OneLine):
    error_code: ErrorCode = ErrorCode.NONE
    partition: TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitionsReply(OneLine):
    transactional_id: str
    results: tuple[PartitionResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOffsetsReply(OneLine):
    error_code: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTransactionReply(OneLine):
    """The producer goes on with this pair (version 5 on)."""

    error_code: ErrorCode = ErrorCode.NONE
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTransaction(OneLine):
    error_code: ErrorCode = ErrorCode.NONE
    transactional_id: str
    state: str = ""
    timeout_ms: int = 0
    start_ms: int = NO_TIME
    producer_id: int = 0
    producer_epoch: int = 0
    partitions: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTransactionsReply(OneLine):
    transactions: tuple[DescribedTransaction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTransaction(OneLine):
    transactional_id: str
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTransactionsReply(OneLine):
    error_code: ErrorCode = ErrorCode.NONE
    unknown_states: tuple[str, ...] = ()
    transactions: tuple[ListedTransaction, ...] = ()


@dataclass(frozen=True, slots=True)
class Done(OneLine):
    """The answer to what no client asked, such as news of deleted partitions."""


Reply = (
    InitProducerIdReply
    | AddPartitionsReply
    | AddOffsetsReply
    | EndTransactionReply
    | DescribeTransactionsReply
    | ListTransactionsReply
    | Done
)
