"""Small logs for tests: batches as a client sends them, and simple ways to see what a log holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from strandline.log.filesystem import FileSystem, RealFileSystem, read_whole
from strandline.log.log import Log
from strandline.log.log_writer import Appended
from strandline.log.producer_entry import CachedBatch
from strandline.log.recovery import open_log
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.batch import BatchHead, split_batches
from strandline.records.builder import build_batch
from strandline.records.control import build_marker
from strandline.records.heads import head_of
from strandline.records.record import Record, read_records
from strandline.simulation.disk import SimulatedDisk

NOW = 1_700_000_000_000
PARTITION = TopicPartition("orders", 0)
OPENING = ("recovery_point", "log_start_offset", "is_clean", "findings", "producer_id_expiration_ms")


def make_log(
    directory: Path | str = "/orders-0",
    filesystem: FileSystem | None = None,
    *,
    partition: TopicPartition = PARTITION,
    now_ms: int = NOW,
    **options: Any,
) -> Log:
    """A log in a real folder, or on a disk in memory where only a name is given. Options are opening's or settings."""
    if filesystem is None:
        filesystem = RealFileSystem() if isinstance(directory, Path) else SimulatedDisk()
    if isinstance(filesystem, SimulatedDisk):
        options.setdefault("segment_index_bytes", 12_000)  # holes in files cost nothing on a real disk only
    opening = {name: options.pop(name) for name in OPENING if name in options}
    return open_log(filesystem, str(directory), partition, LogSettings(**options), now_ms=now_ms, **opening)


def batch_of(*values: str | bytes, timestamp: int = NOW, **options: Any) -> bytearray:
    """A batch as a client sends it: offsets from 0, each record a millisecond later than the one before."""
    return timed_batch([timestamp + index for index in range(len(values))], values, **options)


def timed_batch(timestamps: Sequence[int], values: Sequence[str | bytes] | None = None, **options: Any) -> bytearray:
    values = [f"value {timestamp}" for timestamp in timestamps] if values is None else values
    records = [
        Record(index, timestamp, b"key", value.encode() if isinstance(value, str) else value)
        for index, (timestamp, value) in enumerate(zip(timestamps, values, strict=True))
    ]
    return build_batch(records, **options)


def sized_batch(size_bytes: int, *, timestamp: int = NOW, **options: Any) -> bytearray:
    """One record, and exactly that many bytes. None has 126: a record of 64 bytes takes two to tell its length."""
    empty_bytes = len(build_batch([Record(0, timestamp, b"", b"")], **options))
    for key in (b"key", b"keys"):  # where a length takes one byte more, a size is skipped
        for value_bytes in range(max(0, size_bytes - empty_bytes - 12), size_bytes - empty_bytes + 1):
            batch = build_batch([Record(0, timestamp, key, b"x" * value_bytes)], **options)
            if len(batch) == size_bytes:
                return batch
    raise ValueError(f"no batch of one record has {size_bytes} bytes")


def numbered(
    base_sequence: int, count: int = 1, *, producer_id: int = 7, producer_epoch: int = 0, **options: Any
) -> bytearray:
    """A batch of an idempotent producer."""
    values = [f"{producer_id}/{base_sequence + index}" for index in range(count)]
    return batch_of(
        *values, producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=base_sequence, **options
    )


def marker_of(producer_id: int, *, is_commit: bool, producer_epoch: int = 0, coordinator_epoch: int = 0) -> bytearray:
    return build_marker(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_commit=is_commit,
        coordinator_epoch=coordinator_epoch,
        timestamp=NOW,
    )


def append(
    log: Log, *batches: bytearray, leader_epoch: int = 0, now_ms: int = NOW, from_client: bool = True
) -> list[Appended]:
    """Append batches that must all be taken."""
    outcomes = log.append(batches, leader_epoch=leader_epoch, now_ms=now_ms, from_client=from_client)
    taken = [outcome for outcome in outcomes if isinstance(outcome, Appended)]
    assert len(taken) == len(batches), outcomes
    return taken


def append_marker(log: Log, producer_id: int, *, is_commit: bool) -> None:
    append(log, marker_of(producer_id, is_commit=is_commit), from_client=False)


def refusal_of(log: Log, batch: bytes | bytearray | memoryview, *, now_ms: int = NOW, **options: Any) -> ErrorCode:
    """Why one batch is refused. That nothing changes is checked on the way."""
    before = picture_of(log)
    (outcome,) = log.append([batch], leader_epoch=0, now_ms=now_ms, **options)
    assert isinstance(outcome, Refused), outcome
    assert outcome.reason
    assert picture_of(log) == before
    return outcome.error_code


def killed(log: Log) -> SimulatedDisk:
    """The disk as the next process finds it."""
    assert isinstance(log.filesystem, SimulatedDisk)
    return log.filesystem.kill()


def picture_of(log: Log) -> dict[str, object]:
    """Everything a log is, as far as others can see."""
    return {
        "files": files_of(log),
        "offsets": (log.log_start_offset, log.recovery_point, log.log_end_offset),
        "epochs": log.epochs.entries(),
        "producers": producers_of(log),
        "first unstable": log.producers.first_unstable_offset,
        "map end": log.producers.map_end_offset,
    }


def files_of(log: Log) -> dict[str, bytes]:
    filesystem, directory = log.filesystem, log.directory
    return {name: read_whole(filesystem, f"{directory}/{name}") for name in filesystem.names(directory)}


def producers_of(log: Log) -> dict[int, tuple[int, tuple[CachedBatch, ...], int | None, int, int]]:
    return {
        entry.producer_id: (
            entry.producer_epoch,
            tuple(entry.batches),
            entry.current_transaction_first_offset,
            entry.coordinator_epoch,
            entry.last_timestamp,
        )
        for entry in log.producers.entries()
    }


def batches_in(log: Log) -> list[bytes]:
    return [bytes(batch) for segment in log.segments.all() for _, batch in segment.batches()]


def heads_in(log: Log) -> list[BatchHead]:
    return [head_of(batch) for batch in batches_in(log)]


def records_in(log: Log) -> list[Record]:
    return [record for batch in batches_in(log) for record in read_records(batch)]


def records_of(batches: Iterable[bytes]) -> list[Record]:
    return [record for batch in batches for record in read_records(batch)]


def offsets_read(log: Log, offset: int, max_bytes: int = 2**31, *, max_offset: int | None = None) -> list[int]:
    """The offsets a reader is given."""
    data = log.read(offset, max_bytes, max_offset=max_offset).read()
    return [record.offset for batch in split_batches(data) for record in read_records(batch)]
