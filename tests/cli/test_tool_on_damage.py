"""Whatever the bytes are, every command ends with an answer or a sentence, and changes nothing."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

RunTool = Callable[..., Result]
GOLDEN = Path(__file__).parent.parent / "golden"
COMMANDS: list[tuple[str, ...]] = [
    ("dump",),
    ("dump", "--format", "json"),
    ("dump", "--index-sanity-check"),
    ("dump", "--offsets", "20:50"),
    ("segments",),
    ("check",),
    ("epochs",),
    ("find", "--offset", "35"),
    ("find", "--time", "2023-11-14T22:13:29Z"),
    ("clean", "--set", "retention.ms=-1"),
]


def damage(path: Path, generator: random.Random) -> None:
    data = bytearray(path.read_bytes())
    kind = generator.choice(["bytes", "cut", "garbage", "zeros", "empty"])
    if kind == "bytes":
        for _ in range(generator.randint(1, 8)):
            if data:
                data[generator.randrange(len(data))] = generator.randrange(256)
    elif kind == "cut":
        del data[generator.randint(0, len(data)) :]
    elif kind == "garbage":
        data += generator.randbytes(generator.randint(1, 200))
    elif kind == "zeros":
        start = generator.randint(0, len(data))
        data[start : start + 100] = bytes(len(data[start : start + 100]))
    else:
        data.clear()
    path.write_bytes(data)


@pytest.mark.parametrize("seed", range(30))
def test_our_folder_damaged_at_random(tool: RunTool, folder: Path, seed: int) -> None:
    ends_well(tool, folder, random.Random(seed))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("partition", ["kraft-3.9/payments-0", "zookeeper-3.9/ledger-0"])
def test_kafkas_folder_damaged_at_random(tool: RunTool, tmp_path: Path, partition: str, seed: int) -> None:
    folder = tmp_path / "kafka" / Path(partition).name
    shutil.copytree(GOLDEN / partition, folder)
    ends_well(tool, folder, random.Random(seed))


def ends_well(tool: RunTool, folder: Path, generator: random.Random) -> None:
    for path in generator.sample(sorted(folder.iterdir()), 3):
        damage(path, generator)
    before = {path: path.read_bytes() for path in sorted(folder.iterdir())}
    for command in COMMANDS:
        result = tool(*command, folder)  # which fails on anything but an exit
        assert result.exit_code in (0, 1, 2)
        assert "Traceback" not in result.stderr
        assert result.exit_code != 2 or "strandline: " in result.stderr, (command, result.stderr)
    assert {path: path.read_bytes() for path in sorted(folder.iterdir())} == before
