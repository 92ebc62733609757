"""What a simulated disk keeps and loses when power goes, and what it keeps when only the process dies."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.log.filesystem import read_whole, replace_durably
from strandline.simulation.disk import SECTOR_BYTES, PowerLost, SimulatedDisk, SimulatedFile

SEEDS = 200


def crashes(disk: SimulatedDisk, seeds: int = SEEDS) -> list[SimulatedDisk]:
    return [disk.crash(Random(seed)) for seed in range(seeds)]


def contents(disks: list[SimulatedDisk], path: str) -> set[bytes | None]:
    return {read_whole(disk, path) if disk.exists(path) else None for disk in disks}


def durable_file(disk: SimulatedDisk, path: str, data: bytes = b"") -> SimulatedFile:
    file = disk.open(path, create=True)
    file.append([data])
    file.sync()
    disk.sync_directory("/")
    return file


def sectors(data: bytes) -> list[bytes]:
    return [data[start : start + SECTOR_BYTES] for start in range(0, len(data), SECTOR_BYTES)]


# Bytes


def test_what_was_synced_survives_every_crash() -> None:
    disk = SimulatedDisk()
    durable_file(disk, "a", b"safe" * 1000)
    assert contents(crashes(disk, 20), "a") == {b"safe" * 1000}


def test_an_unsynced_append_survives_in_any_subset_of_sectors_and_up_to_any_byte() -> None:
    disk = SimulatedDisk()
    file = durable_file(disk, "a", b"safe")
    file.append([b"x" * 4 * SECTOR_BYTES])
    found = contents(crashes(disk), "a")
    whole = b"safe" + b"x" * 4 * SECTOR_BYTES
    assert {b"safe", whole} <= found
    for data in found:
        assert data is not None
        assert data.startswith(b"safe")
        assert len(data) <= len(whole)
        for sector, written in zip(sectors(data)[1:], sectors(whole)[1:], strict=False):
            assert sector in (written[: len(sector)], bytes(len(sector)))
    reordered = [d for d in found if d and len(d) > 1024 and set(d[4:512]) == {0} and set(d[512:1024]) == {ord("x")}]
    assert reordered, "a later sector must be able to survive an earlier one"
    assert any(len(data) % SECTOR_BYTES not in (0, 4) for data in found if data), "no torn length"


def test_a_sector_overwritten_twice_is_any_of_its_versions() -> None:
    disk = SimulatedDisk()
    file = durable_file(disk, "a", b"0")
    file.write(0, b"1")
    file.write(0, b"2")
    assert contents(crashes(disk), "a") == {b"0", b"1", b"2"}


def test_what_follows_a_lost_truncate_is_lost_with_it() -> None:
    """Lengths go through a journal: no crash shows the new bytes among the old that were cut."""
    disk = SimulatedDisk()
    file = durable_file(disk, "a", b"o" * 2000)
    file.truncate(0)
    file.append([b"n" * 1000])
    found = contents(crashes(disk), "a")
    assert b"o" * 2000 in found
    assert b"n" * 1000 in found
    assert b"" in found
    for data in found:
        assert data is not None
        assert data == b"o" * 2000 or b"o" not in data


def test_stores_into_a_mapping_are_as_unsynced_as_any_write() -> None:
    disk = SimulatedDisk()
    file = disk.open("index", create=True)
    file.truncate(8192)
    file.sync()
    disk.sync_directory("/")
    mapping = file.map(8192)
    mapping[0:4] = b"head"
    mapping[8188:8192] = b"tail"
    both = b"head" + bytes(8184) + b"tail"
    assert contents(crashes(disk), "index") == {
        bytes(8192),
        both,
        b"head" + bytes(8188),
        bytes(8188) + b"tail",
    }
    file.sync()
    mapping[0:4] = b"HEAD"
    file.sync()
    assert contents(crashes(disk, 20), "index") == {b"HEAD" + both[4:]}


def test_a_mapped_file_cannot_change_size() -> None:
    disk = SimulatedDisk()
    file = durable_file(disk, "index", bytes(100))
    mapping = file.map(100)
    with pytest.raises(BufferError, match="drop the mapping"):
        file.truncate(50)
    with pytest.raises(BufferError, match="drop the mapping"):
        file.append([b"x"])
    mapping[0] = 1
    file.write(99, b"z")
    assert file.read(0, 100) == b"\1" + bytes(98) + b"z"
    del mapping
    file.truncate(50)
    file.sync()
    assert contents(crashes(disk, 10), "index") == {b"\1" + bytes(49)}


@given(st.lists(st.tuples(st.sampled_from(["append", "write", "truncate", "map"]), st.integers(0, 1500)), max_size=8))
def test_syncing_always_makes_durable_exactly_what_is_read(steps: list[tuple[str, int]]) -> None:
    disk = SimulatedDisk()
    file = durable_file(disk, "a", b"start")
    for number, (step, amount) in enumerate(steps, start=1):
        fill = bytes([number])
        if step == "append":
            file.append([fill * amount])
        elif step == "write":
            file.write(amount, fill * 700)
        elif step == "truncate":
            file.truncate(amount)
        elif amount < file.size():
            file.map(file.size())[amount] = number
    before = read_whole(disk, "a")
    assert read_whole(disk.kill(), "a") == before
    assert dict(disk.crash_states(2))["everything kept"].size("a") == len(before)
    file.sync()
    assert contents(crashes(disk, 3), "a") == {before}


# Names


def test_a_synced_file_without_a_synced_folder_may_be_gone() -> None:
    """KAFKA-3968: the fsync of a new segment does not make its name durable."""
    disk = SimulatedDisk()
    file = disk.open("new.log", create=True)
    file.append([b"data"])
    file.sync()
    assert contents(crashes(disk), "new.log") == {None, b"data"}
    disk.sync_directory("/")
    assert contents(crashes(disk), "new.log") == {b"data"}


def test_a_synced_folder_without_a_synced_file_may_hold_an_empty_file() -> None:
    disk = SimulatedDisk()
    disk.open("new.log", create=True).append([b"data"])
    disk.sync_directory("/")
    found = contents(crashes(disk), "new.log")
    assert {b"", b"data", bytes(4)} <= found
    assert None not in found


def test_a_folder_inside_a_lost_folder_is_lost() -> None:
    disk = SimulatedDisk()
    disk.make_directories("/data/topic-0")
    disk.open("/data/topic-0/0.log", create=True).sync()
    disk.sync_directory("/data/topic-0")
    assert {crashed.exists("/data/topic-0/0.log") for crashed in crashes(disk)} == {True, False}
    disk.sync_directory("/data")
    disk.sync_directory("/")
    assert all(crashed.exists("/data/topic-0/0.log") for crashed in crashes(disk, 20))


def test_a_rename_is_atomic() -> None:
    disk = SimulatedDisk()
    durable_file(disk, "target", b"old")
    durable_file(disk, "source", b"new")
    disk.rename("source", "target")
    trees = {tuple(crashed.names("/")) for crashed in crashes(disk)}
    assert trees == {("source", "target"), ("target",)}
    for crashed in crashes(disk):
        assert read_whole(crashed, "target") == (b"old" if crashed.exists("source") else b"new")


def test_a_change_of_names_needs_those_it_builds_on() -> None:
    """Create a, rename it to b, create a again: no step is skipped, and b is never the second a."""
    disk = SimulatedDisk()
    for data in (b"first", b"second"):
        file = disk.open("a", create=True)
        file.append([data])
        file.sync()
        if data == b"first":
            disk.rename("a", "b")
    found = {tuple((n, read_whole(c, n)) for n in c.names("/")) for c in crashes(disk)}
    assert found == {
        (),
        (("a", b"first"),),
        (("b", b"first"),),
        (("a", b"second"), ("b", b"first")),
    }


def test_independent_changes_of_names_survive_in_any_subset() -> None:
    disk = SimulatedDisk()
    for name in "abc":
        disk.open(name, create=True)
    assert len({tuple(crashed.names("/")) for crashed in crashes(disk)}) == 8


def test_a_removed_tree_comes_back_whole_half_or_not_at_all_but_never_headless() -> None:
    disk = SimulatedDisk()
    disk.make_directories("/tree")
    for name in ("x", "y"):
        disk.open(f"/tree/{name}", create=True)
    disk.sync_directory("/tree")
    disk.sync_directory("/")
    disk.remove_tree("/tree")
    found = [crashed.names("/tree") if crashed.exists("/tree") else None for crashed in crashes(disk)]
    assert all(names in found for names in (None, [], ["x"], ["y"], ["x", "y"]))
    disk.sync_directory("/")
    assert not any(crashed.exists("/tree") for crashed in crashes(disk, 20))


def test_a_file_moved_between_folders_is_in_one_of_them() -> None:
    disk = SimulatedDisk()
    durable_file(disk, "file", b"x")
    disk.make_directories("/folder")
    disk.rename("file", "/folder/file")
    for crashed in crashes(disk):
        assert crashed.exists("file") != crashed.exists("/folder/file")
    disk.sync_directory("/folder")
    assert all(read_whole(crashed, "/folder/file") == b"x" for crashed in crashes(disk, 20))


def test_removals_come_back_until_the_folder_is_synced() -> None:
    disk = SimulatedDisk()
    durable_file(disk, "a", b"x")
    disk.remove("a")
    assert contents(crashes(disk), "a") == {None, b"x"}
    disk.sync_directory("/")
    assert contents(crashes(disk), "a") == {None}


NAMES = st.sampled_from(["/a", "/b", "/d", "/d/a", "/d/b", "/d/e", "/d/e/a"])
STEPS = st.one_of(
    st.tuples(st.just("rename"), NAMES, NAMES),
    st.tuples(st.sampled_from(["create", "remove", "remove_tree", "make_directories", "sync_directory"]), NAMES),
)


def do(disk: SimulatedDisk, step: tuple[str, ...], content: bytes) -> None:
    try:
        if step[0] == "create":
            file = disk.open(step[1], create=True)
            file.truncate(0)
            file.append([content])
            file.sync()
        else:
            getattr(disk, step[0])(*step[1:])
    except OSError:
        pass  # many steps make no sense where they come; the file system says so


def everything_in(disk: SimulatedDisk, directory: str = "/") -> list[bytes]:
    found = []
    for name in disk.names(directory):
        path = directory.rstrip("/") + "/" + name
        found += everything_in(disk, path) if disk.is_directory(path) else [read_whole(disk, path)]
    return found


@given(st.lists(STEPS, max_size=15), st.integers(0, 1000))
def test_no_crash_shows_a_file_twice_or_loses_one_that_was_only_moved(steps: list[tuple[str, ...]], seed: int) -> None:
    disk = SimulatedDisk()
    disk.make_directories("/d/e")
    for path in ("/a", "/d/b", "/d/e/a"):
        do(disk, ("create", path), path.encode())
    for directory in ("/", "/d", "/d/e"):
        disk.sync_directory(directory)
    kept = everything_in(disk)
    for number, step in enumerate(steps):
        do(disk, step, b"%d" % number)
        kept = [content for content in kept if content in everything_in(disk)]
    found = everything_in(disk.crash(Random(seed)))
    contents_once = [content for content in found if content]
    assert len(contents_once) == len(set(contents_once))
    assert set(kept) <= set(found)


# The two kinds of crash


def test_a_killed_process_loses_its_handles_and_locks_but_no_byte() -> None:
    disk = SimulatedDisk(space_bytes_max=1000)
    disk.now_ms = 77
    disk.make_directories("/data")
    assert disk.lock("/data/.lock") is not None
    file = disk.open("/data/a", create=True)
    file.append([b"unsynced"])
    after = disk.kill()
    file.append([b", and written by a ghost"])
    assert read_whole(after, "/data/a") == b"unsynced"
    assert after.lock("/data/.lock") is not None
    assert (after.now_ms, after.modified_ms("/data/a"), after.used_bytes) == (77, 77, 8)
    assert {crashed.exists("/data/a") for crashed in crashes(after)} == {True, False}, "still not durable"


def test_a_second_crash_changes_nothing() -> None:
    disk = SimulatedDisk()
    disk.open("a", create=True).append([bytes(range(256)) * 20])
    for seed in range(20):
        once = disk.crash(Random(seed))
        assert contents([once.crash(Random(seed + 1))], "a") == contents([once], "a")


def test_the_same_seed_gives_the_same_crash() -> None:
    def state(seed: int) -> list[tuple[str, bytes]]:
        disk = SimulatedDisk()
        for number in range(20):
            disk.open(f"{number}", create=True).append([bytes([number]) * 2000])
        crashed = disk.crash(Random(seed))
        return [(name, read_whole(crashed, name)) for name in crashed.names("/")]

    assert [state(seed) for seed in range(20)] == [state(seed) for seed in range(20)]
    assert state(1) != state(2)


def test_corner_cases_have_names() -> None:
    disk = SimulatedDisk()
    durable_file(disk, "old", b"o")
    disk.open("old").append([b"ld"])
    disk.open("new", create=True).append([b"new"])
    disk.open("newer", create=True)
    states = dict(disk.crash_states(100))
    found = {name: {n: read_whole(d, n) for n in d.names("/")} for name, d in states.items()}
    assert found == {
        "everything lost": {"old": b"o"},
        "everything kept": {"old": b"old", "new": b"new", "newer": b""},
        "only names kept": {"old": b"o", "new": b"", "newer": b""},
        "only data kept": {"old": b"old"},
        "names and lengths kept, zeros inside": {"old": b"o\0\0", "new": b"\0\0\0", "newer": b""},
        "first 1 of 2 names kept, no data": {"old": b"o", "new": b""},
        "first 1 of 2 names kept, all data": {"old": b"old", "new": b"new"},
    }
    assert len(list(disk.crash_states(3))) == 3


def test_power_goes_after_the_given_number_of_changes() -> None:
    disk = SimulatedDisk()
    durable_file(disk, "a", b"0")
    before = disk.operations
    file = disk.open("a")
    disk.stop_after(2)
    file.append([b"1"])
    file.sync()
    with pytest.raises(PowerLost):
        file.append([b"2"])
    for action in (file.size, file.sync, lambda: file.read(0, 1), lambda: disk.names("/")):
        with pytest.raises(PowerLost):
            action()
    with pytest.raises(PowerLost):
        disk.exists("nowhere")
    with pytest.raises(PowerLost):
        disk.remove_tree("nowhere")
    with pytest.raises(PowerLost):
        disk.open("/nowhere/at/all")
    file.close()
    assert disk.operations - before == 2
    assert contents(crashes(disk, 20), "a") == {b"01"}


def test_a_store_into_a_mapping_after_the_power_went_does_not_count() -> None:
    disk = SimulatedDisk()
    file = durable_file(disk, "index", bytes(4))
    mapping = file.map(4)
    disk.stop_after(0)
    mapping[0] = 1
    with pytest.raises(PowerLost):
        file.sync()
    mapping[1] = 2
    assert contents(crashes(disk), "index") == {bytes(4), b"\1\0\0\0"}
    assert read_whole(disk.kill(), "index") == b"\1\0\0\0"


def test_the_trace_tells_what_was_done() -> None:
    disk = SimulatedDisk()
    disk.make_directories("/d")
    replace_durably(disk, "/d/checkpoint", b"0\n0\n")
    disk.remove_tree("/d")
    assert list(disk.trace) == [
        "make directory /d",
        "create /d/checkpoint.tmp",
        "truncate /d/checkpoint.tmp to 0",
        "append /d/checkpoint.tmp +4",
        "sync /d/checkpoint.tmp",
        "rename /d/checkpoint.tmp -> /d/checkpoint",
        "sync directory /d",
        "remove /d/checkpoint",
        "remove /d",
    ]
    assert disk.operations == len(disk.trace)
