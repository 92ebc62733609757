"""The driver finds every way in which a small file can be rewritten wrongly, and none in the right one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from strandline.log.filesystem import FileSystem, read_whole, replace_durably
from strandline.simulation.crash_matrix import run_with_power_loss_at_every_step
from strandline.simulation.disk import PowerLost, SimulatedDisk

OLD, NEW = b"o" * 700, b"n" * 900
Replace = Callable[[FileSystem, str, bytes], None]


class Promises:
    """The oracle of these tests: whether the new content was acknowledged before power went."""

    def __init__(self) -> None:
        self.acknowledged = False


def disk_with_old_content() -> SimulatedDisk:
    disk = SimulatedDisk()
    replace_durably(disk, "/checkpoint", OLD)
    return disk


def old_or_new(disk: SimulatedDisk, promises: Promises) -> None:
    found = read_whole(disk, "/checkpoint")
    assert found == NEW or (found == OLD and not promises.acknowledged), f"{found[:5]!r}, {len(found)} bytes"


def play(replace: Replace, *, seeds: int = 4, corner_cases_max: int = 7) -> tuple[int, int]:
    def run(disk: SimulatedDisk, promises: Promises) -> None:
        replace(disk, "/checkpoint", NEW)
        promises.acknowledged = True

    return run_with_power_loss_at_every_step(
        run,
        old_or_new,
        make_oracle=Promises,
        make_disk=disk_with_old_content,
        seeds=seeds,
        corner_cases_max=corner_cases_max,
    )


def without_sync_of_the_file(filesystem: FileSystem, path: str, data: bytes) -> None:
    file = filesystem.open(path + ".tmp", create=True)
    file.append([data])
    file.close()
    filesystem.rename(path + ".tmp", path)
    filesystem.sync_directory("/")


def without_sync_of_the_folder(filesystem: FileSystem, path: str, data: bytes) -> None:
    file = filesystem.open(path + ".tmp", create=True)
    file.append([data])
    file.sync()
    file.close()
    filesystem.rename(path + ".tmp", path)


def in_place(filesystem: FileSystem, path: str, data: bytes) -> None:
    file = filesystem.open(path)
    file.truncate(0)
    file.append([data])
    file.sync()
    file.close()


def removing_first(filesystem: FileSystem, path: str, data: bytes) -> None:
    filesystem.remove(path)
    replace_durably(filesystem, path, data)


def test_replace_durably_leaves_old_or_new_at_every_step() -> None:
    """SPEC L10; KAFKA-9892, KAFKA-15312, KAFKA-16541."""
    steps, crashes = play(replace_durably)
    assert steps == 6
    assert crashes >= 7 * 9


@pytest.mark.parametrize(
    ("wrong", "last_operation"),
    [
        (without_sync_of_the_file, "rename /checkpoint.tmp -> /checkpoint"),
        (without_sync_of_the_folder, "rename /checkpoint.tmp -> /checkpoint"),
        (in_place, "truncate /checkpoint to 0"),
        (removing_first, "remove /checkpoint"),
    ],
)
def test_a_wrong_way_is_caught_at_the_step_that_breaks_it(wrong: Replace, last_operation: str) -> None:
    with pytest.raises(AssertionError) as caught:
        play(wrong)
    message = str(caught.value)
    assert message.startswith("step ")
    assert message.endswith("\n  " + last_operation)
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize("wrong", [without_sync_of_the_file, without_sync_of_the_folder])
def test_random_crashes_alone_find_what_only_power_loss_breaks(wrong: Replace) -> None:
    with pytest.raises(AssertionError, match="seed"):
        play(wrong, seeds=30, corner_cases_max=0)


def test_the_oracle_is_fresh_for_every_run_and_knows_what_was_promised_at_the_crash() -> None:
    """An appender that acknowledges after each sync: what was acknowledged is a prefix of what is found."""

    def run(disk: SimulatedDisk, acknowledged: list[bytes]) -> None:
        file = disk.open("/log", create=True)
        disk.sync_directory("/")
        for number in range(5):
            file.append([b"%03d;" % number * 200])
            file.sync()
            acknowledged.append(b"%03d;" % number * 200)

    def verify(disk: SimulatedDisk, acknowledged: list[bytes]) -> None:
        if acknowledged:
            assert read_whole(disk, "/log").startswith(b"".join(acknowledged))
        seen.append(len(acknowledged))

    seen: list[int] = []
    count = run_with_power_loss_at_every_step(run, verify, make_oracle=list[bytes], seeds=2)
    assert count.steps == 12
    assert count.crashes == len(seen)
    assert seen == sorted(seen)
    assert set(seen) == {0, 1, 2, 3, 4, 5}


def test_recovery_can_be_crashed_too() -> None:
    """`verify` plays its own matrix on what it found: here a recovery that must be repeatable."""

    def run(disk: SimulatedDisk, _: None) -> None:
        replace_durably(disk, "/checkpoint", NEW)

    def recover(disk: SimulatedDisk, _: None) -> None:
        if disk.exists("/checkpoint.tmp"):
            disk.remove("/checkpoint.tmp")
            disk.sync_directory("/")

    def verify(disk: SimulatedDisk, _: None) -> None:
        nested.append(
            run_with_power_loss_at_every_step(
                recover,
                lambda found, _: old_or_new(found, Promises()),
                make_oracle=lambda: None,
                make_disk=disk.kill,
                seeds=1,
            ).steps
        )

    nested: list[int] = []
    run_with_power_loss_at_every_step(run, verify, make_oracle=lambda: None, make_disk=disk_with_old_content, seeds=1)
    assert set(nested) == {0, 2}


def test_a_run_that_swallows_the_power_loss_is_reported() -> None:
    def run(disk: SimulatedDisk, _: None) -> None:
        with suppress(PowerLost):
            disk.open("/a", create=True)

    with pytest.raises(AssertionError, match="swallowed the power loss after step 0"):
        run_with_power_loss_at_every_step(run, lambda _disk, _none: None, make_oracle=lambda: None)


def test_a_run_that_differs_from_time_to_time_is_reported() -> None:
    paths = iter(["/a/b"])

    def run(disk: SimulatedDisk, _: None) -> None:
        disk.make_directories(next(paths, "/a"))

    with pytest.raises(AssertionError, match="not deterministic"):
        run_with_power_loss_at_every_step(run, lambda _disk, _none: None, make_oracle=lambda: None)


def test_an_error_of_the_run_itself_says_where_power_was_lost() -> None:
    def run(disk: SimulatedDisk, _: None) -> None:
        try:
            disk.open("/a", create=True)
            disk.open("/b", create=True)
        finally:
            if disk.power_lost:
                raise RuntimeError("handler in trouble")

    with pytest.raises(RuntimeError) as caught:
        run_with_power_loss_at_every_step(run, lambda _disk, _none: None, make_oracle=lambda: None)
    assert "after step 0" in caught.value.__notes__[0]
