"""Elections that somebody asks for (KIP-460)."""

from __future__ import annotations

from collections.abc import Collection

from strandline.client.cluster import Cluster
from strandline.client.failures import BrokerRefused
from strandline.client.leaders import by_topic
from strandline.model.partitions import TopicPartition
from strandline.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions

PREFERRED, UNCLEAN = 0, 1


async def elect_leaders(
    cluster: Cluster, partitions: Collection[TopicPartition], *, unclean: bool = False
) -> dict[TopicPartition, BrokerRefused | None]:
    """The preferred leaders, or anybody for partitions that have none. For each why not, if it did not come to that."""
    wanted = [TopicPartitions(name, indexes) for name, indexes in by_topic(partitions).items()]
    response = await cluster.ask_controller(
        ElectLeadersRequest(UNCLEAN if unclean else PREFERRED, wanted, cluster.settings.request_timeout_ms),
        ElectLeadersResponse,
        lambda answer: [answer.error_code],
    )
    if response.error_code:
        raise BrokerRefused(response.error_code, "electing leaders")
    return {
        TopicPartition(topic.topic, each.partition_id): (
            BrokerRefused(each.error_code, f"{topic.topic}/{each.partition_id}", each.error_message)
            if each.error_code
            else None
        )
        for topic in response.replica_election_results
        for each in topic.partition_result
    }
