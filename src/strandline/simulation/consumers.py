"""A simulated consumer of one partition: reads from the beginning, batch after batch, from whoever leads.

What it reads is compared with what is true at that moment: every batch is committed, follows the last one, and is the
one that is there for ever.
"""

from __future__ import annotations

from collections.abc import Sequence

from strandline.broker.peers import PeerFailed
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.simulation.client import SimulatedClient
from strandline.simulation.history import History
from strandline.simulation.network import Network
from strandline.simulation.observed import Batch, batches_in
from strandline.simulation.world import World
from strandline.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData

FETCH_VERSION = 12
FETCH_BYTES = 4096
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
FAR_BEHIND = 100  # offsets


class Consumer(SimulatedClient):
    isolation_level = READ_UNCOMMITTED
    is_compacted = False  # what it reads

    def __init__(
        self,
        world: World,
        network: Network,
        name: str,
        brokers: tuple[str, ...],
        partition: TopicPartition,
        history: History,
        *,
        pause_ms: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(world, network, name, brokers)
        self.pace.keep_to(pause_ms)
        self.partition = partition
        self.position = 0
        self.is_stopping = False
        self._history = history
        self._is_behind = False  # so that it asks for more at once
        self._leader: str | None = None
        self._leader_epoch = -1

    def start(self) -> None:
        self.begin(self._run())

    async def _run(self) -> None:
        while not self.is_stopping:
            try:
                await self._poll()
            except PeerFailed as failure:
                self._tell(f"hears nothing: {failure}")
                self._leader = None
            await self.pause(0 if self._is_behind else self.pace.pause_ms())

    async def _poll(self) -> None:
        self._is_behind = False
        if self._leader is None:
            leader, epoch = await self.leader_of(self.partition.topic, self.partition.partition)
            if epoch < self._leader_epoch:
                return  # older than what it has read: whoever leads there leads no more
            self._leader, self._leader_epoch = leader, epoch
        asked = FetchPartition(self.partition.partition, self._leader_epoch, self.position, -1, -1, FETCH_BYTES)
        request = FetchRequest(
            max_wait_ms=1_000,
            min_bytes=1,
            max_bytes=FETCH_BYTES,
            isolation_level=self.isolation_level,
            session_id=0,
            session_epoch=-1,
            topics=[FetchTopic(topic=self.partition.topic, partitions=[asked])],
        )
        answer = await self.ask(self._leader, request, FetchResponse, FETCH_VERSION)
        self._heard(answer.responses[0].partitions[0])

    def _heard(self, data: PartitionData) -> None:
        error_code = ErrorCode(data.error_code)
        if error_code is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._lost_its_place()
        if error_code is not ErrorCode.NONE:
            self._tell(f"is refused: {error_code.name}")
            self._leader = None
            return
        records = data.records if isinstance(data.records, bytes | memoryview) else b""
        self._read(batches_in(bytes(records)), data)
        self._is_behind = len(records) > 0 and data.high_watermark - self.position > FAR_BEHIND

    def _tell(self, outcome: str) -> None:
        self.world.tell(f"{self.name} asks {self._leader} for {self.partition} from {self.position} on and {outcome}")

    def _lost_its_place(self) -> None:
        self._history.complaints.append(
            f"{self.name} read everything below {self.position} of {self.partition}, and is told by {self._leader}"
            " that there is no such offset"
        )

    def _read(self, batches: Sequence[Batch], _: PartitionData) -> None:
        for batch in batches:
            if batch.last_offset < self.position:
                continue
            if batch.base_offset > self.position and not self.is_compacted:
                self._history.complaints.append(f"{self.name} asked for {self.position} and got {batch}")
            self._tell(f"gets {batch}")
            self.position = batch.last_offset + 1
            self._leader_epoch = max(self._leader_epoch, batch.leader_epoch)
            self._history.read_count += 1
            if not self.is_compacted:
                self._history.was_read(self.name, self.partition, batch)
