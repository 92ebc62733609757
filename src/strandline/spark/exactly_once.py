"""`delivery=exactly-once`: one transaction for each task and batch, all of them committed by the driver, or none.

1. Each task writes its rows in a transaction of its own and leaves it open (`prepare`).
2. The driver notes, in the cluster, which transactions make up the batch: the decision (`sink_decisions`).
3. It commits them, one by one.

A driver that dies before 2 leaves open transactions: Spark runs the batch again, and its tasks take over their
transactional ids, which aborts what was open. One that dies after 2 has decided: Spark runs the batch again, its tasks
find the decision and write nothing, and the driver commits what is left. Committing twice is no error. A decided batch
is lost only if its transactions stay open for longer than `transaction.timeout.ms`: then the broker aborts them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage

from strandline.client.blocking import Blocking
from strandline.client.cluster import Cluster
from strandline.client.failures import BrokerRefused, ClientError
from strandline.client.outgoing import ProducerIdentity
from strandline.client.transaction_administration import transactions_in_sight
from strandline.client.transactional_producer import TransactionalProducer
from strandline.client.transactions import begin_as, end_transaction
from strandline.spark.failures import WriteFailed
from strandline.spark.record_writer import check_delivered, send_rows
from strandline.spark.sink_decisions import (
    Decision,
    PreparedTask,
    decide,
    is_of_sink,
    last_decision,
    transactional_id,
)
from strandline.spark.task_identity import TaskIdentity

logger = logging.getLogger("strandline.spark")

COMMITS_AT_ONCE = 16
ONGOING = "Ongoing"
OLD_AGE = 0.8  # of transaction.timeout.ms: older ones may be aborted while they are being committed


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def elapsed_ms() -> int:
    return time.monotonic_ns() // 1_000_000


@dataclass
class Prepared(WriterCommitMessage):
    """What a task tells the driver. Without a task: it had no rows, or its batch was decided before."""

    sink_id: str
    query_id: str
    task: PreparedTask | None = None
    topics: set[str] = field(default_factory=set)
    began_ms: int = 0
    took_ms: int = 0  # by a clock that nobody can set; on another machine it says nothing else
    record_count: int = 0


def prepare(client: Blocking, me: TaskIdentity, topic: str | None, rows: Iterator[pa.RecordBatch]) -> Prepared:
    """In a task."""
    decision = client(lambda cluster: last_decision(cluster, me.sink_id)) if me.is_streaming else None
    if decision is not None:
        check_own(decision, me.sink_id, me.query_id, me.batch_id)
        if decision.batch_id == me.batch_id:
            return Prepared(me.sink_id, me.query_id)
    began_ms, began_elapsed_ms = now_ms(), elapsed_ms()
    producer: TransactionalProducer | None = None
    try:
        for batch in rows:
            if producer is None and batch.num_rows:
                producer = client(partial(_begin, transactional_id(me.sink_id, me.task, me.attempt)))
            if producer is not None:
                client(partial(send_rows, producer, batch, topic))
        if producer is None:
            return Prepared(me.sink_id, me.query_id)
        client(partial(_finish_sending, producer))
    except BaseException:
        if producer is not None:
            _abort(client, [producer.identity])
        raise
    task = PreparedTask(me.task, me.attempt, producer.identity.producer_id, producer.identity.producer_epoch)
    topics = {partition.topic for partition in producer.partitions}
    took_ms = elapsed_ms() - began_elapsed_ms
    return Prepared(me.sink_id, me.query_id, task, topics, began_ms, took_ms, producer.record_count)


async def _begin(name: str, cluster: Cluster) -> TransactionalProducer:
    producer = TransactionalProducer(cluster, name)
    await producer.begin()
    return producer


async def _finish_sending(producer: TransactionalProducer, _: Cluster) -> None:
    await producer.close()
    check_delivered(producer)


def check_own(decision: Decision, sink_id: str, query_id: str, batch_id: int) -> None:
    if decision.query_id != query_id or decision.batch_id > batch_id:
        raise WriteFailed(
            f"sink {sink_id} has committed batch {decision.batch_id} of query {decision.query_id}, and this is batch"
            f" {batch_id} of query {query_id}: the checkpoint was deleted, or another query uses this sinkId; choose"
            " another one"
        )


def commit(client: Blocking, messages: Sequence[Prepared], batch_id: int | None) -> None:
    """On the driver; without a number of the batch where it is not a stream's."""
    if not messages:
        return
    sink_id, query_id = messages[0].sink_id, messages[0].query_id
    tasks = tuple(sorted(each.task for each in messages if each.task is not None))
    if batch_id is not None:
        decision = client(lambda cluster: last_decision(cluster, sink_id))
        if decision is not None and decision.batch_id == batch_id:
            check_own(decision, sink_id, query_id, batch_id)
            _abort(client, [task.identity(sink_id) for task in tasks if task not in decision.tasks])
            tasks = decision.tasks
        elif tasks:
            _check_young(client, messages)
            topics = {topic for each in messages for topic in each.topics}
            client(lambda cluster: decide(cluster, sink_id, Decision(batch_id, query_id, tasks), topics))
    client(partial(_commit_all, sink_id, tasks))
    client(partial(_end_others, sink_id, tasks))


