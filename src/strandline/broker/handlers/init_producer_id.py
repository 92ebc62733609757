"""InitProducerId, v0-v5: an identity for an idempotent producer (SPEC P2). Transactions have their own coordinator."""

from __future__ import annotations

from strandline.broker.dispatch import Handler, Request
from strandline.broker.procedures import by_procedure
from strandline.broker.producer_ids import ProducerIds
from strandline.metadata.errors import StoreError
from strandline.model.failures import ErrorCode, Refused
from strandline.wire.codec import decode, encode
from strandline.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


def init_producer_id_handler(producer_ids: ProducerIds) -> Handler:
    async def answer(request: Request) -> bytes:
        asked = decode(InitProducerIdRequest, request.api_version, request.body)
        if asked.transactional_id is not None:
            return encode(InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST), request.api_version)
        try:
            response = InitProducerIdResponse(producer_id=await producer_ids.take())
        except StoreError:
            response = InitProducerIdResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        except Refused as refused:
            response = InitProducerIdResponse(error_code=refused.error_code)
        return encode(response, request.api_version)

    return by_procedure(answer)
