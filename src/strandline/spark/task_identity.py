"""Who a task is: its query, its batch, its number and its attempt, as Spark tells its workers beside the data."""

from __future__ import annotations

from typing import NamedTuple

from pyspark import TaskContext

from strandline.spark.failures import WriteFailed

QUERY_ID = "sql.streaming.queryId"
BATCH_ID = "streaming.sql.batchId"
NO_BATCH = -1


class TaskIdentity(NamedTuple):
    sink_id: str
    query_id: str
    batch_id: int
    task: int
    attempt: int

    @property
    def is_streaming(self) -> bool:
        return self.batch_id != NO_BATCH


def stream_task(sink_id: str) -> TaskIdentity:
    """The query's own id, which lives as long as its checkpoint, is the sink's unless a user named it."""
    context = TaskContext.get()
    query_id = context and context.getLocalProperty(QUERY_ID)
    batch_id = context and context.getLocalProperty(BATCH_ID)
    if not query_id or not batch_id:
        raise WriteFailed("this Spark does not tell tasks their batch, which exactly-once needs: use at-least-once")
    return TaskIdentity(sink_id or query_id, query_id, int(batch_id), context.partitionId(), context.attemptNumber())


def batch_task(sink_id: str, batch_id: int | None = None) -> TaskIdentity:
    """With a number, the batch is one of a sink's own, which may be written again; the sink is its only query."""
    context = TaskContext.get()
    if batch_id is None:
        return TaskIdentity(sink_id, "", NO_BATCH, context.partitionId(), context.attemptNumber())
    return TaskIdentity(sink_id, "batches", batch_id, context.partitionId(), context.attemptNumber())
