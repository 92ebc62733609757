"""A broker under a raw load, beside a bare loop that makes the same system calls (SPEC P4, P5).

What counts is the CPU time of the server's process, for a gigabyte or for a thousand requests: the client shares the
two cores, so throughput says as much about it. Rows give both.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from statistics import median, quantiles

from tests.interop.process import die_with_parent

from benchmarks import load
from benchmarks.bare_loop import ANSWER, RANGE
from benchmarks.batches import NEARLY_1_MIB, NEARLY_16_KIB
from benchmarks.measure import Aim, Figure, Row, Timing, interleave, rate, seconds, share
from benchmarks.scratch import Run
from benchmarks.served import Meter, Served, bare_loop, broker
from strandline.records.batch import read_head

LATENCY_REQUESTS = 3_000
RECORDS = 2_000_000
RECORD_BYTES = 100
LARGE_BATCHES = ("message.max.bytes=2097152",)


def produce_16k(run: Run) -> list[Row]:
    return _produce(run, "produce 16 KiB, 4 connections", load.sized_batch(NEARLY_16_KIB), 4, 6_000, 1 / 1.5)


def produce_1m(run: Run) -> list[Row]:
    return _produce(run, "produce 1 MiB, 1 connection", load.sized_batch(NEARLY_1_MIB), 1, 120, 1 / 1.2)


def produce_tiny(run: Run) -> list[Row]:
    return _produce(run, "produce 1 tiny record, 16 connections", load.tiny_batch(), 16, 16_000, None)


def _produce(run: Run, what: str, batch: bytes, connections: int, requests: int, aim: float | None) -> list[Row]:
    ours: list[Timing] = []
    bare: list[Timing] = []
    request = load.produce_request(batch)
    requests = run.some(requests, requests // 10)
    for _ in range(run.some(3, 1)):  # new files each time, so that memory the kernel knows is used again
        with run.folder("serve") as folder, broker(f"{folder}/data", *LARGE_BATCHES) as served:
            load.create_topic(served.port)
            with load.connect(served.port) as connected:
                answer_bytes = 4 + len(load.ask(connected, request))
            with bare_loop("append", f"{folder}/bare") as loop:
                turns = [
                    _flood(served, request, answer_bytes, connections, requests),
                    _flood(loop, request, len(ANSWER), connections, requests),
                ]
                for turn in turns:
                    turn()
                found = interleave(run.some(5, 2), *turns)
        ours += found[0]
        bare += found[1]
    gigabytes, thousands = requests * len(batch) / 1e9, requests / 1e3
    return [
        _beside(what, ours, "a bare loop", bare, gigabytes, aim),
        _cost("  CPU for a GB", "s", ours, bare, gigabytes),
        _cost("  CPU for 1,000 requests", "ms", ours, bare, thousands / 1e3),
    ]


def _flood(served: Served, request: bytes, answer_bytes: int, connections: int, requests: int) -> Callable[[], Timing]:
    def turn() -> Timing:
        meter = Meter(served)
        load.flood(served.port, request, answer_bytes, connections=connections, window=5, requests=requests)
        return meter.timing()

    return turn


def _beside(what: str, ours: list[Timing], twin: str, theirs: list[Timing], gigabytes: float, aim: float | None) -> Row:
    return Row(
        what=what,
        unit="MB/s",
        ours=rate(ours, gigabytes * 1e3),
        twin=twin,
        theirs=rate(theirs, gigabytes * 1e3),
        share=share(ours, theirs),
        aim=None if aim is None else Aim(at_least=aim, of_share=True),
    )


def _cost(what: str, unit: str, ours: list[Timing], theirs: list[Timing], amount: float) -> Row:
    def figure(timings: list[Timing]) -> Figure:
        costs = [each.cpu_s / amount for each in timings]
        return Figure(median(costs), median(costs))

    return Row(what=what, unit=unit, ours=figure(ours), twin="a bare loop", theirs=figure(theirs))


def fetch_1m(run: Run) -> list[Row]:
    return _fetch(run, "catch-up fetch, 1 MiB at once", 2**20, 1 / 1.2)


def fetch_64k(run: Run) -> list[Row]:
    return _fetch(run, "catch-up fetch, 64 KiB at once", 2**16, None)


def _fetch(run: Run, what: str, bytes_max: int, aim: float | None) -> list[Row]:
    batches = run.some(12_000, 2_000)
    batch = load.sized_batch(NEARLY_16_KIB)
    step = max(1, bytes_max // len(batch))
    starts = range(0, batches - step, step)
    ours: list[Timing] = []
    bare: list[Timing] = []
    for _ in range(run.some(3, 1)):  # which core a connection's work falls to is settled when it is made
        found = _drain_in_turns(run, batch, batches, starts, bytes_max)
        ours += found[0]
        bare += found[1]
    gigabytes = len(starts) * bytes_max / 1e9
    return [
        _beside(what, ours, "bare sendfile", bare, gigabytes, aim),
        _cost("  CPU for a GB", "s", ours, bare, gigabytes),
    ]


def _drain_in_turns(run: Run, batch: bytes, batches: int, starts: range, bytes_max: int) -> list[list[Timing]]:
    """The broker and the bare loop send the same file, from the same places."""
    buffer = memoryview(bytearray(2**20))
    records = read_head(batch).record_count
    asked = [load.fetch_request(start * records, bytes_max) for start in starts]
    ranges = [RANGE.pack(16, start * len(batch), min(bytes_max, (batches - start) * len(batch))) for start in starts]
    with ExitStack() as stack:
        folder = stack.enter_context(run.folder("serve"))
        served = stack.enter_context(broker(f"{folder}/data"))
        _fill(served, batch, batches)
        connected = stack.enter_context(load.connect(served.port))
        loop = stack.enter_context(bare_loop("send", f"{folder}/data/{load.TOPIC}-0/{0:020}.log"))
        bare = stack.enter_context(load.connect(loop.port))

        def turn(server: Served, peer: socket.socket, requests: list[bytes]) -> Timing:
            meter = Meter(server)
            load.drain(peer, requests, buffer)
            return meter.timing()

        turns = [partial(turn, served, connected, asked), partial(turn, loop, bare, ranges)]
        for warm in turns:
            warm()
        return interleave(run.some(7, 2), *turns)


def _fill(served: Served, batch: bytes, batches: int) -> None:
    load.create_topic(served.port)
    request = load.produce_request(batch)
    with load.connect(served.port) as connected:
        answer_bytes = 4 + len(load.ask(connected, request))
    load.flood(served.port, request, answer_bytes, connections=4, window=5, requests=batches)


def latency(run: Run) -> list[Row]:
    """One tiny record after another, each acknowledged before the next is sent."""
    request = load.produce_request(load.tiny_batch())
    with run.folder("serve") as folder, broker(f"{folder}/data") as served:
        load.create_topic(served.port)
        with load.connect(served.port) as connected:
            took_us = []
            for _ in range(run.some(LATENCY_REQUESTS, 300)):
                begun_s = time.perf_counter()
                load.ask(connected, request)
                took_us.append((time.perf_counter() - begun_s) * 1e6)
    percentiles = quantiles(took_us, n=1000)
    return [
        Row(what="produce and wait, median", unit="µs", ours=Figure(percentiles[499], percentiles[499])),
        Row(
            what="produce and wait, 99th percentile",
            unit="µs",
            ours=Figure(percentiles[989], percentiles[989]),
            aim=Aim(at_most=1_000),
        ),
    ]


def starting(run: Run) -> list[Row]:
    ready: list[Timing] = []
    resident = []
    with run.folder("serve") as folder, broker(f"{folder}/data"):
        pass  # the first start may have to write bytecode
    for _ in range(run.some(5, 2)):
        with run.folder("serve") as folder, broker(f"{folder}/data") as served:
            ready.append(Timing(served.ready_s, served.cpu_s()))
            resident.append(served.resident_bytes() / 1e6)
    memory = median(resident)
    return [
        Row(what="from the command to the ready line", unit="s", ours=seconds(ready), aim=Aim(at_most=0.5)),
        Row(what="memory of an idle broker", unit="MB", ours=Figure(memory, memory), aim=Aim(at_most=60)),
    ]


def librdkafka(run: Run) -> list[Row]:
    """kcat sends a file line by line: librdkafka from C, with batches of up to 1 MB."""
    if shutil.which("kcat") is None:
        return []
    records = run.some(RECORDS, RECORDS // 20)
    rows = []
    with run.folder("serve") as folder, broker(f"{folder}/data") as served:
        load.create_topic(served.port)
        with open(f"{folder}/lines", "wb") as file:
            file.write((b"x" * RECORD_BYTES + b"\n") * records)
        timings = []
        for _ in range(run.some(4, 1)):
            meter = Meter(served)
            _kcat(served.port, f"{folder}/lines")
            timings.append(meter.timing())
        os.remove(f"{folder}/lines")
        rows.append(
            Row(
                what="librdkafka (kcat), 100-byte records, batches of 1 MB",
                unit="records/s",
                ours=rate(timings, records),
                aim=Aim(at_least=1_000_000),
            )
        )
        cost = median(each.cpu_s for each in timings) / (records * RECORD_BYTES / 1e9)
        rows.append(Row(what="  the broker's CPU for a GB", unit="s", ours=Figure(cost, cost)))
    return rows


def _kcat(port: int, path: str) -> None:
    settings = (
        "batch.size=1000000",
        "linger.ms=50",
        "queue.buffering.max.messages=1000000",
        "batch.num.messages=100000",
    )
    options = [word for setting in settings for word in ("-X", setting)]
    command = ["kcat", "-P", "-b", f"127.0.0.1:{port}", "-t", load.TOPIC, "-l", path, *options]
    subprocess.run(command, check=True, capture_output=True, preexec_fn=die_with_parent)
