"""`write` and `writeStream` with `delivery=exactly-once` (`exactly_once` says how)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import uuid4

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from strandline.client.blocking import Blocking
from strandline.client.settings import ClientSettings
from strandline.spark.exactly_once import Prepared, abort, commit, prepare
from strandline.spark.failures import WriteFailed, in_one_sentence
from strandline.spark.sink_options import SinkOptions
from strandline.spark.task_identity import TaskIdentity, batch_task, stream_task
from strandline.spark.worker_clients import borrow_client

Messages = Sequence[WriterCommitMessage | None]


class TransactionalBatchWriter(DataSourceArrowWriter):
    """All of it or nothing, unless the driver dies while it commits: nobody runs a batch again.

    But for those that have a number (`batchId`), as the batches of foreachBatch do: these are recognised.
    """

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._sink_id = options.sink_id or str(uuid4())

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Prepared:
        return _write(self._options, batch_task(self._sink_id, self._options.batch_id), iterator)

    def commit(self, messages: Messages) -> None:
        _commit(self._options, messages, self._options.batch_id)

    def abort(self, messages: Messages) -> None:
        _abort(self._options, messages, self._options.batch_id)


class TransactionalStreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Prepared:
        with in_one_sentence(WriteFailed):
            me = stream_task(self._options.sink_id)
        return _write(self._options, me, iterator)

    def commit(self, messages: Messages, batchId: int) -> None:
        _commit(self._options, messages, batchId)

    def abort(self, messages: Messages, batchId: int) -> None:
        _abort(self._options, messages, batchId)


def _write(options: SinkOptions, me: TaskIdentity, rows: Iterator[pa.RecordBatch]) -> Prepared:
    with in_one_sentence(WriteFailed), borrow_client(options.properties) as client:
        return prepare(client, me, options.topic, rows)


def _commit(options: SinkOptions, messages: Messages, batch_id: int | None) -> None:
    with in_one_sentence(WriteFailed), _client(options) as client:
        commit(client, [each for each in messages if isinstance(each, Prepared)], batch_id)


def _abort(options: SinkOptions, messages: Messages, batch_id: int | None) -> None:
    with in_one_sentence(WriteFailed), _client(options) as client:
        abort(client, [each for each in messages if isinstance(each, Prepared)], batch_id)


def _client(options: SinkOptions) -> Blocking:
    return Blocking(ClientSettings.of(options.properties))
