"""A ZooKeeper server as a process: one directory with its configuration, its data, its log and its pid.

    <directory>/zoo.cfg          written once; whoever finds the directory later can start and stop the server
    <directory>/data/            myid, snapshots, transaction logs
    <directory>/zookeeper.log    what the process says, which is little: the jars have no logger
    <directory>/zookeeper.pid

It is ready when it serves clients, which a member of an ensemble does only with a quorum.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from strandline.cluster.place import HERE, Place
from strandline.cluster.ports import HOST
from strandline.cluster.process import ServerProcess
from strandline.cluster.zookeeper_installation import NotInstalled, ZooKeeperInstallation

CONFIGURATION = "zoo.cfg"
HEAP_MB = 64
READY_TIMEOUT_S = 60.0
WORD_TIMEOUT_S = 1.0
FIRST_WORD_TIMEOUT_S = 0.05
MODE = re.compile(r"^Mode: (\w+)", re.MULTILINE)
CLIENT_PORT = re.compile(r"^clientPort=(\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Member:
    """A server and its ports; those for the other members are not used by a server that is alone."""

    server_id: int
    client_port: int
    quorum_port: int
    election_port: int
    host: str = field(default=HOST, kw_only=True)


@dataclass(frozen=True, slots=True)
class ZooKeeperTimes:
    """A session may be as short as two ticks. A leader that hangs is given up after `sync_ticks`."""

    tick_ms: int = 400
    init_ticks: int = 25
    sync_ticks: int = 5
    session_timeout_ms_max: int = 60_000


class ZooKeeperServer:
    def __init__(self, directory: str, installation: ZooKeeperInstallation | NotInstalled, place: Place = HERE) -> None:
        """Of a directory that `write_configuration` has made. A server that runs can be stopped without its program."""
        self.directory = directory
        self.host = place.host
        configuration = f"{directory}/{CONFIGURATION}"
        with open(configuration, encoding="utf-8") as file:
            found = CLIENT_PORT.search(file.read())
        assert found is not None, "a configuration of ours"
        self.client_port = int(found[1])
        self._missing = installation if isinstance(installation, NotInstalled) else None
        command = [] if isinstance(installation, NotInstalled) else installation.command(configuration, HEAP_MB)
        self.process = ServerProcess(
            "zookeeper", directory, [*place.within, *command], title=os.path.basename(directory).replace("-", " ")
        )
        self._patience_s = FIRST_WORD_TIMEOUT_S

    @property
    def address(self) -> str:
        return f"{self.host}:{self.client_port}"

    @property
    def is_running(self) -> bool:
        return self.process.pid is not None

    def start(self) -> None:
        """Returns at once; see `wait_until_ready`. Raises `NotInstalled`."""
        if self._missing is not None:
            raise self._missing
        self._patience_s = FIRST_WORD_TIMEOUT_S
        self.process.start()

    def wait_until_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        self.process.wait_until(self.is_ready, timeout_s)

    def is_ready(self) -> bool:
        """A connection made just as the server begins to listen may never be answered: ask again, more patiently."""
        began_s = time.monotonic()
        mode = self.mode(self._patience_s)
        if time.monotonic() - began_s >= self._patience_s:
            self._patience_s = min(2 * self._patience_s, WORD_TIMEOUT_S)
        return mode is not None

    def stop(self) -> None:
        self.process.stop()

    def kill(self) -> None:
        self.process.kill()

    def pause(self) -> None:
        self.process.pause()

    def resume(self) -> None:
        self.process.resume()

    def mode(self, timeout_s: float = WORD_TIMEOUT_S) -> str | None:
        """`standalone`, `leader` or `follower`; None while it does not serve."""
        found = MODE.search(self.ask("srvr", timeout_s))
        return None if found is None else found[1]

    def ask(self, word: str, timeout_s: float = WORD_TIMEOUT_S) -> str:
        """One of ZooKeeper's four-letter words; nothing where nobody answers. A server that starts may not hang up."""
        answer = b""
        try:
            with socket.create_connection((self.host, self.client_port), timeout_s) as connection:
                connection.sendall(word.encode())
                while part := connection.recv(4096):
                    answer += part
        except OSError:
            pass
        return answer.decode("utf-8", "replace")


def write_configuration(directory: str, me: Member, members: Sequence[Member], times: ZooKeeperTimes) -> None:
    os.makedirs(f"{directory}/data", exist_ok=True)
    with open(f"{directory}/data/myid", "w", encoding="ascii") as file:
        file.write(f"{me.server_id}\n")
    with open(f"{directory}/{CONFIGURATION}", "w", encoding="utf-8") as file:
        file.write(_configuration(directory, me, members, times))


def _configuration(directory: str, me: Member, members: Sequence[Member], times: ZooKeeperTimes) -> str:
    ensemble = [f"server.{it.server_id}={it.host}:{it.quorum_port}:{it.election_port}" for it in members]
    lines = [
        f"tickTime={times.tick_ms}",
        f"initLimit={times.init_ticks}",
        f"syncLimit={times.sync_ticks}",
        f"maxSessionTimeout={times.session_timeout_ms_max}",
        f"dataDir={os.path.abspath(directory)}/data",
        f"clientPort={me.client_port}",
        f"clientPortAddress={me.host}",
        "maxClientCnxns=1000",
        "admin.enableServer=false",
        "4lw.commands.whitelist=srvr,ruok,mntr,cons",
        # Kilobytes by which a log grows ahead of its end; the default of 64 MB is for larger disks than a laptop's.
        "preAllocSize=4096",
        "autopurge.snapRetainCount=3",
        "autopurge.purgeInterval=1",
        *(ensemble if len(members) > 1 else []),
    ]
    return "\n".join(lines) + "\n"
