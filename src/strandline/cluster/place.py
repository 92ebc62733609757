"""Where a server runs: on this machine's loopback, or in a network namespace with an address of its own."""

from __future__ import annotations

from typing import NamedTuple

from strandline.cluster.ports import HOST


class Place(NamedTuple):
    host: str = HOST
    within: tuple[str, ...] = ()  # a command that goes there and becomes the one that follows it, as `nsenter` does


HERE = Place()
