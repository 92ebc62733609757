"""Opening a log: what is on the disk becomes a `Log`, whatever state a crash left it in (SPEC L7).

After a clean stop the segments are taken as they are; only the end of the last one is read. After any other stop every
segment from the recovery point on is read in full: a batch is kept if its length, CRC and offsets hold, the first that
does not ends the log, and what follows is cut. Indexes, producer snapshots and leader epochs of those segments are made
anew. Opening never fails on bad bytes: the longest valid prefix is kept, and `findings` tells in sentences what was
done.

Below the recovery point bytes were synced, so a bad CRC there is rot and not a torn write: it is reported, not cut, for
cutting would lose every acknowledged record behind it.

A hole: a segment whose bytes were lost at a batch boundary looks valid, yet the next segment does not begin where it
ends. In a log that was never compacted this can only be a loss, so the later segments go. Compacted logs have such
gaps by nature: what they have above the recovery point is kept and said to be doubtful, and whoever follows a leader
takes it from there.
"""

from __future__ import annotations

from dataclasses import field
from functools import partial

from strandline.log import checkpoints, names, replay
from strandline.log.earlier_batches import remember_earlier_batches
from strandline.log.earlier_epochs import with_earlier_epochs
from strandline.log.filesystem import FileSystem, replace
from strandline.log.leader_epochs import LeaderEpochs
from strandline.log.leftovers import resolve_leftovers
from strandline.log.log import Log
from strandline.log.producer_snapshots import ProducerSnapshots
from strandline.log.producer_state import ProducerState
from strandline.log.segment import Segment
from strandline.log.segment_recovery import SegmentRecovery
from strandline.log.segments import Segments
from strandline.log.splitting import split_overflowed
from strandline.model.failures import CorruptData
from strandline.model.lazy_dataclass import dataclass
from strandline.model.partitions import TopicPartition
from strandline.model.settings import DAY_MS, LogSettings
from strandline.records.batch import MAGIC_V2, BatchHead


def open_log(
    filesystem: FileSystem,
    directory: str,
    partition: TopicPartition,
    settings: LogSettings,
    *,
    now_ms: int,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    is_clean: bool = False,
    producer_id_expiration_ms: int = DAY_MS,
    findings: list[str] | None = None,
) -> Log:
    """The log in `directory`, which is created if need be. `is_clean` says that the last stop was a clean one."""
    filesystem.make_directories(directory)
    opening = _Opening(
        filesystem,
        directory,
        settings,
        log_start_offset,
        [] if findings is None else findings,
        now_ms,
        producer_id_expiration_ms,
    )
    resolve_leftovers(filesystem, directory, settings, opening.findings)
    opening.load_segments()
    opening.load_epochs()
    if not is_clean:
        opening.recover(recovery_point)
    log_end_offset = opening.settle_end(recovery_point, is_clean=is_clean)
    opening.settle_start(log_end_offset)
    if not is_clean:
        opening.recall_epochs()
    opening.settle_epochs(log_end_offset)
    opening.settle_producers(log_end_offset)
    opening.settle_aborted()
    for segment in opening.segments.all():
        segment.forget()  # opened again when used: a broker has many partitions, and few of them are busy
    log = Log(
        filesystem,
        directory,
        partition,
        settings,
        segments=opening.segments,
        log_start_offset=opening.log_start_offset,
        recovery_point=log_end_offset if is_clean else min(recovery_point, log_end_offset),
        log_end_offset=log_end_offset,
        epochs=opening.epochs,
        producers=opening.producers,
        snapshots=opening.snapshots,
        producer_id_expiration_ms=producer_id_expiration_ms,
        has_new_names=opening.is_fresh or not is_clean,
        unflushed_paths=opening.unflushed_paths,
        has_stale_epochs=opening.has_stale_epochs,
        now_ms=now_ms,
    )
    if not is_clean and opening.has_gaps and log.recovery_point < log_end_offset:
        log.doubtful_from = log.recovery_point
    return log