def _check_young(client: Blocking, messages: Sequence[Prepared]) -> None:
    """While nothing is decided, a batch that took too long can still be written again."""
    timeout_ms = client.cluster.settings.transaction_timeout_ms
    age_ms = age_of([each for each in messages if each.task is not None], now_ms())
    if age_ms > timeout_ms * OLD_AGE:
        raise WriteFailed(
            f"the batch took {age_ms} ms, too near to kafka.transaction.timeout.ms={timeout_ms} to be committed safely:"
            " raise it (and the broker's transaction.max.timeout.ms), or make batches smaller with maxOffsetsPerTrigger"
        )


def age_of(written: Sequence[Prepared], now_ms: int) -> int:
    """Executors have clocks of their own, and a clock may be set back: it is at least what the longest task took."""
    return max(now_ms - min(each.began_ms for each in written), max(each.took_ms for each in written))


async def _commit_all(sink_id: str, tasks: Sequence[PreparedTask], cluster: Cluster) -> None:
    places = asyncio.Semaphore(COMMITS_AT_ONCE)

    async def commit_one(task: PreparedTask) -> None:
        async with places:
            try:
                await end_transaction(cluster, task.identity(sink_id), is_commit=True)
            except BrokerRefused as error:
                raise WriteFailed(
                    f"the batch was decided, but the transaction of its task {task.task} is not there to be committed"
                    f" ({error}): it was open for longer than kafka.transaction.timeout.ms, or a second driver runs"
                    " from this checkpoint or with this sinkId, and the batch is in the topic in part; go on with"
                    " another sinkId after looking at it"
                ) from None

    await asyncio.gather(*(commit_one(task) for task in tasks))


async def _end_others(sink_id: str, tasks: Sequence[PreparedTask], cluster: Cluster) -> None:
    """Of attempts that do not count, under this driver or one that died: they would hold up readers of committed data.

    One that begins only now, in an executor that does not know yet that its driver is dead, is met by the next batch.
    """
    own = {task.identity(sink_id).transactional_id for task in tasks}
    others = {transactional_id(sink_id, task.task, attempt) for task in tasks for attempt in range(task.attempt)}
    listed = await transactions_in_sight(cluster, [ONGOING])
    others |= {each.transactional_id for each in listed if is_of_sink(each.transactional_id, sink_id)}
    for name in sorted(others - own):
        await begin_as(cluster, name)


def abort(client: Blocking, messages: Sequence[Prepared], batch_id: int | None) -> None:
    """Spark also calls this when `commit` failed. What is decided stays decided: the batch will come again."""
    if not messages:
        return
    sink_id = messages[0].sink_id
    if batch_id is not None:
        decision = client(lambda cluster: last_decision(cluster, sink_id))
        if decision is not None and decision.batch_id == batch_id:
            return
    _abort(client, [each.task.identity(sink_id) for each in messages if each.task is not None])


async def _abort_one(identity: ProducerIdentity, cluster: Cluster) -> None:
    await end_transaction(cluster, identity, is_commit=False)


def _abort(client: Blocking, identities: Sequence[ProducerIdentity]) -> None:
    """If it can be done: otherwise whoever takes over the transactional id does it, or the broker after a while."""
    for identity in identities:
        try:
            client(partial(_abort_one, identity))
        except ClientError as error:
            logger.warning("the transaction of %s is not aborted yet: %s", identity.transactional_id, error)
