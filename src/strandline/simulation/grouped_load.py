"""A load of one group: members that come and go, whose commits must be found again by whoever has the partition next.

What is found is held against what was acknowledged only where the broker that was asked led the group's partition all
the while: one that was replaced and does not know it answers from what it has, in Kafka too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from strandline.broker.cluster_image import CONSUMER_OFFSETS
from strandline.broker.peers import PeerFailed
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.simulation.coordinated import GROUP, MOVED, CoordinatedClient
from strandline.simulation.group_clients import NEVER_US, Fate, GroupClient
from strandline.simulation.load import Load
from strandline.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic, OffsetFetchResponse

if TYPE_CHECKING:
    from strandline.simulation.simulation import Simulation

OFFSET_FETCH_VERSION = 7
PARTITIONS = 4
NOTHING = -1


class GroupedLoad(Load, ABC):
    consumed: str  # a topic
    group: str
    instances: tuple[str | None, ...]  # of its members

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self.indexes = list(range(PARTITIONS))
        self._sent: dict[int, set[int]] = {index: {NOTHING} for index in self.indexes}
        self._acknowledged = dict.fromkeys(self.indexes, NOTHING)
        self._acknowledged_us = dict.fromkeys(self.indexes, 0)
        self._members: list[GroupClient] = []
        chance = self.world.chance(f"last trial of {self.group}")
        self._trial = chance.choice((Fate.STAY_AWAY, Fate.LINGER))
        self._tried_number = chance.randrange(len(self.instances))
        self._is_tried = False  # as soon as all have partitions
        self.is_healed = False
        self._healed_us = self._stopped_us = self._inspected_us = 0

    def start(self) -> None:
        simulation = self.simulation
        for number, instance_id in enumerate(self.instances):
            member = self._make_member(f"{self.group}-{number}", instance_id)
            self._members.append(member)
            member.start()
        inspector = CoordinatedClient(self.world, simulation.network, f"inspector of {self.group}", simulation.names)
        inspector.begin(self._inspect(inspector))

    @abstractmethod
    def _make_member(self, name: str, instance_id: str | None) -> GroupClient:
        """That is not started yet."""

    @property
    def _lasting(self) -> list[GroupClient]:
        """Those who are there to the end."""
        return self._members[: len(self.instances)]

    async def _inspect(self, inspector: CoordinatedClient) -> None:
        while True:
            began_us = self.world.now_us
            if await self._look(inspector, self.indexes) is not None:
                self._inspected_us = began_us
            await inspector.pause(inspector.pace.of(inspector.chance.randint(500, 5_000)))

    # What members did and heard.

    def sent(self, index: int, offset: int) -> None:
        self._sent[index].add(offset)

    def acknowledge(self, index: int, offset: int) -> None:
        self.simulation.history.acknowledged_count += 1
        self._acknowledged[index] = max(self._acknowledged[index], offset)
        self._acknowledged_us[index] = self.world.now_us

    async def positions(self, client: CoordinatedClient, partitions: Sequence[int]) -> dict[int, int]:
        """Where whoever has been given these partitions goes on."""
        while True:
            found = await self._look(client, partitions)
            if found is not None:
                return {index: max(found[index], 0) for index in partitions}
            await client.pause(client.retry_backoff_ms)

    async def _look(self, client: CoordinatedClient, partitions: Sequence[int]) -> dict[int, int] | None:
        topic = OffsetFetchRequestTopic(self.consumed, list(partitions))
        request = OffsetFetchRequest(self.group, [topic], require_stable=True)
        coordinator = await client.coordinator_of(GROUP, self.group)
        acknowledged, leadership = dict(self._acknowledged), self.leadership(coordinator)
        try:
            answer = await client.ask_coordinator(GROUP, self.group, request, OffsetFetchResponse, OFFSET_FETCH_VERSION)
        except PeerFailed as failure:
            self._note(client.name, coordinator, f"hears nothing: {failure}")
            return None
        if answer.error_code:
            self._note(client.name, coordinator, f"is refused: {ErrorCode(answer.error_code).name}")
            if answer.error_code not in MOVED:
                name = ErrorCode(answer.error_code).name
                self.complain("ExpectedErrors", f"{client.name} asked for offsets and was told {name}")
            client.forget_coordinator(GROUP, self.group)
            return None
        found = {each.partition_index: each.committed_offset for each in answer.topics[0].partitions}
        if any(each.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT for each in answer.topics[0].partitions):
            self._note(client.name, coordinator, "has to wait for a transaction")
            return None
        offsets = ", ".join(f"{offset} for {self.consumed}-{index}" for index, offset in found.items())
        self._note(client.name, coordinator, f"finds {offsets or 'none'}")
        if leadership is not None and leadership == self.leadership(coordinator):
            self._compare(client.name, acknowledged, found)
        return found

    def _note(self, who: str, coordinator: str, outcome: str) -> None:
        self.world.note(f"{who} asks {coordinator} for the offsets of {self.group} and {outcome}")

    def leadership(self, broker: str) -> int | None:
        return self.simulation.observer.leadership(broker, TopicPartition(CONSUMER_OFFSETS, 0))

    def _compare(self, who: str, acknowledged: dict[int, int], found: dict[int, int]) -> None:
        for index, offset in found.items():
            if offset < acknowledged[index]:
                self.complain(
                    "CommitsStay",
                    f"{who} finds {offset} for partition {index}, and {acknowledged[index]} was committed",
                )
            if offset not in self._sent[index]:
                self.complain("CommitsStay", f"{who} finds {offset} for partition {index}, which nobody committed")

    # The end.

    def heal(self) -> None:
        self._healed_us = self.world.now_us
        self.is_healed = True
        for member in self._members:
            member.pace.hurry()
            member.come_back()

    def has_got_on(self) -> bool:
        """Everybody; and once more everywhere without one of them, whom nobody but the coordinator can miss: nobody
        else comes or goes any more, by which the group would lose whoever is not there."""
        if self._is_tried:
            return self._has_stood_trial()
        if self.has_progressed() and all(member.is_at_work for member in self._lasting):
            self._is_tried = True
            self._try()
        return False

    def _try(self) -> None:
        self._members[self._tried_number].meet_next(self._trial)

    def _has_stood_trial(self) -> bool:
        return NEVER_US < self._members[self._tried_number].idle_since_us < self._progress_us

    def has_progressed(self) -> bool:
        return self._progress_us > self._healed_us

    @property
    def _progress_us(self) -> int:
        return min(self._acknowledged_us.values())

    def stop(self) -> None:
        self._stopped_us = self.world.now_us
        for member in self._members:
            member.is_stopping = True

    def is_done(self) -> bool:
        return all(member.is_done for member in self._members)

    def is_settled(self) -> bool:
        """Everything that was committed has been looked at once more."""
        return self._inspected_us > self._stopped_us
