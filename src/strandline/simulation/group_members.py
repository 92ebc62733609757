"""A simulated member of a classic group: joins, is given partitions, works, falls behind, leaves, dies, or joins and
does nothing. What its work is, is said elsewhere (`group_workers`, `copiers`)."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from strandline.broker.peers import PeerFailed
from strandline.model.failures import ErrorCode
from strandline.simulation.coordinated import GROUP, MOVED
from strandline.simulation.group_clients import FOR_EVER_US, Again, GroupClient
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
SESSION_TIMEOUTS_MS = (2_000, 6_000)
NO_GENERATION = -1

EXPECTED = MOVED | {
    ErrorCode.NONE,
    ErrorCode.MEMBER_ID_REQUIRED,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}


class GroupMember(GroupClient):
    def __init__(self, load: GroupLoad, name: str, instance_id: str | None) -> None:
        super().__init__(load, name, instance_id, load.world.chance(f"session of {name}").choice(SESSION_TIMEOUTS_MS))
        self._load = load
        self._member_id = ""
        self._generation = NO_GENERATION
        self._is_to_linger = False

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
        """Until it is thrown out, or the group goes on without it. Where another coordinator has taken over, which
        does not know who has not synced yet (nor does Kafka's), it goes on until somebody says so."""
        self._is_to_linger, self.idle_since_us, self._back_us = False, self.world.now_us, FOR_EVER_US
        self.world.tell(f"{self.name} asks for no partitions in generation {self._generation}")
        while self.world.now_us < self._back_us and not self.is_stopping:
            await self.pause(self._session_timeout_ms // 3)
            await self._beat()

    async def _leave(self) -> None:
        request = LeaveGroupRequest(self._load.group, members=[MemberIdentity(self._member_id, self._instance_id)])
        if self._member_id:
            with suppress(PeerFailed):  # its session will end
                await self.ask_coordinator(GROUP, self._load.group, request, LeaveGroupResponse, LEAVE_VERSION)
        self._member_id, self._generation = "", NO_GENERATION

    def _forget_itself(self) -> None:
        self._member_id = ""

    async def _be_about_to_linger(self) -> None:
        """It joins anew, and sends heartbeats alone (KAFKA-12890)."""
        await self._leave()
        self._is_to_linger = True
        raise Again

    async def _beat(self) -> None:
        request = HeartbeatRequest(self._load.group, self._generation, self._member_id, self._instance_id)
        answer = await self.ask_coordinator(GROUP, self._load.group, request, HeartbeatResponse, HEARTBEAT_VERSION)
        self._check(request, answer.error_code)

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
