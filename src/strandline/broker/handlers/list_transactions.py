"""ListTransactions, v0-v1: the transactional ids that this broker coordinates (KIP-664). v2 has patterns of ids, which
are not served."""

from __future__ import annotations

from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.group_requests import Response
from strandline.broker.transaction_coordinator import TransactionCoordinator
from strandline.transactions.commands import ListTransactions
from strandline.transactions.replies import ListTransactionsReply
from strandline.wire.codec import decode, encode
from strandline.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)


def list_transactions_handler(coordinator: TransactionCoordinator) -> Handler:
    def handle(request: Request) -> Body | Instead:
        version = request.api_version
        asked = decode(ListTransactionsRequest, version, request.body)
        command = ListTransactions(
            states=tuple(asked.state_filters),
            producer_ids=tuple(asked.producer_id_filters),
            longer_than_ms=asked.duration_filter,
        )
        response = Response(request)
        coordinator.list_transactions(command, lambda reply: response.put(encode(_response(reply), version)))
        return response.now_or_later()

    return handle


def _response(reply: ListTransactionsReply) -> ListTransactionsResponse:
    return ListTransactionsResponse(
        error_code=reply.error_code,
        unknown_state_filters=list(reply.unknown_states),
        transaction_states=[
            TransactionState(each.transactional_id, each.producer_id, each.state) for each in reply.transactions
        ],
    )
