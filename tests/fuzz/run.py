"""Mutated frames against a broker process, over many connections at once, while a good client goes on.

Frames are sent many at a time and the answers counted. A broker that does not like one closes the connection after the
answers to those before it, so the rest go over the next one. Behind the last frame of a connection comes a question
that every broker answers: if neither an answer nor the end of the connection comes, a frame before it waits for
something (a long poll, a rebalance), which is its right, and the connection is closed from our side.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from struct import unpack

from tests.broker.kafka_peer import api_versions_request
from tests.broker.running_broker import BrokerPeer, batch_of
from tests.fuzz.footprint import MIB, open_connections, resident_bytes
from tests.fuzz.mutations import mutated
from tests.fuzz.valid_requests import ValidRequests

from strandline.broker.peers import Purpose
from strandline.testing import Broker, BrokerFailed

SETTINGS = {
    "auto.create.topics.enable": False,
    "max.connection.creation.rate": 1_000_000,
    "group.min.session.timeout.ms": 1,
    "num.partitions": 3,
}
TOPICS = ("orders", "payments")
GOOD_TOPIC = "good"
CONNECTIONS_AT_ONCE = 24
FRAMES_PER_CONNECTION = 25
WAIT_S = 1.0
CLOSED_WITHIN_S = 30.0
OWN_CONNECTIONS_MAX = 2 * len(Purpose)  # a broker speaks to itself over one for each purpose, and has both its ends
LAST_CORRELATION_ID = 2**31 - 7


@dataclass
class Report:
    seed: int
    frames: int = 0
    connections: int = 0
    answers: int = 0
    closed_by_broker: int = 0
    waited: int = 0
    good_round_trips: int = 0
    seconds: float = 0.0
    grown_bytes: int = 0
    connections_left: int = 0
    failure: str = ""  # of the broker, with which the run ended
    kinds: set[tuple[int, int]] = field(default_factory=set)

    def __str__(self) -> str:
        return (
            f"{self.frames} frames of {len(self.kinds)} APIs and versions over {self.connections} connections in"
            f" {self.seconds:.0f} s: {self.answers} answers, {self.closed_by_broker} connections closed by the broker,"
            f" {self.waited} left waiting; {self.good_round_trips} round trips of a good client meanwhile;"
            f" the broker grew by {self.grown_bytes / MIB:.1f} MiB and kept {self.connections_left} connections;"
            f" seed {self.seed}"
        )


class FuzzRun:
    def __init__(self, broker: Broker, report: Report) -> None:
        self._broker = broker
        self._chance = Random(report.seed)
        self._address = ("127.0.0.1", broker.port)
        self._left: deque[bytes] = deque()
        self.report = report

    @property
    def pid(self) -> int:
        return self._broker.pid

    def run(self, frames: int) -> None:
        connections_before = open_connections(self.pid)
        requests = self._prepare()
        self._left.extend(self._stream(requests, number) for number in range(frames))
        size_before, started_s = resident_bytes(self.pid), time.monotonic()
        with self._good_client():
            asyncio.run(self._send_all())
        report = self.report
        report.frames, report.seconds = frames, time.monotonic() - started_s
        report.connections_left = self._wait_for_connections(connections_before) - connections_before
        report.grown_bytes = resident_bytes(self.pid) - size_before

    def _prepare(self) -> ValidRequests:
        for topic in (*TOPICS, GOOD_TOPIC):
            self._broker.create_topic(topic)
        with BrokerPeer(self._address) as peer:
            offered = peer.ask_api_versions(3).api_keys
            topics = {topic: peer.create_topic(topic) for topic in TOPICS}
        ranges = {each.api_key: (each.min_version, each.max_version) for each in offered}
        return ValidRequests(self._chance, topics, ranges)

    def _stream(self, requests: ValidRequests, number: int) -> bytes:
        """Every API in every version gets its turn, in an order that is new each time round."""
        if number % len(requests.kinds) == 0:
            self._chance.shuffle(requests.kinds)
        api, version = requests.kinds[number % len(requests.kinds)]
        self.report.kinds.add((api.key, version))
        return mutated(requests.frame(api, version, number), self._chance)

    # The bad clients.

    async def _send_all(self) -> None:
        await asyncio.gather(*(self._send_some() for _ in range(CONNECTIONS_AT_ONCE)))

    async def _send_some(self) -> None:
        while self._left:
            taken = [self._left.popleft() for _ in range(min(FRAMES_PER_CONNECTION, len(self._left)))]
            answered, is_closed = await self._exchange(taken)
            self.report.connections += 1
            self.report.answers += answered
            if is_closed:
                self.report.closed_by_broker += 1
                self._left.extendleft(reversed(taken[answered + 1 :]))  # the one after the last answer was not liked

    async def _exchange(self, streams: list[bytes]) -> tuple[int, bool]:
        reader, writer = await asyncio.open_connection(*self._address)
        answered = 0
        try:
            writer.write(b"".join(streams) + api_versions_request(0, LAST_CORRELATION_ID))
            while await asyncio.wait_for(_read_answer(reader), WAIT_S) != LAST_CORRELATION_ID:
                answered += 1
        except TimeoutError:
            self.report.waited += 1
            return answered, False
        except (asyncio.IncompleteReadError, ConnectionError):
            return answered, True
        finally:
            writer.transport.abort()
        return answered, False

    # The good one.

    @contextmanager
    def _good_client(self) -> Iterator[None]:
        stopping = threading.Event()
        failures: list[BaseException] = []

        def run() -> None:
            try:
                self._serve_good_client(stopping)
            except BaseException as failure:
                failures.append(failure)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            stopping.set()
            thread.join()
        if failures:
            raise AssertionError(f"the good client was not served: {failures[0]!r}") from failures[0]

    def _serve_good_client(self, stopping: threading.Event) -> None:
        """Once more after the last bad frame."""
        is_last = False
        with BrokerPeer(self._address) as peer:
            while not is_last:
                is_last = stopping.wait(0.02)
                (result,) = peer.produce(GOOD_TOPIC, batch_of(b"value"))
                assert (result.error_code, result.base_offset) == (0, self.report.good_round_trips)
                self.report.good_round_trips += 1

    # What it leaves behind.

    def _wait_for_connections(self, before: int) -> int:
        deadline, kept_max = time.monotonic() + CLOSED_WITHIN_S, before + OWN_CONNECTIONS_MAX
        while (now := open_connections(self.pid)) > kept_max and time.monotonic() < deadline:
            time.sleep(0.02)
        return now


async def _read_answer(reader: asyncio.StreamReader) -> int:
    """Its correlation id."""
    (length,) = unpack(">i", await reader.readexactly(4))
    frame = await reader.readexactly(length)
    return int(unpack(">i", frame[:4])[0])


def fuzz(frames: int, seed: int) -> tuple[Report, str]:
    """What happened, and what the broker said."""
    report, said = Report(seed), ""
    try:
        with Broker(SETTINGS, process=True) as broker:
            try:
                FuzzRun(broker, report).run(frames)
            finally:
                said = broker.said()
    except (AssertionError, BrokerFailed, OSError) as failure:
        report.failure = str(failure) or repr(failure)
    return report, said
