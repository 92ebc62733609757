"""A topic as a DataFrame, for those who write PySpark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from strandline.pipeline.failures import BadPipeline
from strandline.pipeline.spec import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LOCAL = "localhost:9092"


def topic(
    names: str | Sequence[str],
    *,
    start: str = "latest",
    brokers: str = LOCAL,
    spark: Any = None,
    is_streaming: bool = True,
    **options: str,
) -> DataFrame:
    """Rows of one topic or several, as Spark's Kafka source has them, with headers; a stream unless told otherwise.

    Without `spark` it is the active session, which in a file of Spark Declarative Pipelines is the right one.
    """
    given = {
        "kafka.bootstrap.servers": brokers,
        "subscribe": names if isinstance(names, str) else ",".join(names),
        "startingOffsets": start,
        "includeHeaders": "true",
        **options,
    }
    session = spark if spark is not None else _active_session()
    reader = session.readStream if is_streaming else session.read
    return reader.format("strandline").options(**given).load()


def _active_session() -> Any:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        raise BadPipeline("there is no Spark session: make one, or give it as spark=…")
    return session


def source_options(pipeline: Pipeline) -> dict[str, str]:
    """Of the topics that a pipeline reads; where to begin comes on top."""
    chosen = (
        {"subscribePattern": pipeline.source.pattern}
        if pipeline.source.pattern
        else {"subscribe": ",".join(pipeline.source.topics)}
    )
    return {
        **client_options(pipeline.client),
        **chosen,
        "includeHeaders": "true",
        "failOnDataLoss": str(pipeline.source.fail_on_data_loss).lower(),
    }


def stream_options(pipeline: Pipeline) -> dict[str, str]:
    return source_options(pipeline) | {
        "startingOffsets": pipeline.source.start,
        "maxOffsetsPerTrigger": str(pipeline.source.records_per_batch_max),
        "kafka.group.id": pipeline.group_id,
    }


def client_options(client: Mapping[str, str]) -> dict[str, str]:
    return {f"kafka.{name}": value for name, value in ({"bootstrap.servers": LOCAL} | dict(client)).items()}
