"""For callers without an event loop of their own: commands, notebooks, Spark's workers.

    with Blocking(settings) as client:
        client(lambda cluster: create_topics(cluster, [NewTopic("orders", 3)]))

The connections stay open between calls. Not for several threads at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Self, TypeVar

from strandline.client.cluster import Cluster
from strandline.client.settings import ClientSettings

T = TypeVar("T")
Work = Callable[[Cluster], Awaitable[T]]


class Blocking:
    def __init__(self, settings: ClientSettings | None = None) -> None:
        self.cluster = Cluster(settings)
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._runner.run(self.cluster.close())
        finally:
            self._runner.close()

    def __call__(self, work: Work[T]) -> T:
        async def perform() -> T:
            return await work(self.cluster)

        return self._runner.run(perform())
