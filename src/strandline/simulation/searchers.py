"""A simulated client that asks leaders for offsets, and reads from where it is told.

What a leader says is held against it where it led in the newest epoch all the while, from the question to the answer:
one that was replaced and does not know it answers from what it has, in Kafka too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.broker.peers import PeerFailed
from strandline.client.offsets import EARLIEST, LATEST, NONE_FOUND
from strandline.model.failures import ErrorCode
from strandline.simulation.client import SimulatedClient
from strandline.simulation.consumers import FETCH_BYTES, FETCH_VERSION, READ_COMMITTED, READ_UNCOMMITTED
from strandline.simulation.lookups import Question, Shown, complaints_about_answer
from strandline.simulation.observed import batches_in
from strandline.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from strandline.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

if TYPE_CHECKING:
    from strandline.simulation.lookup_load import LookupLoad

LIST_OFFSETS_VERSION = 7
CONSUMER = -1
ANY_EPOCH = -1


class Searcher(SimulatedClient):
    def __init__(self, load: LookupLoad, name: str) -> None:
        super().__init__(load.world, load.simulation.network, name, load.simulation.names)
        self.last_heard_us = 0  # where a log ends
        self._load = load

    def start(self) -> None:
        self.begin(self._run())

    async def _run(self) -> None:
        while True:
            question = self._question()
            try:
                await self._search(question)
            except PeerFailed as failure:
                self.world.tell(f"{self.name} asks for {question} and hears nothing: {failure}")
            await self.pause(self.pace.pause_ms())

    def _question(self) -> Question:
        """Of the time of records something is known where they are the load's own."""
        load, chance = self._load, self.chance
        partition = load.partition if chance.random() < 0.5 else chance.choice(load.partitions)
        timestamps = [LATEST, LATEST, EARLIEST]
        if partition == load.partition:
            timestamps += [load.some_time(chance)] * 3
        return Question(partition, chance.choice(timestamps), chance.choice((READ_UNCOMMITTED, READ_COMMITTED)))

    async def _search(self, question: Question) -> None:
        topic, index = question.partition
        leader, epoch = await self.leader_of(topic, index)
        asked = self._load.shown_by(leader, question)
        wanted = ListOffsetsPartition(index, self.chance.choice((epoch, ANY_EPOCH)), question.timestamp)
        request = ListOffsetsRequest(CONSUMER, question.isolation_level, [ListOffsetsTopic(topic, [wanted])])
        answer = await self.ask(leader, request, ListOffsetsResponse, LIST_OFFSETS_VERSION)
        found = answer.topics[0].partitions[0]
        if found.error_code:
            self._tell(leader, question, f"is refused: {ErrorCode(found.error_code).name}")
            return
        self._tell(leader, question, f"is told {found.offset} of epoch {found.leader_epoch}")
        if question.timestamp == LATEST:
            self.last_heard_us = self.world.now_us
        heard = self._load.shown_by(leader, question)
        if asked is not None and heard is not None and asked.leader_epoch == heard.leader_epoch:
            self._judge(leader, question, asked, heard, found)
            if found.offset != NONE_FOUND:
                await self._read(leader, question, found.offset, heard)

    def _tell(self, leader: str, question: Question, outcome: str) -> None:
        self.world.tell(f"{self.name} asks {leader} for {question} and {outcome}")

    def _judge(
        self, leader: str, question: Question, asked: Shown, heard: Shown, found: ListOffsetsPartitionResponse
    ) -> None:
        truth, times = self._load.truth_of(question.partition), self._load.times
        if question.partition == self._load.partition:
            times.follow(truth)
        for invariant, sentence in complaints_about_answer(question, asked, heard, truth, times, found):
            self._load.complain(invariant, f"{self.name} asks {leader} for {sentence}")

    async def _read(self, leader: str, question: Question, offset: int, told: Shown) -> None:
        """From where the leader has said."""
        partition = question.partition
        asked = FetchPartition(partition.partition, told.leader_epoch, offset, -1, -1, FETCH_BYTES)
        request = FetchRequest(
            max_wait_ms=100,
            min_bytes=1,
            max_bytes=FETCH_BYTES,
            isolation_level=question.isolation_level,
            session_id=0,
            session_epoch=-1,
            topics=[FetchTopic(topic=partition.topic, partitions=[asked])],
        )
        answer = await self.ask(leader, request, FetchResponse, FETCH_VERSION)
        now = self._load.shown_by(leader, question)
        if now is not None and now.leader_epoch == told.leader_epoch and now.start <= offset:
            self._compare(leader, question, offset, answer.responses[0].partitions[0])

    def _compare(self, leader: str, question: Question, offset: int, data: PartitionData) -> None:
        """With what a fetch gives from there on. What is of some time has been committed, so it is there."""
        told = f"{self.name} is told {offset} by {leader} for {question}, and"
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._load.complain("ListedIsRead", f"{told} then that it is out of range")
        if data.error_code:
            return
        records = data.records if isinstance(data.records, bytes | memoryview) else b""
        first = next(iter(batches_in(bytes(records))), None)
        if first is None:
            if question.timestamp not in (LATEST, EARLIEST):
                self._load.complain("ListedIsRead", f"{told} reads nothing")
            return
        self._load.simulation.history.read_count += 1
        self.world.note(f"{self.name} asks {leader} for {question.partition} from {offset} on and gets {first}")
        is_there = first.base_offset <= offset or self._load.truth_of(question.partition).is_compacted
        if not is_there or first.last_offset < offset:
            self._load.complain("ListedIsRead", f"{told} reads {first}")
