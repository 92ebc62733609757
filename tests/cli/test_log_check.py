"""`strandline log check` (SPEC L11): sound logs pass, Kafka's too; every kind of damage is one line and exit 1."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import Result

import strandline
from strandline.log.filesystem import RealFileSystem
from strandline.log.recovery import open_log
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.batch import batch_crc, read_head
from strandline.records.builder import build_batch
from strandline.records.record import Record

GOLDEN = Path(__file__).parent.parent / "golden"
RunTool = Callable[..., Result]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(strandline.__file__).parent.parent)}
DIRECTORIES = ["kraft-3.9", "kraft-4.3", "killed-4.3", "zookeeper-3.9"]


def snapshot_of(directory: Path) -> dict[str, tuple[bytes, int]]:
    files = [path for path in directory.rglob("*") if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.mark.parametrize("name", DIRECTORIES)
def test_what_kafka_wrote_is_sound(tool: RunTool, name: str) -> None:
    result = tool("check", GOLDEN / name)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("Sound: ")


def test_what_we_wrote_is_sound_as_directory_folder_and_file(tool: RunTool, data: Path, folder: Path) -> None:
    for path in (data, folder, *sorted(folder.iterdir())):
        assert tool("check", path).exit_code == 0, path


def test_nothing_is_ever_modified(tool: RunTool, data: Path, folder: Path) -> None:
    before = snapshot_of(data)
    for path in (data, folder):
        for command in ("dump", "segments", "check", "epochs", "clean"):
            assert tool(command, path).exit_code == 0
    for arguments in (("--offset", "40"), ("--time", "2023-11-14T22:13:25Z")):
        assert tool("find", folder, *arguments).exit_code == 0
    assert snapshot_of(data) == before


def test_a_broken_log_is_not_mended_by_looking(tool: RunTool, data: Path, folder: Path, logs: list[Path]) -> None:
    logs[1].write_bytes(logs[1].read_bytes()[:-5])
    for index in folder.glob("*.index"):
        index.unlink()
    before = snapshot_of(data)
    for command in ("dump", "segments", "check", "epochs", "clean"):
        tool(command, folder)
    assert snapshot_of(data) == before


def flip_a_bit(folder: Path) -> None:
    edit(folder, ".log", lambda data: data.__setitem__(80, data[80] ^ 1))


def cut_the_end(folder: Path) -> None:
    path = max(folder.glob("*.log"))
    path.write_bytes(path.read_bytes()[:-7])


def put_zeros_in_the_middle(folder: Path) -> None:
    path = min(folder.glob("*.log"))
    data = path.read_bytes()
    first_bytes = read_head(data).size_bytes
    path.write_bytes(data[:first_bytes] + bytes(64) + data[first_bytes:])


def repeat_a_batch(folder: Path) -> None:
    path = max(folder.glob("*.log"))
    data = path.read_bytes()
    path.write_bytes(data + data[: read_head(data).size_bytes])


def break_a_record(folder: Path) -> None:
    def damage(data: bytearray) -> None:
        size = read_head(data).size_bytes
        data[61] = 0x7F  # the length of the first record, in a batch with no codec
        struct.pack_into(">I", data, 17, batch_crc(memoryview(data)[:size]))

    edit(folder, ".log", damage)


def edit(folder: Path, suffix: str, damage: Callable[[bytearray], None]) -> None:
    path = min(folder.glob(f"*{suffix}"))
    data = bytearray(path.read_bytes())
    damage(data)
    path.write_bytes(data)


def add(position: int, amount: int) -> Callable[[bytearray], None]:
    return lambda data: data.__setitem__(position, (data[position] + amount) % 256)


def rewrite(name: str, text: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / name).write_text(text)

    return damage


DAMAGE: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "flipped bit": (flip_a_bit, ".log: position ", "CRC of the batch at offset 0 does not match its bytes"),
    "cut end": (cut_the_end, ".log: position ", "a batch cut short"),
    "zeros": (put_zeros_in_the_middle, ".log: position ", "cannot be read"),
    "repeated batch": (repeat_a_batch, ".log: position ", "comes after offset 82"),
    "bad record": (break_a_record, ".log: position 0:", "record at position 0"),
    "index offset": (lambda folder: edit(folder, ".index", add(3, 1)), ".index: ", "with which no batch ends"),
    "index position": (lambda folder: edit(folder, ".index", add(7, 1)), ".index: ", "where no batch begins"),
    "index order": (lambda folder: edit(folder, ".index", add(0, 1)), ".index: ", "does not come after"),
    "index torn": (lambda folder: edit(folder, ".index", lambda d: d.append(1)), ".index: ", "not whole entries"),
    "index missing": (lambda folder: min(folder.glob("*.index")).unlink(), ".index: ", "is missing"),
    "time too late": (lambda folder: edit(folder, ".timeindex", add(7, 1)), ".timeindex: ", "the greatest is"),
    "time order": (lambda folder: edit(folder, ".timeindex", add(4, 1)), ".timeindex: ", "not above"),
    "last time gone": (
        lambda folder: edit(folder, ".timeindex", lambda d: d.__delitem__(slice(-12, None))),
        ".timeindex: ",
        "the segment's greatest is",
    ),
    "no abort marker": (lambda folder: edit(folder, ".txnindex", add(9, 1)), ".txnindex: ", "no abort marker"),
    "aborted version": (lambda folder: edit(folder, ".txnindex", add(1, 1)), ".txnindex: ", "unknown version 1"),
    "aborted gone": (lambda folder: min(folder.glob("*.txnindex")).unlink(), ".txnindex: ", "is not in the index"),
    "aborted cut": (
        lambda folder: edit(folder, ".txnindex", lambda d: d.__delitem__(slice(-34, None))),
        ".txnindex: ",
        "is not in the index",
    ),
    "snapshot": (lambda folder: edit(folder, ".snapshot", add(8, 1)), ".snapshot: ", "CRC of a producer snapshot"),
    "epochs unordered": (
        rewrite("leader-epoch-checkpoint", "0\n2\n1 10\n0 20\n"), "leader-epoch-checkpoint: ", "follows epoch 1",
    ),
    "epochs wrong": (
        rewrite("leader-epoch-checkpoint", "0\n2\n0 0\n2 56\n"), ".log: position ", "the checkpoint says 0",
    ),
    "epoch beyond the end": (
        rewrite("leader-epoch-checkpoint", "0\n4\n0 0\n1 28\n2 56\n5 99\n"),
        "leader-epoch-checkpoint: ",
        "but the log ends at 83",
    ),
    "epochs lost": (rewrite("leader-epoch-checkpoint", "0\n0\n"), ".log: position ", "the checkpoint says -1"),
    "topic id": (rewrite("partition.metadata", "version: 0\n"), "partition.metadata: ", "no topic id"),
    "leftover": (rewrite("00000000000000000000.log.cleaned", ""), ".cleaned: ", "left over"),
    "index alone": (rewrite("00000000000000000777.index", ""), ".index: ", "no .log file"),
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGE)
def test_each_kind_of_damage_is_told(tool: RunTool, folder: Path, kind: str) -> None:
    damage, where, sentence = DAMAGE[kind]
    damage(folder)
    result = tool("check", folder)
    assert result.exit_code == 1
    told = [line for line in result.stdout.splitlines() if where in line and sentence in line]
    assert told, result.stdout
    assert str(folder) in told[0]


def test_bytes_that_never_were_a_batch_are_not_called_cut_short(tool: RunTool, logs: list[Path]) -> None:
    for content in (b"U" * 5000, b"hello\n"):
        logs[-1].write_bytes(content)
        sentence = f"no batch at position 0: the last {len(content)} bytes are none; recovery cuts them off"
        assert f"{logs[-1]}: position 0: {sentence}\n" in tool("check", logs[-1]).stdout
    logs[-1].write_bytes(b"U" * 5000)
    result = tool("check", "--format", "json", logs[-1])
    *faults, summary = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 1
    told = [(fault["position"], fault["sentence"]) for fault in faults if fault["path"].endswith(".log")]
    assert told == [(0, "no batch at position 0: the last 5000 bytes are none; recovery cuts them off")]
    assert summary["bytes"] == 5000


def test_checkpoints_that_promise_more_than_there_is(tool: RunTool, data: Path) -> None:
    (data / "recovery-point-offset-checkpoint").write_text("0\n1\norders 0 500\n")
    (data / "cleaner-offset-checkpoint").write_text("0\n1\n")
    result = tool("check", data)
    assert result.exit_code == 1
    assert "offset 500 of orders-0 lies beyond its log, which ends at 83" in result.stdout
    assert f"{data}/cleaner-offset-checkpoint: the checkpoint says 1 entries and has 0" in result.stdout


def test_json_tells_faults_and_a_summary(tool: RunTool, folder: Path) -> None:
    flip_a_bit(folder)
    result = tool("check", "--format", "json", folder)
    *faults, summary = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 1
    assert [fault["position"] for fault in faults if fault["path"].endswith(".log")] == [0]
    assert (summary["type"], summary["faults"], summary["segments"]) == ("summary", len(faults), 3)


def test_an_index_full_of_garbage_does_not_fill_the_screen(tool: RunTool, folder: Path) -> None:
    index = min(folder.glob("*.index"))
    index.write_bytes(os.urandom(8 * 10_000))
    lines = tool("check", folder).stdout.splitlines()
    assert len(lines) < 60
    assert any("more faults" in line for line in lines)


def test_a_running_brokers_leftovers_are_no_faults(tool: RunTool, data: Path, folder: Path) -> None:
    """A cleaner at work has `.cleaned` files, and a checkpoint may be between its `.tmp` and its name."""
    (folder / "00000000000000000000.log.cleaned").touch()
    (data / "recovery-point-offset-checkpoint.tmp").touch()
    assert tool("check", data).exit_code == 1
    with lock_holder(data):
        assert tool("check", data).exit_code == 0


@contextmanager
def lock_holder(data: Path) -> Iterator[None]:
    """Another process, for a lock never stands in its own process's way."""
    code = "import sys; from strandline.log.filesystem import RealFileSystem as F; lock = F().lock(sys.argv[1])"
    code += "; print(lock is not None, flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code, str(data / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == b"True\n"
        yield
        holder.stdin.close()


def test_cleaning_for_real_is_refused_while_a_broker_runs(tool: RunTool, data: Path, folder: Path) -> None:
    with lock_holder(data):
        result = tool("clean", "--execute", "--policy", "delete", folder)
    assert result.exit_code == 2
    assert "in use by a broker; stop it first" in result.stderr


def test_a_log_that_is_being_written_is_sound(tool: RunTool, tmp_path: Path) -> None:
    """Its indexes are preallocated: room behind their entries is no fault, here or after a kill -9."""
    folder = tmp_path / "live-0"
    log = open_log(
        RealFileSystem(), str(folder), TopicPartition("live", 0), LogSettings(index_interval_bytes=100), now_ms=0
    )
    for number in range(20):
        batch = build_batch([Record(0, number, b"key", b"value %d" % number)])
        log.append([batch], leader_epoch=0, now_ms=0)
    assert (folder / "00000000000000000000.index").stat().st_size > 10_000_000
    for command in ("check", "segments", "epochs", "clean", "dump"):
        result = tool(command, folder)
        assert (result.exit_code, result.stderr) == (0, ""), command
    assert tool("find", "--offset", "19", folder).exit_code == 0
    assert tool("find", "--time", "19", folder).exit_code == 0
    log.close(0)
