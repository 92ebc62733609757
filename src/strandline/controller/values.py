"""What the controller knows of a cluster, as values that map onto Kafka's znodes one to one:

    LiveBroker         `/brokers/ids/<id>`, and the zxid that made it: the broker's epoch
    TopicAssignment    `/brokers/topics/<topic>`
    Leadership         `/brokers/topics/<topic>/partitions/<p>/state`, and the znode's version: the partition's epoch

`metadata` has the same, field for field; the broker's loop translates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from uuid import UUID

from strandline.model.lazy_dataclass import dataclass

NO_LEADER = -1
LEADER_DURING_DELETE = -2
EPOCH_DURING_DELETE = -2
NO_EPOCH = -1
FIRST_LEADER_EPOCH = 0
FIRST_VERSION = 0  # of a znode that was just created


def ids_text(broker_ids: Iterable[int]) -> str:
    return f"[{','.join(map(str, broker_ids))}]"


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


@dataclass(frozen=True, slots=True)
class Endpoint:
    listener: str
    security_protocol: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.listener}://{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class LiveBroker:
    broker_id: int
    broker_epoch: int  # a later registration of the same broker has a higher one (KIP-380)
    endpoints: tuple[Endpoint, ...] = ()
    rack: str | None = None

    def __str__(self) -> str:
        return f"{self.broker_id}@{self.broker_epoch}{'' if self.rack is None else f'/{self.rack}'}"


@dataclass(frozen=True, slots=True)
class ReplicaAssignment:
    """While a partition moves, `replicas` has the target first and then what will go (KIP-455)."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def origin(self) -> tuple[int, ...]:
        return tuple(broker_id for broker_id in self.replicas if broker_id not in self.adding)

    @property
    def target(self) -> tuple[int, ...]:
        return tuple(broker_id for broker_id in self.replicas if broker_id not in self.removing)

    @property
    def preferred(self) -> int:
        return self.replicas[0] if self.replicas else NO_LEADER

    @property
    def is_moving(self) -> bool:
        return bool(self.adding or self.removing)

    def moved_to(self, target: tuple[int, ...]) -> ReplicaAssignment:
        """From the origin, whatever move is under way: so a new move replaces it, and one to the origin cancels it."""
        origin = self.origin
        return ReplicaAssignment(
            tuple(dict.fromkeys(target + origin)),
            tuple(broker_id for broker_id in target if broker_id not in origin),
            tuple(broker_id for broker_id in origin if broker_id not in target),
        )

    def __str__(self) -> str:
        adding = f" adding {ids_text(self.adding)}" if self.adding else ""
        removing = f" removing {ids_text(self.removing)}" if self.removing else ""
        return f"{ids_text(self.replicas)}{adding}{removing}"


@dataclass(frozen=True, slots=True)
class TopicAssignment:
    topic_id: UUID | None  # none for topics made before Kafka 2.8
    partitions: Mapping[int, ReplicaAssignment] = field(default_factory=dict)

    def __str__(self) -> str:
        return "{" + ", ".join(f"{index}: {self.partitions[index]}" for index in sorted(self.partitions)) + "}"


@dataclass(frozen=True, slots=True)
class Leadership:
    leader: int  # or NO_LEADER; otherwise in the ISR
    leader_epoch: int  # goes up with every change the controller makes
    isr: tuple[int, ...]  # never empty
    controller_epoch: int  # of the controller that wrote it last, by its own hand
    partition_epoch: int = FIRST_VERSION  # the znode's version: goes up with every change, the leader's too
    is_recovering: bool = False  # after an unclean election (KIP-704)

    def followed_by(
        self, leader: int, isr: tuple[int, ...], controller_epoch: int, *, is_recovering: bool | None = None
    ) -> Leadership:
        """The next one, in an epoch of its own; it can only be written over this one."""
        recovering = self.is_recovering if is_recovering is None else is_recovering
        return Leadership(
            leader, self.leader_epoch + 1, isr, controller_epoch, self.partition_epoch + 1, is_recovering=recovering
        )

    def __str__(self) -> str:
        leader = "no leader" if self.leader == NO_LEADER else f"leader {self.leader}"
        recovering = " recovering" if self.is_recovering else ""
        return f"{leader} epoch {self.leader_epoch} isr {ids_text(self.isr)} version {self.partition_epoch}{recovering}"
