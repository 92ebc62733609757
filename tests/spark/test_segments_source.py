"""SPEC D2 on a real Spark: `format("strandline.segments")` by that very name, with nothing registered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StructType
from tests.log.making_logs import NOW
from tests.spark.segment_tables import GOLDEN, one_log_file, read, write_log

from strandline.spark import segments_source
from strandline.spark.failures import HIDE_TRACEBACK, BadOption, ReadFailed
from strandline.spark.segment_options import Wanted
from strandline.spark.segments_source import SegmentsSource, narrowed, takes_filters

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture(autouse=True)
def _traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a failing worker sets for itself must not stay in this process."""
    monkeypatch.setenv(HIDE_TRACEBACK, "")


@pytest.fixture
def pushdown(spark: Any) -> Any:
    spark.conf.set(PUSHDOWN, "true")
    yield spark
    spark.conf.unset(PUSHDOWN)


def segments(spark: Any, **options: str) -> Any:
    return spark.read.format("strandline.segments").options(**options)


def test_spark_sees_what_the_files_hold(spark: Any) -> None:
    frame = segments(spark).load(str(GOLDEN / "kraft-3.9"))
    found = sorted(frame.collect(), key=lambda row: (row.topic, row.offset))
    expected = sorted(read(GOLDEN / "kraft-3.9"), key=lambda row: (row["topic"], row["offset"]))
    assert len(found) == len(expected)
    for row, told in zip(found, expected, strict=True):
        assert row.asDict(recursive=True) | {"timestamp": None} == told | {"timestamp": None}
    seconds = frame.selectExpr("max(unix_millis(timestamp)) as latest").first().latest
    assert seconds == max(int(row["timestamp"].timestamp() * 1000 + 0.5) for row in expected)


def test_a_row_per_batch(spark: Any) -> None:
    frame = segments(spark, rowPer="batch").load(str(GOLDEN / "kraft-3.9" / "payments-0"))
    markers = frame.where("control").select("baseOffset", "producerId").collect()
    assert len(markers) > 3
    assert all(row.producerId >= 0 for row in markers)
    assert frame.where("fault is not null").count() == 0


def test_several_folders_and_few_columns(spark: Any) -> None:
    reader = segments(spark).schema("value binary, offset bigint, fault string")
    frame = reader.load([str(GOLDEN / "kraft-3.9"), str(GOLDEN / "zookeeper-3.9" / "ledger-0")])
    assert frame.columns == ["value", "offset", "fault"]
    assert frame.count() == len(read(GOLDEN / "kraft-3.9")) + 60


def test_one_large_segment_keeps_all_cores_busy(spark: Any, tmp_path: Path) -> None:
    folder = write_log(tmp_path / "orders-0", 200)
    assert one_log_file(folder).stat().st_size > 50_000
    frame = segments(spark, maxBytesPerPartition="5000").load(str(folder))
    assert frame.rdd.getNumPartitions() >= 10
    assert frame.selectExpr("count(distinct offset) as offsets").first().offsets == 2000


def test_damage_is_a_row_and_not_the_end_of_the_query(spark: Any, tmp_path: Path) -> None:
    folder = write_log(tmp_path / "orders-0", 20)
    with one_log_file(folder).open("r+b") as file:
        file.seek(1000)
        file.write(b"\xff\xff")
    frame = segments(spark).load(str(folder))
    [fault] = frame.where("fault is not null").collect()
    assert "does not match its bytes" in fault.fault
    assert (fault.topic, fault.crcOk, fault.value) == ("orders", False, None)
    assert frame.where("fault is null").count() == 190


def test_filters_prune_where_spark_hands_them_over_and_are_spark_s_own_where_not(pushdown: Any, tmp_path: Path) -> None:
    for name in ("orders-0", "orders-1", "clicks-0"):
        write_log(tmp_path / name, 30, segment_bytes=4000)
    frame = segments(pushdown, maxBytesPerPartition="1000").load(str(tmp_path))
    everything = frame.rdd.getNumPartitions()
    for condition, count in (
        ("topic = 'orders' and partition = 1 and offset >= 297", 3),
        ("topic in ('clicks') and offset < 5", 5),
        (f"topic = 'clicks' and timestamp >= timestamp_millis({NOW + 290_000})", 10),
        (f"topic = 'clicks' and timestamp = timestamp_millis({NOW + 7_000})", 1),
    ):
        query = frame.where(condition)
        assert query.count() == count
        if "timestamp =" not in condition:  # no file says how early its records are
            assert query.rdd.getNumPartitions() < everything / 5, condition
        pushdown.conf.set(PUSHDOWN, "false")
        again = segments(pushdown).load(str(tmp_path)).where(condition)
        assert again.count() == count
        pushdown.conf.set(PUSHDOWN, "true")


