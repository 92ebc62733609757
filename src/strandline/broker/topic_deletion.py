"""Topics go: from its mark in the store on, a topic is gone for everybody; what is left of it goes now, or at the next
start."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from strandline.broker.controlled_state import ControlledState
from strandline.broker.procedures import all_of, each_of
from strandline.broker.topic_opening import PARTITIONS_PER_WRITE
from strandline.broker.topic_turns import TopicTurns
from strandline.metadata import paths
from strandline.metadata.errors import StoreError
from strandline.metadata.operations import Delete, Operation
from strandline.model.failures import ErrorCode, Refused, StorageFailed
from strandline.model.partitions import TopicPartition


class TopicDeletion:
    def __init__(self, state: ControlledState, turns: TopicTurns) -> None:
        self._state = state
        self._turns = turns

    async def delete(self, topics: Iterable[str]) -> dict[str, Exception | None]:
        """Many at a time; the outcome of each."""
        names = list(topics)
        await self._turns.wait_and_take(names)
        try:
            outcomes: dict[str, Exception | None] = dict.fromkeys(names)
            outcomes |= zip(names, await all_of(self._mark(topic) for topic in names), strict=True)
            marked = [topic for topic, failure in outcomes.items() if failure is None]
            try:
                await self.finish(marked)
            except StoreError as failure:
                outcomes |= dict.fromkeys(marked, failure)
            return outcomes
        finally:
            self._turns.give_back(names)

    async def _mark(self, topic: str) -> None:
        if topic not in self._state.image.topics:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {topic!r}.")
        await self._state.session.create(paths.delete_topic_path(topic))

    async def finish(self, topics: Iterable[str]) -> None:
        """Everything of topics that are marked."""
        names = set(topics)
        for topic in names:
            self._state.image.remove_topic(topic)
            self._state.configuration.set_topic(topic, None)
            for partition in self._state.partitions.remove_topic(topic):
                partition.resign()
                self._state.leadership.resigned(partition)
        now_ms, host = self._state.host.now_ms(), self._state.host
        for directory in self._state.directories.online():
            removed = [name for name in directory.logs if name.topic in names]
            with suppress(StorageFailed):  # a folder that stays belongs to no topic, and is set aside by the next start
                directory.remove_many({name: host.unique_id().hex for name in removed}, now_ms=now_ms)
        await each_of(self._delete_nodes(topic) for topic in names)

    async def _delete_nodes(self, topic: str) -> None:
        session = self._state.session
        if await session.exists(paths.partitions_path(topic)) is not None:
            names = (await session.children(paths.partitions_path(topic))).names
            for start in range(0, len(names), PARTITIONS_PER_WRITE):
                operations: list[Operation] = []
                for name in names[start : start + PARTITIONS_PER_WRITE]:
                    partition = TopicPartition(topic, int(name))
                    operations.append(Delete(paths.partition_state_path(partition)))
                    operations.append(Delete(paths.partition_path(partition)))
                await session.multi(operations)
        ends = [paths.partitions_path(topic), paths.topic_path(topic)]
        ends.append(paths.config_path(paths.entity_path(paths.TOPIC_CONFIGS, topic)))
        there = [path for path in ends if await session.exists(path) is not None]
        await session.multi([*map(Delete, there), Delete(paths.delete_topic_path(topic))])
