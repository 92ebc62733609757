"""What a PATH on the command line stands for: a file, a partition's folder, or a data directory full of them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from enum import Enum, auto
from struct import Struct

from strandline.cli.output import CannotRead
from strandline.log import checkpoints, names
from strandline.log.clean_shutdown import CLEAN_SHUTDOWN_MARKER
from strandline.log.filesystem import RealFileSystem
from strandline.log.inspection import METADATA_SNAPSHOT_NAME
from strandline.log.meta_properties import META_PROPERTIES
from strandline.model.lazy_dataclass import dataclass
from strandline.model.partitions import FUTURE_FOLDER, parse_partition_folder

BOOTSTRAP_SNAPSHOT = "bootstrap.checkpoint"
OFFSET_CHECKPOINTS = (
    checkpoints.RECOVERY_POINT_CHECKPOINT,
    checkpoints.HIGH_WATERMARK_CHECKPOINT,
    checkpoints.LOG_START_CHECKPOINT,
    checkpoints.CLEANER_CHECKPOINT,
)
PARTITION_FILES = (names.LEADER_EPOCH_CHECKPOINT, names.PARTITION_METADATA)
DIRECTORY_FILES = (META_PROPERTIES, CLEAN_SHUTDOWN_MARKER, *OFFSET_CHECKPOINTS)

FLOCK = Struct("hhqqi4x")  # struct flock of 64-bit Linux: type, whence, start, length, process

PARTITIONS_TOLD_MAX = 20

filesystem = RealFileSystem()


class Kind(Enum):
    LOG = auto()
    OFFSET_INDEX = auto()
    TIME_INDEX = auto()
    ABORTED_INDEX = auto()
    PRODUCER_SNAPSHOT = auto()
    METADATA_SNAPSHOT = auto()  # KRaft's: batches, as in a log
    LEADER_EPOCHS = auto()
    OFFSETS = auto()
    META_PROPERTIES = auto()
    PARTITION_METADATA = auto()
    CLEAN_SHUTDOWN = auto()


BY_SUFFIX = {
    names.LOG: Kind.LOG,
    names.OFFSET_INDEX: Kind.OFFSET_INDEX,
    names.TIME_INDEX: Kind.TIME_INDEX,
    names.ABORTED_INDEX: Kind.ABORTED_INDEX,
    names.SNAPSHOT: Kind.PRODUCER_SNAPSHOT,
}
SEGMENT_KINDS = (Kind.LOG, Kind.OFFSET_INDEX, Kind.TIME_INDEX, Kind.ABORTED_INDEX)
BY_NAME = {
    names.LEADER_EPOCH_CHECKPOINT: Kind.LEADER_EPOCHS,
    names.PARTITION_METADATA: Kind.PARTITION_METADATA,
    META_PROPERTIES: Kind.META_PROPERTIES,
    CLEAN_SHUTDOWN_MARKER: Kind.CLEAN_SHUTDOWN,
    **dict.fromkeys(OFFSET_CHECKPOINTS, Kind.OFFSETS),
}


def kind_of(name: str) -> Kind | None:
    """By the name alone; `.deleted`, `.cleaned` and `.swap` files are what they were or will be."""
    for leftover in (names.DELETED, names.CLEANED, names.SWAP):
        name = name.removesuffix(leftover)
    parsed = names.parse_offset_name(name)
    if parsed is not None:
        return BY_SUFFIX.get(parsed[1])
    if name == BOOTSTRAP_SNAPSHOT or METADATA_SNAPSHOT_NAME.fullmatch(name):
        return Kind.METADATA_SNAPSHOT
    return BY_NAME.get(name)


def base_offset_of(path: str) -> int:
    parsed = names.parse_offset_name(os.path.basename(path))
    assert parsed is not None, path
    return parsed[0]


def sibling(path: str, suffix: str) -> str:
    """The file of the same segment with another suffix; it has the same leftover suffix, if any."""
    name = os.path.basename(path)
    leftover = next((each for each in (names.DELETED, names.CLEANED, names.SWAP) if name.endswith(each)), "")
    return os.path.join(os.path.dirname(path), names.offset_name(base_offset_of(path), suffix) + leftover)


@dataclass(frozen=True, slots=True)
class Target:
    """One PATH, resolved: the files named or found directly, and the partition folders."""

    path: str
    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    is_directory: bool = False  # a data directory


def resolve(path: str) -> Target:
    if not filesystem.exists(path):
        raise CannotRead(f"{path}: there is no such file or folder; check the path")
    if not filesystem.is_directory(path):
        if kind_of(os.path.basename(path)) is None:
            raise CannotRead(
                f"{path} is not a file of a log: expected 20 digits and .log, .index, .timeindex, .txnindex or"
                " .snapshot, or a checkpoint, meta.properties or partition.metadata"
            )
        return Target(path, files=(path,))
    found = filesystem.names(path)
    if is_partition_folder(found):
        return Target(path, folders=(path,))
    files = tuple(os.path.join(path, name) for name in found if name in DIRECTORY_FILES or _is_metadata(name))
    folders = tuple(os.path.join(path, name) for name in found if _holds_partition(path, name))
    if not files and not folders:
        raise CannotRead(
            f"{path} is neither a partition's folder nor a data directory: it has no segments, no folders named"
            " <topic>-<partition> and no meta.properties; give the path that log.dirs names"
        )
    return Target(path, files=files, folders=folders, is_directory=True)


def is_partition_folder(found: list[str]) -> bool:
    return any(name in PARTITION_FILES or names.parse_offset_name(name) is not None for name in found)


def _is_metadata(name: str) -> bool:
    return kind_of(name) is Kind.METADATA_SNAPSHOT


def _holds_partition(path: str, name: str) -> bool:
    is_named_so = parse_partition_folder(name) is not None or FUTURE_FOLDER.fullmatch(name) is not None
    return is_named_so and filesystem.is_directory(os.path.join(path, name))


def files_of(target: Target) -> Iterator[str]:
    """Every file we know how to read, those of a folder in the order of their names."""
    yield from target.files
    for folder in target.folders:
        yield from (os.path.join(folder, name) for name in filesystem.names(folder) if kind_of(name) is not None)


def broker_holds(directory: str) -> bool:
    """Whether a broker, ours or Kafka's, has locked the data directory. Asks, and takes no lock itself."""
    path = os.path.join(directory, names.LOCK)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        answer = fcntl.fcntl(descriptor, fcntl.F_GETLK, FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    except OSError:
        return False  # a file system without locks has no broker on it either
    finally:
        os.close(descriptor)
    return bool(FLOCK.unpack(answer)[0] != fcntl.F_UNLCK)


def one_folder(path: str) -> str:
    """The single partition that PATH means, for commands that look into one log."""
    target = resolve(path)
    if target.files and not target.is_directory:
        return os.path.dirname(path) or "."
    if len(target.folders) == 1:
        return target.folders[0]
    if not target.folders:
        raise CannotRead(f"{path} holds no partition; give the folder of one")
    found = ", ".join(os.path.basename(folder) for folder in target.folders[:PARTITIONS_TOLD_MAX])
    left_out = len(target.folders) - PARTITIONS_TOLD_MAX
    more = f" and {left_out} more" if left_out > 0 else ""
    raise CannotRead(
        f"{path} holds {len(target.folders)} partitions: {found}{more}; give the path of one, as in {target.folders[0]}"
    )
