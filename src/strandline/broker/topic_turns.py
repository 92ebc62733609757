"""One change of a topic at a time: it is being created, or grows, or goes. The others wait, or are told."""

from __future__ import annotations

from collections.abc import Iterable

from strandline.metadata.answer import Answer
from strandline.model.failures import check


class TopicTurns:
    def __init__(self) -> None:
        self._taken: dict[str, Answer[None]] = {}

    def __contains__(self, topic: str) -> bool:
        """Whether somebody is at it."""
        return topic in self._taken

    @property
    def is_idle(self) -> bool:
        return not self._taken

    def names(self) -> Iterable[str]:
        return self._taken

    def take(self, topic: str) -> None:
        check(topic not in self._taken, f"two change {topic} at a time")
        self._taken[topic] = Answer()

    async def wait_for(self, topic: str) -> None:
        """Until nobody is at it."""
        while topic in self._taken:
            await self._taken[topic]

    async def wait_and_take(self, topics: Iterable[str]) -> None:
        """In the order of their names, or two that want the same could wait for each other."""
        for topic in sorted(set(topics)):
            await self.wait_for(topic)
            self.take(topic)

    def give_back(self, topics: Iterable[str]) -> None:
        for topic in set(topics):
            self._taken.pop(topic).deliver(None)
