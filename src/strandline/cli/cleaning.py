"""What `strandline log clean` knows of a partition that no broker tells it, and cleaning for real.

The offsets come from the checkpoints of the data directory: log start, high watermark, where the cleaner was. The
settings of a topic are not in its folder: they come from the command line.

Cleaning for real is a short life of a broker with one partition. Before it everything is read and verified, for a log
that opening would cut or mend is not ours to touch: a broker must recover it. Then the directory's lock is taken. The
mark of a clean stop is lifted first and put back last, byte for byte, so that a crash in between is seen as one; and of
the checkpoints only this partition's lines change.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict

from strandline.cli.output import CannotRead, FoundDamage
from strandline.cli.targets import broker_holds, filesystem
from strandline.log import checkpoints
from strandline.log.clean_shutdown import CLEAN_SHUTDOWN_MARKER
from strandline.log.cleanable import cleanability_of
from strandline.log.compaction import Compaction
from strandline.log.directory_opening import KRAFT_METADATA_TOPIC
from strandline.log.filesystem import read_whole, replace_durably
from strandline.log.inspection import Advance, list_segments
from strandline.log.inspection_fault import Fault, Tally
from strandline.log.inspection_opening import OpeningCheck
from strandline.log.inspection_transactions import first_undecided_offset
from strandline.log.log import Log
from strandline.log.names import LOCK, LOG
from strandline.log.recovery import open_log
from strandline.log.retention import apply_retention, plan_retention
from strandline.log.segment_view import LogView, views_of_folder
from strandline.model.failures import CorruptData
from strandline.model.lazy_dataclass import dataclass
from strandline.model.partitions import TopicPartition, parse_partition_folder
from strandline.model.settings import CleanerSettings, LogSettings

Progress = Callable[[int, int], None]
CHECKPOINTS = (
    checkpoints.RECOVERY_POINT_CHECKPOINT,
    checkpoints.LOG_START_CHECKPOINT,
    checkpoints.HIGH_WATERMARK_CHECKPOINT,
    checkpoints.CLEANER_CHECKPOINT,
)


@dataclass(frozen=True, slots=True)
class Partition:
    """One folder and the data directory it lies in."""

    folder: str
    directory: str
    name: TopicPartition | None  # None where the folder is not named <topic>-<partition>

    @classmethod
    def at(cls, folder: str) -> Partition:
        absolute = os.path.abspath(folder)
        return cls(folder, os.path.dirname(absolute), parse_partition_folder(os.path.basename(absolute)))

    def offset_in(self, checkpoint: str) -> int | None:
        if self.name is None:
            return None
        path = f"{self.directory}/{checkpoint}"
        try:
            return checkpoints.read_offsets(filesystem, path).get(self.name)
        except CorruptData as error:
            raise CannotRead(f"{path}: {error}; a broker that starts here makes it anew") from error

    def view(self, settings: LogSettings, now_ms: int) -> LogView:
        segments = views_of_folder(filesystem, self.folder)
        if not segments:
            raise CannotRead(f"{self.folder} has no segments; there is nothing to clean")
        high_watermark = self.high_watermark(segments[-1].end_offset)
        undecided = first_undecided_offset(filesystem, self.folder, list_segments(filesystem, self.folder))
        return LogView(
            segments=segments,
            settings=settings,
            log_start_offset=max(segments[0].base_offset, self.offset_in(checkpoints.LOG_START_CHECKPOINT) or 0),
            high_watermark=high_watermark,
            last_stable_offset=high_watermark if undecided is None else min(undecided, high_watermark),
            now_ms=now_ms,
        )

    def first_damage(self, settings: LogSettings, advance: Advance) -> Fault | None:
        """What a broker that opens this log would have to recover."""
        check = OpeningCheck(
            filesystem,
            self.folder,
            Tally(),
            advance,
            is_at_rest=not broker_holds(self.directory),
            recovery_point=self.offset_in(checkpoints.RECOVERY_POINT_CHECKPOINT) or 0,
            log_start_offset=self.offset_in(checkpoints.LOG_START_CHECKPOINT) or 0,
            is_clean=filesystem.exists(f"{self.directory}/{CLEAN_SHUTDOWN_MARKER}"),
            is_compacted=settings.compacts,
        )
        return next(check.faults(), None)

    def high_watermark(self, log_end_offset: int) -> int:
        """The end of the log where no checkpoint says otherwise: a copied folder, or a log that stands alone."""
        found = self.offset_in(checkpoints.HIGH_WATERMARK_CHECKPOINT)
        return log_end_offset if found is None else min(found, log_end_offset)


@dataclass(slots=True)
class Cleaned:
    """What was done."""

    segments_deleted: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    records_read: int = 0
    records_written: int = 0
    compaction_reason: str = ""
    is_compacted: bool = False

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def verify(partition: Partition, settings: LogSettings, advance: Advance) -> dict[str, int]:
    """The sizes of the files, if cleaning for real is possible here; nothing is touched."""
    if partition.name is None:
        raise CannotRead(f"{partition.folder} is not named <topic>-<partition>, so it is not cleaned for real")
    if partition.name.topic == KRAFT_METADATA_TOPIC:
        raise CannotRead(f"{partition.folder} is the log of a KRaft quorum, which only its own snapshots may shorten")
    if broker_holds(partition.directory):
        raise _in_use(partition.directory)
    for checkpoint in CHECKPOINTS:
        partition.offset_in(checkpoint)
    sizes = filesystem.sizes(partition.folder)
    if not any(name.endswith(LOG) for name in sizes):
        raise CannotRead(f"{partition.folder} has no segments; there is nothing to clean")
    damage = partition.first_damage(settings, advance)
    if damage is not None and damage.is_unreadable:
        raise CannotRead(f"{damage}; nothing was changed")
    if damage is not None:
        raise FoundDamage(
            f"{partition.folder} is damaged at {damage}; nothing was changed; `strandline log check` tells more;"
            " start a broker on it to recover it"
        )
    return sizes


def clean_for_real(
    partition: Partition,
    settings: LogSettings,
    sizes: dict[str, int],
    *,
    now_ms: int,
    findings: list[str],
    progress: Progress,
) -> Cleaned:
    """`sizes` are those that were verified."""
    assert partition.name is not None
    with _locked(partition.directory):
        if filesystem.sizes(partition.folder) != sizes:
            raise CannotRead(f"{partition.folder} changed while it was verified; nothing was changed here; try again")
        marker = _lift_marker(partition.directory)
        log = open_log(
            filesystem,
            os.path.abspath(partition.folder),
            partition.name,
            settings,
            now_ms=now_ms,
            recovery_point=partition.offset_in(checkpoints.RECOVERY_POINT_CHECKPOINT) or 0,
            log_start_offset=partition.offset_in(checkpoints.LOG_START_CHECKPOINT) or 0,
            is_clean=marker is not None,
            findings=findings,
        )
        done = Cleaned(bytes_before=sum(size for name, size in sizes.items() if name.endswith(LOG)))
        _clean(partition, log, now_ms, progress, done)
        log.deletions.remove_due(now_ms + settings.file_delete_delay_ms)  # nobody else can be reading them
        log.close(now_ms)
        _write_offsets(partition, log)
        if marker is not None:
            replace_durably(filesystem, f"{partition.directory}/{CLEAN_SHUTDOWN_MARKER}", marker)
    return done


@contextmanager
def _locked(directory: str) -> Iterator[None]:
    path = f"{directory}/{LOCK}"
    try:
        lock = filesystem.lock(path)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise CannotRead(
            f"{path} cannot be created or locked: {why}; nothing was changed; run this as the user the broker runs as"
        ) from error
    if lock is None:
        raise _in_use(directory)
    try:
        yield
    finally:
        lock.close()


def _in_use(directory: str) -> CannotRead:
    return CannotRead(f"{directory} is in use by a broker; stop it first, or look only, without --execute")


def _lift_marker(directory: str) -> bytes | None:
    path = f"{directory}/{CLEAN_SHUTDOWN_MARKER}"
    if not filesystem.exists(path):
        return None
    marker = read_whole(filesystem, path)
    filesystem.remove(path)
    filesystem.sync_directory(directory)
    return marker


def _clean(partition: Partition, log: Log, now_ms: int, progress: Progress, done: Cleaned) -> None:
    high_watermark = partition.high_watermark(log.log_end_offset)
    plan = plan_retention(log, now_ms=now_ms, high_watermark=high_watermark)
    done.segments_deleted = apply_retention(log, plan, now_ms)
    if log.settings.compacts:
        _compact(partition, log, high_watermark, now_ms, progress, done)
    done.bytes_after = log.size_bytes


def _compact(
    partition: Partition, log: Log, high_watermark: int, now_ms: int, progress: Progress, done: Cleaned
) -> None:
    undecided = log.producers.first_undecided_offset
    last_stable_offset = high_watermark if undecided is None else min(undecided, high_watermark)
    view = LogView.of(log, now_ms=now_ms, high_watermark=high_watermark, last_stable_offset=last_stable_offset)
    found = cleanability_of(view, partition.offset_in(checkpoints.CLEANER_CHECKPOINT))
    done.compaction_reason = found.reason
    if not found.is_cleanable:
        return
    compaction = Compaction.plan(
        log,
        CleanerSettings(),
        first_dirty_offset=found.first_dirty_offset,
        uncleanable_offset=found.first_uncleanable_offset,
        now_ms=now_ms,
    )
    if compaction is None:
        return
    compaction.run(progress=progress)
    next_dirty_offset = compaction.finish(log, now_ms=now_ms)
    done.is_compacted = next_dirty_offset is not None
    done.records_read = compaction.counts.records_read
    done.records_written = compaction.counts.records_written
    _set_offset(partition, checkpoints.CLEANER_CHECKPOINT, next_dirty_offset)


def _write_offsets(partition: Partition, log: Log) -> None:
    """The log's start is written only where it lies inside a segment, as Kafka does."""
    is_inside = log.log_start_offset > log.segments.first.base_offset
    _set_offset(partition, checkpoints.RECOVERY_POINT_CHECKPOINT, log.recovery_point)
    _set_offset(partition, checkpoints.LOG_START_CHECKPOINT, log.log_start_offset if is_inside else None)


def _set_offset(partition: Partition, checkpoint: str, offset: int | None) -> None:
    assert partition.name is not None
    path = f"{partition.directory}/{checkpoint}"
    offsets = checkpoints.read_offsets(filesystem, path)
    before = offsets.get(partition.name)
    if offset is None:
        offsets.pop(partition.name, None)
    else:
        offsets[partition.name] = offset
    if offset != before:
        checkpoints.write_offsets(filesystem, path, offsets)
