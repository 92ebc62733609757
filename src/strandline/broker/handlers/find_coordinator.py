"""FindCoordinator, v0-v6: the broker that looks after a group or a transactional id. From v4 on for many keys at once
(KIP-699).

The first question creates `__consumer_offsets` or `__transaction_state`. Kafka answers it with an error and lets the
client try again; here it waits for the topic. A partition that is led here and could not be loaded has no
coordinator, and the answer says why.
"""

from __future__ import annotations

import logging

from strandline.broker.cluster_image import CONSUMER_OFFSETS, TRANSACTION_STATE, ClusterImage
from strandline.broker.dispatch import Handler, Request
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.broker.procedures import by_procedure
from strandline.broker.topic_administration import TopicAdministration
from strandline.broker.transaction_coordinator import TransactionCoordinator
from strandline.metadata.errors import StoreError
from strandline.model.failures import ErrorCode, Refused, StorageFailed
from strandline.wire.codec import decode, encode
from strandline.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

logger = logging.getLogger(__name__)

GROUP, TRANSACTION = 0, 1
TOPICS = {GROUP: CONSUMER_OFFSETS, TRANSACTION: TRANSACTION_STATE}
FACTORS = {
    CONSUMER_OFFSETS: "offsets.topic.replication.factor",
    TRANSACTION_STATE: "transaction.state.log.replication.factor",
}
KEYS_FROM = 4
NO_NODE = -1


def find_coordinator_handler(
    groups: GroupCoordinator,
    transactions: TransactionCoordinator,
    image: ClusterImage,
    controller: TopicAdministration,
) -> Handler:
    told_of: set[str] = set()  # topics that could not be made, which is told once
    partition_of = {GROUP: groups.partition_of, TRANSACTION: transactions.partition_of}
    fault_of = {GROUP: groups.led.fault_of, TRANSACTION: transactions.led.fault_of}

    async def answer(request: Request) -> bytes:
        asked = decode(FindCoordinatorRequest, request.api_version, request.body)
        keys = asked.coordinator_keys if request.api_version >= KEYS_FROM else [asked.key]
        try:
            if keys:
                await make_sure_of_topic(asked.key_type)
            found = [located(request, asked.key_type, key) for key in keys]
        except Refused as refused:
            found = [_nowhere(key, refused) for key in keys]
        return _respond(request.api_version, found)

    async def make_sure_of_topic(key_type: int) -> None:
        topic = TOPICS.get(key_type)
        if topic is None:
            raise Refused(ErrorCode.INVALID_REQUEST, f"there is no coordinator of type {key_type}")
        if topic in image.topics:
            return
        try:
            await controller.create_topic_by_default(topic)
        except (Refused, StoreError, StorageFailed) as failure:
            if topic not in told_of:
                told_of.add(topic)
                logger.warning("%s cannot be created, and those who need it wait: %s", topic, failure)
            raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"no {topic}: {_told(topic, failure)}") from failure

    def located(request: Request, key_type: int, key: str) -> Coordinator:
        topic, index = image.topics.get(TOPICS[key_type]), partition_of[key_type](key)
        fault = fault_of[key_type](index)
        if fault is not None:
            return _nowhere(key, Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, fault))
        partition = None if topic is None else topic.partitions.get(index)
        broker = image.brokers.get(partition.leader_id) if partition is not None else None
        if broker is None:
            return _nowhere(key, Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "its partition has no leader"))
        host, port = (broker.host, broker.port) if broker.host else request.connection.local_address
        return Coordinator(key, broker.broker_id, host, port)

    return by_procedure(answer)


def _told(topic: str, failure: Exception) -> str:
    if not isinstance(failure, Refused) or failure.error_code != ErrorCode.INVALID_REPLICATION_FACTOR:
        return str(failure)
    return f"{failure.reason.rstrip('.')}; start the brokers that are down, or lower {FACTORS[topic]}"


def _nowhere(key: str, refused: Refused) -> Coordinator:
    return Coordinator(key, NO_NODE, "", NO_NODE, refused.error_code, refused.reason)


def _respond(version: int, found: list[Coordinator]) -> bytes:
    if version >= KEYS_FROM:
        return encode(FindCoordinatorResponse(coordinators=found), version)
    (only,) = found
    response = FindCoordinatorResponse(
        error_code=only.error_code,
        error_message=only.error_message,
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )
    return encode(response, version)
