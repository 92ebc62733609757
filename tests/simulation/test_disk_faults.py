"""A simulated disk that fails a call, fills up, or rots."""

from __future__ import annotations

import errno
from collections.abc import Callable
from random import Random

import pytest

from strandline.log.filesystem import read_whole
from strandline.simulation.disk import SimulatedDisk


def disk_with(path: str, data: bytes) -> SimulatedDisk:
    disk = SimulatedDisk()
    file = disk.open(path, create=True)
    file.append([data])
    file.sync()
    file.close()
    disk.sync_directory("/")
    return disk


@pytest.mark.parametrize(
    "operation",
    ["append", "map", "open", "read", "remove", "rename", "sync", "sync_directory", "truncate", "write"],
)
def test_each_operation_can_fail_once_and_then_leaves_things_as_they_were(operation: str) -> None:
    disk = disk_with("a", b"data")
    file = disk.open("a")
    actions: dict[str, Callable[[], object]] = {
        "append": lambda: file.append([b"x"]),
        "map": lambda: file.map(4),
        "open": lambda: disk.open("a"),
        "read": lambda: file.read(0, 4),
        "remove": lambda: disk.remove("a"),
        "rename": lambda: disk.rename("a", "b"),
        "sync": file.sync,
        "sync_directory": lambda: disk.sync_directory("/"),
        "truncate": lambda: file.truncate(0),
        "write": lambda: file.write(0, b"x"),
    }
    disk.fail_next(operation)
    with pytest.raises(OSError, match="Input/output error") as caught:
        actions[operation]()
    assert caught.value.errno == errno.EIO
    assert disk.faults == []
    assert disk.trace[-1].endswith("fails with EIO")
    assert disk.names("/") == ["a"]
    assert read_whole(disk, "a") == b"data"
    actions[operation]()


def test_a_fault_waits_for_its_path_and_its_turn() -> None:
    disk = SimulatedDisk()
    disk.fail_next("open", errno.EROFS, after=1, path_contains=".index")
    disk.open("0.log", create=True)
    disk.open("1.log", create=True)
    disk.open("0.index", create=True)
    with pytest.raises(OSError, match="Read-only") as caught:
        disk.open("1.index", create=True)
    assert caught.value.errno == errno.EROFS
    assert disk.names("/") == ["0.index", "0.log", "1.log"]


def test_a_fault_finds_either_name_of_a_rename() -> None:
    disk = disk_with("a.swap", b"")
    disk.fail_next("rename", path_contains=".log")
    with pytest.raises(OSError, match="Input/output"):
        disk.rename("a.swap", "a.log")
    assert disk.names("/") == ["a.swap"]


def test_a_fault_of_an_unknown_operation_is_a_mistake_in_the_test() -> None:
    with pytest.raises(ValueError, match="fsync is none of append"):
        SimulatedDisk().fail_next("fsync")


def test_what_a_failed_sync_has_not_brought_to_the_drive_is_written_again() -> None:
    """fsyncgate: else its pages were clean now, and a retry would have nothing to write, and succeed."""
    disk = disk_with("a", b"safe" * 128)
    file = disk.open("a")
    file.append([b"late" * 128])
    disk.fail_next("sync")
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    assert file.read(512, 512) == b"late" * 128
    assert {read_whole(disk.crash(Random(seed)), "a")[512:] == b"late" * 128 for seed in range(20)} == {True, False}
    file.append([b"next" * 128])
    file.sync()
    assert read_whole(disk.crash(Random(0)), "a") == b"safe" * 128 + b"late" * 128 + b"next" * 128


def test_so_are_stores_into_a_mapping() -> None:
    disk = disk_with("index", bytes(1024))
    file = disk.open("index")
    mapping = file.map(1024)
    mapping[0] = 1
    disk.fail_next("sync")
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    mapping[1023] = 2
    file.sync()
    assert read_whole(disk.crash(Random(0)), "index") == b"\1" + bytes(1022) + b"\2"


def test_names_stay_undurable_when_their_sync_fails() -> None:
    disk = SimulatedDisk()
    disk.open("a", create=True)
    disk.fail_next("sync_directory")
    with pytest.raises(OSError, match="Input/output"):
        disk.sync_directory("/")
    assert {disk.crash(Random(seed)).exists("a") for seed in range(50)} == {True, False}


def test_a_full_disk_takes_the_first_part_of_an_append() -> None:
    disk = SimulatedDisk(space_bytes_max=10)
    file = disk.open("a", create=True)
    file.append([b"12345678"])
    with pytest.raises(OSError, match="No space") as caught:
        file.append([b"ab", b"cd"])
    assert caught.value.errno == errno.ENOSPC
    assert file.read(0, 20) == b"12345678ab"
    with pytest.raises(OSError, match="No space"):
        file.append([b"e"])
    file.write(0, b"in place")
    file.truncate(4)
    file.append([b"fits.."])
    assert file.read(0, 20) == b"in pfits.."


def test_a_full_disk_takes_the_first_part_of_a_write_past_the_end() -> None:
    disk = SimulatedDisk(space_bytes_max=10)
    file = disk.open("a", create=True)
    file.append([b"12345678"])
    with pytest.raises(OSError, match="No space"):
        file.write(6, b"abcdefgh")
    assert file.read(0, 20) == b"123456abcd"


def test_space_comes_back_when_the_last_handle_of_a_removed_file_goes() -> None:
    disk = SimulatedDisk(space_bytes_max=10)
    file = disk.open("a", create=True)
    file.append([b"0123456789"])
    disk.remove("a")
    other = disk.open("b", create=True)
    with pytest.raises(OSError, match="No space"):
        other.append([b"x"])
    file.close()
    assert disk.used_bytes == 0
    other.append([b"x"])
    durable = disk_with("c", b"123")
    durable.rename("c", "d")
    assert durable.used_bytes == durable.crash(Random(0)).used_bytes == 3


def test_holes_take_no_space() -> None:
    disk = SimulatedDisk(space_bytes_max=10)
    file = disk.open("index", create=True)
    file.truncate(10_000_000)
    assert (file.size(), disk.used_bytes) == (10_000_000, 0)
    disk.remove("index")
    file.close()
    assert disk.used_bytes == 0


def test_space_can_be_given_back() -> None:
    disk = SimulatedDisk(space_bytes_max=0)
    file = disk.open("a", create=True)
    with pytest.raises(OSError, match="No space"):
        file.append([b"x"])
    disk.space_bytes_max = None
    file.append([b"x"])
    assert disk.used_bytes == 1


def test_a_flipped_bit_is_there_now_and_after_any_crash() -> None:
    disk = disk_with("a", b"abc")
    disk.flip_bit("a", 1, 0)
    assert read_whole(disk, "a") == read_whole(disk.crash(Random(0)), "a") == b"acc"
    disk.open("a").append([b"d"])
    disk.flip_bit("a", 3, 1)
    assert {read_whole(disk.crash(Random(seed)), "a") for seed in range(50)} == {b"acc", b"accf", b"acc\0"}


def test_a_reserved_hole_takes_space_once_and_a_full_disk_has_none_for_it() -> None:
    disk = SimulatedDisk(space_bytes_max=100)
    file = disk.open("index", create=True)
    file.truncate(1000)
    file.reserve(0, 60)
    file.reserve(20, 40)
    assert disk.used_bytes == 60
    with pytest.raises(OSError, match="No space left"):
        file.reserve(60, 60)
    file.truncate(0)
    assert disk.used_bytes == 0
