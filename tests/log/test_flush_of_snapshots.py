"""A snapshot that is taken anew, under the name of one that was truncated away while a flush ran, is synced too."""

from __future__ import annotations

from tests.log.making_logs import NOW, append, make_log, numbered

from strandline.simulation.disk import SimulatedDisk


def test_a_flush_that_ends_late_does_not_speak_for_a_snapshot_taken_since() -> None:
    """Found by the simulator: power left the snapshot as zeros, below the recovery point, where it stays so."""
    disk = SimulatedDisk()
    log = make_log(filesystem=disk)
    append(log, numbered(0))
    append(log, numbered(1))
    log.roll(now_ms=NOW)
    late = log.begin_flush()
    log.truncate_to(1, now_ms=NOW)
    late.run()
    append(log, numbered(1))
    log.roll(now_ms=NOW)
    log.end_flush(late, NOW)
    disk.trace.clear()
    work = log.begin_flush()
    work.run()
    log.end_flush(work, NOW)
    assert "sync /orders-0/00000000000000000002.snapshot" in disk.trace
