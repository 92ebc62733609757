"""What connections may cost, by Kafka's names. Kafka leaves several of these without a limit; here each has one.

A connection that does nothing costs a descriptor and 4 KiB here. What bounds their number is less memory than sense: no
host has 5,000 clients of one broker, but one that leaks connections gets there, and then must leave room for the
others. `strandline serve` raises the limit on open files to 65,536, of which 10,000 connections leave most to the logs.

A new connection costs the event loop some 50 µs. A thousand a second are a twentieth of its time; those beyond wait in
the kernel's queue. Kafka's queue of 50 overflows when a few hundred clients come back at once after a restart, and who
finds it full tries again a second later. 1,024 hold a second's worth; the kernel may make it less (`somaxconn`).
"""

from __future__ import annotations

from strandline.model.lazy_dataclass import dataclass
from strandline.model.settings import INT_MAX, BadSetting, PropertySettings, setting
from strandline.wire.framing import SOCKET_REQUEST_MAX_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings(PropertySettings):
    socket_request_max_bytes: int = setting(
        SOCKET_REQUEST_MAX_BYTES, "socket.request.max.bytes", at_least=1, at_most=INT_MAX
    )
    # -1 leaves the size to the kernel, which fits it to the path. Kafka's 100 KiB would cut a fetch of 1 MiB in ten.
    socket_send_buffer_bytes: int = setting(-1, "socket.send.buffer.bytes", at_least=-1, at_most=INT_MAX)
    socket_receive_buffer_bytes: int = setting(-1, "socket.receive.buffer.bytes", at_least=-1, at_most=INT_MAX)
    socket_listen_backlog_size: int = setting(1_024, "socket.listen.backlog.size", at_least=1, at_most=INT_MAX)
    # Unlimited in Kafka, these three.
    max_connections: int = setting(10_000, "max.connections", at_least=0, at_most=INT_MAX)
    max_connections_per_ip: int = setting(5_000, "max.connections.per.ip", at_least=0, at_most=INT_MAX)
    max_connection_creation_rate: int = setting(1_000, "max.connection.creation.rate", at_least=1, at_most=INT_MAX)
    max_connections_per_ip_overrides: tuple[str, ...] = setting((), "max.connections.per.ip.overrides")
    connections_max_idle_ms: int = setting(600_000, "connections.max.idle.ms", at_least=1)
    # Requests that have begun or wait their turn, all connections together. Unlimited in Kafka; -1 is that here too.
    queued_max_request_bytes: int = setting(512 * 2**20, "queued.max.request.bytes", at_least=-1)
    num_io_threads: int = setting(8, "num.io.threads", at_least=1)  # they read what is not in the page cache
    # Ours. A peer that has begun a request goes on within this time.
    socket_request_stalled_ms: int = setting(30_000, "socket.request.stalled.ms", at_least=1)
    # Ours. A connection with more than this to send handles no further request.
    queued_max_response_bytes: int = setting(2**20, "queued.max.response.bytes", at_least=1)
    # Ours. After so long a connection that has asked for more waits until all others have been served.
    socket_turn_ms: int = setting(5, "socket.turn.ms", at_least=1)
    # Ours. How long a stop waits for answers that are being sent.
    socket_stop_timeout_ms: int = setting(5_000, "socket.stop.timeout.ms", at_least=0)

    def __post_init__(self) -> None:
        self.connections_max_by_ip()

    def connections_max_by_ip(self) -> dict[str, int]:
        """The overrides, `address:count` each. An IPv6 address has colons of its own: the last one counts."""
        limits = {}
        for entry in self.max_connections_per_ip_overrides:
            address, colon, count = entry.rpartition(":")
            if not (colon and address and count.isascii() and count.isdigit()):
                raise BadSetting(f"max.connections.per.ip.overrides={entry!r}: expected address:count")
            limits[address] = int(count)
        return limits
