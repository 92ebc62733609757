"""What has happened, with the numbers that decided it, one line each (SPEC R6). An entry is made when it is decided and
told when it is committed.
"""

from __future__ import annotations

from enum import Enum

from strandline.controller.values import NO_LEADER, Leadership, ReplicaAssignment, ids_text
from strandline.model.lazy_dataclass import dataclass
from strandline.model.partitions import TopicPartition


class Occasion(Enum):
    """Why a leadership changes."""

    CREATED = "created"
    OFFLINE_ELECTION = "offline election"
    UNCLEAN_ELECTION = "unclean election"
    PREFERRED_ELECTION = "preferred election"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    REASSIGNMENT_STARTED = "reassignment started"
    REPLICAS_CHANGED = "replicas changed"  # a move was cancelled, or only their order is another
    REASSIGNMENT_COMPLETED = "reassignment completed"
    LEADER_LOST = "leader lost"
    ISR_SHRUNK = "isr shrunk"


@dataclass(frozen=True, slots=True)
class LeadershipChanged:
    partition: TopicPartition
    occasion: Occasion
    cause: str  # "leader 1 lost"
    before: Leadership | None
    after: Leadership
    live: tuple[int, ...]  # of the replicas, those that could have led

    def __str__(self) -> str:
        return f"partition {self.partition}: {self.cause}; {', '.join(self._told())}"

    def _told(self) -> list[str]:
        before, after = self.before, self.after
        if before is None:
            return [f"leader {after.leader}", f"ISR {ids_text(after.isr)}", f"epoch {after.leader_epoch}"]
        told = []
        if before.leader != after.leader:
            told.append(self._outcome(before, after))
            told += [f"ISR now {ids_text(after.isr)}"] if before.isr != after.isr else []
        elif before.isr != after.isr:
            told.append(f"ISR {ids_text(before.isr)}→{ids_text(after.isr)}")
        return [*told, f"epoch {before.leader_epoch}→{after.leader_epoch}"]

    def _outcome(self, before: Leadership, after: Leadership) -> str:
        if after.leader == NO_LEADER:
            return f"nobody of ISR {ids_text(before.isr)} is alive, alive are {ids_text(self.live)}: no leader"
        if self.occasion is Occasion.UNCLEAN_ELECTION:
            return f"elected {after.leader} though it is not in ISR {ids_text(before.isr)}: records may be lost"
        return f"elected {after.leader} from ISR {ids_text(before.isr)}"


@dataclass(frozen=True, slots=True)
class AssignmentChanged:
    partition: TopicPartition
    cause: str
    before: ReplicaAssignment | None
    after: ReplicaAssignment

    def __str__(self) -> str:
        replicas = f"replicas {self.after}" if self.before is None else f"replicas {self.before} → {self.after}"
        return f"partition {self.partition}: {self.cause}; {replicas}"


@dataclass(frozen=True, slots=True)
class TopicHappened:
    topic: str
    what: str

    def __str__(self) -> str:
        return f"topic {self.topic}: {self.what}"


@dataclass(frozen=True, slots=True)
class BrokerHappened:
    broker_id: int
    what: str

    def __str__(self) -> str:
        return f"broker {self.broker_id}: {self.what}"


@dataclass(frozen=True, slots=True)
class ControllerHappened:
    controller_id: int
    controller_epoch: int
    what: str

    def __str__(self) -> str:
        return f"controller {self.controller_id} epoch {self.controller_epoch}: {self.what}"


JournalEntry = LeadershipChanged | AssignmentChanged | TopicHappened | BrokerHappened | ControllerHappened
