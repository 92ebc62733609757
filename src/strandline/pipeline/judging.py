"""Rules about records, and what becomes of those that break them; then the good apart from the bad.

The names are those of Delta Live Tables, with one more: `expect_or_dead_letter`. A rule is SQL; a row for which it is
not true, or null, breaks it. A record has one fault at most: the first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from strandline.pipeline import dead_letter_headers as names
from strandline.pipeline.parsing import fault
from strandline.pipeline.spec import JUDGING_COLUMNS, RECORD_COLUMNS, Expectation

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ERROR = "strandline.expectation"
HEADERS = "array<struct<key:string,value:binary>>"


def expect(frame: DataFrame, name: str, rule: str) -> DataFrame:
    """Counts those that break it, and lets them pass."""
    return judge(frame, [Expectation(name=name, rule=rule, otherwise="warn")])


def expect_or_drop(frame: DataFrame, name: str, rule: str) -> DataFrame:
    return judge(frame, [Expectation(name=name, rule=rule, otherwise="drop")])


def expect_or_fail(frame: DataFrame, name: str, rule: str) -> DataFrame:
    return judge(frame, [Expectation(name=name, rule=rule, otherwise="fail")])


def expect_or_dead_letter(frame: DataFrame, name: str, rule: str) -> DataFrame:
    return judge(frame, [Expectation(name=name, rule=rule, otherwise="dead-letter")])


def judge(frame: DataFrame, expectations: Iterable[Expectation]) -> DataFrame:
    for each in expectations:
        is_broken = F.col("_fault").isNull() & ~F.coalesce(F.expr(each.rule), F.lit(False))
        if each.otherwise == "warn":
            warned = F.when(is_broken, F.array(F.lit(each.name))).otherwise(F.array().cast("array<string>"))
            frame = frame.withColumn("_warnings", F.concat("_warnings", warned))
            continue
        message = F.when(is_broken, F.lit(f"{each.name}: it is not true that {each.rule}"))
        frame = frame.withColumn("_message", message)
        broken = fault("_message", each.otherwise, names.EXPECTING, F.lit(ERROR))
        frame = frame.withColumn("_fault", F.coalesce("_fault", broken)).drop("_message")
    return frame


def good_rows(judged: DataFrame) -> DataFrame:
    """Those without a fault, as a transformation sees them."""
    return judged.where("_fault IS NULL").drop(*JUDGING_COLUMNS)


def dead_letters(judged: DataFrame, pipeline: str) -> DataFrame:
    """Key, value and headers of records for the dead-letter topic: as they came, and why."""
    return judged.where("_fault.action = 'dead-letter'").select(
        F.col("_record.key").alias("key"),
        F.col("_record.value").alias("value"),
        F.concat(F.coalesce("_headers", F.array().cast(HEADERS)), _error_headers(pipeline)).alias("headers"),
    )


def _error_headers(pipeline: str) -> Column:
    said = {
        names.TOPIC: F.col("_topic"),
        names.PARTITION: F.col("_partition").cast("string"),
        names.OFFSET: F.col("_offset").cast("string"),
        names.PIPELINE: F.lit(pipeline),
        names.STAGE: F.col("_fault.stage"),
        names.ERROR: F.col("_fault.error"),
        names.MESSAGE: F.col("_fault.message"),
    }
    pairs = [F.struct(F.lit(name).alias("key"), value.cast("binary").alias("value")) for name, value in said.items()]
    return F.array(*pairs).cast(HEADERS)


def without_record_columns(frame: DataFrame) -> DataFrame:
    return frame.drop(*RECORD_COLUMNS)
