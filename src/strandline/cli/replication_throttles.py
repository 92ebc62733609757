"""A move takes no more of the network than it is given: Kafka's settings for that, set before it and unset after it.

The replicas that exist are throttled where they lead, those to come where they follow (SPEC R11).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from strandline.client.cluster import Cluster
from strandline.client.configs import (
    Change,
    ConfigSource,
    Operation,
    Resource,
    ResourceType,
    alter_configs,
    describe_configs,
    describe_many_configs,
)
from strandline.model.partitions import TopicPartition

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
LEADERS, FOLLOWERS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
Replicas = Mapping[TopicPartition, Sequence[int]]


async def throttle(cluster: Cluster, before: Replicas, after: Replicas, bytes_per_second: int) -> None:
    leaders: defaultdict[str, list[str]] = defaultdict(list)
    followers: defaultdict[str, list[str]] = defaultdict(list)
    for name, target in after.items():
        leaders[name.topic] += [f"{name.partition}:{broker}" for broker in before[name]]
        followers[name.topic] += [f"{name.partition}:{broker}" for broker in target if broker not in before[name]]
    for topic in leaders:
        changes = [Change(LEADERS, Operation.SET, ",".join(leaders[topic]))]
        if followers[topic]:
            changes.append(Change(FOLLOWERS, Operation.SET, ",".join(followers[topic])))
        await alter_configs(cluster, Resource(ResourceType.TOPIC, topic), changes)
    concerned = {broker for name in after for broker in (*before[name], *after[name])}
    rates = [Change(name, Operation.SET, str(bytes_per_second)) for name in RATES]
    for broker in sorted(concerned & cluster.view.nodes.keys()):
        await alter_configs(cluster, Resource(ResourceType.BROKER, str(broker)), rates)


async def end_throttles(cluster: Cluster, topics: Collection[str]) -> bool:
    """Of these topics, and of all brokers. Whether there were any."""
    found = False
    resources = [Resource(ResourceType.TOPIC, topic) for topic in sorted(topics)]
    configs = await describe_many_configs(cluster, resources, [LEADERS, FOLLOWERS]) if resources else {}
    await cluster.refresh(())
    for broker in sorted(cluster.view.nodes):
        resource = Resource(ResourceType.BROKER, str(broker))
        configs[resource] = await describe_configs(cluster, resource, RATES)
    for resource, described in configs.items():
        own = (ConfigSource.TOPIC, ConfigSource.BROKER_DYNAMIC)
        changes = [Change(config.name, Operation.DELETE) for config in described if config.source in own]
        if changes:
            found = True
            await alter_configs(cluster, resource, changes)
    return found
