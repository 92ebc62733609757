"""One ZooKeeper server, or three that agree: the store of a cluster on one machine.

<directory>/zookeeper-<id>/    one server each (zookeeper_server.py)
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from strandline.cluster.ports import ReservedPorts
from strandline.cluster.process import ProcessFailed
from strandline.cluster.zookeeper_installation import NotInstalled, ZooKeeperInstallation
from strandline.cluster.zookeeper_server import (
    READY_TIMEOUT_S,
    Member,
    ZooKeeperServer,
    ZooKeeperTimes,
    write_configuration,
)

SERVER_DIRECTORY = re.compile(r"zookeeper-(\d+)")
PORTS_EACH = 3
QUICK = ZooKeeperTimes()


class ZooKeeperEnsemble:
    def __init__(self, servers: Sequence[ZooKeeperServer], reserved: ReservedPorts | None = None) -> None:
        """Use `create` or `find`."""
        self.servers = tuple(servers)
        self._reserved = reserved

    @classmethod
    def create(
        cls,
        directory: str,
        installation: ZooKeeperInstallation,
        *,
        client_ports: Sequence[int] = (0,),
        member_ports: Sequence[int] = (),
        times: ZooKeeperTimes = QUICK,
    ) -> ZooKeeperEnsemble:
        """As many servers as there are ports, 0 being any. Raises `PortInUse`. Nothing is started yet.

        `member_ports` are for what members say among themselves, two for each; any, unless given.
        """
        count = len(client_ports)
        reserved = ReservedPorts([*client_ports, *(member_ports or [0] * count * (PORTS_EACH - 1))])
        members = [
            Member(index + 1, *reserved.ports[index::count][:PORTS_EACH])  # client, quorum and election port
            for index in range(count)
        ]
        for member in members:
            write_configuration(_server_directory(directory, member.server_id), member, members, times)
        return cls([_server(directory, member.server_id, installation) for member in members], reserved)

    @classmethod
    def find(cls, directory: str, installation: ZooKeeperInstallation | NotInstalled) -> ZooKeeperEnsemble:
        """The one that was created there, running or not. To start it takes an installation."""
        names = os.listdir(directory) if os.path.isdir(directory) else []
        ids = sorted(int(found[1]) for name in names if (found := SERVER_DIRECTORY.fullmatch(name)))
        if not ids:
            raise ProcessFailed(f"There is no ZooKeeper in {directory}.")
        return cls([_server(directory, server_id, installation) for server_id in ids])

    @property
    def connect(self) -> str:
        """For `zookeeper.connect`."""
        return ",".join(server.address for server in self.servers)

    def start(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Starts those that do not run and waits until all serve; if that fails, none is left running."""
        try:
            for server in self.servers:
                if not server.is_running:
                    server.start()
            for server in self.servers:
                server.wait_until_ready(timeout_s)
        except ProcessFailed:
            self.kill()
            raise

    def stop(self) -> None:
        for server in self.servers:
            server.stop()

    def kill(self) -> None:
        for server in self.servers:
            server.kill()

    def close(self) -> None:
        """Stop all and give the ports back."""
        self.stop()
        self.release_ports()

    def release_ports(self) -> None:
        if self._reserved is not None:
            self._reserved.release()

    def leader(self) -> ZooKeeperServer | None:
        """None while there is none, or only one server."""
        return next((server for server in self.servers if server.mode() == "leader"), None)


def _server_directory(directory: str, server_id: int) -> str:
    return f"{directory}/zookeeper-{server_id}"


def _server(directory: str, server_id: int, installation: ZooKeeperInstallation | NotInstalled) -> ZooKeeperServer:
    return ZooKeeperServer(_server_directory(directory, server_id), installation)
