"""DescribeCluster, v0-v2: the cluster's id, its controller, its brokers."""

from __future__ import annotations

from strandline.broker.authorized_operations import NOT_ASKED_FOR, ON_CLUSTER
from strandline.broker.cluster_image import ClusterImage
from strandline.broker.dispatch import Handler, Request
from strandline.model.failures import ErrorCode
from strandline.wire.codec import decode, encode
from strandline.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS, CONTROLLERS = 1, 2


def describe_cluster_handler(image: ClusterImage) -> Handler:
    def describe(asked: DescribeClusterRequest, reached_by: tuple[str, int]) -> DescribeClusterResponse:
        if asked.endpoint_type != BROKERS:
            code = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
            if asked.endpoint_type == CONTROLLERS:
                code = ErrorCode.MISMATCHED_ENDPOINT_TYPE
            return DescribeClusterResponse(0, code, "Brokers are described here.", cluster_id=image.cluster_id)
        operations = ON_CLUSTER if asked.include_cluster_authorized_operations else NOT_ASKED_FOR
        brokers = [
            DescribeClusterBroker(broker.broker_id, *broker.address_for(reached_by), broker.rack)
            for broker in image.brokers.values()
        ]
        return DescribeClusterResponse(
            cluster_id=image.cluster_id,
            controller_id=image.controller_id,
            brokers=brokers,
            cluster_authorized_operations=operations,
        )

    def handle(request: Request) -> bytes:
        asked = decode(DescribeClusterRequest, request.api_version, request.body)
        return encode(describe(asked, request.connection.local_address), request.api_version)

    return handle
