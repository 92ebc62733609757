"""Files that have waited `file.delete.delay.ms` since they left their log are unlinked, by a thread (SPEC C5)."""

from __future__ import annotations

from functools import partial

from strandline.broker.host import Host
from strandline.broker.housekeeping.background import Background
from strandline.broker.housekeeping.checkpoint_writes import fail_on_error
from strandline.log.log_directories import LogDirectories
from strandline.model.settings import LONG_MAX

INTERVAL_MIN_MS = 1_000
INTERVAL_MAX_MS = 5_000


class Removals:
    def __init__(self, host: Host, background: Background, directories: LogDirectories) -> None:
        self._host = host
        self._background = background
        self._directories = directories

    def interval_ms(self) -> int:
        """Until the first is due. What leaves its log meanwhile may be sooner, and is not told of: it waits for
        `INTERVAL_MAX_MS` at most."""
        now_ms = self._host.now_ms()
        due_ms = min((directory.next_removal_ms for directory in self._directories.online()), default=LONG_MAX)
        return min(max(due_ms - now_ms, INTERVAL_MIN_MS), INTERVAL_MAX_MS)

    def check(self) -> None:
        for directory in self._directories.online():
            work = directory.begin_removal(self._host.now_ms())
            if work is not None:
                self._background.run(work.run, partial(fail_on_error, directory))
