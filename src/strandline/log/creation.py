"""New partitions, cut so that the slow part can run in a worker thread.

`LogDirectory.begin_create` (owner's thread) → `Creation.run` (any thread; nobody else knows of these logs yet) →
`LogDirectory.end_create` (owner's thread).

Many at once share their syncs: everything is written before anything is synced, so that a file system with a journal
writes it out once and not for every partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from strandline.log.filesystem import FileSystem, sync_path, write_aside
from strandline.log.log import Log
from strandline.log.names import PARTITION_METADATA
from strandline.log.partition_metadata import encode_partition_metadata
from strandline.log.recovery import open_log
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings


class Creation:
    """Empty logs in the making. When `run` has returned, their folders' names are durable."""

    def __init__(
        self,
        filesystem: FileSystem,
        directory: str,
        settings: Mapping[TopicPartition, LogSettings],
        *,
        now_ms: int,
        topic_id: UUID | None,
        producer_id_expiration_ms: int,
    ) -> None:
        self._filesystem = filesystem
        self._directory = directory
        self._settings = settings
        self._now_ms = now_ms
        self._producer_id_expiration_ms = producer_id_expiration_ms
        self.topic_id = topic_id
        self.logs: list[Log] = []

    def run(self) -> None:
        self.logs = [self._open(partition) for partition in self._settings]
        if self.topic_id is not None:
            self._write_metadata(encode_partition_metadata(self.topic_id))
        for log in self.logs:
            self._filesystem.sync_directory(log.directory)
        self._filesystem.sync_directory(self._directory)

    def _open(self, partition: TopicPartition) -> Log:
        folder = f"{self._directory}/{partition}"
        return open_log(
            self._filesystem,
            folder,
            partition,
            self._settings[partition],
            now_ms=self._now_ms,
            is_clean=True,
            producer_id_expiration_ms=self._producer_id_expiration_ms,
        )

    def _write_metadata(self, metadata: bytes) -> None:
        paths = [f"{log.directory}/{PARTITION_METADATA}" for log in self.logs]
        aside = [write_aside(self._filesystem, path, metadata) for path in paths]
        for path in aside:
            sync_path(self._filesystem, path)
        for source, target in zip(aside, paths, strict=True):
            self._filesystem.rename(source, target)
