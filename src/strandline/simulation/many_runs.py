"""Many runs at once, in processes of their own; what comes out is in the order of what went in."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from typing import TypeVar

from strandline.simulation.options import Options
from strandline.simulation.runs import Outcome, run

Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(wanted: Sequence[Options], jobs: int, *, whole_transcript: bool = False) -> Iterator[Outcome]:
    """The outcome of each as soon as it and all before it are known."""
    return in_order(_run_with_transcript if whole_transcript else run_briefly, wanted, jobs)


def in_order(work: Callable[[Item], Result], items: Sequence[Item], jobs: int) -> Iterator[Result]:
    """`work` is a function of a module, since it is sent by its name."""
    jobs = min(jobs, len(items))
    if jobs <= 1:
        yield from map(work, items)
        return
    executor = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_begin)
    try:
        yield from executor.map(work, items)
    finally:
        executor.shutdown(cancel_futures=True)


def _begin() -> None:
    gc.freeze()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Whoever is killed cannot tell its helpers, and these would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def run_briefly(options: Options) -> Outcome:
    """What happened is told only where something went wrong."""
    outcome = run(options)
    return outcome if outcome.violation is not None else outcome.without_transcript()


def _run_with_transcript(options: Options) -> Outcome:
    return run(options, whole_transcript=True)
