"""Topics come, grow and go: what handlers ask for becomes a request to the controller (SPEC T1 to T5).

Only the broker that is controller can answer; another says NOT_CONTROLLER, and clients go to the one that Metadata
names. Topics that are created by being asked for, and the internal ones, do not wait for a client to find out: their
creation is passed on to the controller.

A topic is there for a client once this broker knows it and every partition has a leader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from uuid import UUID

from strandline.broker.broker_settings import BrokerSettings
from strandline.broker.cluster_image import ClusterImage
from strandline.broker.configuration import Configuration
from strandline.broker.controller_loop import ControllerLoop
from strandline.broker.controller_office import NotController
from strandline.broker.host import Host
from strandline.broker.new_topics import DefaultTopics, NewTopic
from strandline.broker.peers import PeerFailed, Peers, Purpose
from strandline.broker.procedures import all_of
from strandline.broker.topic_turns import TopicTurns
from strandline.broker.waiting_for_topics import WaitingForTopics
from strandline.controller.replies import Reply, TopicReply
from strandline.controller.requests import AddPartitionsRequest, CreateTopicRequest, DeleteTopicRequest, Request
from strandline.log.directory_opening import KRAFT_METADATA_TOPIC
from strandline.metadata.answer import Answer
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import check_topic_name
from strandline.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

CREATE_TOPICS_VERSION = 7
FORWARD_TIMEOUT_MS = 30_000
TOPIC_TIMEOUT_MS = 30_000


def metric_name(topic: str) -> str:
    """Metrics do not tell '.' and '_' apart, so there are no two topics that only these do."""
    return topic.replace(".", "_")


class TopicAdministration:
    def __init__(
        self,
        loop: ControllerLoop,
        peers: Peers,
        image: ClusterImage,
        configuration: Configuration,
        host: Host,
    ) -> None:
        self._loop = loop
        self._peers = peers
        self._image = image
        self._configuration = configuration
        self._host = host
        self._defaults = DefaultTopics(configuration, image)
        self._waiting = WaitingForTopics(image, host)
        self._turns = TopicTurns()

    @property
    def settings(self) -> BrokerSettings:
        """As they are now."""
        return self._configuration.of_broker(BrokerSettings)

    @property
    def creates_topics_by_default(self) -> bool:
        return self.settings.auto_create_topics_enable

    @property
    def topics_by_default_max(self) -> int:
        """How many of them at a time."""
        return max(1, self.settings.max_partitions_per_request // self.settings.num_partitions)

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits here for a topic to come, to grow or to go."""
        return self._turns.is_idle and self._waiting.is_idle

    def check_here(self) -> None:
        """Who is not the controller knows too little to say more than that, of any topic."""
        if not self._loop.holds_office:
            raise Refused(ErrorCode.NOT_CONTROLLER, "another broker is the controller")

    def check_there(self, topic: str) -> None:
        """Before the controller is asked, in the order of all requests: thousands of wrong names cost little."""
        if self._loop.lacks(topic) and topic not in self._turns.names():
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic!r}")

    def name_of(self, topic_id: bytes) -> str:
        try:
            name = self._loop.name_of(UUID(bytes=topic_id))
        except NotController as elsewhere:
            raise Refused(ErrorCode.NOT_CONTROLLER, str(elsewhere)) from None
        if name is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID, "There is no topic with this id.")
        return name

    # Creating.

    async def create_topics(self, wanted: Sequence[NewTopic]) -> dict[str, UUID | Exception]:
        """Many at a time; for each its id once it can be used, or why not."""
        outcomes: dict[str, UUID | Exception] = {}
        accepted: list[NewTopic] = []
        similar_names = self._similar_names()
        for topic in wanted:
            try:
                self._check_name(topic.name, similar_names)
            except Refused as refused:
                outcomes[topic.name] = refused
            else:
                # The name is taken until the topic is there: of two that ask at a time, one is told that it exists.
                self._turns.take(topic.name)
                similar_names[metric_name(topic.name)] = topic.name
                accepted.append(topic)
        try:
            created = await all_of(self._create(topic) for topic in accepted)
            outcomes |= {topic.name: outcome for topic, outcome in zip(accepted, created, strict=True)}
        finally:
            self._turns.give_back(topic.name for topic in accepted)
        return outcomes

    async def _create(self, topic: NewTopic) -> UUID:
        topic_id = self._host.unique_id()
        brokers = max(1, len(self._image.brokers))
        reply = await self._ask(
            lambda number: CreateTopicRequest(
                request=number,
                topic=topic.name,
                topic_id=topic_id,
                partition_count=topic.partition_count,
                replication_factor=topic.replication_factor,
                placement=topic.placement,
                start_index=self._host.random_below(brokers),
                shift=self._host.random_below(brokers),
                properties=topic.properties,
            )
        )
        _check(reply)
        await self._waiting.until_there(topic.name, topic.partition_count, TOPIC_TIMEOUT_MS)
        return topic_id

    async def create_topics_by_default(self, topics: Iterable[str]) -> dict[str, Exception]:
        """As a client's question for its metadata creates them, or an internal topic's first use. What failed.

        Many may ask for one at once: they wait for the first of them.
        """
        names = list(topics)
        for topic in names:
            await self._turns.wait_for(topic)
        missing, failed = [], {}
        for topic in names:
            if topic not in self._image.topics:
                try:
                    missing.append(self._defaults.new_topic(topic))
                except Refused as refused:
                    failed[topic] = refused
        if self._loop.holds_office:
            outcomes = await self.create_topics(missing)
        else:
            outcomes = await self._create_elsewhere(missing)
        return failed | {topic: each for topic, each in outcomes.items() if isinstance(each, Exception)}

    async def create_topic_by_default(self, topic: str) -> None:
        for failure in (await self.create_topics_by_default([topic])).values():
            raise failure

    async def _create_elsewhere(self, topics: Sequence[NewTopic]) -> dict[str, UUID | Exception]:
        """The controller creates them for us."""
        request = CreateTopicsRequest(
            [
                CreatableTopic(
                    topic.name,
                    topic.partition_count,
                    topic.replication_factor,
                    configs=[CreatableTopicConfig(name, value) for name, value in topic.properties.items()],
                )
                for topic in topics
            ],
            FORWARD_TIMEOUT_MS,
        )
        unavailable = Refused(ErrorCode.LEADER_NOT_AVAILABLE, "the controller does not answer: try again")
        try:
            response = await self._peers.ask(
                self._image.controller_id,
                request,
                CreateTopicsResponse,
                version=CREATE_TOPICS_VERSION,
                purpose=Purpose.CONTROL,
                timeout_ms=FORWARD_TIMEOUT_MS,
            )
        except PeerFailed:
            return {topic.name: unavailable for topic in topics}
        outcomes: dict[str, UUID | Exception] = {}
        for result in response.topics:
            if result.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                outcomes[result.name] = Refused(ErrorCode(result.error_code), result.error_message or "")
            else:
                await self._waiting.until_there(result.name, 1, TOPIC_TIMEOUT_MS)
        return outcomes

    def refused_names(self, topics: Iterable[str]) -> dict[str, Refused]:
        """Those that could not be given to a topic now."""
        refused = {}
        similar_names = self._similar_names()
        for topic in topics:
            try:
                self._check_name(topic, similar_names)
            except Refused as why:
                refused[topic] = why
        return refused

    def _similar_names(self) -> dict[str, str]:
        """Every topic by the name that metrics give it."""
        return {metric_name(name): name for name in (*self._image.topics, *self._turns.names())}

    def _check_name(self, topic: str, similar_names: Mapping[str, str]) -> None:
        check_topic_name(topic)
        if topic == KRAFT_METADATA_TOPIC:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic} is a name that Kafka keeps for itself.")
        if topic in self._turns:
            raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic {topic!r} is just being created or deleted.")
        if topic in self._image.topics:
            raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic {topic!r} already exists.")
        similar = similar_names.get(metric_name(topic))
        if similar is not None:
            raise Refused(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"Topic {topic!r} collides with existing topic {similar!r}: metrics do not tell '.' and '_' apart.",
            )

    # Growing and going.

    async def add_partitions(self, partition_counts: Mapping[str, int]) -> dict[str, Exception | None]:
        """To this many in all; what failed."""
        await self._turns.wait_and_take(partition_counts)
        try:
            outcomes = await all_of(self._grow(topic, count) for topic, count in partition_counts.items())
            return dict(zip(partition_counts, outcomes, strict=True))
        finally:
            self._turns.give_back(partition_counts)

    async def _grow(self, topic: str, partition_count: int) -> None:
        _check(
            await self._ask(
                lambda number: AddPartitionsRequest(request=number, topic=topic, partition_count=partition_count)
            )
        )
        await self._waiting.until_there(topic, partition_count, TOPIC_TIMEOUT_MS)

    async def delete_topics(self, topics: Mapping[str, UUID | None]) -> dict[str, Exception | None]:
        """By their names. Where there is an id it must be that of the topic by then: others may have come meanwhile."""
        await self._turns.wait_and_take(topics)
        try:
            replies = self._loop.ask_all([_deletion_of(topic, topic_id) for topic, topic_id in topics.items()])
            outcomes = await all_of(map(self._deleted, topics, replies))
            gone = [topic for topic, outcome in zip(topics, outcomes, strict=True) if outcome is None]
            await self._until_unknown(gone)
            return dict(zip(topics, outcomes, strict=True))
        finally:
            self._turns.give_back(topics)

    async def _deleted(self, topic: str, reply: Answer[Reply]) -> None:
        _check(await _of_controller(reply))
        await self._waiting.until_gone(topic, TOPIC_TIMEOUT_MS)

    async def _until_unknown(self, topics: Sequence[str]) -> None:
        """To the controller, which makes their names free again."""
        await self._waiting.until(lambda: not any(map(self._loop.knows, topics)), TOPIC_TIMEOUT_MS)

    async def _ask(self, make_request: Callable[[int], Request]) -> Reply:
        return await _of_controller(self._loop.ask(make_request))


def _deletion_of(topic: str, topic_id: UUID | None) -> Callable[[int], Request]:
    return lambda number: DeleteTopicRequest(request=number, topic=topic, topic_id=topic_id)


async def _of_controller(reply: Answer[Reply]) -> Reply:
    try:
        return await reply
    except NotController as elsewhere:
        raise Refused(ErrorCode.NOT_CONTROLLER, str(elsewhere)) from None


def _check(reply: Reply) -> None:
    assert isinstance(reply, TopicReply)
    if reply.error_code is not ErrorCode.NONE:
        raise Refused(reply.error_code, reply.message)
