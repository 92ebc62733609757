"""Bit rot where a correct log must notice it: above the recovery point, after power loss, in what recovery reads anew.

One bit of a record batch, of what its length and its checksum cover: recovery ends the log before it, and the replica
fetches the rest again. The base offset and the leader epoch of a batch no checksum covers (a leader writes them into
what a client has made), and below the recovery point nobody looks before somebody reads: bits stay as they are there.
Or one bit of an index: recovery makes it anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from strandline.log import names
from strandline.log.checkpoints import RECOVERY_POINT_CHECKPOINT, read_offsets
from strandline.log.clean_shutdown import CLEAN_SHUTDOWN_MARKER
from strandline.log.filesystem import read_whole
from strandline.model.failures import CorruptData
from strandline.model.partitions import parse_partition_folder
from strandline.records.batch import LENGTH_END, OFFSET_AND_LENGTH
from strandline.records.heads import verified_head_of
from strandline.simulation.disk import SimulatedDisk

OFFSET_BYTES = 8
EPOCH = range(12, 16)
INDEX_SHARE = 0.3
INDEX_BYTES_MAX = 128  # of an index with room for more entries than it has


class Place(NamedTuple):
    path: str
    positions: list[int]


def rot_one_bit(disk: SimulatedDisk, data: str, chance: Random) -> str | None:
    """Says which. None: the next start will read nothing anew."""
    if disk.exists(f"{data}/{CLEAN_SHUTDOWN_MARKER}"):
        return None
    batches, indexes = list[Place](), list[Place]()
    for directory, recovery_point in _recovery_points(disk, data):
        for path in _unflushed(disk, directory, recovery_point):
            if path.endswith(names.LOG):
                batches += _batches(disk, path, recovery_point)
            elif size := disk.size(path):
                indexes.append(Place(path, list(range(min(size, INDEX_BYTES_MAX)))))
    places = indexes if indexes and (not batches or chance.random() < INDEX_SHARE) else batches
    if not places:
        return None
    place = chance.choice(places)
    position, bit = chance.choice(place.positions), chance.randrange(8)
    disk.flip_bit(place.path, position, bit)
    return f"bit {bit} of byte {position} of {place.path}"


def _recovery_points(disk: SimulatedDisk, data: str) -> Iterator[tuple[str, int]]:
    """By folder of a partition."""
    try:
        known = read_offsets(disk, f"{data}/{RECOVERY_POINT_CHECKPOINT}")
    except CorruptData:
        known = {}  # so recovery begins with the first record, too
    for folder in disk.names(data):
        partition = parse_partition_folder(folder)
        if partition is not None and disk.is_directory(f"{data}/{folder}"):
            yield f"{data}/{folder}", known.get(partition, 0)


def _unflushed(disk: SimulatedDisk, directory: str, recovery_point: int) -> list[str]:
    """Files of the segment that would hold the recovery point, and of all after it."""
    files = [(name, parsed) for name in disk.names(directory) if (parsed := names.parse_offset_name(name))]
    bases = [base for _, (base, suffix) in files if suffix == names.LOG]
    first = max((base for base in bases if base <= recovery_point), default=0)
    return [
        f"{directory}/{name}"
        for name, (base, suffix) in files
        if suffix in names.SEGMENT_SUFFIXES and base >= first and base in bases
    ]


def _batches(disk: SimulatedDisk, path: str, recovery_point: int) -> Iterator[Place]:
    """Those that are sound, up to the first that is not: recovery will end the log there. One that lies behind a gap
    which begins below the recovery point it would keep."""
    data, begin = read_whole(disk, path), 0
    parsed = names.parse_offset_name(path.rpartition("/")[2])
    next_offset = 0 if parsed is None else parsed[0]
    while begin + LENGTH_END <= len(data):
        _, length = OFFSET_AND_LENGTH.unpack_from(data, begin)
        end = begin + LENGTH_END + length
        try:
            head = verified_head_of(data[begin:end])
        except CorruptData:
            return
        is_cut, next_offset = next_offset >= recovery_point, head.next_offset
        if is_cut:
            skipped = range(begin + EPOCH.start, begin + EPOCH.stop)
            yield Place(path, [at for at in range(begin + OFFSET_BYTES, end) if at not in skipped])
        begin = end
