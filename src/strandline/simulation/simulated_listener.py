"""Where a simulated broker is reached: the twin of `broker.server` and `broker.channel` around the real connections.

What a broker answers with is read from its files when it is sent. That may be a while after the answer was made
(`send_delay_us`), as with a peer that receives slowly, and the files may be others by then.
"""

from __future__ import annotations

from collections.abc import Callable

from strandline.broker.connection import Connection, Part
from strandline.broker.dispatch import Dispatch
from strandline.broker.network_settings import NetworkSettings
from strandline.log.log_slice import LogSlice
from strandline.simulation.network import Line, Network
from strandline.simulation.simulated_host import SimulatedHost

PORT = 9092


class SimulatedListener:
    def __init__(
        self,
        network: Network,
        host: SimulatedHost,
        place: str,
        settings: NetworkSettings,
        dispatch: Dispatch,
        send_delay_us: Callable[[], int],
    ) -> None:
        self.settings = settings
        self.host = host
        self.dispatch = dispatch
        self.send_delay_us = send_delay_us
        self._network = network
        self._place = place
        self._is_accepting = False
        self._is_closed = False
        self._waiting: list[Line] = []

    def bind(self, host: str, port: int) -> list[tuple[str, int]]:
        self._network.listeners[self._place] = self._knocked
        return [(host, port or PORT)]

    def begin_accepting(self) -> None:
        self._is_accepting = True
        waiting, self._waiting = self._waiting, []
        for line in waiting:
            self._accept(line)

    def change_settings(self, settings: NetworkSettings) -> None:
        self.settings = settings

    async def stop(self) -> None:
        self.close()

    def close(self) -> None:
        """Nobody is heard any more, and everybody is told so."""
        if not self._is_closed:
            self._is_closed = True
            self._network.listeners.pop(self._place, None)
            self._network.process_died(self.host, says_so=True)

    def _knocked(self, line: Line) -> bool:
        if not self.host.is_alive:
            return False
        if self._is_accepting:
            self._accept(line)
        elif line not in self._waiting:
            self._waiting.append(line)
        return True

    def _accept(self, line: Line) -> None:
        line.accept(SimulatedChannel(self, line), self.host)


class SimulatedChannel:
    def __init__(self, listener: SimulatedListener, line: Line) -> None:
        self._listener = listener
        self._host = listener.host
        self._line = line
        self._connection = Connection(
            listener.dispatch, self._answer_came, peer_host=f"line {line.number}", local_address=(line.target, PORT)
        )
        self._connection.proceed_at_once = self._proceed
        self._unread = b""  # what came while the connection takes nothing
        self._unsent: list[Part] = []
        self._is_sending = False
        self._is_proceeding = False
        self._is_closed = False

    def received(self, data: bytes) -> None:
        if self._is_closed:
            return
        self._unread += data
        self._read()

    def hung_up(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._connection.close()

    def _read(self) -> None:
        if self._unread and not self._unsent and self._connection.takes_more:
            data, self._unread = bytearray(self._unread), b""
            self._send(self._connection.receive(memoryview(data)))

    def _answer_came(self) -> None:
        if not self._is_proceeding:
            self._is_proceeding = True
            self._host.call_soon(self._proceed_in_turn)

    def _proceed_in_turn(self) -> None:
        self._is_proceeding = False
        self._proceed()

    def _proceed(self) -> None:
        if not self._is_closed and not self._unsent:
            self._send(self._connection.proceed())

    def _send(self, parts: list[Part]) -> None:
        """Send these, then handle requests that waited for it, and so on until something has to be waited for."""
        self._unsent += parts
        if self._unsent:
            self._send_soon()
        else:
            self._rest()

    def _send_soon(self) -> None:
        if self._is_sending:
            return
        self._is_sending, delay_us = True, self._listener.send_delay_us()
        if delay_us:
            self._host.world.after(delay_us, self._flush, self._host)
        else:
            self._flush()

    def _flush(self) -> None:
        self._is_sending = False
        if self._is_closed:
            return
        parts, self._unsent = self._unsent, []
        try:
            data = b"".join(_bytes_of(part) for part in parts)
        except OSError:  # the disk; the peer must not wait for the rest
            self._close()
            return
        if len(data) != sum(map(_length_of, parts)):
            self._close()  # the file has been cut since
            return
        self._line.to_client.send(data)
        if self._connection.can_proceed:
            self._send(self._connection.proceed())
        else:
            self._rest()

    def _rest(self) -> None:
        if self._connection.is_finished:
            self._close()
        else:
            self._read()

    def _close(self) -> None:
        self._is_closed = True
        self._connection.close()
        self._line.hang_up_by_server()


def _length_of(part: Part) -> int:
    return len(part) if isinstance(part, bytes | bytearray | memoryview) else part.length


def _bytes_of(part: Part) -> bytes:
    if isinstance(part, bytes | bytearray | memoryview):
        return bytes(part)
    assert isinstance(part, LogSlice)
    return part.read()
