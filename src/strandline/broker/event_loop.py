"""The broker's event loop: asyncio's own, but a ready socket's callback is called where its readiness is found.

asyncio turns an event into a key, the key into a handle, queues the handle, takes it from the queue and runs it in a
context: some 2 µs, a third of what a small request costs. A broker has one callback for each socket and wants none of
that between. So `add_reader` and `add_writer`, which raw sockets use, keep their callbacks in the selector, and its
`select` calls them; what asyncio registers itself (its self-pipe, transports) is returned to it as ever.

Both doors are asyncio's public ones: an event loop may be given any selector, and may be subclassed (decision 10).
Whatever is thrown goes to the loop's exception handler, and who is ready is called once between two timers, as in
asyncio.
"""

from __future__ import annotations

import asyncio
import select
import selectors
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, TypeVarTuple

Callback = Callable[[], object]
Value = TypeVar("Value")
Arguments = TypeVarTuple("Arguments")

EVENTS_MAX = 256  # of one wait; the kernel gives the others first the next time
IN, OUT = (select.EPOLLIN, select.EPOLLOUT) if hasattr(select, "epoll") else (0, 0)


class Keys(Mapping[Any, selectors.SelectorKey]):
    """By file object or descriptor, as asyncio looks them up."""

    def __init__(self, by_descriptor: dict[int, selectors.SelectorKey]) -> None:
        self._by_descriptor = by_descriptor

    def __getitem__(self, file: Any) -> selectors.SelectorKey:
        return self._by_descriptor[descriptor_of(file)]

    def __iter__(self) -> Iterator[int]:
        return iter(self._by_descriptor)

    def __len__(self) -> int:
        return len(self._by_descriptor)


class CallingSelector(selectors.BaseSelector):
    """A descriptor is registered with a key, or has callbacks, never both."""

    def __init__(self, when_failed: Callable[[BaseException], None]) -> None:
        self._when_failed = when_failed
        self._epoll = select.epoll()
        self._keys: dict[int, selectors.SelectorKey] = {}
        self._map = Keys(self._keys)
        self.readers: dict[int, Callback] = {}
        self.writers: dict[int, Callback] = {}

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Call who has a callback; give back the keys of the others."""
        ready: list[tuple[selectors.SelectorKey, int]] = []
        for descriptor, event in self._epoll.poll(timeout, EVENTS_MAX):
            # Looked up when its turn comes: one before it may have closed it, or taken it off.
            if event != OUT and (callback := self.readers.get(descriptor)) is not None:
                self._call(callback)
            if event != IN and (callback := self.writers.get(descriptor)) is not None:
                self._call(callback)
            if (key := self._keys.get(descriptor)) is not None:
                ready.append((key, _events_of(event) & key.events))
        return ready

    def _call(self, callback: Callback) -> None:
        """What goes wrong in one is no matter of the others, nor of the loop."""
        try:
            callback()
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as failure:
            self._when_failed(failure)

    # Callbacks.

    def call(self, callbacks: dict[int, Callback], descriptor: int, callback: Callback) -> None:
        """`callbacks` are our readers or our writers."""
        before = self._wanted(descriptor)
        callbacks[descriptor] = callback
        self._want(descriptor, before)

    def call_no_more(self, callbacks: dict[int, Callback], descriptor: int) -> bool:
        before = self._wanted(descriptor)
        if callbacks.pop(descriptor, None) is None:
            return False
        self._want(descriptor, before)
        return True

    def _wanted(self, descriptor: int) -> int:
        return (IN if descriptor in self.readers else 0) | (OUT if descriptor in self.writers else 0)

    def _want(self, descriptor: int, before: int) -> None:
        wanted = self._wanted(descriptor)
        if wanted == before:
            return
        if not before:
            self._register(descriptor, wanted)
        elif wanted:
            self._epoll.modify(descriptor, wanted)
        else:
            with suppress(OSError):  # it was closed before
                self._epoll.unregister(descriptor)

    def _register(self, descriptor: int, wanted: int) -> None:
        try:
            self._epoll.register(descriptor, wanted)
        except OSError:  # it cannot be waited for
            self.readers.pop(descriptor, None)
            self.writers.pop(descriptor, None)
            raise

    # What asyncio registers.

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        descriptor = descriptor_of(fileobj)
        if descriptor in self._keys or self._wanted(descriptor):
            raise KeyError(f"{fileobj!r} is registered already")
        self._epoll.register(descriptor, _mask_of(events))
        key = self._keys[descriptor] = selectors.SelectorKey(fileobj, descriptor, events, data)
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        key = self._keys.pop(descriptor_of(fileobj))
        with suppress(OSError):  # it was closed before
            self._epoll.unregister(key.fd)
        return key

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        before = self._map[fileobj]
        if events != before.events:
            self._epoll.modify(before.fd, _mask_of(events))
        key = self._keys[before.fd] = before._replace(events=events, data=data)
        return key

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._map

    def close(self) -> None:
        self._epoll.close()
        self._keys.clear()
        self.readers.clear()
        self.writers.clear()


class SocketLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._calling = CallingSelector(self._callback_failed)
        super().__init__(self._calling)

    def add_reader(self, fd: Any, callback: Callable[[*Arguments], Any], *args: *Arguments) -> None:
        calling = self._calling
        calling.call(calling.readers, descriptor_of(fd), _bound(callback, args))

    def remove_reader(self, fd: Any) -> bool:
        """One of asyncio's own, perhaps: it, too, comes through this door, though it does not add them here."""
        calling = self._calling
        return calling.call_no_more(calling.readers, descriptor_of(fd)) or super().remove_reader(fd)

    def add_writer(self, fd: Any, callback: Callable[[*Arguments], Any], *args: *Arguments) -> None:
        calling = self._calling
        calling.call(calling.writers, descriptor_of(fd), _bound(callback, args))

    def remove_writer(self, fd: Any) -> bool:
        """One of asyncio's own, perhaps: it, too, comes through this door, though it does not add them here."""
        calling = self._calling
        return calling.call_no_more(calling.writers, descriptor_of(fd)) or super().remove_writer(fd)

    def _callback_failed(self, failure: BaseException) -> None:
        self.call_exception_handler({"message": "a callback of a socket failed", "exception": failure})


def run(main: Coroutine[Any, Any, Value]) -> Value:
    """As `asyncio.run`, on such a loop where the system has epoll."""
    with asyncio.Runner(loop_factory=SocketLoop if hasattr(select, "epoll") else None) as runner:
        return runner.run(main)


def descriptor_of(file: Any) -> int:
    return file if isinstance(file, int) else int(file.fileno())


def _bound(callback: Callable[..., object], arguments: tuple[object, ...]) -> Callback:
    return partial(callback, *arguments) if arguments else callback


def _mask_of(events: int) -> int:
    return (IN if events & selectors.EVENT_READ else 0) | (OUT if events & selectors.EVENT_WRITE else 0)


def _events_of(event: int) -> int:
    """Whoever has hung up is readable and writable: trying tells the rest."""
    return (selectors.EVENT_READ if event & ~OUT else 0) | (selectors.EVENT_WRITE if event & ~IN else 0)
