"""Topics come and grow. The one write that decides is that of `/brokers/topics/<topic>`, with the topic's settings in
the same transaction; what follows from it (`topic_opening`) the next start would finish.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from strandline.broker.controlled_state import ControlledState
from strandline.broker.procedures import all_of
from strandline.broker.topic_opening import TopicOpening
from strandline.broker.topic_turns import TopicTurns
from strandline.log.log_directory import KRAFT_METADATA_TOPIC
from strandline.metadata import paths
from strandline.metadata.config_values import encode_config
from strandline.metadata.errors import MultiFailed, NodeExists, NoNode
from strandline.metadata.operations import Create, SetData
from strandline.metadata.values import ReplicaAssignment, TopicAssignment, decode_topic, encode_topic
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import check_topic_name


@dataclass(frozen=True, slots=True)
class NewTopic:
    """Its settings have been checked."""

    name: str
    partition_count: int
    properties: Mapping[str, str] = field(default_factory=dict)


def metric_name(topic: str) -> str:
    """Metrics do not tell '.' and '_' apart, so there are no two topics that only these do."""
    return topic.replace(".", "_")


class TopicCreation:
    def __init__(self, state: ControlledState, opening: TopicOpening, turns: TopicTurns) -> None:
        self._state = state
        self._opening = opening
        self._turns = turns

    async def create(self, wanted: Sequence[NewTopic]) -> dict[str, UUID | Exception]:
        """Many at a time; for each its id once it can be used, or why not."""
        outcomes: dict[str, UUID | Exception] = {}
        accepted: list[NewTopic] = []
        similar_names = self.similar_names()
        for topic in wanted:
            try:
                self.check_name(topic.name, similar_names)
            except Refused as refused:
                outcomes[topic.name] = refused
            else:
                # The name is taken until the topic is there: of two that ask at a time, one is told that it exists.
                self._turns.take(topic.name)
                similar_names[metric_name(topic.name)] = topic.name
                accepted.append(topic)
        try:
            written = await all_of(self.write(topic, self._state.host.unique_id()) for topic in accepted)
            outcomes |= {topic.name: outcome for topic, outcome in zip(accepted, written, strict=True)}
            outcomes |= await self._opening.open([topic for topic, id_ in outcomes.items() if isinstance(id_, UUID)])
        finally:
            self._turns.give_back(topic.name for topic in accepted)
        return outcomes

    def similar_names(self) -> dict[str, str]:
        """Every topic by the name that metrics give it."""
        return {metric_name(name): name for name in (*self._state.image.topics, *self._turns.names())}

    def check_name(self, topic: str, similar_names: Mapping[str, str]) -> None:
        check_topic_name(topic)
        if topic == KRAFT_METADATA_TOPIC:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic} is a name that Kafka keeps for itself.")
        if topic in self._turns:
            raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic {topic!r} is just being created or deleted.")
        if topic in self._state.image.topics:
            raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic {topic!r} already exists.")
        similar = similar_names.get(metric_name(topic))
        if similar is not None:
            raise Refused(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"Topic {topic!r} collides with existing topic {similar!r}: metrics do not tell '.' and '_' apart.",
            )

    async def write(self, topic: NewTopic, topic_id: UUID) -> UUID:
        alone = ReplicaAssignment((self._state.broker_id,))
        assignment = TopicAssignment(topic_id, dict.fromkeys(range(topic.partition_count), alone))
        create = Create(paths.topic_path(topic.name), encode_topic(assignment))
        config_path = paths.config_path(paths.entity_path(paths.TOPIC_CONFIGS, topic.name))
        config = encode_config(topic.properties)
        while True:
            # Settings may be left of a topic whose deletion is not complete, or was interrupted by a crash.
            has_config = await self._state.session.exists(config_path) is not None
            set_config = SetData(config_path, config) if has_config else Create(config_path, config)
            try:
                await self._state.session.multi([create, set_config])
                return topic_id
            except MultiFailed as failed:
                if failed.index == 0 and isinstance(failed.cause, NodeExists):
                    raise Refused(
                        ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic {topic.name!r} is being deleted: try again."
                    ) from None
                if not isinstance(failed.cause, NodeExists | NoNode):
                    raise

    # Growing.

    async def grow(self, partition_counts: Mapping[str, int]) -> dict[str, Exception | None]:
        """To this many partitions in all; the outcome of each."""
        topics = list(partition_counts)
        await self._turns.wait_and_take(topics)
        try:
            grown = await all_of(self._grow(topic, count) for topic, count in partition_counts.items())
            outcomes = dict(zip(topics, grown, strict=True))
            return outcomes | await self._opening.open([topic for topic, failure in outcomes.items() if not failure])
        finally:
            self._turns.give_back(topics)

    async def _grow(self, topic: str, partition_count: int) -> None:
        if topic not in self._state.image.topics:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {topic!r}.")
        node = await self._state.session.get(paths.topic_path(topic))
        assignment = decode_topic(topic, node.data)
        alone = ReplicaAssignment((self._state.broker_id,))
        added = {index: alone for index in range(partition_count) if index not in assignment.partitions}
        if not added:
            raise Refused(ErrorCode.INVALID_PARTITIONS, f"Topic {topic!r} has {len(assignment.partitions)} partitions.")
        grown = TopicAssignment(assignment.topic_id, {**assignment.partitions, **added})
        await self._state.session.set(paths.topic_path(topic), encode_topic(grown), node.stat.version)
