"""What a request for topics or partitions asks for, checked and made complete: counts, replicas, settings (SPEC T3).

A cluster of one has one broker to put replicas on. Everything else is checked as in a cluster of many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from strandline.broker.broker_settings import BrokerSettings
from strandline.broker.cluster_image import ClusterImage
from strandline.broker.configs.checks import check_topic
from strandline.broker.configuration import Configuration
from strandline.broker.new_topics import NewTopic
from strandline.model.failures import ErrorCode, Refused
from strandline.wire.messages.create_partitions import CreatePartitionsTopic
from strandline.wire.messages.create_topics import CreatableTopic

BY_DEFAULT = -1  # of a count: what the broker's settings say


class TopicRequests:
    def __init__(self, configuration: Configuration, image: ClusterImage) -> None:
        self._configuration = configuration
        self._image = image

    def new_topic(self, asked: CreatableTopic) -> NewTopic:
        properties = self._properties(asked)
        if not asked.assignments:
            factor = self._replication_factor(asked)
            return NewTopic(asked.name, self._partition_count(asked), properties, factor)
        if (asked.num_partitions, asked.replication_factor) != (BY_DEFAULT, BY_DEFAULT):
            raise Refused(
                ErrorCode.INVALID_REQUEST, "Replicas were assigned, so partitions and replicas may not be counted too."
            )
        replicas = {assignment.partition_index: assignment.broker_ids for assignment in asked.assignments}
        if len(replicas) < len(asked.assignments):
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "A partition is assigned twice.")
        if sorted(replicas) != list(range(len(replicas))):
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "Partitions are numbered from 0 without a gap.")
        self._check_assignments(list(replicas.values()))
        placement = {index: tuple(broker_ids) for index, broker_ids in replicas.items()}
        return NewTopic(asked.name, len(replicas), properties, len(placement[0]), placement)

    def _properties(self, asked: CreatableTopic) -> dict[str, str]:
        without = [config.name for config in asked.configs if config.value is None]
        if without:
            raise Refused(ErrorCode.INVALID_CONFIG, f"There is no value for {', '.join(without)}.")
        properties = {config.name: config.value for config in asked.configs if config.value is not None}
        if properties:
            check_topic(properties, self._configuration.broker_properties(), changed=properties)
        return properties

    def _replication_factor(self, asked: CreatableTopic) -> int:
        default = self._configuration.of_broker(BrokerSettings).default_replication_factor
        factor = default if asked.replication_factor == BY_DEFAULT else asked.replication_factor
        self._image.check_replication_factor(factor)
        return factor

    def _partition_count(self, asked: CreatableTopic) -> int:
        settings = self._configuration.of_broker(BrokerSettings)
        count = settings.num_partitions if asked.num_partitions == BY_DEFAULT else asked.num_partitions
        if count < 1:
            raise Refused(ErrorCode.INVALID_PARTITIONS, f"A topic cannot have {count} partitions.")
        return count

    def _check_assignments(self, assignments: Sequence[Sequence[int]]) -> None:
        for broker_ids in assignments:
            if not broker_ids:
                raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "A partition is assigned to no broker.")
            if len(set(broker_ids)) < len(broker_ids):
                raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "A partition is assigned to a broker twice.")
            unknown = [broker_id for broker_id in broker_ids if broker_id not in self._image.brokers]
            if unknown:
                raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"There is no broker {unknown[0]}.")

    def partition_count(self, asked: CreatePartitionsTopic) -> int:
        """How many in all."""
        topic = self._image.topics.get(asked.name)
        if topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {asked.name!r}.")
        if topic.is_internal:
            raise Refused(
                ErrorCode.INVALID_TOPIC_EXCEPTION, f"{asked.name} finds its keys by its number of partitions: it stays."
            )
        added = asked.count - len(topic.partitions)
        if added <= 0:
            raise Refused(
                ErrorCode.INVALID_PARTITIONS,
                f"Topic {asked.name!r} has {len(topic.partitions)} partitions: {asked.count} would not be more.",
            )
        if asked.assignments is not None:
            if len(asked.assignments) != added:
                raise Refused(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"{added} partitions are added, and {len(asked.assignments)} are assigned.",
                )
            self._check_assignments([assignment.broker_ids for assignment in asked.assignments])
        return asked.count

    def added_partitions(self, counts: Mapping[str, int]) -> int:
        return sum(count - len(self._image.topics[topic].partitions) for topic, count in counts.items())

    def check_total(self, partition_count: int) -> None:
        limit = self._configuration.of_broker(BrokerSettings).max_partitions_per_request
        if partition_count > limit:
            raise Refused(
                ErrorCode.POLICY_VIOLATION,
                f"{partition_count} partitions in one request are too many: max.partitions.per.request is {limit}.",
            )
