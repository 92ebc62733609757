"""InitProducerId, v0-v5: an identity for an idempotent producer, from any broker, or for a transactional id, from its
coordinator (SPEC P2, P3)."""

from __future__ import annotations

from contextlib import suppress

from strandline.broker.dispatch import Handler, Request
from strandline.broker.procedures import by_procedure
from strandline.broker.producer_ids import ProducerIdBlocks
from strandline.broker.transaction_coordinator import TransactionCoordinator
from strandline.metadata.answer import Answer, Unanswered
from strandline.model.failures import ErrorCode
from strandline.transactions.commands import InitProducerId
from strandline.transactions.replies import InitProducerIdReply
from strandline.wire.codec import decode, encode
from strandline.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

FENCING_FROM = 4


def init_producer_id_handler(coordinator: TransactionCoordinator, producer_ids: ProducerIdBlocks) -> Handler:
    async def answer(request: Request) -> bytes:
        asked = decode(InitProducerIdRequest, request.api_version, request.body)
        if asked.transactional_id is None:
            response = await idempotent()
        else:
            response = await transactional(asked, asked.transactional_id, request.api_version)
        return encode(response, request.api_version)

    async def idempotent() -> InitProducerIdResponse:
        try:
            return InitProducerIdResponse(producer_id=await producer_ids.take())
        except Unanswered:
            return InitProducerIdResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)

    async def transactional(
        asked: InitProducerIdRequest, transactional_id: str, version: int
    ) -> InitProducerIdResponse:
        with suppress(Unanswered):  # the coordinator says what it does without one
            await producer_ids.ready()
        command = InitProducerId(
            transactional_id=transactional_id,
            transaction_timeout_ms=asked.transaction_timeout_ms,
            producer_id=asked.producer_id,
            producer_epoch=asked.producer_epoch,
            knows_fencing=version >= FENCING_FROM,
        )
        replied: Answer[InitProducerIdReply] = Answer()
        coordinator.ask(transactional_id, command, replied.deliver)
        reply = await replied
        return InitProducerIdResponse(0, reply.error_code, reply.producer_id, reply.producer_epoch)

    return by_procedure(answer)
