"""Transactions of 1, 100 and 10,000 records, beside the same records from an idempotent producer (SPEC P3).

One producer, as that of Kafka 4.x writes: the first batch of a transaction adds its partition, EndTxn gives the
next epoch. Each request waits for its answer, acks are all. What counts is the CPU time of the broker's process.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from statistics import median
from struct import Struct

from benchmarks import load
from benchmarks.measure import Figure, Row, Timing, interleave, rate, share
from benchmarks.scratch import Run
from benchmarks.served import Meter, Served, broker
from strandline.model.failures import ErrorCode
from strandline.records.batch import ATTRIBUTES_POSITION, CRC_POSITION
from strandline.records.builder import build_batch
from strandline.records.crc import crc32c
from strandline.records.record import Record
from strandline.wire.codec import decode
from strandline.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from strandline.wire.messages.find_coordinator import FindCoordinatorRequest
from strandline.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from strandline.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData

TRANSACTIONAL_ID = "bench"
RECORDS_PER_BATCH_MAX = 1_000
RECORD_BYTES = 100
WAIT_S, POLL_S = 60.0, 0.05
PRODUCE_VERSION, END_VERSION, INIT_VERSION = 12, 5, 4
HEADER_BYTES = 5  # correlation id and no tags
PRODUCER_POSITION = 43
PRODUCER = Struct(">qhi")
CRC = Struct(">I")


class Writer:
    """A producer, with or without a transactional id."""

    def __init__(
        self, connected: socket.socket, records: int, transactional_id: str | None, *, topic: str = load.TOPIC
    ) -> None:
        self._connected = connected
        self._topic = topic
        self._transactional_id = transactional_id
        self._sequence = 0
        now_ms = time.time_ns() // 1_000_000
        per_batch = min(records, RECORDS_PER_BATCH_MAX)
        self._batches = records // per_batch
        self._per_batch = per_batch
        self._batch = build_batch(
            [Record(index, now_ms, None, b"x" * RECORD_BYTES) for index in range(per_batch)],
            producer_id=0,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=transactional_id is not None,
        )
        self._producer = self._begin()

    def _begin(self) -> tuple[int, int]:
        """Producer id and epoch. The first who comes may have to wait for the coordinator's topic."""
        deadline_s = time.monotonic() + WAIT_S
        while time.monotonic() < deadline_s:
            if self._transactional_id is not None:
                load.ask(self._connected, load.framed(FindCoordinatorRequest(self._transactional_id, 1), 3))
            request = InitProducerIdRequest(self._transactional_id, 60_000)
            answer = load.ask(self._connected, load.framed(request, INIT_VERSION))
            found = decode(InitProducerIdResponse, INIT_VERSION, answer[HEADER_BYTES:])
            if found.error_code == ErrorCode.NONE:
                return found.producer_id, found.producer_epoch
            time.sleep(POLL_S)
        raise RuntimeError(f"no producer id: {ErrorCode(found.error_code).name}")

    def write(self) -> None:
        """The records of one transaction, and its commit."""
        for _ in range(self._batches):
            self._send_batch()
        if self._transactional_id is not None:
            request = EndTxnRequest(self._transactional_id, *self._producer, True)
            answer = load.ask(self._connected, load.framed(request, END_VERSION))
            ended = decode(EndTxnResponse, END_VERSION, answer[HEADER_BYTES:])
            assert ended.error_code == ErrorCode.NONE
            self._producer, self._sequence = (ended.producer_id, ended.producer_epoch), 0

    def _send_batch(self) -> None:
        PRODUCER.pack_into(self._batch, PRODUCER_POSITION, *self._producer, self._sequence)
        CRC.pack_into(self._batch, CRC_POSITION, crc32c(memoryview(self._batch)[ATTRIBUTES_POSITION:]))
        self._sequence += self._per_batch
        topic = TopicProduceData(self._topic, partition_data=[PartitionProduceData(0, bytes(self._batch))])
        request = load.framed(ProduceRequest(self._transactional_id, -1, 30_000, [topic]), PRODUCE_VERSION)
        while True:
            answer = decode(ProduceResponse, PRODUCE_VERSION, load.ask(self._connected, request)[HEADER_BYTES:])
            error_code = answer.responses[0].partition_responses[0].error_code
            if error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
                assert error_code == ErrorCode.NONE, ErrorCode(error_code)
                return


def transactions_1(run: Run) -> list[Row]:
    return _transactions(run, 1, run.some(400, 50))


def transactions_100(run: Run) -> list[Row]:
    return _transactions(run, 100, run.some(400, 50))


def transactions_10k(run: Run) -> list[Row]:
    return _transactions(run, 10_000, run.some(40, 5))


def _transactions(run: Run, records: int, count: int) -> list[Row]:
    with ExitStack() as stack:
        folder = stack.enter_context(run.folder("serve"))
        served = stack.enter_context(broker(f"{folder}/data", "transaction.state.log.num.partitions=1"))
        load.create_topic(served.port)
        turns = [
            _turn(served, Writer(stack.enter_context(load.connect(served.port)), records, name), count)
            for name in (TRANSACTIONAL_ID, None)
        ]
        for turn in turns:
            turn()
        ours, without = interleave(run.some(7, 2), *turns)
    return [
        Row(
            what=f"transactions of {records:,} records, committed",
            unit="records/s",
            ours=rate(ours, records * count),
            twin="without transactions",
            theirs=rate(without, records * count),
            share=share(ours, without),
        ),
        Row(
            what="  the broker's CPU for 1,000 of them",
            unit="ms",
            ours=_cost(ours, count),
            twin="without transactions",
            theirs=_cost(without, count),
        ),
    ]


def _turn(served: Served, writer: Writer, count: int) -> Callable[[], Timing]:
    def turn() -> Timing:
        meter = Meter(served)
        for _ in range(count):
            writer.write()
        return meter.timing()

    return turn


def _cost(timings: list[Timing], count: int) -> Figure:
    milliseconds = median(each.cpu_s * 1e6 / count for each in timings)
    return Figure(milliseconds, milliseconds)
