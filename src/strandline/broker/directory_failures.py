"""What happens when a data directory fails: its partitions say so, the others go on (SPEC L10).

The directory itself refuses everything from then on, so its partitions answer KAFKA_STORAGE_ERROR. Here the failure is
told once, to whoever reads the log, to the clients that ask for metadata, and to the cluster. Without a directory a
broker is of no use: it stops.

Bytes that have rotted are no failure of a directory. Who asks for them is refused, and the place is told here once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from strandline.broker.cluster_image import ClusterImage
from strandline.broker.partitions import Partitions
from strandline.log.log import Log
from strandline.log.log_directories import LogDirectories
from strandline.log.log_directory import LogDirectory

logger = logging.getLogger(__name__)


class DirectoryFailures:
    def __init__(
        self,
        broker_id: int,
        directories: LogDirectories,
        partitions: Partitions,
        image: ClusterImage,
        all_failed: Callable[[str], object],
    ) -> None:
        self._broker_id = broker_id
        self._directories = directories
        self._partitions = partitions
        self._image = image
        self._all_failed = all_failed
        self.when_failed: Callable[[LogDirectory], object] = lambda _: None
        for directory in directories.directories:
            directory.has_failed = self._failed
            directory.rot_found = _tell_of_rot
            for sentence in directory.findings:
                logger.warning("%s: %s", directory.path, sentence)
            if not directory.is_usable():
                logger.error("%s cannot be used: %s; its partitions are offline", directory.path, directory.failure)

    def _failed(self, directory: LogDirectory) -> None:
        logger.error(
            "%s has failed: %s; its %d partitions are offline until the next start",
            directory.path, directory.failure, len(directory.logs),
        )  # fmt: skip
        for name in directory.logs:
            partition = self._partitions.find(name)
            if partition is not None:
                partition.has_failed()
            topic = self._image.topics.get(name.topic)
            if topic is not None and name.partition in topic.partitions:
                shown = topic.partitions[name.partition]
                topic.partitions[name.partition] = replace(shown, offline_replicas=(self._broker_id,))
        self.when_failed(directory)
        if not self._directories.online():
            self._all_failed(f"every data directory has failed, the last of them {directory.path}: {directory.failure}")


def _tell_of_rot(log: Log, what: str) -> None:
    logger.error(
        "%s; who reads there is refused. For all that is damaged: strandline log check %s", what, log.directory
    )
