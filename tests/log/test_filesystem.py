"""One contract, two file systems: the operating system and its simulated twin answer and fail alike."""

from __future__ import annotations

import errno
import os
import resource
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strandline.log.filesystem import (
    WRITTEN_AGAIN_BYTES,
    FileSystem,
    RealFileSystem,
    read_whole,
    replace_durably,
)
from strandline.simulation.disk import SimulatedDisk


class Place(NamedTuple):
    filesystem: FileSystem
    root: str

    def path(self, *names: str) -> str:
        return "/".join([self.root, *names])

    def put(self, name: str, data: bytes) -> str:
        file = self.filesystem.open(self.path(name), create=True)
        file.append([data])
        file.close()
        return self.path(name)


@pytest.fixture(params=["operating system", "simulated"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "operating system":
        return Place(RealFileSystem(), str(tmp_path))
    disk = SimulatedDisk()
    disk.make_directories("/data")
    return Place(disk, "/data")


def raised_by(action: Callable[[], object]) -> tuple[type[BaseException], int | None]:
    with pytest.raises((OSError, ValueError)) as caught:
        action()
    return type(caught.value), caught.value.errno if isinstance(caught.value, OSError) else None


def test_appends_go_to_the_end_and_reads_name_their_position(place: Place) -> None:
    file = place.filesystem.open(place.path("a"), create=True)
    assert file.append([b"one ", bytearray(b"two "), memoryview(b"three")]) == 13
    assert file.append([b"!"]) == 1
    assert file.append([]) == 0
    assert file.append([b""]) == 0
    assert file.size() == 14
    assert file.read(4, 4) == b"two "
    assert file.read(8, 100) == b"three!"
    assert file.read(14, 1) == b""
    assert file.read(99, 1) == b""
    file.close()


def test_an_append_takes_more_buffers_than_one_system_call(place: Place) -> None:
    file = place.filesystem.open(place.path("a"), create=True)
    assert file.append([b"%04d" % number for number in range(3000)]) == 12_000
    assert file.read(11_996, 4) == b"2999"
    file.close()


def test_a_reopened_file_is_appended_to(place: Place) -> None:
    path = place.put("a", b"first")
    file = place.filesystem.open(path)
    file.append([b" second"])
    file.close()
    assert read_whole(place.filesystem, path) == b"first second"


def test_an_overwrite_leaves_the_rest_and_may_pass_the_end(place: Place) -> None:
    file = place.filesystem.open(place.put("a", b"0123456789"))
    file.write(3, b"xyz")
    assert file.read(0, 10) == b"012xyz6789"
    file.write(12, b"far")
    assert file.read(0, 20) == b"012xyz6789\0\0far"
    file.append([b"."])
    assert file.read(12, 9) == b"far."
    file.close()


def test_truncate_cuts_or_adds_zeros_and_moves_the_end(place: Place) -> None:
    file = place.filesystem.open(place.put("a", b"0123456789"))
    file.truncate(4)
    file.append([b"x"])
    assert file.read(0, 20) == b"0123x"
    file.truncate(8)
    assert file.read(0, 20) == b"0123x\0\0\0"
    file.append([b"y"])
    assert file.size() == 9
    file.truncate(0)
    assert file.size() == 0
    file.close()


def test_a_hole_is_reserved_without_a_change_to_be_seen(place: Place) -> None:
    file = place.filesystem.open(place.path("a"), create=True)
    file.truncate(10_000)
    file.reserve(4096, 4096)
    assert (file.size(), file.read(0, 10_000)) == (10_000, bytes(10_000))
    assert raised_by(lambda: file.reserve(0, 0)) == (OSError, errno.EINVAL)
    file.close()
    assert raised_by(lambda: file.reserve(0, 1)) == (OSError, errno.EBADF)


def test_each_handle_appends_where_it_last_saw_the_end(place: Place) -> None:
    path = place.put("a", b"base")
    first, second = place.filesystem.open(path), place.filesystem.open(path)
    first.append([b"1111"])
    second.append([b"22"])
    assert read_whole(place.filesystem, path) == b"base2211"
    first.truncate(0)
    second.append([b"3"])
    assert read_whole(place.filesystem, path) == bytes(6) + b"3"
    first.close()
    second.close()


def test_a_mapping_shares_memory_with_the_file_and_outlives_the_handle(place: Place) -> None:
    path = place.path("index")
    file = place.filesystem.open(path, create=True)
    file.truncate(32)
    mapping = file.map(16)
    assert len(mapping) == 16
    struct.pack_into(">ii", mapping, 8, 7, 4096)
    assert file.read(8, 8) == struct.pack(">ii", 7, 4096)
    file.write(0, b"\x05")
    assert mapping[0] == 5
    mapping[1:3] = b"ab"
    file.sync()
    file.close()
    assert bytes(mapping[0:3]) == b"\x05ab"
    mapping[3] = 9
    assert read_whole(place.filesystem, path)[:4] == b"\x05ab\x09"
    assert struct.unpack_from(">ii", mapping, 8) == (7, 4096)


def test_a_dropped_mapping_frees_the_file_to_change_size(place: Place) -> None:
    file = place.filesystem.open(place.path("index"), create=True)
    file.truncate(64)
    mapping = file.map(64)
    mapping[0:4] = b"kept"
    del mapping
    file.truncate(8)
    file.append([b"more"])
    assert file.read(0, 20) == b"kept\0\0\0\0more"
    again = file.map(12)
    assert bytes(again[8:12]) == b"more"
    del again
    file.close()


def test_what_cannot_be_mapped(place: Place) -> None:
    path = place.put("a", b"0123")
    file, reader = place.filesystem.open(path), place.filesystem.open(path, writable=False)
    assert raised_by(lambda: file.map(5)) == (ValueError, None)
    assert raised_by(lambda: file.map(0)) == (ValueError, None)
    assert raised_by(lambda: reader.map(4)) == (PermissionError, errno.EACCES)
    file.close()
    assert raised_by(lambda: file.map(4)) == (OSError, errno.EBADF)
    reader.close()


def test_a_closed_file_refuses_everything_but_another_close(place: Place) -> None:
    file = place.filesystem.open(place.put("a", b"x"))
    file.close()
    file.close()
    bad = (OSError, errno.EBADF)
    assert raised_by(file.size) == bad
    assert raised_by(lambda: file.append([b"x"])) == bad
    assert raised_by(lambda: file.read(0, 1)) == bad
    assert raised_by(lambda: file.write(0, b"x")) == bad
    assert raised_by(lambda: file.truncate(0)) == bad
    raised_by(file.sync)  # Python itself says ValueError here


def test_a_file_opened_for_reading_is_not_written(place: Place) -> None:
    file = place.filesystem.open(place.put("a", b"x"), writable=False)
    assert raised_by(lambda: file.append([b"x"])) == (OSError, errno.EBADF)
    assert raised_by(lambda: file.write(0, b"x")) == (OSError, errno.EBADF)
    assert raised_by(lambda: file.truncate(0)) == (OSError, errno.EINVAL)
    assert file.read(0, 9) == b"x"
    file.close()


def test_negative_positions_are_refused(place: Place) -> None:
    file = place.filesystem.open(place.put("a", b"x"))
    assert raised_by(lambda: file.read(-1, 1)) == (OSError, errno.EINVAL)
    assert raised_by(lambda: file.write(-1, b"x")) == (OSError, errno.EINVAL)
    assert raised_by(lambda: file.truncate(-1)) == (OSError, errno.EINVAL)
    file.close()


def test_opening(place: Place) -> None:
    filesystem = place.filesystem
    place.put("file", b"")
    filesystem.make_directories(place.path("folder"))
    assert raised_by(lambda: filesystem.open(place.path("none"))) == (FileNotFoundError, errno.ENOENT)
    assert raised_by(lambda: filesystem.open(place.path("none", "a"), create=True))[0] is FileNotFoundError
    assert raised_by(lambda: filesystem.open(place.path("file", "a"), create=True))[0] is NotADirectoryError
    assert raised_by(lambda: filesystem.open(place.path("folder")))[0] is IsADirectoryError
    assert raised_by(lambda: filesystem.open(place.path("folder"), create=True))[0] is IsADirectoryError
    filesystem.open(place.path("made"), create=True, writable=False).close()
    assert filesystem.size(place.path("made")) == 0


def test_names_and_sizes_are_sorted(place: Place) -> None:
    filesystem = place.filesystem
    place.put("b", b"22")
    place.put("a", b"1")
    filesystem.make_directories(place.path("c", "d"))
    assert filesystem.names(place.root) == ["a", "b", "c"]
    assert list(filesystem.sizes(place.root).items()) == [("a", 1), ("b", 2)]
    assert filesystem.names(place.path("c")) == ["d"]
    for listing in (filesystem.names, filesystem.sizes):
        assert raised_by(lambda listing=listing: listing(place.path("none")))[0] is FileNotFoundError  # type: ignore[misc]
        assert raised_by(lambda listing=listing: listing(place.path("a")))[0] is NotADirectoryError  # type: ignore[misc]


def test_what_is_there(place: Place) -> None:
    filesystem = place.filesystem
    path = place.put("a", b"123")
    assert filesystem.exists(path)
    assert not filesystem.is_directory(path)
    assert filesystem.size(path) == 3
    assert filesystem.exists(place.root)
    assert filesystem.is_directory(place.root)
    for missing in ("none", "none/deeper", "a/deeper"):
        assert not filesystem.exists(place.path(missing))
        assert not filesystem.is_directory(place.path(missing))
    assert raised_by(lambda: filesystem.size(place.path("none")))[0] is FileNotFoundError
    assert raised_by(lambda: filesystem.modified_ms(place.path("none")))[0] is FileNotFoundError


def test_making_directories_twice_is_fine_and_over_a_file_is_not(place: Place) -> None:
    filesystem = place.filesystem
    filesystem.make_directories(place.path("x", "y", "z"))
    filesystem.make_directories(place.path("x", "y"))
    assert filesystem.is_directory(place.path("x", "y", "z"))
    place.put("file", b"")
    assert raised_by(lambda: filesystem.make_directories(place.path("file")))[0] is FileExistsError
    assert raised_by(lambda: filesystem.make_directories(place.path("file", "x")))[0] is NotADirectoryError
    assert raised_by(lambda: filesystem.make_directories(place.path("file", "x", "y")))[0] is NotADirectoryError


def test_a_rename_replaces_its_target_and_open_handles_follow_the_file(place: Place) -> None:
    filesystem = place.filesystem
    source, target = place.put("source", b"new"), place.put("target", b"old")
    moved, replaced = filesystem.open(source), filesystem.open(target)
    filesystem.rename(source, target)
    assert filesystem.names(place.root) == ["target"]
    moved.append([b"er"])
    replaced.append([b"er"])
    assert read_whole(filesystem, target) == b"newer"
    assert replaced.read(0, 9) == b"older"
    moved.close()
    replaced.close()
    filesystem.rename(target, target)
    assert read_whole(filesystem, target) == b"newer"


def test_a_folder_is_renamed_with_all_in_it(place: Place) -> None:
    filesystem = place.filesystem
    filesystem.make_directories(place.path("topic-0"))
    place.put("topic-0/0.log", b"x")
    filesystem.rename(place.path("topic-0"), place.path("topic-0-delete"))
    assert filesystem.names(place.root) == ["topic-0-delete"]
    assert filesystem.names(place.path("topic-0-delete")) == ["0.log"]


def test_renames_that_cannot_be(place: Place) -> None:
    filesystem = place.filesystem
    place.put("file", b"")
    filesystem.make_directories(place.path("empty"))
    filesystem.make_directories(place.path("full", "inner"))

    def rename(source: str, target: str) -> tuple[type[BaseException], int | None]:
        return raised_by(lambda: filesystem.rename(place.path(source), place.path(target)))

    assert rename("none", "other") == (FileNotFoundError, errno.ENOENT)
    assert rename("file", "none/other") == (FileNotFoundError, errno.ENOENT)
    assert rename("file", "empty") == (IsADirectoryError, errno.EISDIR)
    assert rename("empty", "file") == (NotADirectoryError, errno.ENOTDIR)
    assert rename("empty", "full") == (OSError, errno.ENOTEMPTY)
    assert rename("full", "full/inner/deeper") == (OSError, errno.EINVAL)
    filesystem.rename(place.path("full"), place.path("empty"))
    assert filesystem.names(place.path("empty")) == ["inner"]


def test_a_removed_file_lives_on_in_its_handles(place: Place) -> None:
    filesystem = place.filesystem
    path = place.put("a", b"old")
    file = filesystem.open(path)
    filesystem.remove(path)
    assert not filesystem.exists(path)
    place.put("a", b"new")
    file.append([b"er"])
    assert file.read(0, 9) == b"older"
    file.close()
    assert read_whole(filesystem, path) == b"new"
    assert raised_by(lambda: filesystem.remove(place.path("none")))[0] is FileNotFoundError
    filesystem.make_directories(place.path("folder"))
    assert raised_by(lambda: filesystem.remove(place.path("folder")))[0] is IsADirectoryError


def test_removing_a_tree(place: Place) -> None:
    filesystem = place.filesystem
    filesystem.make_directories(place.path("tree", "branch"))
    place.put("tree/leaf", b"x")
    place.put("tree/branch/leaf", b"x")
    filesystem.remove_tree(place.path("tree"))
    assert filesystem.names(place.root) == []
    assert raised_by(lambda: filesystem.remove_tree(place.path("tree")))[0] is FileNotFoundError
    place.put("file", b"")
    assert raised_by(lambda: filesystem.remove_tree(place.path("file")))[0] is NotADirectoryError


def test_syncing_a_directory_wants_a_directory(place: Place) -> None:
    place.filesystem.sync_directory(place.root)
    path = place.put("file", b"")
    assert raised_by(lambda: place.filesystem.sync_directory(path))[0] is NotADirectoryError
    assert raised_by(lambda: place.filesystem.sync_directory(place.path("none")))[0] is FileNotFoundError
    assert raised_by(lambda: place.filesystem.sync_directory(""))[0] is FileNotFoundError


def test_a_lock_is_held_by_one_handle_until_it_is_closed(place: Place) -> None:
    path = place.path(".lock")
    held = place.filesystem.lock(path)
    assert held is not None
    assert place.filesystem.lock(path) is None
    held.close()
    again = place.filesystem.lock(path)
    assert again is not None
    again.close()
    assert raised_by(lambda: place.filesystem.lock(place.path("none", ".lock")))[0] is FileNotFoundError


def test_a_lock_outlives_other_descriptors_of_its_file(tmp_path: Path) -> None:
    """A lock of the process would go with the first of them: another process, a JVM Kafka say, could then take it."""
    path = str(tmp_path / ".lock")
    filesystem = RealFileSystem()
    held = filesystem.lock(path)
    assert held is not None
    assert filesystem.lock(path) is None
    filesystem.open(path).close()
    program = (
        "import fcntl, sys\n"
        "file = open(sys.argv[1], 'r+')\n"
        "try:\n"
        "    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "except OSError:\n"
        "    sys.exit(7)\n"
    )
    command = [sys.executable, "-c", program, path]
    assert subprocess.run(command, check=False).returncode == 7
    held.close()
    assert subprocess.run(command, check=False).returncode == 0


def test_replace_durably_creates_replaces_and_leaves_nothing_aside(place: Place) -> None:
    path = place.path("checkpoint")
    place.put("checkpoint.tmp", b"left over, and longer than what comes")
    replace_durably(place.filesystem, path, b"first")
    assert read_whole(place.filesystem, path) == b"first"
    replace_durably(place.filesystem, path, memoryview(b"second"))
    assert read_whole(place.filesystem, path) == b"second"
    assert place.filesystem.names(place.root) == ["checkpoint"]


def test_replace_durably_takes_a_bare_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for filesystem in (RealFileSystem(), SimulatedDisk()):
        replace_durably(filesystem, "checkpoint", b"here")
        assert read_whole(filesystem, "./checkpoint") == b"here"


PATHS = st.sampled_from(["a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "b/x"])
STEPS = st.one_of(
    st.tuples(st.sampled_from(["create", "append", "names", "sizes", "exists", "remove", "remove_tree"]), PATHS),
    st.tuples(st.sampled_from(["make_directories", "sync_directory", "is_directory", "read", "truncate"]), PATHS),
    st.tuples(st.just("rename"), PATHS, PATHS),
)


def outcome(place: Place, step: tuple[str, ...]) -> object:
    filesystem, name, paths = place.filesystem, step[0], [place.path(path) for path in step[1:]]
    try:
        if name == "read":
            return read_whole(filesystem, paths[0])
        if name not in ("create", "append", "truncate"):
            return getattr(filesystem, name)(*paths)
        file = filesystem.open(paths[0], create=name == "create")
        try:
            if name == "truncate":
                file.truncate(3)
            return file.append([step[1].encode()])
        finally:
            file.close()
    except OSError as error:
        return type(error), error.errno


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, max_size=25))
def test_any_sequence_of_steps_has_the_same_outcomes_on_both(steps: list[tuple[str, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        real, simulated = Place(RealFileSystem(), folder), Place(SimulatedDisk(), "")
        for step in [("make_directories", "d/e"), ("create", "d/a"), *steps]:
            assert outcome(real, step) == outcome(simulated, step), step


def test_modification_times_are_milliseconds(tmp_path: Path) -> None:
    real = tmp_path / "a"
    real.write_bytes(b"")
    os.utime(real, ns=(0, 1_700_000_000_123_456_789))
    assert RealFileSystem().modified_ms(str(real)) == 1_700_000_000_123
    disk = SimulatedDisk()
    disk.now_ms = 1_700_000_000_123
    file = disk.open("a", create=True)
    disk.now_ms += 1
    assert disk.modified_ms("a") == 1_700_000_000_123
    file.append([b"x"])
    assert disk.modified_ms("a") == 1_700_000_000_124
    assert disk.modified_ms("/") == 1_700_000_000_123


def test_a_short_write_of_the_operating_system_ends_in_its_error(tmp_path: Path) -> None:
    file = RealFileSystem().open(str(tmp_path / "a"), create=True)
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, unlimited[1]))
    try:
        with pytest.raises(OSError, match="too large") as caught:
            file.append([b"x" * 60, b"y" * 60, b"z" * 60])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert caught.value.errno == errno.EFBIG
    assert file.read(0, 200) == b"x" * 60 + b"y" * 40
    file.append([b"!"])
    assert file.size() == 101
    file.close()


def test_only_a_real_file_has_a_descriptor(tmp_path: Path) -> None:
    file = RealFileSystem().open(str(tmp_path / "a"), create=True)
    assert os.fstat(file.fileno()).st_size == 0
    file.close()
    with pytest.raises(OSError, match="no descriptor"):
        SimulatedDisk().open("a", create=True).fileno()


@pytest.mark.parametrize("writable", [True, False])
def test_a_pipe_under_the_name_of_a_file_is_an_error_and_not_waited_for(tmp_path: Path, writable: bool) -> None:
    path = str(tmp_path / "leader-epoch-checkpoint")
    os.mkfifo(path)
    with pytest.raises(OSError, match="not a file") as caught:
        RealFileSystem().open(path, writable=writable)
    assert caught.value.filename == path


def test_after_a_failed_sync_all_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the kernel would take it for written, and a later sync would succeed (the twin behaves so, too)."""
    written: list[tuple[bytes, int]] = []

    def fail(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def write(_: int, data: memoryview, position: int) -> int:
        written.append((bytes(data), position))
        return len(data)

    file = RealFileSystem().open(str(tmp_path / "a"), create=True)
    file.append([b"a" * WRITTEN_AGAIN_BYTES, b"b"])
    monkeypatch.setattr(os, "fsync", fail)
    monkeypatch.setattr(os, "pwrite", write)
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    file.close()
    assert written == [(b"a" * WRITTEN_AGAIN_BYTES, 0), (b"b", WRITTEN_AGAIN_BYTES)]


def test_what_is_written_again_is_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = RealFileSystem().open(str(tmp_path / "a"), create=True)
    content = os.urandom(3 * WRITTEN_AGAIN_BYTES + 17)
    file.append([content])
    file.sync()
    os.posix_fadvise(file.fileno(), WRITTEN_AGAIN_BYTES, WRITTEN_AGAIN_BYTES, os.POSIX_FADV_DONTNEED)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: os.close(-1))
        with pytest.raises(OSError, match="Bad file"):
            file.sync()
    assert file.read(0, len(content) + 1) == content
    file.append([b"more"])
    assert file.size() == len(content) + 4
    file.close()
