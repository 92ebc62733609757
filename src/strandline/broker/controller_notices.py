"""What people and brokers leave for the controller in the store: requests under `/admin`, and the notices of leaders
whose ISR has changed and of brokers that have lost a log directory."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from strandline.broker.store_reads import StoreReads
from strandline.controller.events import (
    DeletionRequestsSeen,
    ElectionRequestSeen,
    Event,
    IsrChangesSeen,
    LogDirFailuresSeen,
    MoveRequestsSeen,
)
from strandline.metadata import paths
from strandline.metadata.store import WatchEvent
from strandline.metadata.values import decode_log_dir_event, decode_partitions, decode_reassignment
from strandline.model.failures import CorruptData
from strandline.model.partitions import TopicPartition

logger = logging.getLogger(__name__)

Value = TypeVar("Value")


class ControllerNotices:
    def __init__(self, reads: StoreReads, step: Callable[[Event], None]) -> None:
        self._reads = reads
        self._step = step

    def see_all(self) -> None:
        """But for deletions, of which a controller must know before it takes over."""
        for see in (self._see_moves, self._see_election, self._see_isr_changes, self._see_log_dir_failures):
            self._reads.begin(see())

    async def deletion_requests(self) -> frozenset[str]:
        return frozenset(await self._reads.names_in(paths.DELETE_TOPICS, self._deletions_changed))

    def _deletions_changed(self, _: WatchEvent) -> None:
        if self._reads.is_open:
            self._reads.begin(self.see_deletions())

    async def see_deletions(self) -> None:
        self._step(DeletionRequestsSeen(await self.deletion_requests()))

    async def _see_moves(self) -> None:
        node = await self._reads.node_or_watch(paths.REASSIGN_PARTITIONS, self._reads.watch(self._see_moves))
        if node is not None:
            self._step(MoveRequestsSeen(_readable(lambda: decode_reassignment(node.data), {})))

    async def _see_election(self) -> None:
        path = paths.PREFERRED_REPLICA_ELECTION
        node = await self._reads.node_or_watch(path, self._reads.watch(self._see_election))
        if node is not None:
            self._step(ElectionRequestSeen(_readable(lambda: decode_partitions(path, node.data), frozenset())))

    async def _see_isr_changes(self) -> None:
        path = paths.ISR_CHANGE_NOTIFICATION
        names = await self._reads.names_in(path, self._reads.watch(self._see_isr_changes))
        changed: set[TopicPartition] = set()
        for name in names:
            node = await self._reads.node(f"{path}/{name}")
            if node is not None:
                changed |= _readable(lambda node=node: decode_partitions(path, node.data), frozenset())  # type: ignore[misc]
        if names:
            self._step(IsrChangesSeen(frozenset(changed), names))

    async def _see_log_dir_failures(self) -> None:
        path = paths.LOG_DIR_EVENT_NOTIFICATION
        names = await self._reads.names_in(path, self._reads.watch(self._see_log_dir_failures))
        failed: set[int] = set()
        for name in names:
            node = await self._reads.node(f"{path}/{name}")
            if node is not None:
                failed |= _readable(lambda node=node: {decode_log_dir_event(node.data)}, set())  # type: ignore[misc]
        if names:
            self._step(LogDirFailuresSeen(frozenset(failed), names))


def _readable(decode: Callable[[], Value], otherwise: Value) -> Value:
    """What somebody wrote by hand may be nonsense, and must not stop the controller."""
    try:
        return decode()
    except CorruptData as damage:
        logger.error("ignored: %s", damage)
        return otherwise
