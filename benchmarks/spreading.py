"""Does a request cost more the more partitions there are? Beside a bare loop that goes round as many files.

A file that is written after hundreds of others is cold: its inode, its tree of pages and the end of its last page have
left the core's caches, and the kernel takes longer for the same bytes. That is the drive's and the kernel's growth; a
broker's own is what its share of a bare loop's speed loses from one row to the next, and should be nothing.

In the first row, too, each request is a write of its own in the bare loop. The broker writes those together that have
come together for one partition, so it can do better there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from benchmarks import load
from benchmarks.bare_loop import ANSWER
from benchmarks.batches import NEARLY_16_KIB
from benchmarks.measure import Figure, Row, Timing, interleave, share
from benchmarks.scratch import Run
from benchmarks.served import Meter, Served, allow_descriptors, bare_loop, broker

PARTITIONS = (1, 10, 100, 500, 2_000)
REQUESTS = 8_000
WINDOW = 5
FILES_OF_A_PARTITION = 4  # the log and its three indexes
AS_MANY_FILES = "as many files"


def what_of(partitions: int) -> str:
    return f"produce 16 KiB round {partitions:,} partitions, CPU of a request"


def produce_round(run: Run) -> list[Row]:
    return [row for partitions in PARTITIONS for row in _produce(run, partitions)]


def _produce(run: Run, partitions: int) -> list[Row]:
    ours: list[Timing] = []
    bare: list[Timing] = []
    requests = max(run.some(REQUESTS, REQUESTS // 8), partitions)
    for _ in range(run.some(3, 1)):  # new files each time, so that memory the kernel knows is used again
        found = _in_turns(run, partitions, requests)
        ours += found[0]
        bare += found[1]
    return [
        Row(
            what=what_of(partitions),
            unit="µs",
            ours=_cpu_us(ours, requests),
            twin=AS_MANY_FILES,
            theirs=_cpu_us(bare, requests),
            share=share(ours, bare),
        )
    ]


def _in_turns(run: Run, partitions: int, requests: int) -> list[list[Timing]]:
    allow_descriptors(partitions * FILES_OF_A_PARTITION + 1_000)
    batch = load.sized_batch(NEARLY_16_KIB)
    with ExitStack() as stack:
        folder = stack.enter_context(run.folder("round"))
        served = stack.enter_context(broker(f"{folder}/data", f"num.partitions={partitions}"))
        load.create_topic(served.port)
        round_of_all = [load.produce_request(batch, partition=index) for index in range(partitions)]
        with load.connect(served.port) as connected:  # a partition's first batch opens its files
            answers = {len(load.ask(connected, request)) for request in round_of_all}
        (answer_bytes,) = answers
        loop = stack.enter_context(bare_loop("spread", f"{folder}/bare", str(partitions)))
        turns = [
            _flood(served, round_of_all, 4 + answer_bytes, requests),
            _flood(loop, round_of_all, len(ANSWER), requests),
        ]
        for turn in turns:
            turn()
        return interleave(run.some(5, 2), *turns)


def _flood(served: Served, round_of_all: list[bytes], answer_bytes: int, requests: int) -> Callable[[], Timing]:
    def turn() -> Timing:
        meter = Meter(served)
        load.flood_round(served.port, round_of_all, answer_bytes, window=WINDOW, requests=requests)
        return meter.timing()

    return turn


def _cpu_us(timings: list[Timing], requests: int) -> Figure:
    costs = sorted(each.cpu_s * 1e6 / requests for each in timings)
    middle = costs[len(costs) // 2]
    return Figure(middle, middle)
