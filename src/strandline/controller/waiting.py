"""Those who wait for partitions to settle: each knows what is still open, and what to say when nothing is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from strandline.controller.changes import DropElectionRequest
from strandline.controller.replies import ControlledShutdownReply, PartitionResult, PartitionsReply, Reply, TopicReply
from strandline.controller.requests import ElectionKind
from strandline.controller.values import ids_text
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import TopicPartition


class Waiter(ABC):
    __slots__ = ("open",)

    def __init__(self, names: Iterable[TopicPartition]) -> None:
        self.open = set(names)

    def settled(self, name: TopicPartition, leader: int, isr: tuple[int, ...]) -> None:  # noqa: B027
        """Nothing is under way for this partition any more. Not everybody takes notes."""

    def failed(self, name: TopicPartition, refusal: Refused) -> None:  # noqa: B027
        """This partition is gone, or could not be made."""

    @abstractmethod
    def outcome(self) -> Reply | DropElectionRequest:
        """When nothing is open."""

    @abstractmethod
    def refused(self, refusal: Refused) -> Reply | None:
        """When it does not come to that."""


class TopicWaiter(Waiter):
    """Somebody who has asked for a topic or for more partitions waits until they can be used."""

    __slots__ = ("_assignment", "_refusal", "_request", "_topic")

    def __init__(self, request: int, topic: str, assignment: Mapping[int, tuple[int, ...]]) -> None:
        super().__init__(TopicPartition(topic, index) for index in assignment)
        self._request = request
        self._topic = topic
        self._assignment = assignment
        self._refusal: Refused | None = None

    def failed(self, name: TopicPartition, refusal: Refused) -> None:
        del name
        self._refusal = refusal

    def outcome(self) -> Reply:
        if self._refusal is not None:
            return self.refused(self._refusal)
        return TopicReply(self._request, self._topic, assignment=self._assignment)

    def refused(self, refusal: Refused) -> Reply:
        return TopicReply(self._request, self._topic, refusal.error_code, refusal.reason)


class DeletionWaiter(Waiter):
    """Its request is on the way to the store."""

    __slots__ = ("_request", "_topic")

    def __init__(self, request: int, topic: str) -> None:
        super().__init__(())
        self._request = request
        self._topic = topic

    def outcome(self) -> Reply:
        return TopicReply(self._request, self._topic)

    def refused(self, refusal: Refused) -> Reply:
        return TopicReply(self._request, self._topic, refusal.error_code, refusal.reason)


class PartitionsWaiter(Waiter):
    """One result for each partition, of which some are known from the start."""

    __slots__ = ("_request", "_results")

    def __init__(self, request: int, known: Mapping[TopicPartition, PartitionResult | None]) -> None:
        super().__init__(name for name, result in known.items() if result is None)
        self._request = request
        self._results = dict(known)

    def settled(self, name: TopicPartition, leader: int, isr: tuple[int, ...]) -> None:
        self._results[name] = self.result(name, leader, isr)

    def failed(self, name: TopicPartition, refusal: Refused) -> None:
        self._results[name] = PartitionResult(name, refusal.error_code, refusal.reason)

    def result(self, name: TopicPartition, leader: int, isr: tuple[int, ...]) -> PartitionResult:
        del leader, isr
        return PartitionResult(name)

    def outcome(self) -> Reply:
        return PartitionsReply(self._request, tuple(result for result in self._results.values() if result is not None))

    def refused(self, refusal: Refused) -> Reply:
        results = (
            result or PartitionResult(name, refusal.error_code, refusal.reason)
            for name, result in self._results.items()
        )
        return PartitionsReply(self._request, tuple(results))


class ElectionWaiter(PartitionsWaiter):
    __slots__ = ("_kind", "_preferred")

    def __init__(
        self,
        request: int,
        kind: ElectionKind,
        known: Mapping[TopicPartition, PartitionResult | None],
        preferred: Mapping[TopicPartition, int],
    ) -> None:
        super().__init__(request, known)
        self._kind = kind
        self._preferred = preferred

    def result(self, name: TopicPartition, leader: int, isr: tuple[int, ...]) -> PartitionResult:
        if self._kind is ElectionKind.UNCLEAN:
            if leader >= 0:
                return PartitionResult(name)
            message = "no replica is alive"
            return PartitionResult(name, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, message)
        if leader == self._preferred[name]:
            return PartitionResult(name)
        message = f"preferred leader {self._preferred[name]} is not alive or not in ISR {ids_text(isr)}"
        return PartitionResult(name, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, message)


class ElectionRequestWaiter(Waiter):
    """For `/admin/preferred_replica_election`: when all is tried, the request can go."""

    __slots__ = ()

    def outcome(self) -> DropElectionRequest:
        return DropElectionRequest()

    def refused(self, refusal: Refused) -> None:
        del refusal


class ShutdownWaiter(Waiter):
    __slots__ = ("_broker_id", "_movable", "_remaining", "_request")

    def __init__(
        self, request: int, broker_id: int, names: Iterable[TopicPartition], movable: Iterable[TopicPartition]
    ) -> None:
        """Nobody need wait for what nobody could take, so that a whole cluster can stop at once."""
        super().__init__(names)
        self._movable = frozenset(movable)
        self._request = request
        self._broker_id = broker_id
        self._remaining: list[TopicPartition] = []

    def settled(self, name: TopicPartition, leader: int, isr: tuple[int, ...]) -> None:
        del isr
        if leader == self._broker_id and name in self._movable:
            self._remaining.append(name)

    def outcome(self) -> Reply:
        return ControlledShutdownReply(self._request, remaining=tuple(sorted(self._remaining)))

    def refused(self, refusal: Refused) -> Reply:
        return ControlledShutdownReply(self._request, refusal.error_code, refusal.reason)
