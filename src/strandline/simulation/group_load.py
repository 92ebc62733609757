"""The load of groups of the classic protocol: one assignment in a generation, and no commits of those that are past."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from strandline.simulation.group_clients import GroupClient
from strandline.simulation.group_workers import Worker
from strandline.simulation.grouped_load import PARTITIONS, GroupedLoad
from strandline.simulation.load import WantedTopic

if TYPE_CHECKING:
    from strandline.simulation.simulation import Simulation

SECOND_US = 1_000_000


class GroupLoad(GroupedLoad):
    name = "groups"
    consumed = "tasks"
    group = "workers"
    instances: tuple[str | None, ...] = (None, None, "fixture-0", "fixture-1")
    topics: tuple[WantedTopic, ...] = (WantedTopic(consumed, PARTITIONS, {}),)
    properties: ClassVar = {"group.min.session.timeout.ms": "1000", "group.initial.rebalance.delay.ms": "500"}

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self._marks: dict[int, str] = {}  # of assignments, by generation
        self._owners: dict[tuple[int, int], str] = {}  # by generation and partition
        self._generation = 0  # the highest that somebody was given partitions in
        self._generation_us = 0

    def start(self) -> None:
        super().start()
        # The last one again, who does not know of the first: they throw each other out.
        self._members.append(self._make_member(f"double of {self.group}", self.instances[-1]))
        self.world.after(20 * SECOND_US, self._members[-1].start)

    def _make_member(self, name: str, instance_id: str | None) -> GroupClient:
        return Worker(self, name, instance_id)

    # What members did and heard.

    def assigned(self, who: str, owner: str, generation: int, mark: str, partitions: Sequence[int]) -> None:
        known = self._marks.setdefault(generation, mark)
        if known != mark:
            self.complain("OneOwner", f"{who} is in generation {generation} of {mark}; others were in that of {known}")
        for index in partitions:
            other = self._owners.setdefault((generation, index), owner)
            if other != owner:
                self.complain("OneOwner", f"{who} and {other} both have partition {index} in generation {generation}")
        if generation > self._generation:
            self._generation, self._generation_us = generation, self.world.now_us
            self.world.tell(f"generation {generation} of {self.group}, by {mark}")

    def committed(self, who: str, generation: int, index: int, offset: int, sent_us: int) -> None:
        if generation < self._generation and sent_us > self._generation_us:
            self.complain(
                "CommitsAreFenced",
                f"{who} commits in generation {generation}, after somebody was given partitions in {self._generation}",
            )
        self.acknowledge(index, offset)

    # The end.

    def heal(self) -> None:
        super().heal()
        self._members[-1].is_stopping = True  # or the doubles would go on throwing each other out
