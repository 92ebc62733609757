"""One log, compacted by us, by Kafka's own cleaner, and by us again (SPEC C6).

After each of our turns both Kafkas read every file and find nothing against it; a broker serves what we left, to a
reader of committed records, and its cleaner goes on from our checkpoint. What must be left is computed from what was
written, by the definition of compaction alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden.make import await_cleaning
from tests.interop.broker import check_believed
from tests.interop.client import Client, ServedRecord
from tests.interop.dumps import check_dumps_agree, check_praised, check_sound, empty_batches_indexed
from tests.interop.home import Home
from tests.interop.kafka import Kafka, ToolResult
from tests.interop.ours import (
    DELETE_RETENTION_MS,
    Writer,
    compact,
    newest_of_each_key,
    now_ms,
    read_records_of,
    strandline,
    write_table,
)

from strandline.model.partitions import TopicPartition

pytestmark = pytest.mark.interop

TABLE = TopicPartition("table", 0)
HOUR_MS = 3_600_000
KAFKA_CLEANS = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.001",
    "delete.retention.ms": str(HOUR_MS),
    "file.delete.delay.ms": "0",
}


def check_files(kafkas: list[Kafka], data: Path) -> ToolResult:
    check_sound(data)
    dumps = [check_dumps_agree(kafka, data, "table-0") for kafka in kafkas]
    for dump in dumps:
        check_praised(dump)
    return dumps[0]


def markers_in(dump: ToolResult) -> tuple[int, int]:
    """All of them, and those that have a delete horizon: their transactions have no data left."""
    return dump.stdout.count("endTxnMarker: "), dump.stdout.count("isControl: true deleteHorizonMs: OptionalLong[")


def test_we_then_kafka_then_we(home: Home, both_kafkas: list[Kafka], tmp_path: Path) -> None:
    writer, turns, cleaned_to = compact_three_turns(home, both_kafkas)
    expected = newest_of_each_key(writer.committed(), cleaned_to=cleaned_to, tombstones_gone_to=turns[2])
    with home.broker(tmp_path) as broker:
        client = Client(home.kafka, broker)
        assert served(client) == expected
        check_believed(broker)
        client.configure("table", KAFKA_CLEANS)
        await_cleaning(home.data, "table")
        end = writer.log.log_end_offset
        expected = newest_of_each_key(writer.committed(), cleaned_to=end, tombstones_gone_to=turns[3])
        assert served(client) == expected
    dump = check_files(both_kafkas, home.data)
    assert markers_in(dump) == (10, 2)  # ours of turn 0 went; now those of turn 1 wait
    assert empty_batches_indexed(dump) != []  # made by Kafka

    with strandline(home.data) as directory:
        assert directory.was_clean
        assert directory.findings == []
        assert directory.read_cleaner_offsets()[TABLE] == end
        writer.log, writer.leader_epoch = directory.logs[TABLE], 10
        assert read_records_of(writer.log) == expected
        write_table(writer, 4)
        cleaned_to = compact(directory, writer.log, now_ms=now_ms() + 2 * HOUR_MS)
        expected = newest_of_each_key(writer.committed(), cleaned_to=cleaned_to, tombstones_gone_to=end)
        assert read_records_of(writer.log) == expected
    assert markers_in(check_files(both_kafkas, home.data)) == (11, 2)


def compact_three_turns(home: Home, kafkas: list[Kafka]) -> tuple[Writer, list[int], int]:
    """And a fourth turn that nobody has cleaned; where each turn begins, and where our cleaning ended.

    It happens long ago by our cleaner's clock, so that everything we stamp is due when Kafka comes.
    """
    clock_ms = now_ms() - 10 * DELETE_RETENTION_MS
    with strandline(home.data) as directory:
        writer = Writer(directory.create(TABLE, now_ms=now_ms(), topic_id=home.topic_ids["table"]))
    turns = []
    for turn, markers in enumerate([(3, 0), (6, 0), (9, 2)]):
        with strandline(home.data) as directory:
            writer.log = directory.logs[TABLE]
            turns.append(writer.log.log_end_offset)
            write_table(writer, turn)
            cleaned_to = compact(directory, writer.log, now_ms=clock_ms)
        dump = check_files(kafkas, home.data)
        assert markers_in(dump) == markers
        assert "count: 0 " in dump.stdout
        clock_ms += DELETE_RETENTION_MS + 1
    with strandline(home.data) as directory:
        writer.log = directory.logs[TABLE]
        turns.append(writer.log.log_end_offset)
        write_table(writer, 3)
        writer.log.roll(now_ms())
    return writer, turns, cleaned_to


def served(client: Client) -> list[ServedRecord]:
    return client.consume("table", isolation="read_committed")["table"].records
