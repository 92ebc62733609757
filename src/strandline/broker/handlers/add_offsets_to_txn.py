"""AddOffsetsToTxn, v0-v4: a group's offsets become part of a transaction (SPEC P3)."""

from __future__ import annotations

from strandline.broker.cluster_image import CONSUMER_OFFSETS, ClusterImage
from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.broker.procedures import by_procedure
from strandline.broker.topic_administration import TopicAdministration
from strandline.broker.transaction_coordinator import TransactionCoordinator
from strandline.broker.transaction_requests import ask_for_transaction
from strandline.metadata.errors import StoreError
from strandline.model.failures import ErrorCode, Refused, StorageFailed
from strandline.transactions.commands import AddOffsets
from strandline.transactions.replies import AddOffsetsReply
from strandline.wire.codec import decode, encode
from strandline.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

FENCING_FROM = 2


def add_offsets_to_txn_handler(
    coordinator: TransactionCoordinator, groups: GroupCoordinator, image: ClusterImage, controller: TopicAdministration
) -> Handler:
    async def create_offsets_topic(request: Request) -> bytes:
        """The producer looks for the group's coordinator only after this, and asks again until it has succeeded."""
        error_code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        try:
            await controller.create_topic_by_default(CONSUMER_OFFSETS)
        except (Refused, StoreError, StorageFailed):
            error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        return encode(AddOffsetsToTxnResponse(error_code=error_code), request.api_version)

    create_first = by_procedure(create_offsets_topic)

    def handle(request: Request) -> Body | Instead:
        version = request.api_version
        asked = decode(AddOffsetsToTxnRequest, version, request.body)
        if CONSUMER_OFFSETS not in image.topics:
            return create_first(request)
        command = AddOffsets(
            transactional_id=asked.transactional_id,
            producer_id=asked.producer_id,
            producer_epoch=asked.producer_epoch,
            offsets_partition=groups.partition_of(asked.group_id),
            knows_fencing=version >= FENCING_FROM,
        )

        def encode_reply(reply: AddOffsetsReply) -> bytes:
            return encode(AddOffsetsToTxnResponse(error_code=reply.error_code), version)

        return ask_for_transaction(coordinator, request, asked.transactional_id, command, encode_reply)

    return handle
