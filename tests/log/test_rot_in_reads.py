"""Rot in the middle of a log: who asks for it is refused, everything else can be had, and it is told once."""

from __future__ import annotations

from typing import Any

import pytest
from tests.log.making_logs import NOW, append, append_marker, killed, make_log, numbered, offsets_read, sized_batch

from strandline.log.log import Log
from strandline.log.segment import Segment
from strandline.model.failures import ErrorCode, Refused

BATCH_BYTES = 150
ROTTEN_OFFSET, OFFSETS = 5, 12
OPTIONS: dict[str, Any] = {"segment_bytes": 10 * BATCH_BYTES, "index_interval_bytes": 100}


def rotten_log() -> tuple[Log, list[str]]:
    """After a clean stop, the framing of one batch in the first of two segments is zeros."""
    log = make_log(**OPTIONS)
    append(log, *(sized_batch(BATCH_BYTES, timestamp=NOW + number) for number in range(OFFSETS)))
    log.close(NOW)
    disk = killed(log)
    disk.open("/orders-0/00000000000000000000.log").write(ROTTEN_OFFSET * BATCH_BYTES, bytes(40))
    log = make_log(filesystem=disk, is_clean=True, **OPTIONS)
    told: list[str] = []
    log.rot_found = told.append
    return log, told


def refusal(log: Log, offset: int) -> Refused:
    with pytest.raises(Refused) as caught:
        log.read(offset, 1)
    return caught.value


def test_a_read_of_a_rotten_batch_is_refused_and_no_other() -> None:
    log, _ = rotten_log()
    for _ in range(2):
        for offset in range(OFFSETS):
            if offset == ROTTEN_OFFSET:
                assert refusal(log, offset).error_code is ErrorCode.CORRUPT_MESSAGE
            else:
                assert offsets_read(log, offset, 1)[0] == offset
    assert log.failure is None


def test_it_is_told_once_with_file_and_position() -> None:
    log, told = rotten_log()
    reason = refusal(log, ROTTEN_OFFSET).reason
    refusal(log, ROTTEN_OFFSET)
    assert told == [reason]
    assert reason.startswith("/orders-0/00000000000000000000.log: no batch")
    assert f"position {ROTTEN_OFFSET * BATCH_BYTES}" in reason


def test_the_segment_is_scanned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a consumer that asks again and again would keep the broker's only thread busy with it."""
    log, _ = rotten_log()
    refusal(log, ROTTEN_OFFSET)
    monkeypatch.delattr(Segment, "heads")
    monkeypatch.delattr(Segment, "rebuild_indexes")
    refusal(log, ROTTEN_OFFSET)


def test_a_look_up_by_time_that_meets_it_is_refused() -> None:
    log, told = rotten_log()
    with pytest.raises(Refused) as caught:
        log.find_by_timestamp(NOW + ROTTEN_OFFSET)
    assert caught.value.error_code is ErrorCode.CORRUPT_MESSAGE
    assert len(told) == 1
    assert log.find_max_timestamp() is not None, "it is in the other segment"


def test_an_aborted_transaction_whose_marker_has_rotted_stays_aborted() -> None:
    """Its index entry cannot be verified any more; to make the index anew would show its records to everybody."""
    log = make_log(**OPTIONS)
    append(log, numbered(0, is_transactional=True))
    position = log.size_bytes
    append_marker(log, 7, is_commit=False)
    append(log, *(sized_batch(BATCH_BYTES) for _ in range(12)))
    aborted = log.aborted_transactions(0, 2)
    log.close(NOW)
    disk = killed(log)
    disk.open("/orders-0/00000000000000000000.log").write(position, bytes(20))
    log = make_log(filesystem=disk, is_clean=True, **OPTIONS)
    assert log.aborted_transactions(0, 2) == aborted != []
