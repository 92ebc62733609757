"""The controller of a cluster of one: topics come, grow and go; this broker leads every partition.

The store has the last word, as in a cluster. What must not be done by halves has one write that decides it, and
`start` finishes what a crash interrupted:

    create     `/brokers/topics/<topic>` with its settings; then the partitions' states, then their folders
    grow       the topic's own node, the same way
    delete     `/admin/delete_topics/<topic>`; then the folders, then the nodes

A data directory that has partitions and no store yet, one of Apache Kafka say, is adopted as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from strandline.broker.broker_settings import BrokerSettings
from strandline.broker.cluster_image import CONSUMER_OFFSETS, INTERNAL_TOPICS
from strandline.broker.controlled_state import ControlledState
from strandline.broker.procedures import each_of
from strandline.broker.topic_creation import NewTopic, TopicCreation
from strandline.broker.topic_deletion import TopicDeletion
from strandline.broker.topic_opening import TopicOpening
from strandline.broker.topic_turns import TopicTurns
from strandline.groups.settings import OffsetsTopicSettings
from strandline.metadata import paths
from strandline.model.failures import Refused, StorageFailed

logger = logging.getLogger(__name__)

# Of an adopted topic. The settings of the others are not known here, and what a wrong one deletes is gone.
COMPACTED = {"cleanup.policy": "compact"}
KEPT = {"retention.ms": "-1"}


class SoleController:
    def __init__(self, state: ControlledState) -> None:
        self._state = state
        self._turns = TopicTurns()
        self._opening = TopicOpening(state)
        self._creation = TopicCreation(state, self._opening, self._turns)
        self._deletion = TopicDeletion(state, self._turns)

    @property
    def settings(self) -> BrokerSettings:
        """As they are now."""
        return self._state.configuration.of_broker(BrokerSettings)

    @property
    def creates_topics_by_default(self) -> bool:
        return self.settings.auto_create_topics_enable

    @property
    def topics_by_default_max(self) -> int:
        """How many of them at a time."""
        return max(1, self.settings.max_partitions_per_request // self.settings.num_partitions)

    # At the start.

    async def start(self) -> None:
        """Bring every topic of the store up, and finish what was begun."""
        session = self._state.session
        if (await session.children(paths.TOPICS)).stat.children_version == 0:  # there has never been a topic
            await self._adopt_folders()
        deleted = (await session.children(paths.DELETE_TOPICS)).names
        topics = [topic for topic in (await session.children(paths.TOPICS)).names if topic not in deleted]
        for failure in (await self._opening.open(topics)).values():
            raise failure
        await self._deletion.finish(deleted)
        self._set_strays_aside()

    async def _adopt_folders(self) -> None:
        """Partitions without a store: what Kafka or an earlier life of ours has left here."""
        found: dict[str, dict[int, UUID | None]] = {}
        for directory in self._state.directories.online():
            for partition in directory.logs:
                found.setdefault(partition.topic, {})[partition.partition] = directory.topic_ids.get(partition)
        offline = [directory.path for directory in self._state.directories.directories if not directory.is_usable()]
        if found and offline:
            raise StorageFailed(f"the topics found cannot be adopted while {', '.join(offline)} cannot be read")
        writes = []
        for topic, ids in found.items():
            topic_id = next((each for each in ids.values() if each is not None), None) or self._state.host.unique_id()
            properties = COMPACTED if topic in INTERNAL_TOPICS else KEPT
            writes.append(self._creation.write(NewTopic(topic, max(ids) + 1, properties), topic_id))
            advice = "; nothing of it is deleted until its retention.ms is set" if properties is KEPT else ""
            logger.warning("adopted topic %s with %d partitions%s", topic, max(ids) + 1, advice)
        await each_of(writes)

    def _set_strays_aside(self) -> None:
        """Folders of topics that went while their directory was away. A topic of the same name must not find them."""
        for directory in self._state.directories.online():
            for partition in list(directory.logs):
                if self._state.partitions.find(partition) is None:
                    directory.set_aside(partition, token=self._state.host.unique_id().hex)
                    logger.warning("the folder of %s in %s is of no topic: set aside", partition, directory.path)

    # Creating.

    async def create_topics(self, wanted: Sequence[NewTopic]) -> dict[str, UUID | Exception]:
        return await self._creation.create(wanted)

    async def create_topics_by_default(self, topics: Iterable[str]) -> dict[str, Exception]:
        """As a client's question for its metadata creates them, or an internal topic's first use. What failed.

        Many may ask for one at once: they wait for the first of them.
        """
        names = list(topics)
        for topic in names:
            await self._turns.wait_for(topic)
        missing, failed = [], {}
        for topic in names:
            if topic not in self._state.image.topics:
                try:
                    missing.append(self._by_default(topic))
                except Refused as refused:
                    failed[topic] = refused
        outcomes = await self._creation.create(missing)
        return failed | {topic: each for topic, each in outcomes.items() if isinstance(each, Exception)}

    async def create_topic_by_default(self, topic: str) -> None:
        for failure in (await self.create_topics_by_default([topic])).values():
            raise failure

    def _by_default(self, topic: str) -> NewTopic:
        if topic != CONSUMER_OFFSETS:
            self._state.image.check_replication_factor(self.settings.default_replication_factor)
            return NewTopic(topic, self.settings.num_partitions)
        settings = self._state.configuration.of_broker(OffsetsTopicSettings)
        properties = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(settings.offsets_topic_segment_bytes),
        }
        return NewTopic(topic, settings.offsets_topic_num_partitions, properties)

    def refused_names(self, topics: Iterable[str]) -> dict[str, Refused]:
        """Those that could not be given to a topic now."""
        refused = {}
        similar_names = self._creation.similar_names()
        for topic in topics:
            try:
                self._creation.check_name(topic, similar_names)
            except Refused as why:
                refused[topic] = why
        return refused

    # Growing and going.

    async def add_partitions(self, partition_counts: Mapping[str, int]) -> dict[str, Exception | None]:
        """To this many in all; what failed."""
        return await self._creation.grow(partition_counts)

    async def delete_topics(self, topics: Iterable[str]) -> dict[str, Exception | None]:
        return await self._deletion.delete(topics)
