"""The last flush of every log before it is closed, many at a time: a disk syncs for several as quickly as for one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from strandline.broker.host import Host
from strandline.broker.housekeeping.background import Background
from strandline.log.flush import FlushWork
from strandline.log.log import Log
from strandline.log.log_directories import LogDirectories
from strandline.model.failures import StorageFailed


def flush_before_close(host: Host, directories: LogDirectories, when_done: Callable[[], object]) -> None:
    """Nothing is appended any more. Closing the logs then has nothing left to wait for."""
    background = Background(host)
    for directory in directories.online():
        for log in directory.logs.values():
            try:
                work = log.begin_close()
            except StorageFailed:
                break  # of the whole directory
            if work is not None:
                background.run(work.run, partial(_end, host, log, work))
    background.stop(when_done)


def _end(host: Host, log: Log, work: FlushWork, done: Future[None]) -> None:
    failure = done.exception()
    if failure is None:
        log.end_flush(work, host.now_ms())
    elif isinstance(failure, OSError):
        log.failed(failure)
    else:
        raise failure
