"""What a broker knows of the whole cluster: who lives, what topics there are, who leads what.

In a cluster the controller tells; a broker on its own reads its store. Clients get their metadata from here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import NamedTuple
from uuid import UUID

from strandline.model.failures import ErrorCode, Refused
from strandline.model.lazy_dataclass import dataclass

CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
INTERNAL_TOPICS = frozenset((CONSUMER_OFFSETS, TRANSACTION_STATE))  # written by coordinators, never by a client
JOURNAL = "__strandline_journal"  # written by brokers to its leader, like anybody's topic


class BrokerAddress(NamedTuple):
    broker_id: int
    host: str  # empty: the address by which the client reached us
    port: int
    rack: str | None = None

    def address_for(self, reached_by: tuple[str, int]) -> tuple[str, int]:
        """Without an advertised address a client keeps the one that it found to work."""
        return (self.host, self.port) if self.host else reached_by


@dataclass(frozen=True, slots=True)
class PartitionImage:
    leader_id: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()


@dataclass(slots=True)
class TopicImage:
    name: str
    topic_id: UUID
    partitions: dict[int, PartitionImage] = field(default_factory=dict)

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS or self.name == JOURNAL


class ClusterImage:
    __slots__ = ("_listeners", "brokers", "cluster_id", "controller_id", "is_complete", "topics", "topics_by_id")

    def __init__(self, cluster_id: str) -> None:
        self.cluster_id = cluster_id
        self.controller_id = -1
        self.is_complete = True  # False while we have not been told of all that there is
        self.brokers: dict[int, BrokerAddress] = {}
        self.topics: dict[str, TopicImage] = {}
        self.topics_by_id: dict[bytes, TopicImage] = {}
        self._listeners: list[Callable[[str], object]] = []

    def when_changed(self, listener: Callable[[str], object]) -> None:
        """It hears the name of a topic that has come, has changed, or has gone."""
        self._listeners.append(listener)

    def check_replication_factor(self, factor: int) -> None:
        if factor < 1:
            raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, f"A partition cannot have {factor} replicas.")
        if factor > len(self.brokers):
            raise Refused(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"There is no place for {factor} replicas: the cluster has {len(self.brokers)} broker(s).",
            )

    @property
    def error_of_missing(self) -> ErrorCode:
        """Of a topic that is not here. That it does not exist can say only who was told of all."""
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if self.is_complete else ErrorCode.LEADER_NOT_AVAILABLE

    def no_topic(self, name: str) -> Refused:
        said = f"There is no topic {name!r}." if self.is_complete else "This broker has just started: ask again."
        return Refused(self.error_of_missing, said)

    def put_topic(self, topic: TopicImage) -> None:
        self._take_out(topic.name)
        self.topics[topic.name] = topic
        self.topics_by_id[topic.topic_id.bytes] = topic
        self._tell(topic.name)

    def remove_topic(self, name: str) -> None:
        if self._take_out(name):
            self._tell(name)

    def _take_out(self, name: str) -> bool:
        topic = self.topics.pop(name, None)
        if topic is not None:
            del self.topics_by_id[topic.topic_id.bytes]
        return topic is not None

    def _tell(self, name: str) -> None:
        for listener in self._listeners:
            listener(name)
