"""A small log with everything in it: several segments, leader epochs, producers, open, committed and aborted
transactions, every codec, timestamps that stand still and run back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from strandline.log.filesystem import FileSystem
from strandline.log.log import Log
from strandline.log.log_writer import Appended
from strandline.log.recovery import open_log
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.builder import build_batch
from strandline.records.compression import Codec
from strandline.records.control import build_marker
from strandline.records.record import Record
from strandline.simulation.disk import SimulatedDisk

PARTITION = TopicPartition("orders", 0)
FOLDER = "/data/orders-0"
NOW_MS = 1_000_000
SETTINGS = LogSettings(segment_bytes=620, index_interval_bytes=100, segment_index_bytes=240)

Image = dict[str, bytes]


class Step(NamedTuple):
    """A batch as it comes, and who was leader then."""

    batch: bytes
    leader_epoch: int
    from_client: bool = True


def plain(*timestamps: int, codec: Codec = Codec.NONE, value: bytes = b"value") -> bytes:
    return bytes(build_batch(_records(timestamps, value), codec=codec))


def _records(timestamps: tuple[int, ...], value: bytes) -> list[Record]:
    return [Record(offset, timestamp, b"key", value) for offset, timestamp in enumerate(timestamps)]


def idempotent(producer_id: int, sequence: int, *timestamps: int, epoch: int = 0) -> bytes:
    return bytes(
        build_batch(
            _records(timestamps, b"once"), producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
        )
    )


def transactional(producer_id: int, sequence: int, *timestamps: int, codec: Codec = Codec.NONE) -> bytes:
    return bytes(
        build_batch(
            _records(timestamps, b"perhaps"),
            codec=codec,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=True,
        )
    )


def marker(producer_id: int, timestamp: int, *, is_commit: bool, coordinator_epoch: int = 7) -> bytes:
    return bytes(
        build_marker(
            producer_id=producer_id,
            producer_epoch=0,
            is_commit=is_commit,
            coordinator_epoch=coordinator_epoch,
            timestamp=timestamp,
        )
    )


STEPS = [
    Step(plain(100, 101), 0),
    Step(idempotent(10, 0, 105, 104), 0),
    Step(transactional(20, 0, 103), 0),
    Step(plain(110, codec=Codec.GZIP), 0),
    Step(transactional(21, 0, 110, 111, 112), 0),
    Step(marker(20, 113, is_commit=False), 0, from_client=False),
    Step(idempotent(10, 2, 90), 2),
    Step(plain(120, 121, codec=Codec.LZ4), 2),
    Step(marker(21, 122, is_commit=True), 2, from_client=False),
    Step(transactional(20, 1, 123, codec=Codec.ZSTD), 2),
    Step(transactional(22, 0, 123), 2),
    Step(plain(80, value=b"late" * 20), 2),
    Step(marker(22, 130, is_commit=False), 3, from_client=False),
    Step(idempotent(11, 0, 131, epoch=4), 3),
    Step(plain(131, 131, 131, codec=Codec.SNAPPY), 3),
    Step(transactional(23, 0, 140), 3),
    Step(marker(20, 141, is_commit=False), 3, from_client=False),
    Step(idempotent(10, 3, 142, 143), 5),
    Step(plain(139), 5),
    Step(marker(23, 150, is_commit=False, coordinator_epoch=8), 5, from_client=False),
    Step(transactional(20, 2, 151), 5),
    Step(plain(152), 5),
    Step(marker(20, 153, is_commit=False, coordinator_epoch=8), 6, from_client=False),
    Step(idempotent(10, 5, 149, 160), 6),
    Step(transactional(23, 1, 155, 156, codec=Codec.LZ4), 6),
]


def open_sample(
    filesystem: FileSystem,
    *,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    is_clean: bool = False,
    findings: list[str] | None = None,
    settings: LogSettings = SETTINGS,
) -> Log:
    return open_log(
        filesystem,
        FOLDER,
        PARTITION,
        settings,
        now_ms=NOW_MS,
        recovery_point=recovery_point,
        log_start_offset=log_start_offset,
        is_clean=is_clean,
        findings=findings,
    )


def append(log: Log, step: Step) -> Appended:
    (outcome,) = log.append(
        [bytearray(step.batch)], leader_epoch=step.leader_epoch, now_ms=NOW_MS, from_client=step.from_client
    )
    assert isinstance(outcome, Appended), outcome
    return outcome


def write_sample(filesystem: FileSystem, steps: list[Step] = STEPS) -> Log:
    log = open_sample(filesystem)
    for step in steps:
        append(log, step)
    return log


def files_in(disk: SimulatedDisk, folder: str = FOLDER) -> Image:
    disk.observe_mappings()
    image: Image = {}
    for name, size_bytes in disk.sizes(folder).items():
        file = disk.open(f"{folder}/{name}", writable=False)
        image[name] = file.read(0, size_bytes)
        file.close()
    return image


def disk_with_folder() -> SimulatedDisk:
    """As a log directory leaves it: the partition's folder has a durable name."""
    disk = SimulatedDisk()
    disk.make_directories(FOLDER)
    disk.sync_directory("/data")
    disk.sync_directory("/")
    return disk


def disk_with(image: Mapping[str, bytes], folder: str = FOLDER) -> SimulatedDisk:
    disk = SimulatedDisk()
    disk.make_directories(folder)
    for name, data in image.items():
        put_file(disk, f"{folder}/{name}", data)
    return disk


def put_file(disk: SimulatedDisk, path: str, data: bytes) -> None:
    file = disk.open(path, create=True)
    file.truncate(0)
    file.append([data])
    file.sync()
    file.close()
    disk.sync_directory(path.rpartition("/")[0])


def without(image: Image, *names: str) -> Image:
    return {name: data for name, data in image.items() if name not in names}