def test_what_spark_may_ask_of_a_reader_narrows_what_is_read() -> None:
    from datetime import UTC, datetime

    from pyspark.sql.datasource import EqualTo, GreaterThan, In, IsNotNull, LessThanOrEqual, Not, StringStartsWith

    everything = Wanted()
    assert narrowed(everything, EqualTo(("topic",), "a")).topics == frozenset({"a"})
    assert narrowed(everything, In(("partition",), (1, 2))).partitions == frozenset({1, 2})
    window = narrowed(narrowed(everything, GreaterThan(("offset",), 5)), LessThanOrEqual(("baseOffset",), 9))
    assert (window.from_offset, window.to_offset) == (5, 10)
    assert narrowed(everything, EqualTo(("offset",), 7)) == Wanted(from_offset=7, to_offset=8)
    moment = datetime(2024, 1, 1, 0, 0, 0, 1500, UTC)
    assert narrowed(everything, GreaterThan(("timestamp",), moment)).from_timestamp_ms == 1704067200001
    assert narrowed(everything, LessThanOrEqual(("timestamp",), moment)).to_timestamp_ms == 1704067200002
    assert narrowed(everything, LessThanOrEqual(("maxTimestamp",), moment)) == everything
    for unknown in (
        IsNotNull(("topic",)),
        StringStartsWith(("topic",), "a"),
        Not(EqualTo(("topic",), "a")),
        EqualTo(("key",), b"k"),
        EqualTo(("offset",), None),
    ):
        assert narrowed(everything, unknown) == everything


def test_a_reader_takes_filters_in_spark_s_worker_for_them_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    from types import ModuleType

    name = "pyspark.sql.worker.data_source_pushdown_filters"
    monkeypatch.delitem(sys.modules, name, raising=False)
    assert not takes_filters()
    monkeypatch.setitem(sys.modules, name, ModuleType(name))
    assert takes_filters()


@pytest.mark.parametrize(
    ("options", "schema", "path", "sentence"),
    [
        ({"topic": "x"}, None, "", "there is no option 'topic'"),
        ({}, None, "nowhere", "there is no such folder where Spark's driver runs"),
        ({}, "offset int", "", "column offset is bigint, not int"),
        ({"rowPer": "batch"}, "offset bigint", "", "there is no column 'offset' in a row per batch"),
        ({"rowPer": "record by record"}, None, "", "write record or batch"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(
    spark: Any, options: dict[str, str], schema: str | None, path: str, sentence: str
) -> None:
    from pyspark.errors import PySparkException

    reader = segments(spark, **options)
    reader = reader if schema is None else reader.schema(schema)
    with pytest.raises(PySparkException, match=sentence) as raised:
        reader.load(str(GOLDEN / "kraft-3.9" / path)).collect()
    assert "Traceback" not in str(raised.value).partition("JVM stacktrace")[0]


def test_log_files_are_neither_written_nor_streams() -> None:
    source = SegmentsSource({})
    with pytest.raises(BadOption, match=r"write to a topic with format\(.strandline.\)"):
        source.streamWriter(StructType(), overwrite=False)
    with pytest.raises(BadOption, match=r"use spark\.read, or format"):
        source.streamReader(StructType()).initialOffset()


def test_a_folder_that_nobody_may_read_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/data/orders-0")

    monkeypatch.setattr(segments_source, "plan", refuse)
    with pytest.raises(ReadFailed, match=r"^/data/orders-0: Permission denied: whoever runs Spark's driver"):
        SegmentsSource({"path": str(tmp_path)}).reader(StructType()).partitions()


def test_the_source_has_the_name_that_users_write() -> None:
    import pyspark_strandline_segments

    assert pyspark_strandline_segments.DefaultSource is SegmentsSource
    assert SegmentsSource.name() == "strandline.segments"
