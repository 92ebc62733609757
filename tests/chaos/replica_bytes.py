"""Whether the replicas of a partition are the same, byte for byte, up to the high watermark.

Their files are read as they lie there. Segments may roll at different places, so what is compared is batch after batch
of all of them together; a batch that begins below the high watermark counts.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from struct import unpack_from
from typing import NamedTuple

from strandline.model.partitions import TopicPartition

HEAD_BYTES = 12  # base offset and length


class ReplicaBytes(NamedTuple):
    bytes_compared: int
    batches: int
    end_offset: int  # of the last batch below the high watermark, as its first offset
    digest: str


def below_high_watermark(folder: str, high_watermark: int) -> ReplicaBytes:
    digest, size, batches, last = hashlib.sha256(), 0, 0, -1
    for batch in _batches(folder):
        base_offset = unpack_from(">q", batch)[0]
        if base_offset >= high_watermark:
            break
        digest.update(batch)
        size, batches, last = size + len(batch), batches + 1, base_offset
    return ReplicaBytes(size, batches, last, digest.hexdigest())


def differences(
    data_directories: Mapping[int, Sequence[str]],
    high_watermarks: Mapping[TopicPartition, int],
    in_sync: Mapping[TopicPartition, Collection[int]],
) -> tuple[list[str], int]:
    """A sentence for each partition whose replicas differ, and how many bytes were compared.

    `data_directories` are those of each broker, and a replica lies in one of them. Of brokers that have a replica no
    longer, something may be left.
    """
    found, compared = [], 0
    for name, high_watermark in sorted(high_watermarks.items()):
        replicas = {
            broker_id: below_high_watermark(_folder(data_directories[broker_id], str(name)), high_watermark)
            for broker_id in in_sync[name]
        }
        compared += sum(replica.bytes_compared for replica in replicas.values())
        if len(set(replicas.values())) != 1:
            found.append(f"{name} below {high_watermark}: {replicas}")
    return found, compared


def _folder(directories: Sequence[str], name: str) -> str:
    """Where there is none, the replica is empty, which is a difference too."""
    places = [f"{directory}/{name}" for directory in directories]
    return next((place for place in places if os.path.isdir(place)), places[0])


def _batches(folder: str) -> Iterator[bytes]:
    for path in sorted(glob.glob(f"{glob.escape(folder)}/*.log")):
        with open(path, "rb") as file:
            while len(head := file.read(HEAD_BYTES)) == HEAD_BYTES:
                yield head + file.read(unpack_from(">i", head, 8)[0])
