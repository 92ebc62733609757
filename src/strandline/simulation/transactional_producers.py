"""A simulated transactional producer: one transaction after another, over several partitions and a group's offsets.

It is of one of two generations. The newer has a new epoch for each transaction (KIP-890): whatever it does not know the
outcome of it asks again. The older adds partitions itself, and a request of its that is delayed can touch the next
transaction, which no broker can mend (KAFKA-14562): so it takes a new epoch before each transaction, as one does who
wants to be safe with it.

It may be replaced at any time by another of the same transactional id, and does not know of it: then it is a zombie,
and ends when it is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.broker.peers import PeerFailed
from strandline.broker.procedures import each_of
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.records.batch import CRC, CRC_POSITION
from strandline.records.builder import build_batch
from strandline.records.record import Record
from strandline.simulation import profiles
from strandline.simulation.coordinated import TRANSACTION
from strandline.simulation.history import Sent
from strandline.simulation.producers import ACKS_ALL, Outgoing
from strandline.simulation.transaction_history import Transaction, TransactionalId
from strandline.simulation.transaction_requests import GivenUp, Replaced, TransactionRequests
from strandline.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

if TYPE_CHECKING:
    from strandline.simulation.transactional_load import TransactionalLoad

PRODUCE_VERSION, PRODUCE_VERSION_WITH_BUMPS = 11, 12
LATE_SHARE = 0.1  # of the transactions of those who keep their epoch
LATE_US = 400_000
LATE_FOR_US = 10_000_000
LATE_NUMBER = 9
OPEN_FOR_LONG_SHARE = 0.4  # of the transactions with profiles
OPEN_FOR_LONG_MS = (4_000, 12_000)  # in which those are cleaned
SELDOM_SHARE = 0.7  # of keys: others do not soon write over them
ASKED_MS = 10  # by then a leader has asked the coordinator about a batch
ROUNDS_MAX = 12
PRODUCE_AGAIN = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.LEADER_NOT_AVAILABLE,
    }
)
PRODUCE_NEVER = frozenset(
    {
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.UNKNOWN_PRODUCER_ID,
    }
)


class TransactionalProducer(TransactionRequests):
    def __init__(self, load: TransactionalLoad, owner: TransactionalId, name: str) -> None:
        super().__init__(load, owner, name)
        self.is_stopping = False
        self.is_done = False
        self.last_committed_us = 0
        self._number = 0
        self._sequences: dict[TopicPartition, int] = {}
        self._leaders: dict[TopicPartition, str] = {}
        self._late_chance = self.world.chance(f"late batches of {name}")

    def start(self) -> None:
        self.begin(self._run())

    async def _run(self) -> None:
        try:
            while not self.is_stopping:
                try:
                    if self.needs_epoch:
                        await self.take_epoch()
                        self._sequences = {}
                    await self._transact()
                    await self._look_at_offset()
                except GivenUp:
                    self.needs_epoch = True
                await self.pause(self.pace.pause_ms())
        except Replaced:
            pass
        self.is_done = True

    # A transaction.

    async def _transact(self) -> None:
        transaction = self._begin()
        partitions = await self._write_some(transaction)
        if not self.bumps_epoch and self._late_chance.random() < LATE_SHARE:
            await self._abort_impatiently(transaction, partitions)
            return
        if self.chance.random() < 0.4:
            await self.send_offset(transaction)
        if profiles.PARTITION in partitions and self.chance.random() < OPEN_FOR_LONG_SHARE:
            await self.pause(self.chance.randint(*OPEN_FOR_LONG_MS))
        self._crash_perhaps()
        await self.end(transaction, is_commit=self.chance.random() < 0.7)
        self._sequences = {}
        if transaction.outcome:
            self.last_committed_us = self.world.now_us

    def _begin(self) -> Transaction:
        self._number += 1
        return self.load.begin(
            self.owner, f"{self.name}#{self._number}", self.producer_epoch, has_epoch_alone=not self.bumps_epoch
        )

    async def _write_some(self, transaction: Transaction) -> list[TopicPartition]:
        """To the partitions that are told."""
        partitions = self.chance.sample(self.load.partitions, self.chance.randint(1, len(self.load.partitions)))
        if not self.bumps_epoch:
            await self.add_partitions(partitions)
        self._crash_perhaps()
        await each_of([self._write(transaction, partition) for partition in partitions])
        return partitions

    async def _abort_impatiently(self, transaction: Transaction, written: list[TopicPartition]) -> None:
        """With a batch under way that may arrive when all is over: in the same epoch, as clients before EndTxn v5 do.
        Only the coordinator can tell that it has come too late (KIP-890); or what the coordinator says comes too late,
        where it is the first batch of its partition (KAFKA-14884)."""
        partition = self._late_chance.choice(self.load.partitions)
        slow = self.name
        if partition not in written:
            await self.add_partitions([partition])
            slow = await self.coordinator_of(TRANSACTION, self.owner.name)
        if partition not in self._leaders:
            self._leaders[partition], _ = await self.leader_of(*partition)
        leader = self._leaders[partition]
        delay = self._network.damage()
        delay.slow_down(slow, leader, LATE_US)
        self.world.after(LATE_FOR_US, delay.mend)
        outgoing = self._make_batch(transaction, partition, LATE_NUMBER)
        self._note(partition, outgoing, f"is sent to {leader} with acks=all, and not waited for")
        self.caller(leader).ask(
            self._request(partition, outgoing),
            ProduceResponse,
            version=PRODUCE_VERSION,
            timeout_ms=self.request_timeout_ms,
        )
        if partition not in written:
            await self.pause(ASKED_MS)
        await self.end(transaction, is_commit=False)
        self._sequences = {}

    def _crash_perhaps(self) -> None:
        """What it had under way is left as it is."""
        if not self.is_steady and self.chance.random() < 0.04:
            raise GivenUp

    async def _look_at_offset(self) -> None:
        if self.chance.random() < 0.3:
            await self.check_offset()

    # Batches.

    async def _write(self, transaction: Transaction, partition: TopicPartition) -> None:
        """The first alone (`producers`), then all at once, those that failed again, in order."""
        first, *others = [
            self._make_batch(transaction, partition, number) for number in range(self.chance.randint(1, 3))
        ]
        await self._deliver(partition, [first])
        await self._deliver(partition, others)

    async def _deliver(self, partition: TopicPartition, unresolved: list[Outgoing]) -> None:
        for _ in range(ROUNDS_MAX):
            if not unresolved:
                return
            await self._round(partition, unresolved)
            await self.pause(self.retry_backoff_ms if unresolved else 0)
        raise GivenUp

    def _make_batch(self, transaction: Transaction, partition: TopicPartition, number: int) -> Outgoing:
        sequence = self._sequences.get(partition, 0)
        record = self._make_record(transaction, partition, number)
        data = build_batch(
            [record],
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        self._sequences[partition] = sequence + 1
        (crc,) = CRC.unpack_from(data, CRC_POSITION)
        self.load.records.sent[crc] = Sent(transaction.name, number, True, partition)
        if partition == profiles.PARTITION:
            self.load.records.kept[crc] = [record]
        self.load.history.sent[crc] = transaction
        self.load.history.first_sent_us[crc] = self.world.now_us
        return Outgoing(number, crc, bytes(data))

    def _make_record(self, transaction: Transaction, partition: TopicPartition, number: int) -> Record:
        """In the ledger its key is its own: compaction takes nothing away."""
        value = f"{transaction}/{partition.partition}/{number}".encode() + b"." * self.chance.randint(0, 60)
        record = Record(0, self.host.now_ms(), value, value)
        if partition != profiles.PARTITION:
            return record
        return profiles.profile(record, self.chance, seldom_share=SELDOM_SHARE)

    async def _round(self, partition: TopicPartition, unresolved: list[Outgoing]) -> None:
        if partition not in self._leaders:
            self._leaders[partition], _ = await self.leader_of(*partition)
        leader = self._leaders[partition]
        caller = self.caller(leader)
        version = PRODUCE_VERSION_WITH_BUMPS if self.bumps_epoch else PRODUCE_VERSION
        sent = [
            (
                outgoing,
                caller.ask(
                    self._request(partition, outgoing),
                    ProduceResponse,
                    version=version,
                    timeout_ms=self.request_timeout_ms,
                ),
            )
            for outgoing in unresolved
        ]
        for outgoing in unresolved:
            self._note(partition, outgoing, f"is sent to {leader} with acks=all")
        for outgoing, answer in sent:
            try:
                result = (await answer).responses[0].partition_responses[0]
            except PeerFailed as failure:
                self._note(partition, outgoing, f"is not answered by {leader}: {failure}")
                self._leaders.pop(partition, None)
            else:
                self._heard(partition, unresolved, outgoing, result, leader)

    def _note(self, partition: TopicPartition, outgoing: Outgoing, outcome: str) -> None:
        transaction = self.load.history.sent[outgoing.crc]
        self.world.note(f"{transaction}: batch {outgoing.number} for {partition}, crc {outgoing.crc:08x}, {outcome}")

    def _request(self, partition: TopicPartition, outgoing: Outgoing) -> ProduceRequest:
        data = PartitionProduceData(partition.partition, outgoing.data)
        return ProduceRequest(
            self.owner.name, ACKS_ALL, 3_000, [TopicProduceData(partition.topic, partition_data=[data])]
        )

    def _heard(
        self,
        partition: TopicPartition,
        unresolved: list[Outgoing],
        outgoing: Outgoing,
        result: PartitionProduceResponse,
        leader: str,
    ) -> None:
        error_code = ErrorCode(result.error_code)
        if error_code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            self._note(partition, outgoing, f"is acknowledged by {leader} at offset {result.base_offset}")
            # Who has this one has those before it (`producers`).
            for each in [each for each in unresolved if each.number <= outgoing.number]:
                unresolved.remove(each)
                offset = result.base_offset if each is outgoing else -1
                if each is not outgoing:
                    self._note(partition, each, f"counts as acknowledged with batch {outgoing.number}")
                self.load.records.acknowledge(partition, each.crc, offset, self.world.now_us)
            return
        self._note(partition, outgoing, f"is refused by {leader}: {error_code.name}")
        self._leaders.pop(partition, None)
        if error_code in PRODUCE_NEVER:
            raise GivenUp
        if error_code not in PRODUCE_AGAIN:
            self.load.complain("ExpectedErrors", f"{self.name} wrote to {partition} and was told {error_code.name}")
