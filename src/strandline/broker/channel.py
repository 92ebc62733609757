"""A socket and its connection, on the event loop: receives when it may, sends what there is.

Nothing is received while an answer is owed or still being sent. The reader is taken off the loop only when the peer
does send meanwhile, which few do: a long poll costs no system call, and a peer that hangs up is noticed. One that has
sent more before it hung up is noticed by `has_hung_up`.

A peer that asks for much at once is served for a turn; then it waits until the loop has been to all others.

After a frame that was so large that it got a buffer of its own, the next one is likely as large. Only its first bytes
are received into the shared buffer then: they tell its size, and the rest goes where it belongs without a copy.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol

from strandline.broker.cold_read import ColdRead
from strandline.broker.connection import Connection, Part
from strandline.broker.network_counters import Traffic
from strandline.broker.outbox import Outbox, Sending

logger = logging.getLogger(__name__)

TCP_ESTABLISHED = 1
FIRST_BYTES = 4096


class ChannelOwner(Protocol):
    """What the channels of a listener share."""

    loop: asyncio.AbstractEventLoop
    clock: Callable[[], float]
    receive_buffer: memoryview
    is_stopping: bool
    is_receiving: bool
    turn_s: float
    afterwards: list[Callable[[], object]]

    def do_afterwards(self) -> None: ...
    def read_cold(self, work: ColdRead) -> Future[bytes]: ...
    def buffered_bytes_changed(self, by: int) -> None: ...
    def channel_closed(self, channel: Channel) -> None: ...


class Channel:
    __slots__ = (
        "_expects_large", "_goes_on_later", "_is_reading", "_is_writing", "_owner", "_socket", "buffered_bytes",
        "connection", "is_closed", "is_reading_cold", "last_progress_s", "outbox", "received_bytes",
    )  # fmt: skip

    def __init__(self, owner: ChannelOwner, connected: socket.socket) -> None:
        self._owner = owner
        self._socket = connected
        self.connection: Connection  # set by the owner, whose answers come through this channel
        self.outbox = Outbox(connected)
        self.is_closed = False
        self.is_reading_cold = False  # a thread is at it
        self.last_progress_s = owner.clock()
        self.received_bytes = 0
        self.buffered_bytes = 0  # as the owner counts them
        self._expects_large = False  # the last frame was
        self._is_writing = False
        self._is_reading = True
        self._goes_on_later = False  # in another turn of the loop, which has been asked for
        owner.loop.add_reader(connected, self._readable)

    def close(self) -> None:
        if self.is_closed:
            return
        self.is_closed = True
        self.connection.close()
        self._owner.loop.remove_reader(self._socket)
        self._owner.loop.remove_writer(self._socket)
        self._socket.close()
        self._owner.channel_closed(self)

    def proceed(self) -> None:
        """After an answer came."""
        if self.is_closed or self.outbox.parts:
            return
        self._begin_turn()
        parts = self.connection.proceed()
        if parts and self._is_reading and self.connection.takes_more:
            self._send_at_once(parts)
        else:
            self._send(parts)

    @property
    def owes_rest_of_frame(self) -> bool:
        """The peer, which could send it: we are ready to receive."""
        return not self.outbox and self.connection.takes_more and self.connection.is_within_frame

    def has_hung_up(self) -> bool:
        """While we neither receive nor send, the loop does not tell us that the peer has gone: ask the kernel."""
        if self._is_reading or self._is_writing:
            return False
        return self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != TCP_ESTABLISHED

    def traffic(self) -> Traffic:
        return Traffic(self.connection.requests, self.received_bytes, self.outbox.sent_bytes)

    def _readable(self) -> None:
        """Receive and answer; then others, whose answers came of it, or who waited for it."""
        owner = self._owner
        owner.is_receiving = True
        try:
            self._receive()
        finally:
            owner.is_receiving = False
            if owner.afterwards:
                owner.do_afterwards()

    def _receive(self) -> None:
        connection = self.connection
        if self.outbox.parts or not connection.takes_more:
            self._stop_reading()
            return
        room = connection.room()
        if room is None:
            buffer = self._owner.receive_buffer
            if self._expects_large:
                buffer, self._expects_large = buffer[:FIRST_BYTES], False
        else:
            buffer = room
        try:
            count = self._socket.recv_into(buffer)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            count = 0
        if count == 0:
            self.close()
            return
        self.received_bytes += count
        self._begin_turn()
        if room is None:
            parts = connection.receive(buffer[:count])
        else:
            parts = connection.filled(count)
            self._expects_large = not connection.is_within_frame
        if parts and connection.takes_more:
            self._send_at_once(parts)
        else:
            self._send(parts)

    def _send_at_once(self, parts: list[Part]) -> None:
        """What leaves the connection ready for the next request: nearly all does."""
        first = parts[0]
        if len(parts) == 1 and type(first) is bytes:
            is_sent = self._send_answer(first)
        else:
            self.outbox.add(parts)
            is_sent = self._send_outbox()
        if self.is_closed:
            return
        if not is_sent or self.connection.buffered_bytes != self.buffered_bytes or self._owner.is_stopping:
            self._rest()

    def _send_answer(self, answer: bytes) -> bool:
        try:
            return self.outbox.send_at_once(answer) or self._send_outbox()
        except OSError:  # the peer has gone
            self.close()
            return False

    def _stop_reading(self) -> None:
        try:
            has_gone = not self._socket.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            has_gone = True
        if has_gone:
            self.close()
        else:
            self._is_reading = False
            self._owner.loop.remove_reader(self._socket)

    def _send(self, parts: list[Part]) -> None:
        """Send these, then handle requests that waited for it, and so on until something has to be waited for."""
        connection, outbox, owner = self.connection, self.outbox, self._owner
        while True:
            if parts:
                outbox.add(parts)
            if outbox.parts and not self._send_outbox():
                break
            if owner.is_stopping or not connection.can_proceed:
                break
            if connection.is_turn_over:
                self._go_on_later()
                break
            parts = connection.proceed()
        if not self.is_closed:
            self._rest()

    def _begin_turn(self) -> None:
        """While it waited for us, the peer could not make any progress."""
        self.last_progress_s = now_s = self._owner.clock()
        self.connection.turn_ends_s = now_s + self._owner.turn_s

    def _go_on_later(self) -> None:
        if not self._goes_on_later:
            self._goes_on_later = True
            self._owner.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        self._goes_on_later = False
        if not self.is_closed and not self.outbox.parts and self.connection.can_proceed:
            self._begin_turn()
            self._send(self.connection.proceed())

    def _rest(self) -> None:
        """Make the loop watch for what comes next."""
        connection = self.connection
        buffered_bytes = connection.buffered_bytes
        if buffered_bytes != self.buffered_bytes:
            change, self.buffered_bytes = buffered_bytes - self.buffered_bytes, buffered_bytes
            self._owner.buffered_bytes_changed(change)
        if self.outbox.parts or self.is_closed:
            return
        if connection.is_finished or self._owner.is_stopping:
            self.close()
        elif not self._is_reading and connection.takes_more:
            self._is_reading = True
            self._owner.loop.add_reader(self._socket, self._readable)

    def _send_outbox(self) -> bool:
        try:
            sending = self.outbox.send()
        except (ConnectionError, TimeoutError):  # the peer has gone
            self.close()
            return False
        except Exception as failure:  # the disk, or our bug: whatever it is, the peer must not wait for the rest
            self._close_incomplete(failure)
            return False
        if sending is Sending.DONE and not self._is_writing:  # nearly always
            return True
        self._watch_writable(sending is Sending.BLOCKED or sending is Sending.TURN_OVER)
        if sending is Sending.COLD:
            self._read_cold()
        return sending is Sending.DONE

    def _watch_writable(self, watch: bool) -> None:
        if watch != self._is_writing:
            self._is_writing = watch
            if watch:
                self._owner.loop.add_writer(self._socket, self._writable)
            else:
                self._owner.loop.remove_writer(self._socket)

    def _writable(self) -> None:
        self._begin_turn()
        self._send([])

    def _read_cold(self) -> None:
        self.is_reading_cold = True
        future = self._owner.read_cold(self.outbox.cold_read())
        future.add_done_callback(lambda done: self._owner.loop.call_soon_threadsafe(self._cold_read, done))

    def _cold_read(self, done: Future[bytes]) -> None:
        self.is_reading_cold = False
        if self.is_closed:
            return
        if (failure := done.exception()) is not None:
            self._close_incomplete(failure)
        else:
            self._begin_turn()
            self.outbox.was_read(done.result())
            self._send([])

    def _close_incomplete(self, failure: BaseException) -> None:
        logger.error("connection from %s closed amid an answer: %s", self.connection.peer_host, failure)
        self.close()
