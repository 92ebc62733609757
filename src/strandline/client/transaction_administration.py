"""Transactions, for administrators: which there are, where they write, how to end one that nobody ends (KIP-664).

A transaction **hangs** where a partition waits for its end and its coordinator does not know that: no marker will come,
and whoever reads committed records stands before it. It is found by comparing the two, and ended by a marker that is
written to the partition itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from strandline.client.cluster import TRANSACTION_KEY, Cluster
from strandline.client.connection import Connection
from strandline.client.failures import BrokerRefused, ClientError
from strandline.client.leaders import Outcomes, ask_leaders, by_topic, values_of
from strandline.model.error_codes import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    ProducerState,
    TopicRequest,
)
from strandline.wire.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from strandline.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from strandline.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from strandline.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

MARKERS_VERSION_MAX = 1  # the marker has the epoch of the records that it ends: version 2 could say that it must not
FENCING_TIMEOUT_MS = 1


@dataclass(frozen=True, slots=True)
class TransactionListing:
    transactional_id: str
    state: str
    producer_id: int
    coordinator_id: int


@dataclass(frozen=True, slots=True)
class TransactionView:
    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_ms: int | None
    coordinator_id: int
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class ProducerView:
    """A producer as a partition remembers it."""

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    transaction_start_offset: int | None  # of its open transaction


async def list_transactions(
    cluster: Cluster, states: Sequence[str] = (), producer_ids: Sequence[int] = (), longer_than_ms: int = -1
) -> list[TransactionListing]:
    """Every broker knows those that it coordinates."""
    await cluster.refresh(())
    request = ListTransactionsRequest(list(states), list(producer_ids), longer_than_ms)
    found = await asyncio.gather(*(_list_at(cluster, node_id, request) for node_id in cluster.view.nodes))
    return sorted((each for listed in found for each in listed), key=lambda each: each.transactional_id)


async def transactions_in_sight(cluster: Cluster, states: Sequence[str]) -> list[TransactionListing]:
    """As above, for those who cannot wait: brokers that do not answer at once are left out."""
    await cluster.refresh(())
    request = ListTransactionsRequest(list(states), [], -1)
    asked = (_look_at(cluster, node_id, request) for node_id in cluster.view.nodes)
    found = await asyncio.gather(*asked, return_exceptions=True)
    for failure in found:
        if isinstance(failure, BaseException) and not isinstance(failure, ClientError):
            raise failure
    return [each for listed in found if not isinstance(listed, BaseException) for each in listed]


async def _look_at(cluster: Cluster, node_id: int, request: ListTransactionsRequest) -> list[TransactionListing]:
    connection = await cluster.broker(node_id)
    return _listings(await connection.ask(request, ListTransactionsResponse), node_id)


async def _list_at(cluster: Cluster, node_id: int, request: ListTransactionsRequest) -> list[TransactionListing]:
    response = await cluster.ask_broker(node_id, request, ListTransactionsResponse, lambda answer: [answer.error_code])
    return _listings(response, node_id)


def _listings(response: ListTransactionsResponse, node_id: int) -> list[TransactionListing]:
    if response.error_code:
        raise BrokerRefused(response.error_code, f"transactions of broker {node_id}")
    return [
        TransactionListing(each.transactional_id, each.transaction_state, each.producer_id, node_id)
        for each in response.transaction_states
    ]


async def describe_transaction(cluster: Cluster, transactional_id: str) -> TransactionView:
    response = await cluster.ask_coordinator(
        transactional_id,
        DescribeTransactionsRequest([transactional_id]),
        DescribeTransactionsResponse,
        lambda answer: [each.error_code for each in answer.transaction_states],
        key_type=TRANSACTION_KEY,
    )
    (found,) = response.transaction_states
    if found.error_code:
        unknown = found.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        said = "no coordinator knows it; `strandline transaction list` shows those that there are" if unknown else None
        raise BrokerRefused(found.error_code, f"transactional id {transactional_id}", said)
    return TransactionView(
        transactional_id,
        found.transaction_state,
        found.producer_id,
        found.producer_epoch,
        found.transaction_timeout_ms,
        found.transaction_start_time_ms if found.transaction_start_time_ms >= 0 else None,
        cluster.coordinator_id(transactional_id, TRANSACTION_KEY),
        tuple(TopicPartition(topic.topic, index) for topic in found.topics for index in topic.partitions),
    )


async def producers_of(cluster: Cluster, partitions: Collection[TopicPartition]) -> list[ProducerView]:
    async def ask(connection: Connection, named: list[TopicPartition]) -> Outcomes[list[ProducerView]]:
        request = DescribeProducersRequest([TopicRequest(topic, indexes) for topic, indexes in by_topic(named).items()])
        response = await connection.ask(request, DescribeProducersResponse)
        outcomes: Outcomes[list[ProducerView]] = {}
        for topic in response.topics:
            for each in topic.partitions:
                name = TopicPartition(topic.name, each.partition_index)
                outcomes[name] = (
                    BrokerRefused(each.error_code, f"producers of {name}", each.error_message)
                    if each.error_code
                    else [_producer(name, producer) for producer in each.active_producers]
                )
        return outcomes

    found = values_of(await ask_leaders(cluster, partitions, ask))
    return [producer for name in sorted(found) for producer in found[name]]


def _producer(name: TopicPartition, state: ProducerState) -> ProducerView:
    return ProducerView(
        name,
        state.producer_id,
        state.producer_epoch,
        state.last_sequence,
        state.last_timestamp,
        state.coordinator_epoch,
        state.current_txn_start_offset if state.current_txn_start_offset >= 0 else None,
    )


async def find_hanging(cluster: Cluster, partitions: Collection[TopicPartition], before_ms: int) -> list[ProducerView]:
    """Open transactions that were last written to before that time and that no coordinator has open there."""
    candidates = [
        producer
        for producer in await producers_of(cluster, partitions)
        if producer.transaction_start_offset is not None and producer.last_timestamp_ms < before_ms
    ]
    if not candidates:
        return []
    producer_ids = sorted({producer.producer_id for producer in candidates})
    known: dict[int, set[TopicPartition]] = {}
    for listing in await list_transactions(cluster, producer_ids=producer_ids):
        view = await describe_transaction(cluster, listing.transactional_id)
        known.setdefault(listing.producer_id, set()).update(view.partitions)
    return [producer for producer in candidates if producer.partition not in known.get(producer.producer_id, ())]


async def abort_transaction(cluster: Cluster, producer: ProducerView) -> None:
    """Write the marker that nobody else writes."""

    async def ask(connection: Connection, named: list[TopicPartition]) -> Outcomes[None]:
        (name,) = named
        marker = WritableTxnMarker(
            producer.producer_id,
            producer.producer_epoch,
            False,
            [WritableTxnMarkerTopic(name.topic, [name.partition])],
            max(producer.coordinator_epoch, 0),
        )
        request = WriteTxnMarkersRequest([marker])
        response = await connection.ask(request, WriteTxnMarkersResponse, version_max=MARKERS_VERSION_MAX)
        error_code = response.markers[0].topics[0].partitions[0].error_code
        return {name: BrokerRefused(error_code, f"a marker for {name}") if error_code else None}

    values_of(await ask_leaders(cluster, [producer.partition], ask))


async def force_terminate(cluster: Cluster, transactional_id: str) -> None:
    """Take the id from whoever has it, as a new producer would: what is open is aborted, and its producer fenced."""
    response = await cluster.ask_coordinator(
        transactional_id,
        InitProducerIdRequest(transactional_id, FENCING_TIMEOUT_MS),
        InitProducerIdResponse,
        lambda answer: [answer.error_code],
        key_type=TRANSACTION_KEY,
    )
    # That the old transaction is being ended is what was wanted.
    if response.error_code not in (ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS):
        raise BrokerRefused(response.error_code, f"transactional id {transactional_id}")
