"""A simulated member of a group that copies what it consumes, in transactions with the group's offsets (KIP-447).

It has a transactional id of its own, whatever partitions it is given: so no epoch of a producer tells the coordinators
that another has its partitions by now. Its generation does, with the offset that it would commit; and whoever comes
next waits until no transaction is about to move the offset from which it goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.broker.peers import PeerFailed
from strandline.model.failures import ErrorCode
from strandline.simulation.coordinated import GROUP
from strandline.simulation.copies import Copy
from strandline.simulation.group_clients import Again
from strandline.simulation.group_members import GroupMember
from strandline.simulation.transaction_history import Transaction, TransactionalId
from strandline.simulation.transaction_requests import NOBODY, GivenUp, Replaced
from strandline.simulation.transactional_producers import TransactionalProducer
from strandline.wire.layout import Message
from strandline.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

if TYPE_CHECKING:
    from strandline.simulation.copying_load import CopyingLoad

OFFSETS_MAX = 3  # of one copy
STALL_SHARE = 0.1  # of the moments at which it may fall asleep amid a transaction
COMMIT_SHARE = 0.85
TRANSACTION_TIMEOUTS_MS = (8_000, 16_000)  # who comes next waits so long for one that nobody ends
FENCED = frozenset({ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})


class Fenced(Exception):
    """Its partitions may be another's."""

    def __init__(self, error_code: ErrorCode) -> None:
        super().__init__(error_code.name)
        self.error_code = error_code


class CopyingProducer(TransactionalProducer):
    """The producer of one copier, which does what it is told."""

    def __init__(self, load: CopyingLoad, copier: Copier) -> None:
        super().__init__(load, TransactionalId(copier.name, load.group), f"producer of {copier.name}")
        self.transaction_timeout_ms = self.chance.choice(TRANSACTION_TIMEOUTS_MS)
        self._copying = load
        self._copier = copier
        self._copy: Copy

    @property
    def is_steady(self) -> bool:
        """In the end, for others wait for what it leaves open."""
        return self._copying.is_healed

    async def prepare(self) -> None:
        """Whatever it had begun is over then."""
        while self.needs_epoch:
            try:
                await self.take_epoch()
                self._sequences = {}
            except GivenUp:
                await self.pause(self.retry_backoff_ms)
            except Replaced:
                self.producer_id = NOBODY

    async def copy(self, copy: Copy) -> bool:
        """Whether it is committed. Raises `Again`: its outcome is not known, or it has to be left to others."""
        self._copy = copy
        try:
            return await self._transact_copy()
        except Replaced:
            self.producer_id = NOBODY  # its transaction took too long, and was ended
        except GivenUp:
            pass
        self.needs_epoch = True
        raise Again

    async def _transact_copy(self) -> bool:
        await self.prepare()
        transaction = self._begin()
        self._copying.copied_once.began(transaction, self._copy)
        await self._write_some(transaction)
        await self._copier.stall_perhaps()
        try:
            await self.send_offset(transaction)
        except Fenced as fenced:
            await self.end(transaction, is_commit=False)
            self._sequences = {}
            self._copier.was_fenced(fenced.error_code)
        await self._copier.stall_perhaps()
        is_commit = self.chance.random() < COMMIT_SHARE
        if is_commit:
            self._copying.sent(self._copy.partition, self._copy.end)
        await self.end(transaction, is_commit=is_commit)
        self._sequences = {}
        return is_commit

    def _offset_request(self, transaction: Transaction) -> TxnOffsetCommitRequest:  # noqa: ARG002
        partition = TxnOffsetCommitRequestPartition(self._copy.partition, self._copy.end)
        return TxnOffsetCommitRequest(
            self.owner.name,
            self.owner.group,
            self.producer_id,
            self.producer_epoch,
            *self._copier.identity,
            [TxnOffsetCommitRequestTopic(self._copying.consumed, [partition])],
        )

    async def _is_to_repeat(self, request: Message, code: int, kind: int = 1, key: str = "") -> bool:
        if kind == GROUP and code in FENCED:
            raise Fenced(ErrorCode(code))
        return await super()._is_to_repeat(request, code, kind, key)


class Copier(GroupMember):
    def __init__(self, load: CopyingLoad, name: str, instance_id: str | None) -> None:
        super().__init__(load, name, instance_id)
        self._producer = CopyingProducer(load, self)

    @property
    def identity(self) -> tuple[int, str, str | None]:
        return self._generation, self._member_id, self._instance_id

    async def _join(self) -> None:
        await self._producer.prepare()
        await super()._join()

    async def stall_perhaps(self) -> None:
        """For longer than its session, with a transaction open: a zombie, which goes on where it was."""
        if not self._load.is_healed and self.chance.random() < STALL_SHARE:
            self.world.tell(f"{self.name} stands still amid a transaction")
            await self.pause(self._session_timeout_ms * 2)

    def was_fenced(self, error_code: ErrorCode) -> None:
        self._check(TxnOffsetCommitRequest, error_code)

    async def _commit(self) -> None:
        index = self.chance.choice(list(self._positions))
        copy = Copy(index, self._positions[index], self._positions[index] + self.chance.randint(1, OFFSETS_MAX))
        sent_us, generation = self.world.now_us, self._generation
        try:
            is_committed = await self._producer.copy(copy)
        except PeerFailed as failure:  # of what is asked once
            raise Again from failure
        if is_committed:
            self._positions[index] = copy.end
            told = f"{copy.end} for {self._load.consumed}-{index} in generation {generation}"
            self.world.note(f"{self.name}: {told} is committed with its transaction")
            self._load.committed(self.name, generation, index, copy.end, sent_us)
