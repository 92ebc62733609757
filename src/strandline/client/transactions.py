"""A transaction's beginning, growth and end, as questions to its coordinator (SPEC P3).

Whoever has the transactional id with its producer id and epoch can end a transaction, also another process than the one
that wrote: that is what two-phase commits over several producers stand on. So this speaks as clients did before each
transaction had an epoch of its own (KIP-890): ending a transaction twice in the same way is no error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from strandline.client.cluster import TRANSACTION_KEY, Cluster
from strandline.client.failures import BrokerRefused
from strandline.client.leaders import by_topic
from strandline.client.outgoing import ProducerIdentity
from strandline.client.patience import Patience
from strandline.model.partitions import TopicPartition
from strandline.wire.layout import Message
from strandline.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from strandline.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from strandline.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

R = TypeVar("R", bound=Message)

OF_CLIENTS_UNTIL = 3  # AddPartitionsToTxn
ONE_EPOCH_UNTIL = 4  # EndTxn


async def begin_as(cluster: Cluster, transactional_id: str) -> ProducerIdentity:
    """An identity of its own. Whatever another producer of this id had left open is aborted first."""
    request = InitProducerIdRequest(transactional_id, cluster.settings.transaction_timeout_ms)
    response = await _ask(
        cluster, transactional_id, request, InitProducerIdResponse, lambda answer: [answer.error_code]
    )
    return ProducerIdentity(response.producer_id, response.producer_epoch, transactional_id)


async def add_partitions(cluster: Cluster, identity: ProducerIdentity, partitions: Collection[TopicPartition]) -> None:
    """Before the first record goes to them."""
    transactional_id = identity.transactional_id or ""
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=identity.producer_id,
        v3_and_below_producer_epoch=identity.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name, each) for name, each in by_topic(partitions).items()],
    )
    await _ask(
        cluster, transactional_id, request, AddPartitionsToTxnResponse, _partition_codes, version_max=OF_CLIENTS_UNTIL
    )


async def end_transaction(cluster: Cluster, identity: ProducerIdentity, *, is_commit: bool) -> None:
    transactional_id = identity.transactional_id or ""
    request = EndTxnRequest(transactional_id, identity.producer_id, identity.producer_epoch, is_commit)
    await _ask(
        cluster,
        transactional_id,
        request,
        EndTxnResponse,
        lambda answer: [answer.error_code],
        version_max=ONE_EPOCH_UNTIL,
    )


def _partition_codes(response: AddPartitionsToTxnResponse) -> list[int]:
    return [
        each.partition_error_code
        for topic in response.results_by_topic_v3_and_below
        for each in topic.results_by_partition
    ]


async def _ask(
    cluster: Cluster,
    transactional_id: str,
    request: Message,
    response: type[R],
    error_codes: Callable[[R], Iterable[int]],
    version_max: int | None = None,
) -> R:
    """Until it is done: a coordinator that still ends the transaction before says so, and wants to be asked again."""
    patience = Patience(cluster.settings)
    while True:
        answer = await cluster.ask_coordinator(
            transactional_id, request, response, error_codes, key_type=TRANSACTION_KEY, version_max=version_max
        )
        code = next((code for code in error_codes(answer) if code), 0)
        if not code:
            return answer
        await patience.pause(BrokerRefused(code, f"transactional id {transactional_id}"))
