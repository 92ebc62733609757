"""Leader epochs of a log: when they are recorded, where they end, that they survive (SPEC R5; KIP-101)."""

from __future__ import annotations

from pathlib import Path

from tests.log.making_logs import NOW, append, batch_of, files_of, killed, make_log

from strandline.log.leader_epochs import UNDEFINED, EpochEnd

CHECKPOINT = "leader-epoch-checkpoint"


def test_the_file_is_kafkas(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0")
    assert (tmp_path / "orders-0" / CHECKPOINT).read_text() == "0\n0\n"
    append(log, batch_of("a", "b"), leader_epoch=3)
    append(log, batch_of("c"), leader_epoch=5)
    assert (tmp_path / "orders-0" / CHECKPOINT).read_text() == "0\n2\n3 0\n5 2\n"


def test_an_election_without_a_record() -> None:
    """KAFKA-7415: the epoch is recorded when the leader is elected, before it writes."""
    log = make_log()
    append(log, batch_of("a"), leader_epoch=1)
    log.assign_epoch(2, log.log_end_offset)
    assert log.epochs.end_offset_for(1, log.log_end_offset) == EpochEnd(1, 1)
    log.assign_epoch(3, log.log_end_offset)
    assert log.epochs.entries() == ((1, 0), (3, 1))  # the one that wrote nothing is gone
    append(log, batch_of("b"), leader_epoch=3)
    assert log.epochs.entries() == ((1, 0), (3, 1))


def test_the_same_epoch_is_written_once() -> None:
    log = make_log()
    append(log, batch_of("a"), leader_epoch=1)
    before = files_of(log)[CHECKPOINT]
    log.assign_epoch(1, log.log_end_offset)
    append(log, batch_of("b"), leader_epoch=1)
    assert files_of(log)[CHECKPOINT] == before


def test_where_an_epoch_ended() -> None:
    log = make_log()
    for epoch, count in ((2, 3), (5, 1), (6, 4)):
        append(log, batch_of(*"abcd"[:count]), leader_epoch=epoch)
    end = log.log_end_offset
    assert log.epochs.end_offset_for(2, end) == EpochEnd(2, 3)
    assert log.epochs.end_offset_for(4, end) == EpochEnd(2, 3)
    assert log.epochs.end_offset_for(5, end) == EpochEnd(5, 4)
    assert log.epochs.end_offset_for(6, end) == EpochEnd(6, 8)
    assert log.epochs.end_offset_for(7, end) == UNDEFINED


def test_after_a_crash() -> None:
    log = make_log()
    append(log, batch_of("a"), leader_epoch=1)
    append(log, batch_of("b"), leader_epoch=2)
    assert make_log(filesystem=killed(log)).epochs.entries() == ((1, 0), (2, 1))


def test_a_lost_or_damaged_checkpoint_is_rebuilt() -> None:
    log = make_log(segment_bytes=100)
    for epoch in (1, 1, 2, 4):
        append(log, batch_of("a"), leader_epoch=epoch)
    for content in (None, b"", b"0\n9\n", b"nonsense"):
        disk = killed(log)
        path = f"{log.directory}/{CHECKPOINT}"
        disk.remove(path)
        if content is not None:
            disk.open(path, create=True).append([content])
        again = make_log(filesystem=disk, segment_bytes=100)
        assert again.epochs.entries() == ((1, 0), (2, 2), (4, 3))


def test_a_damaged_checkpoint_of_a_log_without_records_is_written_anew() -> None:
    """As power that goes may leave it: nothing is lost with it, and whoever checks the folder would see a fault."""
    log = make_log()
    disk = killed(log)
    path = f"{log.directory}/{CHECKPOINT}"
    disk.remove(path)
    disk.open(path, create=True).append([bytes(8)])
    again = make_log(filesystem=disk)
    assert again.epochs.entries() == ()
    assert files_of(again)[CHECKPOINT] == b"0\n0\n"


def test_a_log_start_that_comes_back_after_a_crash_brings_its_epochs_back() -> None:
    """Epochs are on the disk as soon as the log start moves up, the log start itself only with its checkpoint. A
    follower that has other records of the first epoch would be told that they go on up to where the second one is."""
    log = make_log(segment_bytes=100)
    for epoch in (1, 1, 2, 2, 3):
        append(log, batch_of("a"), leader_epoch=epoch)
    for log_start_offset in (1, 2, 3, 4, 5):
        log.advance_log_start(log_start_offset, high_watermark=5)
        again = make_log(filesystem=killed(log), segment_bytes=100)
        assert again.log_start_offset == 0
        assert again.epochs.entries() == ((1, 0), (2, 2), (3, 4))
        assert again.epochs.end_offset_for(1, again.log_end_offset) == EpochEnd(1, 2)
        once_more = make_log(filesystem=killed(again), segment_bytes=100, log_start_offset=1)
        assert once_more.epochs.entries() == ((1, 1), (2, 2), (3, 4))


def test_records_without_an_epoch_stay_without_one() -> None:
    """Of the time before there were epochs: nothing is made up for them."""
    log = make_log()
    append(log, batch_of("a"), leader_epoch=-1)
    append(log, batch_of("b"), leader_epoch=4)
    again = make_log(filesystem=killed(log))
    assert again.log_start_offset == 0
    assert again.epochs.entries() == ((4, 1),)


def test_an_epoch_beyond_the_end_is_not_believed() -> None:
    """It was elected and wrote nothing that survived; the log cannot have its records."""
    log = make_log()
    append(log, batch_of("a"), leader_epoch=1)
    log.assign_epoch(2, log.log_end_offset)
    assert make_log(filesystem=killed(log)).epochs.entries() == ((1, 0),)


def test_a_follower_of_an_older_leader_goes_on(tmp_path: Path) -> None:
    """After a cut below an epoch's start the epoch may come again, elsewhere."""
    log = make_log(tmp_path / "orders-0")
    append(log, batch_of("a"), batch_of("b"), leader_epoch=1)
    append(log, batch_of("c"), leader_epoch=2)
    log.truncate_to(1, now_ms=NOW)
    assert log.epochs.entries() == ((1, 0),)
    append(log, batch_of("d"), leader_epoch=2)
    assert log.epochs.entries() == ((1, 0), (2, 1))
    log.close(NOW)
    assert make_log(tmp_path / "orders-0", is_clean=True).epochs.entries() == ((1, 0), (2, 1))
