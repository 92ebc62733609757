"""Waits until the image of the cluster shows a topic, or shows it no more."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from strandline.broker.cluster_image import ClusterImage
from strandline.broker.host import Host
from strandline.metadata.answer import Answer

ASK_AGAIN_MS = 2
ASK_AGAIN_MS_MAX = 50


class WaitingForTopics:
    def __init__(self, image: ClusterImage, host: Host) -> None:
        self._image = image
        self._host = host
        self._waiting: dict[str, list[tuple[Callable[[], bool], Answer[None]]]] = {}
        image.when_changed(self._changed)

    @property
    def is_idle(self) -> bool:
        return not self._waiting

    async def until_there(self, topic: str, partition_count: int, timeout_ms: int) -> None:
        """With as many partitions, each with a leader; at the latest when the time is up."""

        def is_there() -> bool:
            image = self._image.topics.get(topic)
            return (
                image is not None
                and len(image.partitions) >= partition_count
                and all(partition.leader_id >= 0 for partition in image.partitions.values())
            )

        await self._until(topic, is_there, timeout_ms)

    async def until_gone(self, topic: str, timeout_ms: int) -> None:
        await self._until(topic, lambda: topic not in self._image.topics, timeout_ms)

    async def until(self, holds: Callable[[], bool], timeout_ms: int) -> None:
        """For what nobody tells of: asked again and again, less often the longer it takes."""
        deadline_ms, pause_ms = self._host.elapsed_ms() + timeout_ms, float(ASK_AGAIN_MS)
        while not holds() and self._host.elapsed_ms() < deadline_ms:
            pause: Answer[None] = Answer()
            self._host.call_later(pause_ms, partial(_deliver, pause))
            pause_ms = min(1.1 * pause_ms, ASK_AGAIN_MS_MAX)
            await pause

    async def _until(self, topic: str, holds: Callable[[], bool], timeout_ms: int) -> None:
        if holds():
            return
        answer: Answer[None] = Answer()
        self._waiting.setdefault(topic, []).append((holds, answer))
        timer = self._host.call_later(timeout_ms, lambda: _deliver(answer))
        await answer
        timer.cancel()

    def _changed(self, topic: str) -> None:
        waiting = self._waiting.pop(topic, [])
        still = [(holds, answer) for holds, answer in waiting if not answer.is_ready and not holds()]
        if still:
            self._waiting[topic] = still
        for holds, answer in waiting:
            if not answer.is_ready and holds():
                self._host.call_soon(partial(_deliver, answer))


def _deliver(answer: Answer[None]) -> None:
    if not answer.is_ready:
        answer.deliver(None)
