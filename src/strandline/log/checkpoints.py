"""Kafka's text checkpoints: a version line, a count line, then one line for each entry (SPEC L8).

    recovery-point-offset-checkpoint    up to where each partition is known to be on the disk
    replication-offset-checkpoint       each partition's high watermark
    log-start-offset-checkpoint         log starts that DeleteRecords moved inside a segment
    cleaner-offset-checkpoint           up to where each partition is compacted
        0
        2
        orders 0 1042
        orders 1 977

    leader-epoch-checkpoint             in each partition's folder: epoch, offset of its first record
        0
        1
        3 1000

Kafka creates these files empty, so an empty file means no entries. A file that was written ends its last
line; without that end a number may have lost digits, so the file counts as damaged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from strandline.log.filesystem import FileSystem, read_whole, replace_durably
from strandline.log.leader_epochs import LeaderEpoch
from strandline.model.failures import CorruptData
from strandline.model.partitions import TopicPartition

RECOVERY_POINT_CHECKPOINT = "recovery-point-offset-checkpoint"
HIGH_WATERMARK_CHECKPOINT = "replication-offset-checkpoint"
LOG_START_CHECKPOINT = "log-start-offset-checkpoint"
CLEANER_CHECKPOINT = "cleaner-offset-checkpoint"

VERSION = "0"
WHOLE_NUMBER = re.compile(r"[0-9]{1,19}")
INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1


def encode_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """Sorted, so that equal offsets are equal bytes; to Kafka the order is all the same."""
    return _encode(f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(offsets.items()))


def decode_offsets(data: bytes) -> dict[TopicPartition, int]:
    offsets: dict[TopicPartition, int] = {}
    for line in _entry_lines(data):
        topic, partition, offset = _words(line, 3)
        offsets[TopicPartition(topic, _number(partition, INT_MAX, line))] = _number(offset, LONG_MAX, line)
    return offsets


def encode_leader_epochs(entries: Iterable[tuple[int, int]]) -> bytes:
    return _encode(f"{epoch} {start_offset}" for epoch, start_offset in entries)


def decode_leader_epochs(data: bytes) -> list[LeaderEpoch]:
    """The entries as they stand; `LeaderEpochs.from_entries` judges their order."""
    entries = []
    for line in _entry_lines(data):
        epoch, start_offset = _words(line, 2)
        entries.append(LeaderEpoch(_number(epoch, INT_MAX, line), _number(start_offset, LONG_MAX, line)))
    return entries


def read_offsets(filesystem: FileSystem, path: str) -> dict[TopicPartition, int]:
    """Empty when there is no such file."""
    return decode_offsets(read_whole(filesystem, path)) if filesystem.exists(path) else {}


def write_offsets(filesystem: FileSystem, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    replace_durably(filesystem, path, encode_offsets(offsets))


def read_leader_epochs(filesystem: FileSystem, path: str) -> list[LeaderEpoch]:
    """Empty when there is no such file."""
    return decode_leader_epochs(read_whole(filesystem, path)) if filesystem.exists(path) else []


def write_leader_epochs(filesystem: FileSystem, path: str, entries: Iterable[tuple[int, int]]) -> None:
    replace_durably(filesystem, path, encode_leader_epochs(entries))


def _encode(lines: Iterable[str]) -> bytes:
    entries = list(lines)
    return "".join(f"{line}\n" for line in (VERSION, str(len(entries)), *entries)).encode()


def _entry_lines(data: bytes) -> list[str]:
    if not data:
        return []
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise CorruptData("the checkpoint is not text") from None
    version, *rest = text.splitlines()
    if version != VERSION:
        raise CorruptData(f"the checkpoint's version is {version[:80]!r} and not {VERSION}")
    if not rest or not text.endswith("\n"):
        raise CorruptData("the checkpoint is cut short")
    count = _number(rest[0], INT_MAX, rest[0])
    if count != len(rest) - 1:
        raise CorruptData(f"the checkpoint says {count} entries and has {len(rest) - 1}")
    return rest[1:]


def _words(line: str, count: int) -> list[str]:
    words = line.split()
    if len(words) != count:
        raise CorruptData(f"the checkpoint's line {line[:80]!r} does not have {count} words")
    return words


def _number(word: str, largest: int, line: str) -> int:
    if not WHOLE_NUMBER.fullmatch(word) or int(word) > largest:
        raise CorruptData(f"the checkpoint's line {line[:80]!r} does not have a number where one is due")
    return int(word)
