"""Two data directories on a simulated disk, partitions in them, and a broker's housekeeping without the broker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.broker.manual_host import ManualHost
from tests.broker.partition_alone import PartitionAlone

from strandline.broker.cluster_image import ClusterImage, PartitionImage, TopicImage
from strandline.broker.configuration import Configuration
from strandline.broker.directory_failures import DirectoryFailures
from strandline.broker.housekeeping.housekeeping import Housekeeping
from strandline.broker.partition import Partition
from strandline.broker.partitions import Partitions
from strandline.log.log_directories import LogDirectories
from strandline.log.log_writer import Appended
from strandline.model.partitions import TopicPartition
from strandline.records.builder import build_batch
from strandline.records.record import Record, read_records
from strandline.simulation.disk import SimulatedDisk

NOW_MS = 1_700_000_000_000
DIRECTORIES = ("/disks/one", "/disks/two")
SMALL_SEGMENTS = {"log.segment.bytes": "300", "log.index.interval.bytes": "100", "log.index.size.max.bytes": "240"}
HOUR_MS = 3_600_000


class HousekeepingScene:
    def __init__(
        self, *, disk: SimulatedDisk | None = None, directories: Sequence[str] = DIRECTORIES[:1], **settings: Any
    ) -> None:
        self.disk = disk or SimulatedDisk()
        self.host = ManualHost(NOW_MS)
        given = {name.replace("_", "."): str(value) for name, value in settings.items()}
        self.configuration = Configuration(SMALL_SEGMENTS | given)
        self.directories = LogDirectories.open(
            self.disk, directories, self.configuration.log_settings, now_ms=self.host.now_ms()
        )
        self.partitions = Partitions()
        self.image = ClusterImage("cluster")
        self.all_failed: list[str] = []
        DirectoryFailures(1, self.directories, self.partitions, self.image, self.all_failed.append)
        for directory in self.directories.directories:
            for name in directory.logs:
                self._add(name)
        self.housekeeping = Housekeeping(self.host, self.configuration, self.directories, self.partitions)
        self.housekeeping.start()

    def create(self, topic: str, **settings: Any) -> Partition:
        self.configuration.set_topic(topic, {name.replace("_", "."): str(value) for name, value in settings.items()})
        name = TopicPartition(topic, 0)
        self.directories.create(name, now_ms=self.host.now_ms(), topic_id=self.host.unique_id())
        return self._add(name)

    def _add(self, name: TopicPartition) -> Partition:
        log = self.directories.log_of(name)
        assert log is not None
        topic_id = self.host.unique_id()
        partition = PartitionAlone(name, topic_id.bytes, log)
        partition.lead(now_ms=self.host.now_ms())
        self.partitions.add(partition)
        topic = TopicImage(name.topic, topic_id)
        topic.partitions[0] = PartitionImage(1, 0, (1,), (1,))
        self.image.put_topic(topic)
        return partition

    def remove(self, partition: Partition) -> None:
        self.partitions.remove_topic(partition.name.topic)
        partition.stop()
        directory = self.directories.directory_of(partition.name)
        assert directory is not None
        directory.remove(partition.name, token=self.host.unique_id().hex, now_ms=self.host.now_ms())

    def stop(self) -> bool:
        """Whether it has stopped when everything that was under way has ended."""
        stopped: list[bool] = []
        self.housekeeping.stop(lambda: stopped.append(True))
        self.host.settle()
        return bool(stopped)

    def files(self, partition: Partition, ending: str = "") -> list[str]:
        return [name for name in self.disk.names(partition.log.directory) if name.endswith(ending)]

    def text(self, path: str) -> str:
        file = self.disk.open(path, writable=False)
        return file.read(0, file.size()).decode()


def write(partition: Partition, now_ms: int, *pairs: tuple[str, str], producer_id: int = -1) -> Appended:
    records = [Record(index, now_ms, key.encode(), value.encode()) for index, (key, value) in enumerate(pairs)]
    identity: dict[str, Any] = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0}
    (outcome,) = partition.append([build_batch(records, **(identity if producer_id >= 0 else {}))], now_ms)
    assert isinstance(outcome, Appended), outcome
    return outcome


def read_pairs(partition: Partition) -> list[tuple[int, str, str]]:
    """Every record there is: its offset, key and value."""
    found = []
    for segment in partition.log.segments.all():
        for _, batch in segment.batches():
            found += [
                (record.offset, bytes(record.key or b"").decode(), bytes(record.value or b"").decode())
                for record in read_records(batch)
            ]
    return found
