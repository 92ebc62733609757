"""Names of the files in a partition folder, and of the lock of the data directory around it.

    00000000000000012768.log          record batches; the number is the segment's base offset, in 20 digits
    00000000000000012768.index        offset index        00000000000000012768.timeindex   time index
    00000000000000012768.txnindex     aborted transactions, if there were any
    00000000000000012768.snapshot     producer state just before that offset
    leader-epoch-checkpoint, partition.metadata

A second suffix says that a file is on its way: `.cleaned` is being written by compaction or a split, `.swap` is
complete and about to replace what it was made from, `.deleted` waits to be removed. `recovery` resolves all three.
"""

from __future__ import annotations

LOG = ".log"
OFFSET_INDEX = ".index"
TIME_INDEX = ".timeindex"
ABORTED_INDEX = ".txnindex"
SNAPSHOT = ".snapshot"
SEGMENT_SUFFIXES = (LOG, OFFSET_INDEX, TIME_INDEX, ABORTED_INDEX)
INDEX_SUFFIXES = (OFFSET_INDEX, TIME_INDEX, ABORTED_INDEX)

CLEANED = ".cleaned"
SWAP = ".swap"
DELETED = ".deleted"

LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
LOCK = ".lock"

OFFSET_DIGITS = 20
OFFSET_MAX = 2**63 - 1  # twenty digits have room for more


def offset_name(offset: int, suffix: str) -> str:
    return f"{offset:020d}{suffix}"


def parse_offset_name(name: str) -> tuple[int, str] | None:
    """The offset and everything after its twenty digits, or None where the name has another form."""
    digits, suffix = name[:OFFSET_DIGITS], name[OFFSET_DIGITS:]
    if len(digits) == OFFSET_DIGITS and digits.isascii() and digits.isdigit() and suffix.startswith("."):
        return (int(digits), suffix) if int(digits) <= OFFSET_MAX else None
    return None
