"""Simulated producers: idempotent with acks=all, or careless with acks=0 and 1.

The idempotent one keeps up to five batches under way in each partition, sends those that failed again with the same
sequence numbers and in the same order, and never gives up. So whatever it was told, each of its batches is there
exactly once in the end.
"""

from __future__ import annotations

from dataclasses import dataclass

from strandline.broker.peers import PeerFailed
from strandline.metadata.answer import Answer
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.records.batch import CRC, CRC_POSITION
from strandline.records.builder import build_batch
from strandline.records.record import Record
from strandline.simulation.client import SimulatedClient
from strandline.simulation.history import History, OutOfOrder, Sent
from strandline.simulation.network import Network
from strandline.simulation.world import World
from strandline.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from strandline.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

PRODUCE_VERSION = 9
INIT_VERSION = 4
IN_FLIGHT_MAX = 5
ACKS_ALL, ACKS_ONE = -1, 1
# Said before anything is written. What waits for others may hear the same of what is written, and is sent again.
NOT_WRITTEN = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})


@dataclass(slots=True)
class Outgoing:
    number: int
    crc: int
    data: bytes
    tries: int = 0
    taken_in: int | None = None  # the epoch in which a leader had taken it when it was last sent


class Producer(SimulatedClient):
    """Of one partition."""

    def __init__(
        self,
        world: World,
        network: Network,
        name: str,
        brokers: tuple[str, ...],
        partition: TopicPartition,
        history: History,
        *,
        acks: int = ACKS_ALL,
        pause_ms: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(world, network, name, brokers)
        self.pace.keep_to(pause_ms)
        self.partition = partition
        self.acks = acks
        self.is_stopping = False
        self.is_done = False
        self.last_acknowledged_us = 0
        self.acknowledged = 0
        self._history = history
        self._producer_id = -1
        self._producer_epoch = -1
        self._sequence = 0
        self._number = 0
        self._leader: str | None = None  # as far as it knows
        self._unresolved: list[Outgoing] = []

    @property
    def is_idempotent(self) -> bool:
        return self.acks == ACKS_ALL

    def start(self) -> None:
        self.begin(self._run())

    async def _run(self) -> None:
        if self.is_idempotent:
            await self._take_producer_id()
        while not (self.is_stopping and not self._unresolved):
            if not self.is_stopping:
                self._make_batches()
            await self._round()
            await self.pause(self.pace.pause_ms())
        self.is_done = True

    async def _take_producer_id(self) -> None:
        while self._producer_id < 0:
            try:
                answer = await self.ask(
                    self.any_broker(),
                    InitProducerIdRequest(None, 60_000),
                    InitProducerIdResponse,
                    INIT_VERSION,
                )
                if not answer.error_code:
                    self._producer_id, self._producer_epoch = answer.producer_id, answer.producer_epoch
            except PeerFailed:
                pass
            await self.pause(self.retry_backoff_ms)

    def _make_batches(self) -> None:
        """A leader remembers the last five batches: no more may come after one that has to be sent again."""
        wanted = self.chance.randint(1, IN_FLIGHT_MAX)
        while not self._unresolved or self._number < self._unresolved[0].number + wanted:
            self._unresolved.append(self._make_batch())

    def _make_batch(self) -> Outgoing:
        number, self._number = self._number, self._number + 1
        records = self._make_records(number)
        data = build_batch(
            records,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            base_sequence=self._sequence if self.is_idempotent else -1,
        )
        self._sequence += len(records)
        (crc,) = CRC.unpack_from(data, CRC_POSITION)
        is_careful = self.is_idempotent
        self._history.sent[crc] = Sent(self.name, number, is_careful, self.partition, is_gapless=is_careful)
        return Outgoing(number, crc, bytes(data))

    def _make_records(self, number: int) -> list[Record]:
        now_ms, count = self.host.now_ms(), self.chance.randint(1, 3)
        return [
            Record(index, now_ms, None, f"{self.name}/{number}/{index}".encode() + b"." * self.chance.randint(0, 60))
            for index in range(count)
        ]

    async def _round(self) -> None:
        """Everything that is unresolved is sent, in order; then all answers are heard. A leader that knows nothing of a
        producer takes any sequence for its first, in Kafka too: so the very first batch goes alone."""
        if self._leader is None:
            self._leader, _ = await self.leader_of(self.partition.topic, self.partition.partition)
        asked = self._leader
        caller = self.caller(asked)
        sent: list[tuple[Outgoing, Answer[ProduceResponse]]] = []
        acks = "all" if self.is_idempotent else self.acks
        is_first = self.is_idempotent and not self.acknowledged
        for outgoing in self._unresolved[: 1 if is_first else None]:
            outgoing.tries += 1
            outgoing.taken_in = self._history.taken.get(outgoing.crc)
            request = ProduceRequest(None, self.acks, 3_000, [self._data(outgoing)])
            self._tell(outgoing, f"is sent to {asked} with acks={acks}, try {outgoing.tries}")
            if self.acks == 0:
                caller.tell(request, version=PRODUCE_VERSION)
            else:
                answer = caller.ask(
                    request, ProduceResponse, version=PRODUCE_VERSION, timeout_ms=self.request_timeout_ms
                )
                sent.append((outgoing, answer))
        if self.acks == 0 and self.chance.random() < 0.1:
            self._leader = None  # nobody would tell it
        if not self.is_idempotent:
            self._unresolved = []  # who does not care does not try again
        for outgoing, answer in sent:
            try:
                result = (await answer).responses[0].partition_responses[0]
            except PeerFailed as failure:
                self._tell(outgoing, f"is not answered by {asked}: {failure}")
                self._leader = None
                continue
            self._heard(outgoing, result, asked)

    def _data(self, outgoing: Outgoing) -> TopicProduceData:
        return TopicProduceData(
            self.partition.topic, partition_data=[PartitionProduceData(self.partition.partition, outgoing.data)]
        )

    def _tell(self, outgoing: Outgoing, outcome: str) -> None:
        self.world.tell(f"{self.name}: batch {outgoing.number} for {self.partition}, crc {outgoing.crc:08x}, {outcome}")

    def _heard(self, outgoing: Outgoing, result: PartitionProduceResponse, leader: str) -> None:
        error_code = ErrorCode(result.error_code)
        if error_code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and outgoing.taken_in is not None:
            refused = OutOfOrder(outgoing.crc, leader, outgoing.taken_in)
            self._history.out_of_order.setdefault(self.partition, []).append(refused)
        if error_code not in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            self._tell(outgoing, f"is refused by {leader}: {error_code.name}")
            if self.acks == ACKS_ONE and error_code in NOT_WRITTEN:
                self._history.failed[outgoing.crc] = error_code.name
            self._leader = None
            return
        self._tell(outgoing, f"is acknowledged by {leader} at offset {result.base_offset}")
        if self.is_idempotent:
            # Sequence numbers leave no gap: who has this one has those before it. A leader that was restarted knows the
            # last batch alone, as in Kafka, and calls those before it out of order for ever.
            for each in [each for each in self._unresolved if each.number <= outgoing.number]:
                self._unresolved.remove(each)
                offset = result.base_offset if each is outgoing else -1
                if each is not outgoing:
                    self._tell(each, f"counts as acknowledged with batch {outgoing.number}")
                self._history.acknowledge(self.partition, each.crc, offset, self.world.now_us)
        self.acknowledged += 1
        self.last_acknowledged_us = self.world.now_us
