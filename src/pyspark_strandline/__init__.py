"""Where Spark looks for `format("strandline")`: it imports every module whose name begins with `pyspark_`."""

from __future__ import annotations

from strandline.spark.data_source import StrandlineDataSource as DefaultSource

__all__ = ["DefaultSource"]
