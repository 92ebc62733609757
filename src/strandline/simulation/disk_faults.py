"""Faults of disks: they fail once, are full for a while, or slow. What waits for a write counts when it has met one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.simulation.durations import in_seconds

if TYPE_CHECKING:
    from strandline.simulation.nemesis import Nemesis


class DiskFaults:
    def __init__(self, nemesis: Nemesis) -> None:
        self._nemesis = nemesis
        self._chance = nemesis.chance

    def failing_disk(self) -> None:
        """Once; the broker has to give up its directory, and with it itself."""
        machine = self._nemesis.leader()
        operation = self._chance.choice(("append", "sync", "sync", "truncate", "rename", "read", "open"))
        after = self._chance.randint(0, 30)
        if not machine.is_up:
            return

        def fails(path: str) -> None:
            start = self._nemesis.start_later(machine, 5, 20)
            self._nemesis.struck("failing_disk", f"{machine.name}, {operation} of {path}, {start}")

        self._nemesis.armed("failing_disk", f"{machine.name}, {operation} after {after} more")
        machine.disk.fail_next(operation, after=after, when_struck=fails)

    def full_disk(self) -> None:
        machine, room_bytes = self._nemesis.leader(), self._chance.randint(0, 2_000)
        lasts_us = self._nemesis.draw_us(2, 20)
        if machine.disk.is_bounded:
            return  # somebody else will make room
        what, full_in = f"{machine.name} with room for {room_bytes} bytes", list[int]()  # in which life

        def is_full(path: str) -> None:
            full_in.append(machine.lives)
            self._nemesis.struck("full_disk", f"{machine.name}, {path}")

        def make_room() -> bool:
            was_bounded = machine.disk.make_room()
            if machine.lives in full_in:
                machine.start()
            return was_bounded

        self._nemesis.armed("full_disk", f"{what} for {in_seconds(lasts_us)}")
        machine.disk.fill_up(room_bytes, is_full)
        self._nemesis.mend_after(lasts_us, "full_disk", machine.name, make_room)

    def slow_disk(self) -> None:
        machine, delay_us = self._nemesis.machine(), self._chance.choice((20_000, 500_000, 5_000_000))
        if not machine.is_up or machine.slow_disk_us:
            return

        def mend() -> bool:
            was_slow, machine.slow_disk_us = machine.slow_disk_us > 0, 0
            return was_slow

        machine.slow_disk_us = delay_us
        self._nemesis.struck_for("slow_disk", f"{machine.name} by up to {delay_us // 1000} ms", mend, 1, 15)
