"""`strandline log dump` against the dumps that Apache Kafka's own tool printed of the same files (SPEC L11)."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from strandline.cli.main import cli

GOLDEN = Path(__file__).parent.parent / "golden"
DUMPS = sorted(GOLDEN.glob("*/*.dump.txt"))
KAFKA_SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")


def as_kafka_4_prints(dump: str) -> list[str]:
    """The three differences between the tools of 3.9 and 4.3 (tests/golden/README.md) taken out of a dump of 3.9."""
    lines = [re.sub(r"(isValid: \w+ crc: \d+)\}", r"\1", line) for line in dump.splitlines()]
    return [line.rstrip() if line.startswith("producerId: ") else line for line in lines]


def dumped_files(folder: Path) -> list[str]:
    return sorted(f"{folder.name}/{file.name}" for file in folder.iterdir() if file.suffix in KAFKA_SUFFIXES)


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: str(dump.relative_to(GOLDEN)))
def test_the_dump_of_a_folder_is_kafkas_line_by_line(dump: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(dump.parent)
    folder = dump.with_name(dump.name.removesuffix(".dump.txt"))
    result = CliRunner().invoke(cli, ["log", "dump", *dumped_files(folder)])
    assert result.exit_code == 0
    assert result.stdout.splitlines() == as_kafka_4_prints(dump.read_text())


def test_there_are_dumps_of_every_golden_directory() -> None:
    assert {dump.parent.name for dump in DUMPS} == {"kraft-3.9", "kraft-4.3", "killed-4.3", "zookeeper-3.9"}


@pytest.mark.parametrize("series", ["3.9", "4.3"])
def test_the_dump_of_single_batches_is_kafkas_line_by_line(
    series: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    expected = as_kafka_4_prints((GOLDEN / f"batches.dump-{series}.txt").read_text())
    logs = [line.removeprefix("Dumping ") for line in expected if line.startswith("Dumping ")]
    for log in logs:
        case, _ = log.split("/")
        (tmp_path / case).mkdir()
        shutil.copy(GOLDEN / "batches" / f"{case}.bin", tmp_path / log)
    result = CliRunner().invoke(cli, ["log", "dump", *logs])
    printed = result.stdout.splitlines()
    if series == "3.9":  # which does not spell leader changes out
        printed = [re.sub(r"LeaderChange: \{.*\}", "controlType: LEADER_CHANGE(2)", line) for line in printed]
    assert len(logs) > 10
    assert printed == expected


@pytest.mark.parametrize("case", sorted((GOLDEN / "batches").glob("*.json")), ids=lambda case: case.stem)
def test_the_json_dump_has_every_field_that_kafka_reads(case: Path, tmp_path: Path) -> None:
    expected = json.loads(case.read_text())["batches"]
    log = tmp_path / f"{expected[0]['base_offset']:020}.log"
    shutil.copy(case.with_suffix(".bin"), log)
    result = CliRunner().invoke(cli, ["log", "dump", "--format", "json", str(log)])
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    batches = [row for row in rows if row["type"] == "batch"]
    assert [(row["position"], row["size"], row["crc"], row["compresscodec"]) for row in batches] == [
        (batch["position"], batch["size"], batch["crc"], batch["compression"]) for batch in expected
    ]
    for row, batch in zip(batches, expected, strict=True):
        if batch["magic"] == 2:
            assert row["deleteHorizonMs"] == batch["delete_horizon_ms"]
            assert row["partitionLeaderEpoch"] == batch["leader_epoch"]
            assert row["lastSequence"] == batch["last_sequence"]
    records = [row for row in rows if row["type"] == "record"]
    expected_records = [record for batch in expected for record in batch["records"]]
    assert [(row["offset"], row["timestamp"]) for row in records] == [
        (record["offset"], record["timestamp"]) for record in expected_records
    ]
    for row, record in zip(records, expected_records, strict=True):
        if "key" in row and isinstance(record["key"], str):
            assert row["key"].encode().hex() == record["key"]
        if "value" in row and isinstance(record["value"], str):
            assert row["value"].encode().hex() == record["value"]
