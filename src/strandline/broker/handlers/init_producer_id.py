"""InitProducerId, v0-v5: an identity for an idempotent producer, from any broker, or for a transactional id, from its
coordinator (SPEC P2, P3)."""

from __future__ import annotations

from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.procedures import by_procedure
from strandline.broker.producer_ids import ProducerIdBlocks
from strandline.broker.transaction_coordinator import TransactionCoordinator
from strandline.broker.transaction_requests import ask_for_transaction
from strandline.metadata.answer import Unanswered
from strandline.model.failures import ErrorCode
from strandline.transactions.commands import InitProducerId
from strandline.transactions.replies import InitProducerIdReply
from strandline.wire.codec import decode, encode
from strandline.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

FENCING_FROM = 4


def init_producer_id_handler(coordinator: TransactionCoordinator, producer_ids: ProducerIdBlocks) -> Handler:
    async def answer_idempotent(request: Request) -> bytes:
        try:
            response = InitProducerIdResponse(producer_id=await producer_ids.take())
        except Unanswered:
            response = InitProducerIdResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return encode(response, request.api_version)

    handle_idempotent = by_procedure(answer_idempotent)

    def handle(request: Request) -> Body | Instead:
        version = request.api_version
        asked = decode(InitProducerIdRequest, version, request.body)
        if asked.transactional_id is None:
            return handle_idempotent(request)
        command = InitProducerId(
            transactional_id=asked.transactional_id,
            transaction_timeout_ms=asked.transaction_timeout_ms,
            producer_id=asked.producer_id,
            producer_epoch=asked.producer_epoch,
            knows_fencing=version >= FENCING_FROM,
        )

        def encode_reply(reply: InitProducerIdReply) -> bytes:
            response = InitProducerIdResponse(0, reply.error_code, reply.producer_id, reply.producer_epoch)
            return encode(response, version)

        return ask_for_transaction(coordinator, request, asked.transactional_id, command, encode_reply)

    return handle
