"""What a transactional producer asks of the coordinators, and what it makes of their answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from strandline.broker.peers import PeerFailed
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.simulation.coordinated import GROUP, MOVED, TRANSACTION, CoordinatedClient
from strandline.simulation.transaction_history import Transaction, TransactionalId
from strandline.simulation.transaction_invariants import complaints_about
from strandline.wire.layout import Message
from strandline.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from strandline.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from strandline.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from strandline.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from strandline.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic, OffsetFetchResponse
from strandline.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

if TYPE_CHECKING:
    from strandline.simulation.transactional_load import TransactionalLoad

M = TypeVar("M", bound=Message)
Coded = TypeVar("Coded", AddOffsetsToTxnResponse, EndTxnResponse, InitProducerIdResponse)

INIT_VERSION = 4
ADD_PARTITIONS_VERSION = 3
ADD_OFFSETS_VERSION = 3
SEND_OFFSETS_VERSION, SEND_OFFSETS_VERSION_WITH_BUMPS = 3, 5
END_VERSION, END_VERSION_WITH_BUMPS = 4, 5
OFFSET_FETCH_VERSION = 7
NOBODY = -1

AGAIN = MOVED | {
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.OPERATION_NOT_ATTEMPTED,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
}
REPLACED = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH})
HOPELESS = frozenset({ErrorCode.INVALID_TXN_STATE, ErrorCode.TRANSACTION_ABORTABLE})


class Replaced(Exception):
    """Another has the transactional id."""


class GivenUp(Exception):
    """This transaction; what becomes of it is not known here."""


class TransactionRequests(CoordinatedClient):
    def __init__(self, load: TransactionalLoad, owner: TransactionalId, name: str) -> None:
        simulation = load.simulation
        super().__init__(load.world, simulation.network, name, simulation.names)
        self.load = load
        self.owner = owner
        self.bumps_epoch = self.chance.random() < 0.6
        self.needs_epoch = True
        self.producer_id = NOBODY
        self.producer_epoch = NOBODY
        self.transaction_timeout_ms = self.chance.choice((2_000, 8_000, 30_000))

    @property
    def is_steady(self) -> bool:
        """Whether it ends what it has begun."""
        return False

    async def take_epoch(self) -> None:
        """As somebody new, or as the one it was, which proves itself (KIP-360)."""
        proves = self.producer_id != NOBODY and self.chance.random() < 0.7
        request = InitProducerIdRequest(
            self.owner.name,
            self.transaction_timeout_ms,
            self.producer_id if proves else NOBODY,
            self.producer_epoch if proves else NOBODY,
        )
        answer = await self._insist(request, InitProducerIdResponse, INIT_VERSION)
        self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch
        self.owner.given.append((self.world.now_us, answer.producer_epoch))
        self.needs_epoch = False

    async def add_partitions(self, partitions: Sequence[TopicPartition]) -> None:
        names = dict.fromkeys(each.topic for each in partitions)
        topics = [
            AddPartitionsToTxnTopic(name, [each.partition for each in partitions if each.topic == name])
            for name in names
        ]
        request = AddPartitionsToTxnRequest([], self.owner.name, self.producer_id, self.producer_epoch, topics)
        while True:
            try:
                answer = await self._ask(request, AddPartitionsToTxnResponse, ADD_PARTITIONS_VERSION)
            except PeerFailed:
                await self.pause(self.retry_backoff_ms)
                continue
            errors = [
                each.partition_error_code
                for topic in answer.results_by_topic_v3_and_below
                for each in topic.results_by_partition
            ]
            if not await self._is_to_repeat(request, max(errors, key=lambda code: code not in AGAIN and code != 0)):
                return

    async def send_offset(self, transaction: Transaction) -> None:
        if not self.bumps_epoch:
            adding = AddOffsetsToTxnRequest(self.owner.name, self.producer_id, self.producer_epoch, self.owner.group)
            await self._insist(adding, AddOffsetsToTxnResponse, ADD_OFFSETS_VERSION)
        transaction.has_offset = True
        request = self._offset_request(transaction)
        version = SEND_OFFSETS_VERSION_WITH_BUMPS if self.bumps_epoch else SEND_OFFSETS_VERSION
        (topic,) = request.topics
        (partition,) = topic.partitions
        offset = (
            f"{transaction}: offset {partition.committed_offset} of {self.owner.group}"
            f" for {topic.name}-{partition.partition_index}"
        )
        while True:
            try:
                sent = await self.ask_coordinator(GROUP, self.owner.group, request, TxnOffsetCommitResponse, version)
            except PeerFailed as failure:
                self.world.note(f"{offset} is not answered: {failure}")
                await self.pause(self.retry_backoff_ms)
                continue
            error_code = sent.topics[0].partitions[0].error_code
            self.world.note(f"{offset} is told {ErrorCode(error_code).name}")
            if not await self._is_to_repeat(request, error_code, GROUP, self.owner.group):
                return

    def _offset_request(self, transaction: Transaction) -> TxnOffsetCommitRequest:
        """That of the transaction, for the only partition of the group; of no member of it."""
        partition = TxnOffsetCommitRequestPartition(0, transaction.offset)
        return TxnOffsetCommitRequest(
            self.owner.name,
            self.owner.group,
            self.producer_id,
            self.producer_epoch,
            topics=[TxnOffsetCommitRequestTopic(self.load.topic, [partition])],
        )

    async def end(self, transaction: Transaction, *, is_commit: bool) -> None:
        request = EndTxnRequest(self.owner.name, self.producer_id, self.producer_epoch, is_commit)
        transaction.may_commit |= is_commit
        version = END_VERSION_WITH_BUMPS if self.bumps_epoch else END_VERSION
        if not self.is_steady and self.chance.random() < 0.04:
            await self._leave_with(request, EndTxnResponse, version)
        answer = await self._insist(request, EndTxnResponse, version)
        transaction.outcome = is_commit
        self.load.ended(transaction)
        for sentence in complaints_about(transaction):
            self.load.complain("WholeTransactions", sentence)
        if self.bumps_epoch:
            self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch
        else:
            self.needs_epoch = True

    async def check_offset(self) -> None:
        """How far the group is, is what the last committed transaction said, or one whose outcome is not known."""
        known = [each.offset for each in self.owner.transactions if each.outcome and each.has_offset]
        topic = OffsetFetchRequestTopic(self.load.topic, [0])
        request = OffsetFetchRequest(self.owner.group, [topic], require_stable=True)
        while True:
            try:
                coordinator = await self.coordinator_of(GROUP, self.owner.group)
                leadership = self.load.offsets_leadership(coordinator)
                answer = await self.ask_coordinator(
                    GROUP, self.owner.group, request, OffsetFetchResponse, OFFSET_FETCH_VERSION
                )
            except PeerFailed:
                await self.pause(self.retry_backoff_ms)
                continue
            partition = answer.topics[0].partitions[0] if answer.topics else None
            error_code = answer.error_code or (0 if partition is None else partition.error_code)
            if not await self._is_to_repeat(request, error_code, GROUP, self.owner.group):
                assert partition is not None
                if leadership is not None and leadership == self.load.offsets_leadership(coordinator):
                    self.load.saw_offset(self.name, self.owner, max(known, default=-1), partition.committed_offset)
                return

    async def _leave_with(self, request: Message, response: type[M], version: int) -> None:
        """Sends it, and does not wait for what becomes of it."""
        coordinator = await self.coordinator_of(TRANSACTION, self.owner.name)
        self.caller(coordinator).ask(request, response, version=version, timeout_ms=self.request_timeout_ms)
        raise GivenUp

    # Answers.

    async def _ask(self, request: Message, response: type[M], version: int) -> M:
        return await self.ask_coordinator(TRANSACTION, self.owner.name, request, response, version)

    async def _insist(self, request: Message, response: type[Coded], version: int) -> Coded:
        """Until the answer is one that asking again would not change."""
        while True:
            try:
                answer = await self._ask(request, response, version)
            except PeerFailed:
                await self.pause(self.retry_backoff_ms)
                continue
            if not await self._is_to_repeat(request, answer.error_code):
                return answer

    async def _is_to_repeat(self, request: Message, code: int, kind: int = TRANSACTION, key: str = "") -> bool:
        error_code = ErrorCode(code)
        if error_code in AGAIN:
            await self.wait_for_coordinator(kind, key or self.owner.name, error_code)
            return True
        if error_code in REPLACED:
            raise Replaced
        if error_code in HOPELESS:
            raise GivenUp
        if error_code is not ErrorCode.NONE:
            name = type(request).__name__
            self.load.complain("ExpectedErrors", f"{self.name} sent {name} and was told {error_code.name}")
            raise GivenUp
        return False
