"""A good client beside two thousand that have begun a request and do not go on (reliability S8).

Two brokers side by side, one with the crowd, one without, are asked in turns. What counts is how much of its speed the
good client keeps at its slowest hundredth.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from statistics import quantiles

from benchmarks import load
from benchmarks.measure import Aim, Row, Timing, interleave, microseconds, share
from benchmarks.scratch import Run
from benchmarks.served import allow_descriptors, broker

CROWD = 2_000
REQUESTS = 1_000
HALF_FRAME = b"\x00\x00\x03\xe8" + bytes(10)
PATIENT = ("socket.request.stalled.ms=3600000", "max.connection.creation.rate=100000")


def half_open(run: Run) -> list[Row]:
    request = load.produce_request(load.tiny_batch())
    count, requests = run.some(CROWD, 200), run.some(REQUESTS, 100)
    allow_descriptors(count + 100)
    with ExitStack() as stack:
        turns = []
        for name, crowd in (("crowded", count), ("quiet", 0)):
            folder = stack.enter_context(run.folder(name))
            served = stack.enter_context(broker(f"{folder}/data", *PATIENT))
            load.create_topic(served.port)
            for _ in range(crowd):
                stack.enter_context(load.connect(served.port)).sendall(HALF_FRAME)
            turns.append(_slowest(stack.enter_context(load.connect(served.port)), request, requests))
        for turn in turns:
            turn()
        crowded, quiet = interleave(run.some(15, 2), *turns)
    return [
        Row(
            what=f"produce and wait beside {count} half-open connections, 99th percentile",
            unit="µs",
            ours=microseconds(crowded),
            twin="without them",
            theirs=microseconds(quiet),
            share=share(crowded, quiet),
            aim=Aim(at_least=0.5, of_share=True),
        )
    ]


def _slowest(connected: socket.socket, request: bytes, requests: int) -> Callable[[], Timing]:
    def turn() -> Timing:
        took_s = []
        for _ in range(requests):
            begun_s = time.perf_counter()
            load.ask(connected, request)
            took_s.append(time.perf_counter() - begun_s)
        slowest_s = quantiles(took_s, n=100)[98]
        return Timing(slowest_s, slowest_s)

    return turn
