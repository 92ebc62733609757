"""Where a server runs: on this machine's loopback, or in a network namespace with an address of its own; and on which
disks."""

from __future__ import annotations

from typing import NamedTuple

from strandline.cluster.ports import HOST


class Place(NamedTuple):
    host: str = HOST
    within: tuple[str, ...] = ()  # a command that goes there and becomes the one that follows it, as `nsenter` does
    more_data: tuple[str, ...] = ()  # of a broker: directories beside its own


HERE = Place()
