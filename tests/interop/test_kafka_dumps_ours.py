"""Kafka's own DumpLogSegments reads every file we write, and finds nothing to say against it (SPEC L1-L5, L11)."""

from __future__ import annotations

import re
from pathlib import Path
from uuid import uuid4

import pytest
from tests.golden.dump_text import records_in
from tests.interop.dumps import check_dumps_agree, check_praised, check_sound
from tests.interop.kafka import Kafka, ToolResult
from tests.interop.ours import TOPICS, Writer, strandline, write_topics

pytestmark = pytest.mark.interop

# 4.3 reports this of each log that does not begin at offset 0, its own included.
FALSE_ALARM = re.compile(r"Non-consecutive offsets in .*\n  -1 is followed by \d+\n")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def written(data: Path) -> dict[str, Writer]:
    with strandline(data) as directory:
        return write_topics(directory, {topic: uuid4() for topic in TOPICS})


def files(data: Path, topic: str, *suffixes: str) -> list[Path]:
    found = sorted(path for path in (data / f"{topic}-0").iterdir() if path.suffix in suffixes)
    assert found, f"{topic} has no {suffixes}"
    return found


def check_silent(result: ToolResult) -> None:
    assert result.exit_code == 0, result.stderr
    assert FALSE_ALARM.sub("", result.stderr) == ""


@pytest.mark.parametrize("topic", TOPICS)
def test_every_record(kafka: Kafka, data: Path, written: dict[str, Writer], topic: str) -> None:
    result = kafka.dump_log_segments(files(data, topic, ".log"), "--print-data-log", "--deep-iteration")
    check_silent(result)
    assert "isvalid: false" not in result.stdout
    dumped = [record for record in records_in(result.stdout) if not record.is_control]
    assert [(each.offset, each.timestamp, each.key, each.value, each.header_keys) for each in dumped] == [
        (each.offset, each.timestamp, each.key, each.value, tuple(name for name, _ in each.headers))
        for each in written[topic].records
    ]


@pytest.mark.usefixtures("written")
def test_our_own_dump_says_the_same(kafka: Kafka, data: Path) -> None:
    check_praised(check_dumps_agree(kafka, data, *(f"{topic}-0" for topic in TOPICS)))
    check_sound(data)


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("topic", TOPICS)
def test_index_entries_point_at_their_batches(kafka: Kafka, data: Path, topic: str) -> None:
    indexes = files(data, topic, ".index", ".timeindex")
    result = kafka.dump_log_segments(indexes, "--verify-index-only")
    check_silent(result)
    assert sum(path.stat().st_size for path in indexes) > 0
    assert len(files(data, topic, ".log")) > 1


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("topic", TOPICS)
def test_a_broker_would_not_rebuild_the_indexes(kafka: Kafka, data: Path, topic: str) -> None:
    indexes = files(data, topic, ".index", ".timeindex")
    result = kafka.dump_log_segments(indexes, "--index-sanity-check")
    check_silent(result)
    assert result.stdout.count("passed sanity check.") + result.stdout.count("is empty.") == len(indexes)


@pytest.mark.usefixtures("written")
def test_aborted_transactions(kafka: Kafka, data: Path) -> None:
    result = kafka.dump_log_segments(files(data, "payments", ".txnindex"))
    check_silent(result)
    assert re.findall(r"version: 0 producerId: 8 firstOffset: (\d+) lastOffset: (\d+)", result.stdout) == [
        (str(turn * 8 + 3), str(turn * 8 + 6)) for turn in range(6)
    ]


@pytest.mark.usefixtures("written")
def test_producer_snapshots(kafka: Kafka, data: Path) -> None:
    last = files(data, "payments", ".snapshot")[-1]
    result = kafka.dump_log_segments([last])
    check_silent(result)
    assert "producerId: 7 producerEpoch: 1 coordinatorEpoch: 3 currentTxnFirstOffset: OptionalLong[48]" in result.stdout
    assert (
        "producerId: 8 producerEpoch: 4 coordinatorEpoch: 3 currentTxnFirstOffset: OptionalLong.empty" in result.stdout
    )


@pytest.mark.usefixtures("written")
def test_the_referee_does_object(kafka: Kafka, data: Path, tmp_path: Path) -> None:
    """Silence is only worth something from one who speaks up: an index entry is moved by one offset."""
    index = next(path for path in files(data, "codecs", ".index") if path.stat().st_size)
    for path in (index, index.with_suffix(".log")):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    damaged = bytearray(index.read_bytes())
    damaged[3] += 1
    (tmp_path / index.name).write_bytes(damaged)
    result = kafka.dump_log_segments([tmp_path / index.name], "--verify-index-only")
    assert "Mismatches in" in result.stderr
    with pytest.raises(AssertionError):
        check_silent(result)
