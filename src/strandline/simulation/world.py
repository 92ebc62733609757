"""Time, chance and order of a simulated world: one thread, one seed, one heap of events.

Nothing happens here but what lies in the heap. An event belongs to a process, or to nobody; that of a process which has
died is dropped, that of one which is paused waits until it goes on. Two events of the same moment come in the order in
which they were made.

Every kind of chance has a stream of its own (`World.chance`), so that one more draw in one place does not reshuffle
everything else. What happens is told to `tell`, and every byte that comes from one process to another to `arrived`: the
hash over all of that is the run's fingerprint. What `note` is told is for readers alone.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import deque
from collections.abc import Callable
from random import Random
from zlib import crc32

from strandline.simulation.seasons import Seasons

BEGINNING_MS = 1_700_000_000_000
TRANSCRIPT_LINES_MAX = 400


class Event:
    __slots__ = ("callback", "process")

    def __init__(self, callback: Callable[[], object], process: Process | None) -> None:
        self.callback: Callable[[], object] | None = callback
        self.process = process

    def cancel(self) -> None:
        self.callback = None


class Process:
    """Whatever can die or stand still: a broker, a client."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_alive = True
        self.is_paused = False
        self.held: list[Event] = []
        self.resumed_us = -1

    def run(self, callback: Callable[[], object]) -> None:
        """Something happens in it. A machine knows by it that it may be another now."""
        callback()


class World:
    def __init__(self, seed: int, *, transcript_lines_max: int | None = TRANSCRIPT_LINES_MAX) -> None:
        self.seed = seed
        self.now_us = 0
        self.steps = 0
        self.seasons = Seasons(self.chance("seasons"), 0, 0)  # busy, until somebody says otherwise
        self.transcript: deque[str] = deque(maxlen=transcript_lines_max)
        self.listener: Callable[[str], object] | None = None  # hears each line as it comes; it may not raise
        self._heap: list[tuple[int, int, Event]] = []
        self._events_made = 0
        self.acting: Process | None = None  # whose event this is; whoever raised, after an exception
        self._hash = hashlib.blake2b(digest_size=8)
        self._arrived_crc = 0

    def chance(self, name: str) -> Random:
        return Random(f"{self.seed}/{name}")

    @property
    def now_ms(self) -> int:
        return BEGINNING_MS + self.now_us // 1000

    @property
    def fingerprint(self) -> str:
        whole = self._hash.copy()
        whole.update(b"%d steps, %d us, %08x" % (self.steps, self.now_us, self._arrived_crc))
        return whole.hexdigest()

    def after(self, delay_us: int, callback: Callable[[], object], process: Process | None = None) -> Event:
        event = Event(callback, process)
        self._push(self.now_us + delay_us, event)
        return event

    def give(self, process: Process, callback: Callable[[], object]) -> None:
        """At once, if the process has time; no more than an event of its own that need not wait in the heap."""
        if process.is_paused:
            process.held.append(Event(callback, process))
        elif process.resumed_us == self.now_us:
            self.after(0, callback, process)  # behind what it was held up with
        elif process.is_alive:
            self.run(process, callback)

    def run(self, process: Process, callback: Callable[[], object]) -> None:
        before, self.acting = self.acting, process
        process.run(callback)
        self.acting = before

    def _push(self, at_us: int, event: Event) -> None:
        self._events_made += 1
        heapq.heappush(self._heap, (at_us, self._events_made, event))

    def next_event(self) -> Event | None:
        """The next that counts, with the clock set to its time; None when nothing will ever happen again."""
        heap = self._heap
        while heap:
            at_us, _, event = heapq.heappop(heap)
            process = event.process
            if event.callback is None or (process is not None and not process.is_alive):
                continue
            self.now_us = at_us
            if process is not None and process.is_paused:
                process.held.append(event)
                continue
            self.steps += 1
            return event
        return None

    def pause(self, process: Process) -> None:
        process.is_paused = True

    def resume(self, process: Process) -> None:
        """What came meanwhile comes now, in its order."""
        process.is_paused, process.resumed_us = False, self.now_us
        held, process.held = process.held, []
        for event in held:
            self._push(self.now_us, event)

    def tell(self, line: str) -> None:
        """For the fingerprint and for whoever reads what happened."""
        self._hash.update(self._write(line).encode())

    def note(self, line: str) -> None:
        """For whoever reads what happened. The fingerprint knows it as bytes that arrived, and stays what it was before
        anybody said it in words."""
        self._write(line)

    def _write(self, line: str) -> str:
        line = f"{self.now_us / 1000:12.3f} {line}"
        shown = f"{self.steps:8} {line}"  # the step is for readers, who may cut the run there: fingerprints are without
        self.transcript.append(shown)
        if self.listener is not None:
            self.listener(shown)
        return line

    def arrived(self, data: bytes) -> None:
        """For the fingerprint alone. There is one for each message: this must cost little."""
        self._arrived_crc = crc32(data, self._arrived_crc)
