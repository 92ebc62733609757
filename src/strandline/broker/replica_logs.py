"""The logs of replicas as folders of data directories: claimed for a topic, made, set aside, deleted.

A folder is set aside where it is of no topic that we know: nobody uses it any more, and nobody deletes it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from contextlib import suppress
from uuid import UUID

from strandline.broker.host import Host
from strandline.broker.procedures import each_of, in_thread
from strandline.log.creation import LogCreation, NewPartition
from strandline.log.log_directories import LogDirectories
from strandline.log.log_directory import LogDirectory
from strandline.model.failures import StorageFailed
from strandline.model.partitions import TopicPartition

logger = logging.getLogger(__name__)


class ReplicaLogs:
    """A directory that fails has told, and goes offline with all that it has."""

    def __init__(self, directories: LogDirectories, host: Host) -> None:
        self._directories = directories
        self._host = host

    def claim(self, name: TopicPartition, topic_id: UUID) -> None:
        """A folder that is there is ours, unless it is of another topic that once had this name."""
        directory = self._directories.directory_of(name)
        if directory is None:
            return
        with suppress(StorageFailed):
            if not directory.claim(name, topic_id):
                directory.set_aside(name, token=self._host.unique_id().hex)
                logger.warning("the folder of %s was of another topic with this name, and is set aside", name)

    async def create(self, wanted: Sequence[NewPartition]) -> None:
        """In threads."""

        async def run(creation: LogCreation) -> None:
            await in_thread(self._host, creation.run)
            with suppress(StorageFailed):
                self._directories.end_create(creation)

        try:
            creations = self._directories.begin_create(wanted, now_ms=self._host.now_ms())
        except StorageFailed as failure:
            logger.error("no place for new replicas: %s", failure)
            return
        await each_of(run(creation) for creation in creations)

    def set_aside_all_but(self, named: Collection[TopicPartition]) -> None:
        for directory in self._directories.online():
            with suppress(StorageFailed):
                for name in [name for name in directory.logs if name not in named]:
                    directory.set_aside(name, token=self._host.unique_id().hex)
                    logger.warning("%s in %s is no replica of ours: set aside", name, directory.path)

    def delete(self, names: Sequence[TopicPartition]) -> list[TopicPartition]:
        """All of a directory with as few syncs as one takes. Gives those that are there still."""
        found: dict[LogDirectory, dict[TopicPartition, str]] = {}
        for name in names:
            directory = self._directories.directory_of(name)
            if directory is not None:
                found.setdefault(directory, {})[name] = self._host.unique_id().hex
        failed: list[TopicPartition] = []
        for directory, tokens in found.items():
            try:
                directory.remove_many(tokens, now_ms=self._host.now_ms())
            except StorageFailed:
                failed += tokens
        return failed
