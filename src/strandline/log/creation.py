"""New partitions, many at a time, cut so that the slow part can run in a worker thread.

`LogDirectory.begin_create` (owner's thread) → `LogCreation.run` (any thread) → `LogDirectory.end_create` (owner's).

A folder made on its own costs eight syncs. Together they are written first and synced afterwards: what a file system
commits for the first of them, it has committed for the others too. What must be on the disk when a partition is there
is its folder's name and the id of its topic. The leader epoch can wait for the first flush of records, as the segment
does: until then there is nothing that it would explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from strandline.log.filesystem import FileSystem, sync_path, write_aside
from strandline.log.log import Log
from strandline.log.names import PARTITION_METADATA
from strandline.log.partition_metadata import encode_partition_metadata
from strandline.log.recovery import open_log
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings


class NewPartition(NamedTuple):
    partition: TopicPartition
    topic_id: UUID | None = None
    leader_epoch: int | None = None  # of who leads it from its first record on


class LogCreation:
    """Folders to make. `run` touches nothing else, so several may run at a time, in one directory too."""

    def __init__(
        self,
        filesystem: FileSystem,
        path: str,
        wanted: Sequence[tuple[NewPartition, LogSettings]],
        now_ms: int,
        producer_id_expiration_ms: int,
    ) -> None:
        """Use `LogDirectory.begin_create`."""
        self.path = path
        self.logs: list[Log] = []
        self.topic_ids = {new.partition: new.topic_id for new, _ in wanted if new.topic_id is not None}
        self.failure: OSError | None = None
        self._filesystem = filesystem
        self._wanted = wanted
        self._now_ms = now_ms
        self._producer_id_expiration_ms = producer_id_expiration_ms
        self._identities: list[tuple[str, str]] = []  # as they are written aside, and their places

    def run(self) -> None:
        try:
            for new, settings in self._wanted:
                self.logs.append(self._make(new, settings))
            self._sync()
        except OSError as error:
            self.failure = error

    def _make(self, new: NewPartition, settings: LogSettings) -> Log:
        folder = f"{self.path}/{new.partition}"
        log = open_log(
            self._filesystem,
            folder,
            new.partition,
            settings,
            now_ms=self._now_ms,
            is_clean=True,
            producer_id_expiration_ms=self._producer_id_expiration_ms,
        )
        if new.leader_epoch is not None:
            log.begin_with_epoch(new.leader_epoch)
        if new.topic_id is not None:
            place = f"{folder}/{PARTITION_METADATA}"
            aside = write_aside(self._filesystem, place, encode_partition_metadata(new.topic_id))
            self._identities.append((aside, place))
        return log

    def _sync(self) -> None:
        """Names last: a durable name whose bytes are not would outlive them as garbage."""
        for aside, _ in self._identities:
            sync_path(self._filesystem, aside)
        for aside, place in self._identities:
            self._filesystem.rename(aside, place)
        for log in self.logs:
            self._filesystem.sync_directory(log.directory)
        self._filesystem.sync_directory(self.path)
