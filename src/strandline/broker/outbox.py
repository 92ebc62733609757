"""What is still to be sent on one socket, and how: bytes by `send`, slices of files by `sendfile`.

The head of an answer goes out with MSG_MORE, the slice behind it in the same call, what the socket does not take when
it is writable again; a slice of a few pages is copied and goes out in one call with its head. Nothing else is copied
and nothing waits: a slice is sent by the event loop only as far as it lies in the page cache. From where it does not,
a worker thread reads the rest piece by piece, waits for the disk and makes the kernel forget each piece (`cold_read`),
so that a consumer far behind neither stops the others nor pushes out what they read (SPEC P5). Read, not sent: pages
that wait in a socket could not be forgotten. A connection has one piece in memory at most.
"""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Iterable
from enum import Enum
from typing import cast

from strandline.broker.cold_read import ColdRead, FileCutShort
from strandline.log import page_cache
from strandline.log.log_slice import LogSlice
from strandline.model.failures import check
from strandline.wire.fetch_response import Part

COPIED_BYTES_MAX = 8 * 1024  # up to here a copy, sent with its head, costs less than a call of `sendfile` more
JOINED_BYTES_MAX = 64 * 1024  # up to here one copy and one `send` cost less than `sendmsg`
BUFFERS_MAX = 512  # of one `sendmsg`; the kernel takes 1,024
SLICE_BYTES_MAX = 2**20  # of one `sendfile`: what was in the page cache when asked
TURN_BYTES_MAX = 4 * 2**20  # sent before other connections get their turn

Bytes = bytes | bytearray | memoryview


class Sending(Enum):
    DONE = "all is sent"
    BLOCKED = "the socket is full"
    COLD = "the disk has to be read"
    TURN_OVER = "others are waiting"


class Outbox:
    __slots__ = ("_cold_read", "_is_cold", "_socket", "parts", "sent_bytes")

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self.parts: deque[Part] = deque()  # to look at; all is sent when there are none
        self._is_cold = False  # the slice in front; once cold, all of it goes the cold way
        self._cold_read: ColdRead | None = None  # the last one
        self.sent_bytes = 0

    def __bool__(self) -> bool:
        return bool(self.parts)

    def send_at_once(self, answer: bytes) -> bool:
        """Where nothing waits to be sent, as nearly always. What the socket does not take waits; False if it is so."""
        try:
            count = self._socket.send(answer)
        except BlockingIOError:
            count = 0
        self.sent_bytes += count
        if count < len(answer):
            self.parts.append(memoryview(answer)[count:])
            return False
        return True

    def add(self, parts: Iterable[Part]) -> None:
        """A slice of a few pages as a copy. What of it is not in memory stays a slice: a thread reads it.

        Nothing empty: the head before an empty slice would be sent as if more came, and nothing cost a call."""
        waiting = self.parts
        for part in parts:
            if type(part) is not LogSlice:
                if len(part):  # type: ignore[arg-type]
                    waiting.append(part)
            elif part.length > COPIED_BYTES_MAX:
                waiting.append(part)
            elif part.length:
                waiting.append(part.read_resident() or part)

    def send(self) -> Sending:
        """Send until done or stopped."""
        parts = self.parts
        turn_ends_at = self.sent_bytes + TURN_BYTES_MAX
        try:
            while parts:
                part = parts[0]
                if type(part) is not LogSlice:
                    self._send_bytes()
                elif not self._send_slice(part):
                    return Sending.COLD
                if self.sent_bytes >= turn_ends_at and parts:
                    return Sending.TURN_OVER
        except BlockingIOError:
            return Sending.BLOCKED
        return Sending.DONE

    def cold_read(self) -> ColdRead:
        self._cold_read = ColdRead(self._slice(), self._cold_read.left if self._cold_read is not None else None)
        return self._cold_read

    def was_read(self, data: bytes) -> None:
        file, position, length = self._slice()
        if len(data) < length:
            self.parts[0] = LogSlice(file, position + len(data), length - len(data))
        else:
            self.parts.popleft()
            self._is_cold = False
        self.parts.appendleft(data)

    def _slice(self) -> LogSlice:
        part = self.parts[0]
        check(isinstance(part, LogSlice), "a part that is not bytes is a slice of a log")
        return cast(LogSlice, part)

    def _send_slice(self, part: LogSlice) -> bool:
        """As much as the socket takes of what is in memory; False if none of it is."""
        file, position, length = part
        asked_bytes = min(length, SLICE_BYTES_MAX)
        descriptor = file.fileno()
        if self._is_cold or not page_cache.is_resident(descriptor, position, asked_bytes):
            self._is_cold = True
            return False
        count = os.sendfile(self._socket.fileno(), descriptor, position, asked_bytes)
        if count == 0:
            raise FileCutShort(f"{length} bytes at {position} are not there")
        self.sent_bytes += count
        if count == length:
            self.parts.popleft()
        else:
            self.parts[0] = LogSlice(file, position + count, length - count)
        return True

    def _send_bytes(self) -> None:
        parts = self.parts
        first: Bytes = parts[0]  # type: ignore[assignment]
        if len(parts) > 1 and type(parts[1]) is not LogSlice:
            self._send_several()
            return
        count = self._socket.send(first, socket.MSG_MORE if len(parts) > 1 else 0)
        self.sent_bytes += count
        if count == len(first):
            parts.popleft()
        else:
            parts[0] = memoryview(first)[count:]

    def _send_several(self) -> None:
        """All the bytes in front of the next slice, in one call."""
        run = self._leading_bytes()
        flags = socket.MSG_MORE if len(run) < len(self.parts) else 0
        if sum([len(part) for part in run]) <= JOINED_BYTES_MAX:
            count = self._socket.send(b"".join(run), flags)
        else:
            count = self._socket.sendmsg(run, (), flags)
        self.sent_bytes += count
        for part in run:
            if count < len(part):
                self.parts[0] = memoryview(part)[count:]
                break
            self.parts.popleft()
            count -= len(part)

    def _leading_bytes(self) -> list[Bytes]:
        run: list[Bytes] = []
        for part in self.parts:
            if type(part) is LogSlice or len(run) == BUFFERS_MAX:
                break
            run.append(cast(Bytes, part))
        return run
