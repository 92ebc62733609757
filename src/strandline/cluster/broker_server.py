"""A broker of a cluster as a process: `strandline serve`, with one directory.

<directory>/data/         log.dirs
<directory>/broker.log    what it says, on standard output too
<directory>/broker.pid
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from strandline.cluster.place import HERE, Place
from strandline.cluster.process import ServerProcess
from strandline.program import serve_command

READY = b"strandline is ready at "


class BrokerServer:
    def __init__(
        self,
        directory: str,
        broker_id: int,
        port: int,
        settings: Mapping[str, str],
        *,
        place: Place = HERE,
        flags: Sequence[str] = (),
    ) -> None:
        """The settings of all brokers; what is this one's own is added. Flags are those of `strandline serve`."""
        self.broker_id = broker_id
        self.port = port
        self.host = place.host
        self.directory = directory
        self.data = f"{directory}/data"
        self.data_directories = (self.data, *place.more_data)
        own = {
            "broker.id": str(broker_id),
            "log.dirs": ",".join(self.data_directories),
            "listeners": f"PLAINTEXT://{place.host}:{port}",
        }
        command = [*place.within, *serve_command({**settings, **own}, *flags)]
        self.process = ServerProcess("broker", directory, command, title=f"broker {broker_id}")
        self._log_position = 0

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def is_running(self) -> bool:
        return self.process.pid is not None

    def start(self) -> None:
        """Returns at once; see `is_ready`."""
        os.makedirs(self.data, exist_ok=True)
        self._log_position = _size(self.process.log_path)
        self.process.start()

    def is_ready(self) -> bool:
        """Of the life that was begun here: whether it has said so."""
        with open(self.process.log_path, "rb") as file:
            file.seek(self._log_position)
            return READY in file.read()


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0
