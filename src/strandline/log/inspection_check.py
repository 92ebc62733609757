"""Everything that can be verified in a partition's folder and in a data directory (SPEC L11).

Leader epochs: the checkpoint ascends, and each batch was written by the epoch that the checkpoint names for its offset.
An epoch may have no batch: nothing was written in it, or compaction took it. Offsets below the first entry are below
the log's start and are not judged.

Leftovers of unfinished work are told only where nobody is at work, since a running cleaner makes them all the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from strandline.log import checkpoints, names
from strandline.log.clean_shutdown import CLEAN_SHUTDOWN_MARKER
from strandline.log.filesystem import FileSystem, read_whole
from strandline.log.inspection import METADATA_SNAPSHOT_NAME, Advance, SegmentFiles, list_segments
from strandline.log.inspection_fault import Fault, Tally, readable
from strandline.log.inspection_segment import SegmentCheck, check_batches
from strandline.log.leader_epochs import LeaderEpochs
from strandline.log.meta_properties import META_PROPERTIES, decode_meta_properties
from strandline.log.partition_metadata import decode_partition_metadata
from strandline.log.producer_snapshots import decode_snapshot
from strandline.model.failures import CorruptData
from strandline.model.lazy_dataclass import dataclass
from strandline.model.partitions import parse_partition_folder

FAULTS_TOLD_MAX = 50  # of one file: an index full of garbage is one fault to a reader
LEFTOVERS = (names.CLEANED, names.SWAP, ".tmp")
DECODERS: dict[str, Callable[[bytes], object]] = {
    names.PARTITION_METADATA: decode_partition_metadata,
    META_PROPERTIES: decode_meta_properties,
    checkpoints.RECOVERY_POINT_CHECKPOINT: checkpoints.decode_offsets,
    checkpoints.HIGH_WATERMARK_CHECKPOINT: checkpoints.decode_offsets,
    checkpoints.LOG_START_CHECKPOINT: checkpoints.decode_offsets,
    checkpoints.CLEANER_CHECKPOINT: checkpoints.decode_offsets,
    names.LEADER_EPOCH_CHECKPOINT: lambda data: LeaderEpochs.from_entries(checkpoints.decode_leader_epochs(data)),
    names.SNAPSHOT: decode_snapshot,
    CLEAN_SHUTDOWN_MARKER: lambda data: data,
}


def check_small_file(filesystem: FileSystem, path: str, tally: Tally) -> Iterator[Fault]:
    """A checkpoint, a snapshot or an identity: it can be decoded or it cannot."""
    return readable(path, _small_file_faults(filesystem, path, tally))


def _small_file_faults(filesystem: FileSystem, path: str, tally: Tally) -> Iterator[Fault]:
    name = path.rpartition("/")[2]
    parsed = names.parse_offset_name(name)
    tally.files += 1
    try:
        DECODERS[parsed[1] if parsed else name](read_whole(filesystem, path))
    except CorruptData as error:
        yield Fault(path, None, str(error))


def check_metadata_snapshot(filesystem: FileSystem, path: str, tally: Tally) -> Iterator[Fault]:
    return readable(path, _metadata_snapshot_faults(filesystem, path, tally))


def _metadata_snapshot_faults(filesystem: FileSystem, path: str, tally: Tally) -> Iterator[Fault]:
    tally.files += 1
    file = filesystem.open(path, writable=False)
    try:
        for position, sentence in check_batches(file, file.size(), tally):
            yield Fault(path, position, sentence)
    finally:
        file.close()


def check_segment(files: SegmentFiles, tally: Tally, advance: Advance) -> Iterator[Fault]:
    return capped(SegmentCheck(files, tally, advance).faults())


@dataclass(slots=True)
class FolderCheck:
    """What a look at a folder of either kind needs. Nobody is at work in it if `is_at_rest`."""

    filesystem: FileSystem
    directory: str
    tally: Tally
    advance: Advance
    is_at_rest: bool

    def _path(self, name: str) -> str:
        return f"{self.directory}/{name}"


@dataclass(slots=True)
class PartitionCheck(FolderCheck):
    """One partition's folder. `log_end_offset` is known after the walk; None if its segments could not be read."""

    log_end_offset: int | None = None
    _epochs: LeaderEpochs | None = None
    _previous_epoch: int | None = None

    def faults(self) -> Iterator[Fault]:
        return readable(self.directory, self._faults())

    def _faults(self) -> Iterator[Fault]:
        self.tally.partitions += 1
        segments = list_segments(self.filesystem, self.directory)
        self.log_end_offset = 0
        yield from self._small_file_faults({segment.base_offset for segment in segments})
        for segment in segments:
            check = SegmentCheck(segment, self.tally, self.advance)
            yield from capped(check.faults())
            yield from self._epoch_faults(segment, check.epochs)
            self.log_end_offset = check.next_offset if check.is_read else None
        if segments and self._epochs is not None:
            yield from self._last_epoch_faults()
        elif not segments:
            yield Fault(self.directory, None, "there is no segment; a broker would begin an empty log here")

    def _small_file_faults(self, base_offsets: set[int]) -> Iterator[Fault]:
        for name in self.filesystem.sizes(self.directory):
            parsed = names.parse_offset_name(name)
            if name in DECODERS or (parsed is not None and parsed[1] == names.SNAPSHOT):
                yield from check_small_file(self.filesystem, self._path(name), self.tally)
            elif METADATA_SNAPSHOT_NAME.fullmatch(name):
                yield from check_metadata_snapshot(self.filesystem, self._path(name), self.tally)
            elif name.endswith(names.DELETED):
                continue  # waits its minute, or goes with the next start
            elif name.endswith(LEFTOVERS):
                if self.is_at_rest:
                    yield Fault(self._path(name), None, "left over from unfinished work; the next start resolves it")
            elif parsed is not None and parsed[1] in names.INDEX_SUFFIXES and parsed[0] not in base_offsets:
                yield Fault(self._path(name), None, "there is no .log file to this index; the next start removes it")
        self._epochs = self._load_epochs()

    def _load_epochs(self) -> LeaderEpochs | None:
        """None where the checkpoint cannot be read, which has been told already."""
        try:
            path = self._path(names.LEADER_EPOCH_CHECKPOINT)
            return LeaderEpochs.from_entries(checkpoints.read_leader_epochs(self.filesystem, path))
        except (CorruptData, OSError):
            return None

    def _epoch_faults(self, segment: SegmentFiles, found: list[tuple[int, int, int]]) -> Iterator[Fault]:
        for epoch, base_offset, position in found:
            expected = self._expected_epoch(epoch, base_offset)
            if expected is not None and epoch >= 0 and expected != epoch:
                yield Fault(
                    segment.path(names.LOG),
                    position,
                    f"offset {base_offset} was written in leader epoch {epoch}, the checkpoint says {expected}",
                )
            if self._previous_epoch is not None and epoch < self._previous_epoch:
                yield Fault(
                    segment.path(names.LOG), position, f"leader epoch {epoch} comes after epoch {self._previous_epoch}"
                )
            self._previous_epoch = epoch

    def _expected_epoch(self, epoch: int, base_offset: int) -> int | None:
        if self._epochs is None:
            return None
        expected = self._epochs.epoch_at(base_offset)
        if expected != epoch and not self.is_at_rest:
            self._epochs = self._load_epochs()  # a new leader may have come since it was read
            expected = self._epochs.epoch_at(base_offset) if self._epochs else None
        if expected is None and self._epochs is not None and not self._epochs.entries():
            return -1
        return expected

    def _last_epoch_faults(self) -> Iterator[Fault]:
        assert self._epochs is not None
        entries = self._epochs.entries()
        if self.log_end_offset is None or not entries or not self.is_at_rest:
            return
        if entries[-1].start_offset > self.log_end_offset:
            yield Fault(
                self._path(names.LEADER_EPOCH_CHECKPOINT),
                None,
                f"epoch {entries[-1].epoch} begins at offset {entries[-1].start_offset},"
                f" but the log ends at {self.log_end_offset}",
            )


