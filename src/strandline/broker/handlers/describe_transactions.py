"""DescribeTransactions, v0: what the coordinator knows of transactional ids (KIP-664)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.group_requests import Response
from strandline.broker.transaction_coordinator import TransactionCoordinator
from strandline.transactions.replies import DescribedTransaction, DescribeTransactionsReply
from strandline.wire.codec import decode, encode
from strandline.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)


def describe_transactions_handler(coordinator: TransactionCoordinator) -> Handler:
    def handle(request: Request) -> Body | Instead:
        version = request.api_version
        asked = decode(DescribeTransactionsRequest, version, request.body)
        response = Response(request)

        def answer(replies: Sequence[DescribeTransactionsReply]) -> None:
            states = [_state(each) for reply in replies for each in reply.transactions]
            response.put(encode(DescribeTransactionsResponse(transaction_states=states), version))

        coordinator.describe(asked.transactional_ids, answer)
        return response.now_or_later()

    return handle


def _state(described: DescribedTransaction) -> TransactionState:
    topics = groupby(described.partitions, key=lambda partition: partition.topic)
    return TransactionState(
        described.error_code,
        described.transactional_id,
        described.state,
        described.timeout_ms,
        described.start_ms,
        described.producer_id,
        described.producer_epoch,
        [TopicData(topic, [partition.partition for partition in of_topic]) for topic, of_topic in topics],
    )
