"""What is still to be sent on one socket, and how: bytes by `send`, slices of files by `sendfile`.

The head of an answer goes out with MSG_MORE, the slice behind it in the same call, what the socket does not take when
it is writable again; a slice of a few pages is copied and goes out in one call with its head. Nothing else is copied
and nothing waits: a slice is sent by the event loop only as far as it lies in the page cache. From where it does not,
a worker thread reads the rest piece by piece, waits for the disk and makes the kernel forget each piece at once, so
that a consumer far behind neither stops the others nor pushes out what they read (SPEC P5). Read, not sent: pages
that wait in a socket could not be forgotten. A connection has one piece in memory at most. The last piece of a slice
stays until the next slice is read: the next request begins within it, and to find where, the event loop must not wait
for the disk.
"""

from __future__ import annotations

import os
import socket
from collections import deque
from enum import Enum
from typing import NamedTuple, cast

from strandline.log.log_slice import LogSlice
from strandline.model.failures import check
from strandline.wire.fetch_response import Part

COPIED_BYTES_MAX = 8 * 1024  # up to here a copy, sent with its head, costs less than a call of `sendfile` more
JOINED_BYTES_MAX = 64 * 1024  # up to here one copy and one `send` cost less than `sendmsg`
BUFFERS_MAX = 512  # of one `sendmsg`; the kernel takes 1,024
SLICE_BYTES_MAX = 2**20  # of one `sendfile`: what was in the page cache when asked
COLD_BYTES_MAX = 256 * 1024  # read by a thread at once
TURN_BYTES_MAX = 4 * 2**20  # sent before other connections get their turn

Bytes = bytes | bytearray | memoryview


def part_bytes(part: Part) -> int:
    return part.length if type(part) is LogSlice else len(cast(Bytes, part))


def _copied_if_small(part: Part) -> Part:
    """What is not in memory stays a slice, however small: a thread reads it."""
    if type(part) is not LogSlice or part.length > COPIED_BYTES_MAX:
        return part
    return part.read_resident() or part


class FileCutShort(Exception):
    """The file ended before the slice did: the answer cannot be completed."""


class Sending(Enum):
    DONE = "all is sent"
    BLOCKED = "the socket is full"
    COLD = "the disk has to be read"
    TURN_OVER = "others are waiting"


class ColdRead(NamedTuple):
    """For a worker thread."""

    slice: LogSlice
    is_last: bool  # of the slice that was asked for

    def run(self) -> bytes:
        file, position, length = self.slice
        data = self.slice.read()
        start = max(0, position - COLD_BYTES_MAX)  # with the last piece of the slice before
        end = position if self.is_last else position + length
        LogSlice(file, start, end - start).drop_from_page_cache()
        if len(data) < length:
            raise FileCutShort(f"{length} bytes at {position} are not there")
        return data


class Outbox:
    __slots__ = ("_is_cold", "_socket", "parts", "sent_bytes")

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self.parts: deque[Part] = deque()  # to look at; all is sent when there are none
        self._is_cold = False  # the slice in front; once cold, all of it goes the cold way
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

    def add(self, parts: list[Part]) -> None:
        # Nothing empty: the head before an empty slice would be sent as if more came, and nothing cost a call.
        self.parts.extend([_copied_if_small(part) for part in parts if part_bytes(part)])

    def send(self) -> Sending:
        """Send until done or stopped."""
        parts = self.parts
        turn_ends_at = self.sent_bytes + TURN_BYTES_MAX
        try:
            while parts:
                if type(parts[0]) is not LogSlice:
                    self._send_bytes()
                elif self._is_slice_cold():
                    return Sending.COLD
                else:
                    self._send_slice()
                if self.sent_bytes >= turn_ends_at and parts:
                    return Sending.TURN_OVER
        except BlockingIOError:
            return Sending.BLOCKED
        return Sending.DONE

    def cold_read(self) -> ColdRead:
        piece = self._next_of_slice(COLD_BYTES_MAX)
        return ColdRead(piece, is_last=piece.length == self._slice().length)

    def was_read(self, data: bytes) -> None:
        self._advance_slice(len(data))
        self.parts.appendleft(data)

    def _send_bytes(self) -> None:
        run = self._take_leading_bytes()
        flags = socket.MSG_MORE if self.parts else 0
        try:
            if len(run) == 1:
                count = self._socket.send(run[0], flags)
            elif sum([len(part) for part in run]) <= JOINED_BYTES_MAX:
                run = [b"".join(run)]
                count = self._socket.send(run[0], flags)
            else:
                count = self._socket.sendmsg(run, (), flags)
        except BlockingIOError:
            self.parts.extendleft(reversed(run))
            raise
        self.sent_bytes += count
        self._put_back_rest(run, count)

    def _take_leading_bytes(self) -> list[Bytes]:
        parts = self.parts
        run: list[Bytes] = []
        while parts and len(run) < BUFFERS_MAX and type(parts[0]) is not LogSlice:
            run.append(cast(Bytes, parts.popleft()))
        return run

    def _put_back_rest(self, run: list[Bytes], count: int) -> None:
        rest = []
        for part in run:
            if count < len(part):
                rest.append(memoryview(part)[count:])
            count = max(0, count - len(part))
        self.parts.extendleft(reversed(rest))

    def _is_slice_cold(self) -> bool:
        self._is_cold = self._is_cold or not self._next_of_slice(SLICE_BYTES_MAX).is_resident()
        return self._is_cold

    def _send_slice(self) -> None:
        file, position, length = self._next_of_slice(SLICE_BYTES_MAX)
        count = os.sendfile(self._socket.fileno(), file.fileno(), position, length)
        if count == 0:
            raise FileCutShort(f"{length} bytes at {position} are not there")
        self.sent_bytes += count
        self._advance_slice(count)

    def _slice(self) -> LogSlice:
        part = self.parts[0]
        check(isinstance(part, LogSlice), "a part that is not bytes is a slice of a log")
        return cast(LogSlice, part)

    def _next_of_slice(self, bytes_max: int) -> LogSlice:
        file, position, length = self._slice()
        return LogSlice(file, position, min(length, bytes_max))

    def _advance_slice(self, count: int) -> None:
        file, position, length = self._slice()
        if count < length:
            self.parts[0] = LogSlice(file, position + count, length - count)
        else:
            self.parts.popleft()
            self._is_cold = False
