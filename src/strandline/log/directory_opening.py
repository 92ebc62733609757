"""A data directory at the start of a process: what lies in it, and whether the stop before was a clean one.

The clean-shutdown marker is removed, durably, before anything else is touched: if this start does not come to its end,
the next one must not believe in the stop before it (KAFKA-15375).
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from uuid import UUID

from strandline.log.clean_shutdown import CLEAN_SHUTDOWN_MARKER
from strandline.log.filesystem import FileSystem, read_whole
from strandline.log.log import Log
from strandline.log.names import PARTITION_METADATA
from strandline.log.partition_metadata import decode_partition_metadata
from strandline.log.recovery import open_log
from strandline.model.failures import CorruptData
from strandline.model.partitions import DELETED_FOLDER, TopicPartition, parse_partition_folder
from strandline.model.settings import LogSettings

KRAFT_METADATA_TOPIC = "__cluster_metadata"  # Kafka's own quorum log, which lies among the partitions: not ours


class DirectoryOpening:
    def __init__(
        self, filesystem: FileSystem, path: str, findings: list[str], now_ms: int, producer_id_expiration_ms: int
    ) -> None:
        """What is found and mended is added to `findings`, in sentences."""
        self._filesystem = filesystem
        self._path = path
        self._findings = findings
        self._now_ms = now_ms
        self._producer_id_expiration_ms = producer_id_expiration_ms

    def take_clean_shutdown_marker(self) -> bool:
        path = f"{self._path}/{CLEAN_SHUTDOWN_MARKER}"
        if not self._filesystem.exists(path):
            return False
        self._filesystem.remove(path)
        self._filesystem.sync_directory(self._path)
        return True

    def partition_folders(self) -> Iterator[tuple[str, TopicPartition]]:
        """Those of removed partitions go on the way."""
        for name in self._filesystem.names(self._path):
            if not self._filesystem.is_directory(f"{self._path}/{name}"):
                continue
            if DELETED_FOLDER.fullmatch(name):
                self._filesystem.remove_tree(f"{self._path}/{name}")
                continue
            partition = parse_partition_folder(name)
            if partition is not None and partition.topic != KRAFT_METADATA_TOPIC:
                yield name, partition

    def open_log(
        self,
        folder: str,
        partition: TopicPartition,
        settings: LogSettings,
        recovery_point: int,
        log_start_offset: int,
        *,
        is_clean: bool,
    ) -> Log:
        found: list[str] = []
        try:
            log = open_log(
                self._filesystem,
                f"{self._path}/{folder}",
                partition,
                settings,
                now_ms=self._now_ms,
                recovery_point=recovery_point,
                log_start_offset=log_start_offset,
                is_clean=is_clean,
                producer_id_expiration_ms=self._producer_id_expiration_ms,
                findings=found,
            )
        except CorruptData as damage:  # nobody may begin an empty log in its place: it fails as a disk does
            raise OSError(errno.EIO, f"{folder} is too damaged to be opened: {damage}") from damage
        self._findings += [f"{folder}/{sentence}" for sentence in found]
        return log

    def topic_id(self, folder: str) -> UUID | None:
        path = f"{self._path}/{folder}/{PARTITION_METADATA}"
        if not self._filesystem.exists(path):
            return None
        try:
            return decode_partition_metadata(read_whole(self._filesystem, path))
        except CorruptData as error:
            self._findings.append(f"{folder}/{PARTITION_METADATA}: {error}; ignored")
            return None
