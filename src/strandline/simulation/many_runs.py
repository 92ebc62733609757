"""Many runs at once, in processes of their own; what comes out is in the order of what went in.

Ctrl-C goes to the whole group of processes. Those that work do not hear it (they are born with SIGINT blocked): one
that did would hand it back as a result and take the next item. Their parent ends them, and if it is killed itself they
notice by a pipe that closes. Where one of them is ended by somebody else (the kernel, for want of memory), all are:
`WorkerEnded` has what they had done.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import chain, islice
from multiprocessing import active_children, get_context
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from strandline.simulation.options import Options
from strandline.simulation.runs import Outcome, run

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD_PER_JOB = 16  # items that are under way or done and wait for one before them


class WorkerEnded(Exception):
    """Nobody says of a process that was killed by whom."""

    def __init__(self, results: tuple[Any, ...], unfinished: tuple[Any, ...], others: Iterator[Any]) -> None:
        super().__init__(
            "a worker process was ended, by whom is not known: perhaps for want of memory, of which fewer jobs need"
            " less"
        )
        self.results = results  # of items behind the first that is unfinished
        self.unfinished = unfinished  # items that were under way, or waited for their turn
        self.others = others  # items that nobody has begun


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(wanted: Iterable[Options], jobs: int, *, whole_transcript: bool = False) -> Generator[Outcome, None, None]:
    """The outcome of each as soon as it and all before it are known."""
    return in_order(_run_with_transcript if whole_transcript else run_briefly, wanted, jobs)


def in_order(work: Callable[[Item], Result], items: Iterable[Item], jobs: int) -> Generator[Result, None, None]:
    """`work` is a function of a module, since it is sent by its name. Items are taken as they are needed, so there may
    be any number of them."""
    coming = iter(items)
    first = [*islice(coming, jobs)]
    coming = chain(first, coming)
    if len(first) <= 1:
        yield from map(work, coming)
        return
    context, others = get_context("spawn"), {*active_children()}
    parent_lives, until_closed = context.Pipe(duplex=False)
    executor = ProcessPoolExecutor(len(first), mp_context=context, initializer=_begin, initargs=(parent_lives,))
    with parent_lives, until_closed:
        try:
            yield from _results(executor, work, coming, len(first) * AHEAD_PER_JOB)
        except BaseException:
            for process in {*active_children()} - others:
                process.terminate()  # nobody wants what it is at
            raise
        finally:
            executor.shutdown(cancel_futures=True)


def _results(
    executor: ProcessPoolExecutor, work: Callable[[Item], Result], coming: Iterator[Item], ahead_max: int
) -> Iterator[Result]:
    under_way: deque[tuple[Item, Future[Result]]] = deque()
    while True:
        for item in islice(coming, ahead_max - len(under_way)):
            under_way.append((item, _submitted(executor, work, item)))
        if not under_way:
            return
        try:
            result = under_way[0][1].result()
        except BrokenProcessPool:
            raise _broken_off(under_way, coming) from None
        under_way.popleft()
        yield result


def _submitted(executor: ProcessPoolExecutor, work: Callable[[Item], Result], item: Item) -> Future[Result]:
    try:
        with _interrupts_held_back():  # this may start a process
            return executor.submit(work, item)
    except BrokenProcessPool as broken:
        never: Future[Result] = Future()
        never.set_exception(broken)
        return never


def _broken_off(under_way: Iterable[tuple[Item, Future[Result]]], others: Iterator[Item]) -> WorkerEnded:
    ended = [future.result() for _, future in under_way if future.exception() is None]
    unfinished = [item for item, future in under_way if future.exception() is not None]
    return WorkerEnded(tuple(ended), tuple(unfinished), others)


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """For a moment here; for good in a process that is started meanwhile, which takes over what is blocked."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(parent_lives: Connection) -> None:
    gc.freeze()
    threading.Thread(target=_end_with_parent, args=(parent_lives,), daemon=True).start()


def _end_with_parent(parent_lives: Connection) -> None:
    """Whoever is killed cannot tell its helpers, and these would wait for work for ever."""
    wait([parent_lives])
    os._exit(1)


def run_briefly(options: Options) -> Outcome:
    """What happened is told only where something went wrong."""
    outcome = run(options)
    return outcome if outcome.violation is not None else outcome.without_transcript()


def _run_with_transcript(options: Options) -> Outcome:
    return run(options, whole_transcript=True)
