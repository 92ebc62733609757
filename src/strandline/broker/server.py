"""The listener: accepts connections within limits, owns what they share, closes those that stand still, stops.

Everything runs in the thread of the event loop, in plain callbacks: no task, no coroutine for a connection or a
request. Connections share one receive buffer, for nobody keeps bytes there beyond the callback.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from strandline.broker.channel import Channel
from strandline.broker.cold_read import ColdRead
from strandline.broker.connection import Connection, RequestHandler
from strandline.broker.creation_rate import CreationRate
from strandline.broker.listening import host_of, listening_sockets, local_address_of
from strandline.broker.network_counters import NetworkCounters, Traffic
from strandline.broker.network_settings import NetworkSettings
from strandline.broker.pacing import is_on_this_machine, pace_as_the_machine_does

logger = logging.getLogger(__name__)

RECEIVE_BUFFER_BYTES = 256 * 1024
ACCEPTS_PER_TURN = 64  # a storm of connections leaves room for those who are in (KIP-402)
ACCEPT_PAUSE_S = 1.0  # when the process has no descriptor left
ACCEPT_PAUSE_S_MIN = 0.01  # when there are too many in a second: some of them at a time
STALLED_CHECK_S = 1.0
OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Server:
    """Made and used in the event loop that it runs on."""

    def __init__(
        self, settings: NetworkSettings, handler: RequestHandler, *, clock: Callable[[], float] | None = None
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.clock = clock or time.monotonic
        self.turn_s = settings.socket_turn_ms / 1000
        self.receive_buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self.is_stopping = False
        self.counters = NetworkCounters()
        self._settings = settings
        self._handler = handler
        self._connections_max_by_ip = settings.connections_max_by_ip()
        self._connections_by_ip: Counter[str] = Counter()
        self._creation_rate = CreationRate(settings.max_connection_creation_rate, self.loop.time)
        self._channels: set[Channel] = set()
        self.afterwards: list[Callable[[], object]] = []  # what there is to do once this receive is handled
        self.is_receiving = False  # a channel is, and does that afterwards
        self._buffered_bytes = 0
        self._listeners: list[socket.socket] = []
        self._threads = ThreadPoolExecutor(settings.num_io_threads, thread_name_prefix="cold-read")
        self._stalled_check: asyncio.TimerHandle | None = None
        self._all_closed: asyncio.Event | None = None

    def listen(self, host: str, port: int) -> list[tuple[str, int]]:
        """Begin to accept, at every address of this host; an empty one is all of this machine's. Port 0: a free one.
        Gives the addresses."""
        addresses = self.bind(host, port)
        self.begin_accepting()
        return addresses

    def bind(self, host: str, port: int) -> list[tuple[str, int]]:
        """Take the addresses; who connects waits until `begin_accepting`."""
        opened = listening_sockets(host, port, self._settings)
        self._listeners += opened
        return [local_address_of(listener) for listener in opened]

    def begin_accepting(self) -> None:
        for listener in self._listeners:
            self.loop.add_reader(listener, self._accept, listener)
        if self._stalled_check is None:
            self._stalled_check = self.loop.call_later(STALLED_CHECK_S, self._check_stalled)

    @property
    def settings(self) -> NetworkSettings:
        return self._settings

    def change_settings(self, settings: NetworkSettings) -> None:
        """Limits count from now on; connections that are over a new one stay."""
        if settings.max_connection_creation_rate != self._settings.max_connection_creation_rate:
            self._creation_rate = CreationRate(settings.max_connection_creation_rate, self.loop.time)
        self._settings = settings
        self._connections_max_by_ip = settings.connections_max_by_ip()

    async def stop(self) -> None:
        """Accept and receive nothing more, finish the answers that are being sent, close."""
        self.do_afterwards()  # answers, given by handlers that stopped just before
        self.is_stopping = True
        if self._stalled_check is not None:
            self._stalled_check.cancel()
        for listener in self._listeners:
            self.loop.remove_reader(listener)
            listener.close()
        self._listeners.clear()
        self._all_closed = asyncio.Event()
        for channel in list(self._channels):
            if not channel.outbox:
                channel.close()
        if self._channels:
            await self._wait_for_channels()
        self._threads.shutdown()  # they wait for the disk alone, never for a peer

    def abandon(self) -> None:
        """Close everything at once, as the end of the process would."""
        self.is_stopping = True
        for listener in self._listeners:
            self.loop.remove_reader(listener)
            listener.close()
        for channel in list(self._channels):
            channel.close()
        self._threads.shutdown()

    async def _wait_for_channels(self) -> None:
        assert self._all_closed is not None
        try:
            await asyncio.wait_for(self._all_closed.wait(), self._settings.socket_stop_timeout_ms / 1000)
        except TimeoutError:
            logger.info("%d connections do not take their answers: closed", len(self._channels))
            for channel in list(self._channels):
                channel.close()

    @property
    def connection_count(self) -> int:
        return len(self._channels)

    def traffic(self) -> Traffic:
        """Since the start, over all connections."""
        totals = self.counters.closed_traffic
        for channel in self._channels:
            totals = totals.plus(channel.traffic())
        return totals

    @property
    def buffered_bytes(self) -> int:
        """Of requests that have begun or wait their turn."""
        return self._buffered_bytes

    # What channels ask of their owner.

    def read_cold(self, work: ColdRead) -> Future[bytes]:
        self.counters.cold_reads += 1
        return self._threads.submit(work.run)

    def buffered_bytes_changed(self, by: int) -> None:
        """Over the limit, those who hold most have to go."""
        self._buffered_bytes += by
        limit = self._settings.queued_max_request_bytes
        while 0 <= limit < self._buffered_bytes:
            largest = max(self._channels, key=lambda channel: channel.buffered_bytes)
            logger.warning(
                "connection from %s closed: %d bytes of unfinished requests, queued.max.request.bytes is %d",
                largest.connection.peer_host, self._buffered_bytes, limit,
            )  # fmt: skip
            self.counters.closed_for_memory += 1
            largest.close()

    def channel_closed(self, channel: Channel) -> None:
        connection = channel.connection
        if connection.complaint:
            self.counters.closed_for_protocol += 1
            logger.info("connection from %s closed: %s", connection.peer_host, connection.complaint)
        self._buffered_bytes -= channel.buffered_bytes
        if connection.lane is not None:
            self.loop.call_soon(connection.forget_lane)
        self._channels.remove(channel)
        self.counters.closed += 1
        self.counters.closed_traffic = self.counters.closed_traffic.plus(channel.traffic())
        self._connections_by_ip[connection.peer_host] -= 1
        if not self._connections_by_ip[connection.peer_host]:
            del self._connections_by_ip[connection.peer_host]
        if self._all_closed is not None and not self._channels:
            self._all_closed.set()

    def call_afterwards(self, callback: Callable[[], object]) -> None:
        """Not at once: who gives an answer, or wakes who waits, may be in the midst of another connection's requests.
        Once that has been received, the channel says so (`do_afterwards`); else it is in another turn of the loop."""
        if not (self.afterwards or self.is_receiving):
            self.loop.call_soon(self.do_afterwards)
        self.afterwards.append(callback)

    def do_afterwards(self) -> None:
        afterwards, self.afterwards = self.afterwards, []
        for callback in afterwards:
            callback()

    # Accepting.

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            wait_s = self._creation_rate.take()
            if wait_s:
                self.counters.accepting_delayed += 1
                self._pause_accepting(listener, max(wait_s, ACCEPT_PAUSE_S_MIN))
                return
            try:
                connected, address = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as failure:
                if failure.errno not in OUT_OF_DESCRIPTORS:
                    raise
                logger.error("no descriptor left for another connection: accepting none for %s s", ACCEPT_PAUSE_S)
                self._pause_accepting(listener, ACCEPT_PAUSE_S)
                return
            self._admit(connected, host_of(address))

    def _pause_accepting(self, listener: socket.socket, seconds: float) -> None:
        self.loop.remove_reader(listener)
        self.loop.call_later(seconds, self._resume_accepting, listener)

    def _resume_accepting(self, listener: socket.socket) -> None:
        if not self.is_stopping:
            self.loop.add_reader(listener, self._accept, listener)

    def _admit(self, connected: socket.socket, host: str) -> None:
        limit = self._connections_max_by_ip.get(host, self._settings.max_connections_per_ip)
        if len(self._channels) >= self._settings.max_connections or self._connections_by_ip[host] >= limit:
            self.counters.refused += 1
            connected.close()
            return
        try:
            self._open(connected, host)
        except OSError:  # it has gone already
            connected.close()

    def _open(self, connected: socket.socket, host: str) -> None:
        connected.setblocking(False)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        local_address = local_address_of(connected)
        if not is_on_this_machine(host, local_address[0]):
            pace_as_the_machine_does(connected)
        channel = Channel(self, connected)
        channel.connection = Connection(
            self._handler,
            lambda: self.call_afterwards(channel.proceed),
            request_bytes_max=self._settings.socket_request_max_bytes,
            response_bytes_max=self._settings.queued_max_response_bytes,
            clock=self.clock,
            peer_host=host,
            local_address=local_address,
        )
        channel.connection.proceed_at_once = channel.proceed
        channel.connection.call_afterwards = self.call_afterwards
        self._channels.add(channel)
        self._connections_by_ip[host] += 1
        self.counters.accepted += 1

    # Those who stand still.

    def _check_stalled(self) -> None:
        self.close_stalled()
        self._stalled_check = self.loop.call_later(STALLED_CHECK_S, self._check_stalled)

    def close_stalled(self) -> None:
        """Close who was idle too long, who does not go on with a request, who does not take an answer, and who has
        hung up amid a long poll."""
        now_s = self.clock()
        idle_since_s = now_s - self._settings.connections_max_idle_ms / 1000
        stalled_since_s = now_s - self._settings.socket_request_stalled_ms / 1000
        for channel in list(self._channels):
            if channel.connection.is_waiting or channel.is_reading_cold:
                if channel.has_hung_up():
                    channel.close()
                continue
            if channel.last_progress_s < idle_since_s:
                self.counters.closed_idle += 1
                channel.close()
            elif channel.last_progress_s < stalled_since_s and channel.owes_rest_of_frame:
                self.counters.closed_stalled += 1
                channel.close()