class DirectoryCheck(FolderCheck):
    """A whole data directory: its own files, then each partition."""

    def faults(self, folders: list[str]) -> Iterator[Fault]:
        for name in self.filesystem.sizes(self.directory):
            if name in DECODERS:
                yield from check_small_file(self.filesystem, self._path(name), self.tally)
            elif name.endswith(".tmp") and self.is_at_rest:
                yield Fault(self._path(name), None, "left over from an unfinished write")
        for folder in folders:
            partition = PartitionCheck(self.filesystem, folder, self.tally, self.advance, is_at_rest=self.is_at_rest)
            yield from partition.faults()
            if partition.log_end_offset is not None and self.is_at_rest:
                yield from self._promise_faults(folder, partition.log_end_offset)

    def _promise_faults(self, folder: str, log_end_offset: int) -> Iterator[Fault]:
        """A checkpoint that promises more than there is: data has been lost."""
        partition = parse_partition_folder(folder.rpartition("/")[2])
        for name in (checkpoints.RECOVERY_POINT_CHECKPOINT, checkpoints.LOG_START_CHECKPOINT):
            path = self._path(name)
            try:
                offset = checkpoints.read_offsets(self.filesystem, path).get(partition, 0) if partition else 0
            except (CorruptData, OSError):
                continue  # which has been told already
            if offset > log_end_offset:
                yield Fault(
                    path, None, f"offset {offset} of {partition} lies beyond its log, which ends at {log_end_offset}"
                )


def capped(faults: Iterator[Fault]) -> Iterator[Fault]:
    """The first faults of each file; of the others, how many."""
    told: dict[str, int] = {}
    for fault in faults:
        told[fault.path] = told.get(fault.path, 0) + 1
        if told[fault.path] <= FAULTS_TOLD_MAX:
            yield fault
    for path, count in told.items():
        if count > FAULTS_TOLD_MAX:
            yield Fault(path, None, f"and {count - FAULTS_TOLD_MAX} more faults")
