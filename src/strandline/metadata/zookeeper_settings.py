"""How to reach ZooKeeper and what it may cost, by Kafka's names."""

from __future__ import annotations

from strandline.metadata.errors import IllegalPath
from strandline.metadata.operations import check_path
from strandline.model.lazy_dataclass import dataclass
from strandline.model.settings import INT_MAX, BadSetting, PropertySettings, setting

DEFAULT_PORT = 2181
PORT_MAX = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperSettings(PropertySettings):
    # host:port,host:port/chroot; without it there is no ZooKeeper.
    zookeeper_connect: str = setting("", "zookeeper.connect")
    zookeeper_session_timeout_ms: int = setting(18_000, "zookeeper.session.timeout.ms", at_least=1, at_most=INT_MAX)
    # How long the first connection may take; -1 is as long as a session lives unheard.
    zookeeper_connection_timeout_ms: int = setting(-1, "zookeeper.connection.timeout.ms", at_least=-1, at_most=INT_MAX)
    zookeeper_max_in_flight_requests: int = setting(10, "zookeeper.max.in.flight.requests", at_least=1, at_most=INT_MAX)
    # Ours. Calls beyond those in flight wait; beyond these too they are refused.
    zookeeper_max_queued_requests: int = setting(10_000, "zookeeper.max.queued.requests", at_least=0, at_most=INT_MAX)

    def __post_init__(self) -> None:
        if self.zookeeper_connect:
            self.addresses()
            self._check_chroot()

    @property
    def connection_timeout_ms(self) -> int:
        limit_ms = self.zookeeper_connection_timeout_ms
        return self.zookeeper_session_timeout_ms if limit_ms < 0 else limit_ms

    @property
    def chroot(self) -> str:
        """The node that is the root for us, or nothing."""
        _, slash, path = self.zookeeper_connect.partition("/")
        return slash + path if path else ""

    def addresses(self) -> tuple[tuple[str, int], ...]:
        servers = self.zookeeper_connect.partition("/")[0].split(",")
        return tuple(self._address(server.strip()) for server in servers)

    def _address(self, server: str) -> tuple[str, int]:
        """An IPv6 address with a port stands in brackets."""
        host, colon, port = server.rpartition(":")
        if not colon or server.endswith("]"):
            host, port = server, str(DEFAULT_PORT)
        is_bracketed = host.startswith("[") and host.endswith("]")
        if not host or not port.isascii() or not port.isdigit() or (":" in host and not is_bracketed):
            raise BadSetting(f"zookeeper.connect={self.zookeeper_connect!r}: expected host:port,host:port/chroot")
        if not 0 < int(port) <= PORT_MAX:
            raise BadSetting(f"zookeeper.connect={self.zookeeper_connect!r}: {port} is no port")
        return host.strip("[]"), int(port)

    def _check_chroot(self) -> None:
        try:
            check_path(self.chroot or "/")
        except IllegalPath as cause:
            raise BadSetting(f"zookeeper.connect={self.zookeeper_connect!r}: {cause}") from None
