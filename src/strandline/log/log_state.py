"""What a log knows about itself, and what happens to it when the disk fails it.

Offsets, from low to high:

    log start offset   the first a reader may ask for; moves up by retention and DeleteRecords
    recovery point     everything below is on the disk for sure; recovery starts here after a crash
    log end offset     the offset the next record will get

The high watermark and the last stable offset belong to replication and are given by the caller where they bound
something.

A write that fails leaves memory and file in doubt, and a failed fsync may have dropped the pages it failed on: from the
first `OSError` on, the log refuses everything with `StorageFailed` until it is opened anew (KAFKA-10778).
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable

from strandline.log import checkpoints, names
from strandline.log.admission import Admission
from strandline.log.deletions import Deletions
from strandline.log.fence import Fence
from strandline.log.filesystem import FileSystem, write_whole
from strandline.log.flush import FlushWork
from strandline.log.leader_epochs import LeaderEpochs
from strandline.log.pending import Pending
from strandline.log.producer_snapshots import ProducerSnapshots
from strandline.log.producer_state import ProducerState
from strandline.log.segments import Segments
from strandline.model.failures import CorruptData, CorruptLog, StorageFailed, check
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.crc import crc32c

OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)
ROT_TOLD_MAX = 20  # places in one log
NO_EPOCH = -1
STALE_EPOCHS = -2  # below every epoch: the next batch, whatever its own, has them saved first


class LogState:
    """Offsets, segments and everything derived from them.

    With slots, since a broker goes round thousands of logs: what an append touches of each lies close together, in a
    fifth of the memory that a dictionary of so many names would take.
    """

    __slots__ = (
        "_admission", "_fence", "_has_new_names", "_pending", "_read_fence", "_running_flushes", "_saved_epoch",
        "_saves_epochs_late", "_told_rot", "_unflushed_paths", "deletions", "directory", "doubtful_from", "epochs",
        "failure", "filesystem", "flush_wanted", "has_failed", "is_closed", "last_flush_ms", "log_end_offset",
        "log_start_offset", "offsets_lowered", "partition", "producer_id_expiration_ms", "producers",
        "recovery_point", "rot_found", "segments", "settings", "snapshots", "truncating",
    )  # fmt: skip

    def __init__(
        self,
        filesystem: FileSystem,
        directory: str,
        partition: TopicPartition,
        settings: LogSettings,
        *,
        segments: Segments,
        log_start_offset: int,
        recovery_point: int,
        log_end_offset: int,
        epochs: LeaderEpochs,
        producers: ProducerState,
        snapshots: ProducerSnapshots,
        producer_id_expiration_ms: int,
        has_new_names: bool,
        unflushed_paths: Iterable[str],
        has_stale_epochs: bool,
        now_ms: int,
    ) -> None:
        """Use `recovery.open_log`, which finds all this on the disk."""
        self.filesystem = filesystem
        self.directory = directory
        self.partition = partition
        self.settings = settings
        self.segments = segments
        self.log_start_offset = log_start_offset  # <= log_end_offset
        self.recovery_point = recovery_point  # <= log_end_offset
        self.log_end_offset = log_end_offset
        self.doubtful_from: int | None = None  # after a crash: records above it may be missing, and nobody can tell
        self.epochs = epochs
        self.producers = producers
        self.snapshots = snapshots
        self.producer_id_expiration_ms = producer_id_expiration_ms
        self.deletions = Deletions(filesystem)
        self.last_flush_ms = now_ms
        self.failure: OSError | None = None
        self.is_closed = False
        # What the log directory wants to hear of: to write its checkpoints, to count what comes next as dirty, to go
        # offline as a whole, to have all below an offset flushed, soon and not inside the call, and to tell of damaged
        # bytes, of each place once.
        self.offsets_lowered: Callable[[], None] = lambda: None
        self.truncating: Callable[[int], None] = lambda _: None
        self.has_failed: Callable[[OSError], object] = lambda _: None
        self.flush_wanted: Callable[[int], object] = lambda _: None
        self.rot_found: Callable[[str], object] = lambda _: None
        self._saved_epoch = STALE_EPOCHS if has_stale_epochs else _latest(epochs)  # in their file
        self._saves_epochs_late = False  # their file begins below the log start, which whoever opens the log corrects
        self._has_new_names = has_new_names  # whether the folder has names that are not synced
        self._unflushed_paths = list(unflushed_paths)  # small files of what may all lie below the recovery point
        self._running_flushes: list[FlushWork] = []
        self._told_rot: set[str] = set()
        self._pending = Pending()
        self._admission = Admission(settings)
        self._fence = Fence(self.failed)
        self._read_fence = Fence(self.failed_to_read, self.corrupt)
        segments.active.roll_jitter_ms = self.roll_jitter_ms(segments.active.base_offset)
        check(log_start_offset <= log_end_offset, "log start offset beyond log end offset")
        check(recovery_point <= log_end_offset, "recovery point beyond log end offset")

    def roll_jitter_ms(self, base_offset: int) -> int:
        """Spread rolls of many partitions over time; a hash of the names, so that it needs no random numbers."""
        bound = min(self.settings.segment_jitter_ms, self.settings.segment_ms)
        return crc32c(f"{self.partition}/{base_offset}".encode()) % bound if bound else 0

    # Leader epochs.

    def assign_epoch(self, leader_epoch: int, start_offset: int) -> None:
        """Record where a leader epoch begins; also without a record, when a leader is elected (KAFKA-7415).

        Its first record brings it to the disk, before itself. Until then it need not be there: whoever opens the log
        again does not believe in an epoch that has no records.
        """
        self.epochs.assign(leader_epoch, start_offset)

    def save_epochs(self) -> None:
        path = f"{self.directory}/{names.LEADER_EPOCH_CHECKPOINT}"
        with self._fence:
            checkpoints.write_leader_epochs(self.filesystem, path, self.epochs.entries())
        self._saved_epoch = _latest(self.epochs)
        self._saves_epochs_late = False

    def begin_with_epoch(self, leader_epoch: int) -> None:
        """A new log has its first leader, and its first record none to wait for. Without records there is nothing that
        a lost epoch would explain, so it is synced with them."""
        self.epochs.assign(leader_epoch, self.log_end_offset)
        path = f"{self.directory}/{names.LEADER_EPOCH_CHECKPOINT}"
        write_whole(self.filesystem, path, checkpoints.encode_leader_epochs(self.epochs.entries()))
        self._unflushed_paths.append(path)
        self._saved_epoch = leader_epoch

    # Failure.

    def check_usable(self) -> None:
        if self.failure is not None:
            raise StorageFailed(f"{self.partition} is offline: {self.failure}")
        if self.is_closed:
            raise StorageFailed(f"{self.partition} is closed; open it again to use it")

    def failed(self, error: OSError) -> StorageFailed:
        """From now on nothing is served: what is in memory and what is on the disk may differ."""
        if self.failure is None:
            self.failure = error
            self.has_failed(error)
        return StorageFailed(f"{self.partition}: {error}")

    def failed_to_read(self, error: OSError) -> StorageFailed:
        """To have no descriptor left is the process's trouble and not the disk's: the read fails, the log goes on."""
        if error.errno in OUT_OF_DESCRIPTORS:
            return StorageFailed(f"{self.partition}: {error}; raise the limit on open files (ulimit -n)")
        return self.failed(error)

    def corrupt(self, damage: CorruptData) -> CorruptLog:
        """A look-up met damaged bytes. They will be met again by whoever asks again, and not told again."""
        reason = f"{self.directory}/{damage}"
        if reason not in self._told_rot and len(self._told_rot) < ROT_TOLD_MAX:
            self._told_rot.add(reason)
            self.rot_found(reason)
        return CorruptLog(reason)

    def __str__(self) -> str:
        return f"{self.partition} [{self.log_start_offset}, {self.log_end_offset})"


def _latest(epochs: LeaderEpochs) -> int:
    return NO_EPOCH if epochs.latest_epoch is None else epochs.latest_epoch
