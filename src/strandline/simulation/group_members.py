"""A simulated member of a classic group: joins, is given partitions, works, falls behind, leaves, dies, or joins and
does nothing. What its work is, is said elsewhere (`group_workers`, `copiers`).

It does not read: whatever it does for a partition begins where the group was found to be, which is all that a
coordinator is asked to keep.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING

from strandline.broker.peers import PeerFailed
from strandline.model.failures import ErrorCode
from strandline.simulation.coordinated import GROUP, MOVED, CoordinatedClient
from strandline.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from strandline.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from strandline.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from strandline.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse

if TYPE_CHECKING:
    from strandline.simulation.group_load import GroupLoad

JOIN_VERSION = 5
SYNC_VERSION = 3
HEARTBEAT_VERSION = 3
LEAVE_VERSION = 3
REBALANCE_TIMEOUT_MS = 6_000
NO_GENERATION = -1
SECOND_US = 1_000_000
AWAY_S = (10, 60)
AWAY_LOOK_MS = 500
NEVER_US = -1
FOR_EVER_US = 1 << 62
BUSY_COMMITS, QUIET_COMMITS = 0.6, 0.05  # the share of beats at which it commits

EXPECTED = MOVED | {
    ErrorCode.NONE,
    ErrorCode.MEMBER_ID_REQUIRED,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}


class Again(Exception):
    """It has to join again, as the member that it is or as another."""


class Fate(Enum):
    WORK = 0
    LEAVE = 1
    DIE = 2
    SLEEP = 3  # for longer than its session
    STAY_AWAY = 4  # dead, and not started again for long: nothing but its session tells
    LINGER = 5  # joins anew, and sends heartbeats alone: nothing but the time for SyncGroup tells (KAFKA-12890)


class GroupMember(CoordinatedClient, ABC):
    def __init__(self, load: GroupLoad, name: str, instance_id: str | None) -> None:
        simulation = load.simulation
        super().__init__(load.world, simulation.network, name, simulation.names)
        self.is_stopping = False
        self.is_done = False
        self._load = load
        self._instance_id = instance_id
        self._session_timeout_ms = self.chance.choice((2_000, 6_000))
        self._member_id = ""
        self._generation = NO_GENERATION
        self._positions: dict[int, int] = {}
        self._next_fate: Fate | None = None  # if somebody says so
        self._is_to_linger = False
        self._back_us = 0  # from when on it is away no more
        self.idle_since_us = NEVER_US  # when it last went away, or began to linger

    def start(self) -> None:
        self.begin(self._run())

    @property
    def is_at_work(self) -> bool:
        return bool(self._positions)

    def meet_next(self, fate: Fate) -> None:
        self._next_fate, self.idle_since_us = fate, NEVER_US

    def come_back(self) -> None:
        self._back_us = 0

    async def _run(self) -> None:
        while not self.is_stopping:
            try:
                await self._join()
                await self._work()
            except (Again, PeerFailed):
                self._positions = {}
            await self.pause(self.pace.of(self.chance.randint(10, 200)))
        await self._leave()
        self.is_done = True

    # Membership.

    async def _join(self) -> None:
        joined = await self._enter()
        if self._is_to_linger:
            await self._linger()
        await self._sync(joined)

    async def _enter(self) -> JoinGroupResponse:
        protocol = JoinGroupRequestProtocol("range", subscription_to(self._load.consumed))
        request = JoinGroupRequest(
            self._load.group,
            self._session_timeout_ms,
            REBALANCE_TIMEOUT_MS,
            self._member_id,
            self._instance_id,
            "consumer",
            [protocol],
        )
        coordinator = await self.coordinator_of(GROUP, self._load.group)
        patience_ms = REBALANCE_TIMEOUT_MS + self.request_timeout_ms
        try:
            caller = self.caller(coordinator)
            answer = await caller.ask(request, JoinGroupResponse, version=JOIN_VERSION, timeout_ms=patience_ms)
        except PeerFailed:
            self.forget_coordinator(GROUP, self._load.group)
            raise
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = answer.member_id
        self._check(request, answer.error_code)
        self._member_id, self._generation = answer.member_id, answer.generation_id
        return answer

    async def _sync(self, joined: JoinGroupResponse) -> None:
        assignments = self._assign(joined) if joined.leader == self._member_id else []
        request = SyncGroupRequest(
            self._load.group, self._generation, self._member_id, self._instance_id, assignments=assignments
        )
        answer = await self.ask_coordinator(GROUP, self._load.group, request, SyncGroupResponse, SYNC_VERSION)
        self._check(request, answer.error_code)
        if not answer.assignment:
            raise Again  # it came after its leader had assigned everything
        told = json.loads(answer.assignment)
        owner = self._instance_id or self._member_id
        self._load.assigned(self.name, owner, self._generation, told["by"], told["partitions"])
        self._positions = await self._load.positions(self, told["partitions"])

    def _assign(self, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        """In turn; with a mark that tells this assignment from all others."""
        members = sorted(each.member_id for each in joined.members)
        mark = f"{self.name}/{self.world.now_us}"
        return [
            SyncGroupRequestAssignment(
                member,
                json.dumps({"by": mark, "partitions": self._load.indexes[place :: len(members)]}).encode(),
            )
            for place, member in enumerate(members)
        ]

    async def _linger(self) -> None:
        """Until it is thrown out, or the group goes on without it."""
        self._is_to_linger, self.idle_since_us = False, self.world.now_us
        self.world.tell(f"{self.name} asks for no partitions in generation {self._generation}")
        while not self.is_stopping:
            await self.pause(self._session_timeout_ms // 3)
            await self._beat()

    async def _stay_away(self) -> None:
        self._member_id, self._positions = "", {}
        self.idle_since_us = self.world.now_us
        self.world.tell(f"{self.name} stays away")
        away_us = FOR_EVER_US if self._load.is_healed else self.chance.randint(*AWAY_S) * SECOND_US
        self._back_us = self.world.now_us + away_us
        while self.world.now_us < self._back_us and not self.is_stopping:
            await self.pause(AWAY_LOOK_MS)

    async def _leave(self) -> None:
        request = LeaveGroupRequest(self._load.group, members=[MemberIdentity(self._member_id, self._instance_id)])
        if self._member_id:
            with suppress(PeerFailed):  # its session will end
                await self.ask_coordinator(GROUP, self._load.group, request, LeaveGroupResponse, LEAVE_VERSION)
        self._member_id, self._generation = "", NO_GENERATION

    # Work.

    async def _work(self) -> None:
        while not self.is_stopping:
            await self._meet(self._fate())
            await self.pause(min(self.pace.pause_ms(), self._session_timeout_ms // 2))
            if self._positions and self.chance.random() < (QUIET_COMMITS if self._is_quiet else BUSY_COMMITS):
                await self._commit()
            else:
                await self._beat()

    @property
    def _is_quiet(self) -> bool:
        return self.world.seasons.quiet_left_us(self.world.now_us) > 0

    def _fate(self) -> Fate:
        if self._next_fate is not None:
            fate, self._next_fate = self._next_fate, None
            return fate
        if self._load.is_healed or self._is_quiet:
            return Fate.WORK
        return self.chance.choices(list(Fate), (100, 2, 1, 1, 1, 1))[0]

    async def _meet(self, fate: Fate) -> None:
        if fate is Fate.SLEEP:
            await self.pause(self._session_timeout_ms * 2)
        if fate in (Fate.WORK, Fate.SLEEP):
            return
        if fate is Fate.STAY_AWAY:
            await self._stay_away()
        elif fate is Fate.DIE:
            self._member_id = ""
        else:
            await self._leave()
        self._is_to_linger = fate is Fate.LINGER
        raise Again

    async def _beat(self) -> None:
        request = HeartbeatRequest(self._load.group, self._generation, self._member_id, self._instance_id)
        answer = await self.ask_coordinator(GROUP, self._load.group, request, HeartbeatResponse, HEARTBEAT_VERSION)
        self._check(request, answer.error_code)

    @abstractmethod
    async def _commit(self) -> None:
        """Does something for one of its partitions, and commits how far it is."""

    def _check(self, request: object, code: int) -> None:
        """Raises `Again` unless it is all right."""
        error_code = ErrorCode(code)
        if error_code not in EXPECTED:
            name = type(request).__name__
            self._load.complain("ExpectedErrors", f"{self.name} sent {name} and was told {error_code.name}")
        if error_code in MOVED:
            self.forget_coordinator(GROUP, self._load.group)
        if error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            self._member_id = ""
        if error_code is not ErrorCode.NONE:
            raise Again


def subscription_to(topic: str) -> bytes:
    """Version 0 of what consumers say: one topic, and nothing else."""
    return b"\0\0\0\0\0\1" + len(topic).to_bytes(2, "big") + topic.encode() + b"\xff\xff\xff\xff"
