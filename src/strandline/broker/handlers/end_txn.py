"""EndTxn, v0-v5: commit or abort. From v5 on the answer has the producer's next epoch (SPEC P3; KIP-890)."""

from __future__ import annotations

from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.transaction_coordinator import TransactionCoordinator
from strandline.broker.transaction_requests import ask_for_transaction
from strandline.transactions.commands import EndTransaction
from strandline.transactions.replies import EndTransactionReply
from strandline.wire.codec import decode, encode
from strandline.wire.messages.end_txn import EndTxnRequest, EndTxnResponse

FENCING_FROM = 2
EPOCH_BUMPS_FROM = 5


def end_txn_handler(coordinator: TransactionCoordinator) -> Handler:
    def handle(request: Request) -> Body | Instead:
        version = request.api_version
        asked = decode(EndTxnRequest, version, request.body)
        command = EndTransaction(
            transactional_id=asked.transactional_id,
            producer_id=asked.producer_id,
            producer_epoch=asked.producer_epoch,
            is_commit=asked.committed,
            bumps_epoch=version >= EPOCH_BUMPS_FROM,
            knows_fencing=version >= FENCING_FROM,
        )

        def encode_reply(reply: EndTransactionReply) -> bytes:
            response = EndTxnResponse(0, reply.error_code, reply.producer_id, reply.producer_epoch)
            return encode(response, version)

        return ask_for_transaction(coordinator, request, asked.transactional_id, command, encode_reply)

    return handle
