"""Where Spark looks: it asks every module named `pyspark_*` for its `DefaultSource`, and thus needs no registration."""

from __future__ import annotations

from strandline.spark.segments_source import SegmentsSource as DefaultSource

__all__ = ["DefaultSource"]
