"""UpdateMetadata: what the controller says of the whole cluster goes into the image that clients are answered from."""

from __future__ import annotations

from uuid import UUID

from strandline.broker.cluster_image import BrokerAddress, ClusterImage, PartitionImage, TopicImage
from strandline.broker.controller_fence import ControllerFence
from strandline.model.failures import ErrorCode
from strandline.wire.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
    UpdateMetadataTopicState,
)

DELETED = -2  # the leader of a partition whose topic is being deleted


class MetadataUpdates:
    def __init__(self, image: ClusterImage, fence: ControllerFence) -> None:
        self.own_address: BrokerAddress | None = None  # how clients shall find us, if not as we are registered
        self._image = image
        self._fence = fence

    def apply(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        refused = self._fence.check(request.controller_id, request.controller_epoch, request.broker_epoch)
        if refused is not ErrorCode.NONE:
            return UpdateMetadataResponse(refused)
        self._image.controller_id = request.controller_id
        self._image.brokers = {broker.id: _address(broker) for broker in request.live_brokers}
        if self.own_address is not None and self.own_address.broker_id in self._image.brokers:
            self._image.brokers[self.own_address.broker_id] = self.own_address
        for topic in request.topic_states:
            self._apply_topic(topic)
        return UpdateMetadataResponse()

    def _apply_topic(self, update: UpdateMetadataTopicState) -> None:
        topic_id = UUID(bytes=update.topic_id)
        known = self._image.topics.get(update.topic_name)
        partitions = dict(known.partitions) if known is not None and known.topic_id == topic_id else {}
        for state in update.partition_states:
            if state.leader == DELETED:
                partitions.pop(state.partition_index, None)
            else:
                partitions[state.partition_index] = PartitionImage(
                    state.leader,
                    state.leader_epoch,
                    tuple(state.replicas),
                    tuple(state.isr),
                    tuple(state.offline_replicas),
                )
        if partitions:
            self._image.put_topic(TopicImage(update.topic_name, topic_id, dict(sorted(partitions.items()))))
        else:
            self._image.remove_topic(update.topic_name)


def _address(broker: UpdateMetadataBroker) -> BrokerAddress:
    endpoint = broker.endpoints[0]
    return BrokerAddress(broker.id, endpoint.host, endpoint.port, broker.rack)
