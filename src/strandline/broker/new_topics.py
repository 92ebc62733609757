"""What a topic is to be made of: as a client describes it, or as settings do where it is created by being asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from strandline.broker.broker_settings import BrokerSettings
from strandline.broker.cluster_image import CONSUMER_OFFSETS, JOURNAL, TRANSACTION_STATE, ClusterImage
from strandline.broker.configuration import Configuration
from strandline.broker.journal_settings import JournalSettings
from strandline.groups.settings import OffsetsTopicSettings
from strandline.model.lazy_dataclass import dataclass
from strandline.transactions.settings import TransactionStateTopicSettings


@dataclass(frozen=True, slots=True)
class NewTopic:
    """Its settings have been checked."""

    name: str
    partition_count: int
    properties: Mapping[str, str] = field(default_factory=dict)
    replication_factor: int = 1
    placement: Mapping[int, tuple[int, ...]] | None = None


class DefaultTopics:
    """Those that nobody has described. One with more replicas than there are brokers is refused."""

    def __init__(self, configuration: Configuration, image: ClusterImage) -> None:
        self._configuration = configuration
        self._image = image

    def new_topic(self, topic: str) -> NewTopic:
        if topic == JOURNAL:
            return self._journal()
        if topic == TRANSACTION_STATE:
            return self._transaction_state()
        if topic == CONSUMER_OFFSETS:
            return self._consumer_offsets()
        settings = self._configuration.of_broker(BrokerSettings)
        self._image.check_replication_factor(settings.default_replication_factor)
        return NewTopic(topic, settings.num_partitions, replication_factor=settings.default_replication_factor)

    def _consumer_offsets(self) -> NewTopic:
        settings = self._configuration.of_broker(OffsetsTopicSettings)
        factor = settings.offsets_topic_replication_factor
        self._image.check_replication_factor(factor)
        properties = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(settings.offsets_topic_segment_bytes),
        }
        return NewTopic(CONSUMER_OFFSETS, settings.offsets_topic_num_partitions, properties, factor)

    def _transaction_state(self) -> NewTopic:
        settings = self._configuration.of_broker(TransactionStateTopicSettings)
        factor = settings.transaction_state_log_replication_factor
        self._image.check_replication_factor(factor)
        count = settings.transaction_state_log_num_partitions
        return NewTopic(TRANSACTION_STATE, count, settings.topic_properties(), factor)

    def _journal(self) -> NewTopic:
        settings = self._configuration.of_broker(JournalSettings)
        factor = min(settings.journal_replication_factor, len(self._image.brokers))
        return NewTopic(JOURNAL, 1, {"retention.ms": str(settings.journal_retention_ms)}, factor)