@dataclass
class _Opening:
    filesystem: FileSystem
    directory: str
    settings: LogSettings
    log_start_offset: int
    findings: list[str]
    now_ms: int
    producer_id_expiration_ms: int
    is_fresh: bool = False  # whether a segment was created
    has_unsaved_epochs: bool = False
    has_stale_epochs: bool = False  # whether their file has one more than the log
    has_rot: bool = False
    has_gaps: bool = False  # between batches above the recovery point, or it may have
    unflushed_paths: list[str] = field(default_factory=list)  # of snapshots and indexes
    segments: Segments = field(init=False)
    epochs: LeaderEpochs = field(default_factory=LeaderEpochs)
    producers: ProducerState = field(default_factory=ProducerState)

    def __post_init__(self) -> None:
        self.snapshots = ProducerSnapshots(self.filesystem, self.directory)

    def load_segments(self) -> None:
        sizes = self.filesystem.sizes(self.directory)
        found: list[Segment] = []
        for name, size_bytes in sizes.items():
            parsed = names.parse_offset_name(name)
            if parsed is None:
                continue
            offset, suffix = parsed
            if suffix == names.LOG:
                found.append(
                    Segment(
                        self.filesystem,
                        self.directory,
                        offset,
                        self.settings,
                        size_bytes=size_bytes,
                        created_ms=self.now_ms,
                    )
                )
            elif suffix in names.INDEX_SUFFIXES and names.offset_name(offset, names.LOG) not in sizes:
                self.findings.append(f"removed {name}: its segment is gone")
                self.filesystem.remove(f"{self.directory}/{name}")
        found = split_overflowed(self.filesystem, found, self.findings)
        self.segments = Segments(found or [self._fresh(self.log_start_offset)])

    def _fresh(self, base_offset: int) -> Segment:
        self.is_fresh = True
        return Segment.create(self.filesystem, self.directory, base_offset, self.settings, now_ms=self.now_ms)

    def load_epochs(self) -> None:
        path = f"{self.directory}/{names.LEADER_EPOCH_CHECKPOINT}"
        fault = "it has no entries"
        try:
            self.epochs = LeaderEpochs.from_entries(checkpoints.read_leader_epochs(self.filesystem, path))
        except CorruptData as error:
            fault = str(error)
            self.has_unsaved_epochs = True
        if self.epochs.latest_epoch is not None:
            return
        for segment in self.segments.all():
            self._assign_epochs_of(segment)
        if self.epochs.latest_epoch is not None:
            self.findings.append(f"{names.LEADER_EPOCH_CHECKPOINT}: {fault}; rebuilt from the log")
            self.has_unsaved_epochs = True

    def _assign_epochs_of(self, segment: Segment) -> None:
        try:
            for _, head in segment.heads():
                self._assign_epoch(head)
        except CorruptData:
            return  # recovery will cut here, or report it

    def _assign_epoch(self, head: BatchHead, recovery_point: int = 0) -> None:
        """An epoch is on the disk before its batches: below the recovery point the checkpoint knows better."""
        if head.base_offset < recovery_point:
            return
        latest = self.epochs.latest_epoch
        if head.magic >= MAGIC_V2 and head.leader_epoch > (-1 if latest is None else latest):
            self.epochs.assign(head.leader_epoch, head.base_offset)

    def recover(self, recovery_point: int) -> None:
        unflushed = self.segments.from_offset(recovery_point)
        start = unflushed[0].base_offset
        self.snapshots.remove_above(start)
        # Whoever took a snapshot for a roll, and trimmed the indexes of the segment below, may have been killed since.
        self.unflushed_paths += self.snapshots.paths_from(recovery_point)
        below = [segment for segment in self.segments.all() if segment.base_offset < start]
        self.unflushed_paths += [segment.path(kind) for segment in below[-1:] for kind in names.INDEX_SUFFIXES]
        self._rebuild_producers(start)
        remember_earlier_batches(self.segments, self.producers, start)
        expected, self.has_gaps = start, self.settings.compacts
        for index, segment in enumerate(unflushed):
            # A segment spans 31 bits of offsets: what begins further on was not behind records that are lost.
            is_near = index == 0 or unflushed[index - 1].fits_offset(segment.base_offset - 1)
            if segment.base_offset > expected and is_near and not self.has_gaps:
                self.findings.append(f"{segment} begins above offset {expected}, where the log ends")
                self._drop(unflushed[index:])
                return
            if index:
                self.producers.map_end_offset = segment.base_offset
                snapshot = self.snapshots.take(self.producers, durable=False)
                self.unflushed_paths += [] if snapshot is None else [snapshot]
            later = unflushed[index + 1 :]
            walk = self._walk(segment, recovery_point, later[0].base_offset if later else None)
            if walk.fault is not None:
                # What comes later goes first: after another crash there must still be a fault to see.
                self._drop(later)
            walk.cut()
            if walk.fault is not None:
                return
            expected, self.has_gaps = max(expected, walk.next_offset), self.has_gaps or walk.has_gaps

    def _walk(self, segment: Segment, recovery_point: int, end_offset_max: int | None) -> SegmentRecovery:
        walk = SegmentRecovery(
            segment,
            self.producers,
            recovery_point=recovery_point,
            end_offset_max=end_offset_max,
            may_leap=self.has_gaps or self.settings.compacts,
            took=partial(self._assign_epoch, recovery_point=recovery_point),
            findings=self.findings,
        )
        walk.run()
        if walk.fault is not None:
            self.findings.append(walk.fault)
        self.has_rot |= walk.has_rot
        return walk

    def _drop(self, segments: list[Segment]) -> None:
        """Highest first, so that a crash in between leaves no hole."""
        for segment in reversed(segments):
            self.findings.append(f"removed {segment}: the log ends before it")
            if len(self.segments) == 1:
                self.segments.replace([segment], [self._fresh(segment.base_offset)])
                return
            self.segments.replace([segment], ())
            segment.remove_files()
            self.filesystem.sync_directory(self.directory)

    def settle_end(self, recovery_point: int, *, is_clean: bool) -> int:
        """After a clean stop the recovery point is the end of the log."""
        log_end_offset = self._end_of(self.segments.active, recovery_point)
        if log_end_offset >= self.log_start_offset:
            return log_end_offset
        if is_clean and recovery_point <= log_end_offset:
            self.findings.append(f"the log is whole and ends at {log_end_offset}: no start at {self.log_start_offset}")
            self.log_start_offset = 0
            return log_end_offset
        self.findings.append(
            f"the log ends at {log_end_offset}, below its start {self.log_start_offset}: begun anew there"
        )
        old = self.segments.all()
        for segment in reversed(old):
            segment.remove_files()
        self.filesystem.sync_directory(self.directory)
        self.segments = Segments([self._fresh(self.log_start_offset)])
        return self.log_start_offset

    def _end_of(self, segment: Segment, recovery_point: int) -> int:
        try:
            next_offset, position = segment.end()
            if position == segment.size_bytes:
                return next_offset
        except CorruptData:
            pass
        # A clean stop promised good bytes. Believe the bytes, not the promise.
        self._rebuild_producers(segment.base_offset)
        walk = self._walk(segment, max(recovery_point, segment.base_offset), None)
        walk.cut()
        if walk.fault is None:
            self.findings.append(f"{segment}: its index was rebuilt")
        return walk.next_offset

    def settle_start(self, log_end_offset: int) -> None:
        first = self.segments.first.base_offset
        self.log_start_offset = min(max(self.log_start_offset, first), log_end_offset)

    def recall_epochs(self) -> None:
        known, self.epochs = self.epochs, with_earlier_epochs(self.epochs, self.segments, self.log_start_offset)
        if self.epochs is not known:
            self.findings.append(f"{names.LEADER_EPOCH_CHECKPOINT}: begins above the log; completed from it")
            self.has_unsaved_epochs = True

    def settle_epochs(self, log_end_offset: int) -> None:
        before = self.epochs.entries()
        self.epochs.truncate_from_start(self.log_start_offset)
        self.epochs.truncate_from_end(log_end_offset + 1)
        has_changed = self.has_unsaved_epochs or self.epochs.entries() != before
        # One that begins at the end has written nothing. In the file it may stay until something is: most often the
        # same leader comes back, and a start with many idle partitions syncs nothing.
        self.has_stale_epochs = self.epochs.truncate_from_end(log_end_offset) and not has_changed
        path = f"{self.directory}/{names.LEADER_EPOCH_CHECKPOINT}"
        if has_changed:
            checkpoints.write_leader_epochs(self.filesystem, path, self.epochs.entries())
        elif not self.filesystem.exists(path):
            replace(self.filesystem, path, checkpoints.encode_leader_epochs(()))  # there is nothing to lose yet

    def settle_producers(self, log_end_offset: int) -> None:
        self.snapshots.remove_above(log_end_offset)
        self.snapshots.remove_strays(self.segments.base_offsets)
        if self.has_rot:
            self.producers = ProducerState()  # a rotten batch told nothing, and may still have a good head
        if self.has_rot or self.producers.map_end_offset != log_end_offset:
            self._rebuild_producers(log_end_offset)
        else:
            self.producers.log_start_moved(self.log_start_offset)  # recovery has just replayed them

    def settle_aborted(self) -> None:
        """Only where appends will go: the others are looked at when they are used."""
        fault = replay.require_aborted(self.segments.active, self.segments, self.snapshots, self.log_start_offset)
        if fault is not None:
            self.findings.append(f"{fault} Rebuilt.")

    def _rebuild_producers(self, end_offset: int) -> None:
        replay.rebuild_producers(
            self.segments,
            self.producers,
            self.snapshots,
            min(self.log_start_offset, end_offset),
            end_offset,
            self.now_ms,
            self.producer_id_expiration_ms,
        )
