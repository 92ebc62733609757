"""A raw request generator: requests are made once, sent as fast as they are answered, and answers are only counted."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from struct import Struct

from benchmarks.batches import batch_of_bytes
from strandline.records.builder import build_batch
from strandline.records.record import Record
from strandline.wire.codec import encode
from strandline.wire.header import frame_request
from strandline.wire.layout import Message
from strandline.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from strandline.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from strandline.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

TOPIC = "bench"
LENGTH = Struct(">i")
RECEIVE_BYTES = 2**20


def framed(request: Message, version: int) -> bytes:
    body = encode(request, version)
    return frame_request(request.api_key, version, 7, b"bench", len(body)) + body


def produce_request(batch: bytes, version: int = 9, *, topic: str = TOPIC, partition: int = 0, acks: int = 1) -> bytes:
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(partition, batch)])
    return framed(ProduceRequest(None, acks, 30_000, [data]), version)


def fetch_request(offset: int, bytes_max: int, version: int = 11) -> bytes:
    topic = FetchTopic(TOPIC, partitions=[FetchPartition(0, -1, offset, -1, -1, bytes_max)])
    return framed(FetchRequest(max_wait_ms=1_000, min_bytes=1, max_bytes=bytes_max, topics=[topic]), version)


def tiny_batch() -> bytes:
    return bytes(build_batch([Record(0, time.time_ns() // 1_000_000, None, b"x" * 10)]))


def sized_batch(size_bytes: int) -> bytes:
    return bytes(batch_of_bytes(size_bytes))


def connect(port: int) -> socket.socket:
    connected = socket.create_connection(("127.0.0.1", port))
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connected


def ask(connected: socket.socket, request: bytes) -> bytes:
    """One request, one answer."""
    connected.sendall(request)
    return receive(connected)


def receive(connected: socket.socket) -> bytes:
    (size,) = LENGTH.unpack(connected.recv(4, socket.MSG_WAITALL))
    return connected.recv(size, socket.MSG_WAITALL)


def create_topic(port: int) -> None:
    with connect(port) as connected:
        ask(connected, framed(MetadataRequest([MetadataRequestTopic(name=TOPIC)]), 12))


def flood(port: int, request: bytes, answer_bytes: int, *, connections: int, window: int, requests: int) -> None:
    """Each connection keeps `window` requests under way until it has sent its share."""
    sockets = [connect(port) for _ in range(connections)]
    share = requests // connections
    _together([lambda each=each: _flood_one(each, cycle([request]), answer_bytes, window, share) for each in sockets])  # type: ignore[misc]
    for each in sockets:
        each.close()


def flood_round(port: int, turn: Sequence[bytes], answer_bytes: int, *, window: int, requests: int) -> None:
    """One connection that goes round the requests of a turn. Their answers are alike in length."""
    with connect(port) as connected:
        _flood_one(connected, cycle(turn), answer_bytes, window, requests)


def _flood_one(connected: socket.socket, turn: Iterator[bytes], answer_bytes: int, window: int, requests: int) -> None:
    sent = received = 0
    while received < requests * answer_bytes:
        while sent < requests and sent - received // answer_bytes < window:
            connected.sendall(next(turn))
            sent += 1
        count = len(connected.recv(65536))
        if not count:
            raise ConnectionError(f"the server has gone after {received // answer_bytes} of {requests} answers")
        received += count


def _together(works: list[Callable[[], None]]) -> None:
    """What one of them raises is raised here. Who is interrupted meanwhile waits for them: their turns are short."""
    with ThreadPoolExecutor(len(works)) as pool:
        for begun in [pool.submit(work) for work in works]:
            begun.result()


def drain(connected: socket.socket, requests: list[bytes], buffer: memoryview) -> int:
    """Ask for each in turn and throw the answers away; gives the bytes that came."""
    total = 0
    for request in requests:
        connected.sendall(request)
        (left,) = LENGTH.unpack(connected.recv(4, socket.MSG_WAITALL))
        total += left
        while left:
            left -= connected.recv_into(buffer[:left])
    return total
