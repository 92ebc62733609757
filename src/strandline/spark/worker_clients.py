"""Clients that the tasks of a worker process hand on to each other, so that not every task has to connect anew.

Spark keeps its Python workers for many tasks, one at a time. A client that saw a failure is not handed on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from strandline.client.blocking import Blocking
from strandline.client.settings import ClientSettings

Key = frozenset[tuple[str, str]]

IDLE_MAX = 4  # a worker seldom speaks to more clusters, or in more ways

_idle: dict[Key, Blocking] = {}


@contextmanager
def borrow_client(properties: Mapping[str, str]) -> Iterator[Blocking]:
    key = frozenset(properties.items())
    client = _idle.pop(key, None) or Blocking(ClientSettings.of(properties))
    try:
        yield client
    except BaseException:
        client.__exit__()
        raise
    while len(_idle) >= IDLE_MAX:
        _idle.pop(next(iter(_idle))).__exit__()
    _idle[key] = client
