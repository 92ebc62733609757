"""What tables share: the last row of each key, and which of them are to go."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from strandline.pipeline.failures import BadPipeline
from strandline.pipeline.judging import without_record_columns
from strandline.pipeline.spec import UPSERT, TableMode

DELETED = "_deleted"


def table_rows(frame: Any, mode: TableMode) -> Any:
    """Of an upsert: one row for each key, with a column that says whether it is to be deleted."""
    if mode.mode != UPSERT:
        return without_record_columns(frame)
    for name in (*mode.key, mode.order_by):
        if name not in frame.columns:
            raise BadPipeline(
                f"the upsert needs the column {name}, and the rows have {', '.join(frame.columns)}: let the"
                " transformation keep it, or name another in key or order_by"
            )
    deleted = F.coalesce(F.expr(mode.delete_when), F.lit(False)) if mode.delete_when else F.lit(False)
    newest = Window.partitionBy(*mode.key).orderBy(F.col(mode.order_by).desc())
    frame = frame.withColumn(DELETED, deleted).withColumn("_place", F.row_number().over(newest))
    return without_record_columns(frame.where("_place = 1").drop("_place"))
