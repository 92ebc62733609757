"""Membership in a consumer group by the classic protocol: join, sync, beat, leave (KIP-62, KIP-345, KIP-394).

    join    tell the coordinator our topics; it answers when all members have, and makes one of them the leader
    sync    the leader sends everybody's share (the range assignor); everybody gets theirs
    beat    every `heartbeat.interval.ms`; the answer may say that the group is being joined anew
    leave   so that the others need not wait for the session to end; static members do not

This is the part without records: `GroupConsumer` reads and commits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from strandline.client.cluster import Cluster
from strandline.client.consumer_protocol import (
    PROTOCOL_TYPE,
    RANGE,
    assign_range,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from strandline.client.failures import BrokerRefused, ClientError
from strandline.client.group_offsets import NOT_A_MEMBER, Membership
from strandline.model.error_codes import ErrorCode
from strandline.model.failures import ProtocolError
from strandline.model.partitions import TopicPartition
from strandline.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from strandline.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from strandline.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from strandline.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse

JOIN_MARGIN_MS = 5_000  # beyond the time that the coordinator gives the others to join
# We are no member any more, or of a generation that is over: join anew.
EXPELLED = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})
REJOIN = frozenset({*EXPELLED, ErrorCode.REBALANCE_IN_PROGRESS})


class GroupMember:
    def __init__(self, cluster: Cluster, group_id: str, topics: Collection[str]) -> None:
        self.cluster = cluster
        self.settings = cluster.settings
        self.group_id = group_id
        self.topics = sorted(topics)
        self.must_join = True
        self.failure: ClientError | None = None  # why beating has stopped for good
        self._member_id = ""
        self._generation = NOT_A_MEMBER
        self._beating: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()  # `must_join` or `failure` has become true

    @property
    def membership(self) -> Membership:
        return Membership(self._generation, self._member_id, self._instance_id)

    @property
    def _instance_id(self) -> str | None:
        return self.settings.group_instance_id or None

    async def join(self) -> list[TopicPartition]:
        """Our share of the partitions, once the group has agreed."""
        self._stop_beating()
        while True:
            joined = await self._join()
            if joined is None:
                continue
            share = await self._sync(joined)
            if share is not None:
                self.must_join = False
                self._changed.clear()
                self._beating = asyncio.create_task(self._beat_for_ever())
                return share

    def expelled(self, error_code: int) -> None:
        """Some answer said that we must join anew."""
        if error_code in EXPELLED:
            self._generation = NOT_A_MEMBER
        if error_code == ErrorCode.UNKNOWN_MEMBER_ID:
            self._member_id = ""
        self.must_join = True
        self._changed.set()

    async def change(self) -> None:
        """Returns when there is a reason to join anew; raises when membership has failed."""
        await self._changed.wait()
        if self.failure is not None:
            raise self.failure

    async def leave(self) -> None:
        self._stop_beating()
        if not self._member_id or self._instance_id is not None:
            return
        identity = MemberIdentity(self._member_id, self._instance_id, "the consumer was closed")
        request = LeaveGroupRequest(self.group_id, self._member_id, [identity])
        await self.cluster.ask_coordinator(
            self.group_id, request, LeaveGroupResponse, lambda answer: [answer.error_code]
        )
        self._member_id, self._generation = "", NOT_A_MEMBER

    async def _join(self) -> JoinGroupResponse | None:
        """None: it has to be tried again, as whom we are told now."""
        request = JoinGroupRequest(
            self.group_id,
            self.settings.session_timeout_ms,
            self.settings.max_poll_interval_ms,
            self._member_id,
            self._instance_id,
            PROTOCOL_TYPE,
            [JoinGroupRequestProtocol(RANGE, encode_subscription(self.topics))],
        )
        response = await self.cluster.ask_coordinator(
            self.group_id,
            request,
            JoinGroupResponse,
            lambda answer: [answer.error_code],
            timeout_ms=self.settings.max_poll_interval_ms + JOIN_MARGIN_MS,
        )
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = response.member_id
            return None
        if response.error_code in REJOIN:
            self.expelled(response.error_code)
            return None
        self._check(response.error_code, "joining")
        self._member_id, self._generation = response.member_id, response.generation_id
        return response

    async def _sync(self, joined: JoinGroupResponse) -> list[TopicPartition] | None:
        """None: the group is being joined anew already."""
        is_leader = joined.leader == joined.member_id and not joined.skip_assignment
        request = SyncGroupRequest(
            self.group_id,
            joined.generation_id,
            joined.member_id,
            self._instance_id,
            PROTOCOL_TYPE,
            joined.protocol_name,
            await self._assign(joined) if is_leader else [],
        )
        response = await self.cluster.ask_coordinator(
            self.group_id,
            request,
            SyncGroupResponse,
            lambda answer: [answer.error_code],
            timeout_ms=self.settings.max_poll_interval_ms + JOIN_MARGIN_MS,
        )
        if response.error_code in REJOIN:
            self.expelled(response.error_code)
            return None
        self._check(response.error_code, "joining")
        try:
            return decode_assignment(response.assignment)
        except ProtocolError as error:
            raise ClientError(f"the share of group {self.group_id} cannot be read: {error}") from None

    async def _assign(self, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        subscriptions = {each.member_id: decode_subscription(each.metadata) for each in joined.members}
        wanted = {topic for topics in subscriptions.values() for topic in topics}
        view = await self.cluster.refresh(wanted)
        counts = {topic: len(view.topics[topic].partitions) for topic in wanted if topic in view.topics}
        shares = assign_range(subscriptions, counts)
        return [SyncGroupRequestAssignment(member_id, encode_assignment(share)) for member_id, share in shares.items()]

    async def _beat_for_ever(self) -> None:
        while not self.must_join:
            await asyncio.sleep(self.settings.heartbeat_interval_ms / 1000)
            try:
                await self._beat()
            except ClientError as error:
                self.failure = error
                self._changed.set()
                return

    async def _beat(self) -> None:
        request = HeartbeatRequest(self.group_id, self._generation, self._member_id, self._instance_id)
        response = await self.cluster.ask_coordinator(
            self.group_id, request, HeartbeatResponse, lambda answer: [answer.error_code]
        )
        if response.error_code in REJOIN:
            self.expelled(response.error_code)
        else:
            self._check(response.error_code, "membership")

    def _check(self, error_code: int, what: str) -> None:
        if error_code:
            raise BrokerRefused(error_code, f"{what} of group {self.group_id}")

    def _stop_beating(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
            self._beating = None
