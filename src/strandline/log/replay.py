"""Producer state is derived: this rebuilds it by replaying the log from the newest good snapshot (SPEC P2, L7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strandline.log.aborted_index import AbortedTransaction
from strandline.log.index_truth import check_aborted_index
from strandline.log.producer_snapshots import ProducerSnapshots
from strandline.log.producer_state import CompletedTransaction, ProducerState
from strandline.log.segment import Segment
from strandline.log.segments import Segments
from strandline.model.failures import CorruptData
from strandline.model.settings import LONG_MAX
from strandline.records.batch import BatchHead, Buffer
from strandline.records.control import read_marker


def note_completed(segment: Segment, producers: ProducerState, completed: CompletedTransaction) -> None:
    """A transaction ended: remember it in the segment's index if it was aborted, then let it go."""
    if completed.is_aborted:
        segment.aborted.append(
            AbortedTransaction(
                completed.producer_id,
                completed.first_offset,
                completed.last_offset,
                producers.last_stable_offset_of(completed),
            )
        )
    producers.complete(completed)


def replay_batch(producers: ProducerState, head: BatchHead, batch: Buffer) -> CompletedTransaction | None:
    """Take a batch that is in the log already. Returns the transaction it ends, which the caller completes."""
    completed = None
    if head.producer_id >= 0:
        completed = producers.accept(
            head,
            base_offset=head.base_offset,
            from_client=False,
            marker=read_marker(batch) if head.is_control else None,
        )
    producers.map_end_offset = head.next_offset
    return completed


def rebuild_producers(
    segments: Segments,
    producers: ProducerState,
    snapshots: ProducerSnapshots,
    log_start_offset: int,
    end_offset: int,
    now_ms: int,
    expiration_ms: int,
) -> None:
    """Make `producers` reflect the log up to `end_offset`. Where it is known to have no producers it is not read."""
    quiet, unreplicated = producers.quiet_offsets, producers.unreplicated
    snapshots.load_latest(
        producers,
        log_start_offset=log_start_offset,
        at_or_below=end_offset,
        now_ms=now_ms,
        expiration_ms=expiration_ms,
    )
    start = max(producers.map_end_offset, log_start_offset)
    producers.unreplicated = [completed for completed in unreplicated if completed.last_offset < start]
    if not quiet.start <= start <= end_offset <= quiet.stop:
        _replay(segments, producers, start, end_offset)
    producers.map_end_offset = end_offset


def completed_from(
    segments: Segments, snapshots: ProducerSnapshots, log_start_offset: int, high_watermark: int, end_offset: int
) -> Sequence[CompletedTransaction]:
    """Transactions whose markers lie at the high watermark or above, of which a later snapshot knows nothing."""
    if not _has_marker(segments, high_watermark, end_offset):
        return ()
    producers = ProducerState()
    rebuild_producers(
        segments, producers, snapshots, log_start_offset, high_watermark, now_ms=0, expiration_ms=LONG_MAX
    )
    _replay(segments, producers, high_watermark, end_offset)
    producers.high_watermark_moved(high_watermark)
    return producers.unreplicated


def _has_marker(segments: Segments, start: int, end_offset: int) -> bool:
    try:
        return any(
            head.is_control
            for segment in segments.from_offset(start)
            for _, head in _heads_within(segment, start, end_offset)
        )
    except CorruptData:
        return True  # rot: whoever reads on goes past it


def _replay(segments: Segments, producers: ProducerState, start: int, end_offset: int) -> None:
    for segment in segments.from_offset(start):
        if segment.base_offset >= end_offset:
            break  # recovery has yet to look at these: their bytes may be anything
        try:
            _replay_segment(segment, producers, start, end_offset)
        except CorruptData:
            continue  # rot in what was synced: what cannot be read cannot be known


def _replay_segment(segment: Segment, producers: ProducerState, start: int, end_offset: int) -> None:
    for position, head in _heads_within(segment, start, end_offset):
        batch = segment.file.read(position, head.size_bytes) if head.is_control else b""
        completed = replay_batch(producers, head, batch)
        if completed is not None:
            producers.complete(completed)  # its index entry was made when it was written


def _heads_within(segment: Segment, start: int, end_offset: int) -> Iterator[tuple[int, BatchHead]]:
    found = segment.position_of(start) if start > segment.base_offset else (0, 0)
    if found is None:
        return
    for position, head in segment.heads(found[0]):
        if head.base_offset >= end_offset:
            return
        if head.last_offset >= start:
            yield position, head


def require_aborted(
    segment: Segment, segments: Segments, snapshots: ProducerSnapshots, log_start_offset: int
) -> str | None:
    """Rebuild a segment's index of aborted transactions if it cannot be right; then what was wrong."""
    try:
        check_aborted_index(segment)
    except CorruptData as error:
        _rebuild_aborted(segment, segments, snapshots, log_start_offset)
        return str(error)
    return None


def _rebuild_aborted(segment: Segment, segments: Segments, snapshots: ProducerSnapshots, log_start_offset: int) -> None:
    """Make the index of aborted transactions of one segment anew, from the producers as they were before it."""
    producers = ProducerState()
    start, end = min(log_start_offset, segment.base_offset), segment.base_offset
    # Whoever has expired since may still have a transaction in here.
    rebuild_producers(segments, producers, snapshots, start, end, now_ms=0, expiration_ms=LONG_MAX)
    segment.aborted.clear()
    try:
        for position, head in segment.heads():
            batch = segment.file.read(position, head.size_bytes) if head.is_control else b""
            completed = replay_batch(producers, head, batch)
            if completed is not None:
                note_completed(segment, producers, completed)
    except CorruptData:
        pass  # rot: what is behind it cannot be known
    segment.aborted.is_checked = True
