"""A stream that cannot be read, because of its options: says so as soon as Spark asks for anything.

Where a source refuses to make a reader, PySpark's worker tells of a variable of its own instead of the refusal (its
`finally` stops a reader that is not there). So there is one, and it refuses.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from strandline.spark.failures import SparkFailure, in_one_sentence


class UnusableReader(DataSourceStreamReader):
    def __init__(self, failure: SparkFailure) -> None:
        self._failure = failure

    def initialOffset(self) -> dict[str, Any]:
        """What a new query begins with."""
        raise self._refusal()

    def latestOffset(self) -> dict[str, Any]:
        """What a query begins with that is started again."""
        raise self._refusal()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:  # noqa: ARG002
        raise self._refusal()

    def read(self, partition: InputPartition) -> Any:  # noqa: ARG002
        raise self._refusal()

    def _refusal(self) -> SparkFailure:
        try:
            with in_one_sentence():
                raise self._failure
        except SparkFailure as failure:
            return failure
