"""The load of consumer groups (KIP-848): members whose coordinator assigns, and who let go before others are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from strandline.simulation.assigned_members import REBALANCE_TIMEOUT_MS, SESSION_TIMEOUT_MS, AssignedMember
from strandline.simulation.group_clients import Fate, GroupClient
from strandline.simulation.grouped_load import PARTITIONS, GroupedLoad
from strandline.simulation.load import WantedTopic
from strandline.simulation.ownership import Heartbeat, Ownership

if TYPE_CHECKING:
    from strandline.simulation.simulation import Simulation


LATE_US = 5_000_000  # by then all know what they are to do


class ConsumerGroupLoad(GroupedLoad):
    name = "consumer_groups"
    consumed = "errands"
    group = "runners"
    instances: tuple[str | None, ...] = (None, None, "anchor-0")
    topics: tuple[WantedTopic, ...] = (WantedTopic(consumed, PARTITIONS, {}),)
    properties: ClassVar = {
        "group.consumer.min.session.timeout.ms": str(SESSION_TIMEOUT_MS),
        "group.consumer.session.timeout.ms": str(SESSION_TIMEOUT_MS),
        "group.consumer.min.heartbeat.interval.ms": "1000",
        "group.consumer.heartbeat.interval.ms": "1000",
    }

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self._latecomer: GroupClient | None = None
        self.ownership = Ownership(SESSION_TIMEOUT_MS * 1000, REBALANCE_TIMEOUT_MS * 1000)

    def _make_member(self, name: str, instance_id: str | None) -> GroupClient:
        return AssignedMember(self, name, instance_id)

    # What members heard.

    def assigned(self, who: str, heartbeat: Heartbeat, partitions: frozenset[int], *, is_by_leader: bool) -> None:
        if partitions != heartbeat.owned:
            self.world.tell(f"{who} is to have {sorted(partitions)} of {self.group}, and has {sorted(heartbeat.owned)}")
        for sentence in self.ownership.assigned(heartbeat, partitions, self.world.now_us, is_by_leader=is_by_leader):
            self.complain("OneOwner", sentence)

    def committed(self, member_id: str, index: int, offset: int, sent_us: int) -> None:
        successor = self.ownership.successor(member_id, index, sent_us)
        if successor is not None:
            self.complain("CommitsAreFenced", f"{member_id} commits for partition {index}, after {successor} had it")
        self.acknowledge(index, offset)

    # The end.

    def _try(self) -> None:
        """Where it is tried who does not let go, nobody does, and one more comes who must be given something."""
        if self._trial is not Fate.LINGER:
            super()._try()
            return
        for member in self._lasting:
            member.meet_next(Fate.LINGER)
        self._latecomer = self._make_member(f"latecomer of {self.group}", None)
        self._latecomer.pace.hurry()
        self._members.append(self._latecomer)
        self.world.after(LATE_US, self._latecomer.start)

    def _has_stood_trial(self) -> bool:
        return super()._has_stood_trial() if self._latecomer is None else self._latecomer.is_at_work
