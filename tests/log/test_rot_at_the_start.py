"""Rot in the first bytes of a segment: the log opens, after a clean stop or a crash, and keeps what was synced."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from unittest.mock import patch

import pytest
from tests.log.making_logs import NOW, append, killed, make_log, offsets_read, sized_batch

from strandline.log import directory_opening
from strandline.log.log_directory import LogDirectory
from strandline.model.failures import CorruptData, CorruptLog
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.simulation.disk import SimulatedDisk

BATCH_BYTES, BATCHES, OFFSETS_IN_SEGMENT = 150, 8, 5
OPTIONS: dict[str, Any] = {"segment_bytes": OFFSETS_IN_SEGMENT * BATCH_BYTES, "index_interval_bytes": 100}
FIRST, ACTIVE = 0, OFFSETS_IN_SEGMENT


def stopped(*, is_clean: bool, base_offset: int, zeroed_bytes: int) -> SimulatedDisk:
    log = make_log(**OPTIONS)
    append(log, *(sized_batch(BATCH_BYTES, timestamp=NOW + number) for number in range(BATCHES)))
    log.flush(NOW)
    if is_clean:
        log.close(NOW)
    disk = killed(log)
    path = f"/orders-0/{base_offset:020d}.log"
    disk.open(path).write(0, bytes(min(zeroed_bytes, disk.size(path))))
    return disk


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("base_offset", [FIRST, ACTIVE])
@pytest.mark.parametrize("zeroed_bytes", [1, 8, 12, 16, 17, 20, 27, 61, 80, 149, 150, 151, 170, 300, 449])
@pytest.mark.parametrize("recovery_point", [0, BATCHES])
def test_what_was_synced_behind_it_stays(
    is_clean: bool, base_offset: int, zeroed_bytes: int, recovery_point: int
) -> None:
    """Everything that lies behind the damage can be read if it was synced, however far the damage goes."""
    disk = stopped(is_clean=is_clean, base_offset=base_offset, zeroed_bytes=zeroed_bytes)
    log = make_log(filesystem=disk, is_clean=is_clean, recovery_point=recovery_point, **OPTIONS)
    sound = base_offset + -(-zeroed_bytes // BATCH_BYTES)
    if recovery_point == BATCHES and sound < BATCHES and (base_offset == ACTIVE or not is_clean):
        assert log.log_end_offset == BATCHES
        for offset in range(sound, BATCHES):
            assert offsets_read(log, offset, 1)[0] == offset
    for offset in range(log.log_start_offset, log.log_end_offset):
        with suppress(CorruptLog):
            assert log.read(offset, 1).length > 0
    assert append(log, sized_batch(BATCH_BYTES))[0].base_offset == log.log_end_offset - 1


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("base_offset", [FIRST, ACTIVE])
def test_a_segment_of_nothing_but_zeros(is_clean: bool, base_offset: int) -> None:
    disk = stopped(is_clean=is_clean, base_offset=base_offset, zeroed_bytes=10**6)
    log = make_log(filesystem=disk, is_clean=is_clean, recovery_point=BATCHES, **OPTIONS)
    assert append(log, sized_batch(BATCH_BYTES))[0].base_offset == log.log_end_offset - 1


def test_a_log_that_cannot_be_opened_takes_its_directory_offline_by_name() -> None:
    """And not the process: another directory may be sound. An empty log in its place would be a leader of nothing."""
    disk = SimulatedDisk()
    names = [TopicPartition("orders", 0), TopicPartition("payments", 0)]
    directory = LogDirectory.open(disk, "/data", lambda _: LogSettings(segment_index_bytes=1024), now_ms=NOW)
    for name in names:
        directory.create(name, now_ms=NOW)
    directory.close(now_ms=NOW)
    with patch.object(directory_opening, "open_log", side_effect=CorruptData("no sense in it")):
        directory = LogDirectory.open(disk, "/data", lambda _: LogSettings(segment_index_bytes=1024), now_ms=NOW)
    assert not directory.is_usable()
    assert "orders-0 is too damaged to be opened: no sense in it" in str(directory.failure)
