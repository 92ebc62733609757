"""A simulated member of a consumer group (KIP-848), whose coordinator assigns: it says all about itself in every
heartbeat, takes what it is given, and lets go of what is taken from it, at once, some heartbeats later, or not at all.

A heartbeat that is not answered is sent again. A commit that is not answered may be carried out late; so whoever sent
it becomes another member, whom no partition is given before the one that it was is out.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from strandline.broker.peers import PeerFailed
from strandline.groups.commands import JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH
from strandline.model.failures import ErrorCode
from strandline.simulation.coordinated import GROUP, MOVED
from strandline.simulation.group_clients import Again, GroupClient
from strandline.simulation.ownership import Heartbeat
from strandline.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from strandline.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

if TYPE_CHECKING:
    from strandline.simulation.consumer_group_load import ConsumerGroupLoad

HEARTBEAT_VERSION = 1
COMMIT_VERSION = 9
SESSION_TIMEOUT_MS = 6_000
REBALANCE_TIMEOUT_MS = 6_000
JOIN_AGAIN_MS = 300
LET_GO_SHARE = 0.7  # of the heartbeats that may
OUT = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.FENCED_INSTANCE_ID})
EXPECTED = OUT | {
    ErrorCode.NONE,
    ErrorCode.UNRELEASED_INSTANCE_ID,  # it comes back before its session has ended
    ErrorCode.STALE_MEMBER_EPOCH,  # its last heartbeat was not answered
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}


class AssignedMember(GroupClient):
    def __init__(self, load: ConsumerGroupLoad, name: str, instance_id: str | None) -> None:
        super().__init__(load, name, instance_id, SESSION_TIMEOUT_MS)
        self._load = load
        self._lives = 0
        self._epoch = JOIN_EPOCH
        self._topic_id = b""
        self._to_let_go: set[int] = set()
        self._clings = False
        self._forget_itself()

    # Membership.

    async def _join(self) -> None:
        if not self._topic_id:
            self._topic_id = (await self.topic(self._load.consumed)).topic_id
        self._epoch, self._positions = JOIN_EPOCH, {}
        self._to_let_go.clear()
        while self._epoch == JOIN_EPOCH and not self.is_stopping:
            await self._beat()
            await self.pause(self.pace.of(JOIN_AGAIN_MS))

    async def _beat(self) -> None:
        if self._to_let_go and not self._clings and self.chance.random() < LET_GO_SHARE:
            self._to_let_go.clear()
        heartbeat = Heartbeat(self._member_id, self.world.now_us, frozenset({*self._positions, *self._to_let_go}))
        self._load.ownership.lets_go_but(self._member_id, heartbeat.owned)
        answer, is_by_leader = await self._say(self._epoch, heartbeat.owned)
        if answer is None or not self._is_well(ErrorCode(answer.error_code)):
            return
        assert answer.assignment is not None, "it has said everything, and is told everything"
        self._epoch = answer.member_epoch
        assigned = frozenset(index for topic in answer.assignment.topic_partitions for index in topic.partitions)
        self._load.assigned(self.name, heartbeat, assigned, is_by_leader=is_by_leader)
        await self._take(assigned)

    async def _take(self, assigned: frozenset[int]) -> None:
        taken = self._positions.keys() - assigned
        self._to_let_go = (self._to_let_go | taken) - assigned
        for index in taken:
            del self._positions[index]
        given = sorted(assigned - self._positions.keys())
        if given:
            self._positions |= await self._load.positions(self, given)

    async def _say(self, epoch: int, owned: frozenset[int]) -> tuple[ConsumerGroupHeartbeatResponse | None, bool]:
        """The answer, and whether whoever gave it led all the while. None: nobody knows what became of it."""
        request = ConsumerGroupHeartbeatRequest(
            self._load.group,
            self._member_id,
            epoch,
            self._instance_id,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            subscribed_topic_names=[self._load.consumed],
            topic_partitions=[TopicPartitions(self._topic_id, sorted(owned))] if owned else [],
        )
        coordinator = await self.coordinator_of(GROUP, self._load.group)
        leadership = self._load.leadership(coordinator)
        try:
            answer = await self.ask_coordinator(
                GROUP, self._load.group, request, ConsumerGroupHeartbeatResponse, HEARTBEAT_VERSION
            )
        except PeerFailed:
            return None, False
        return answer, leadership is not None and leadership == self._load.leadership(coordinator)

    async def _leave(self) -> None:
        """For good; or, if it is static, perhaps with the promise to be back."""
        is_promise = self._instance_id is not None and not self.is_stopping and self.chance.random() < 0.5
        self._load.ownership.leaves(self._member_id)
        if self._epoch != JOIN_EPOCH:
            with suppress(PeerFailed):  # its session will end
                await self._say(LEAVE_STATIC_EPOCH if is_promise else LEAVE_EPOCH, frozenset())
        self._forget_itself()

    def _forget_itself(self) -> None:
        """Another member, with an id that nobody has had."""
        self._lives += 1
        self._member_id, self._epoch, self._positions = f"{self.name}.{self._lives}", JOIN_EPOCH, {}
        self._to_let_go.clear()
        self._clings = False

    async def _be_about_to_linger(self) -> None:
        """As soon as something is taken from it, it does not let go."""
        self._clings, self.idle_since_us = True, self.world.now_us

    # Work.

    async def _commit(self) -> None:
        index = self.chance.choice(list(self._positions))
        self._positions[index] += self.chance.randint(0, 3)
        offset, sent_us, member_id = self._positions[index], self.world.now_us, self._member_id
        partition = OffsetCommitRequestPartition(index, offset, committed_metadata=self.name)
        topic = OffsetCommitRequestTopic(self._load.consumed, partitions=[partition])
        request = OffsetCommitRequest(
            self._load.group, self._epoch, member_id, group_instance_id=self._instance_id, topics=[topic]
        )
        self._load.sent(index, offset)
        commit = f"{member_id}: {offset} for {self._load.consumed}-{index} in epoch {self._epoch}"
        try:
            answer = await self.ask_coordinator(GROUP, self._load.group, request, OffsetCommitResponse, COMMIT_VERSION)
        except PeerFailed as failure:
            self.world.note(f"{commit} is not answered: {failure}")
            await self._leave()
            raise Again from failure
        error_code = ErrorCode(answer.topics[0].partitions[0].error_code)
        self.world.note(f"{commit} is {'committed' if not error_code else f'refused: {error_code.name}'}")
        if self._is_well(error_code):
            self._load.committed(member_id, index, offset, sent_us)
        await self._beat()  # here a commit is none

    def _is_well(self, error_code: ErrorCode) -> bool:
        """Raises `Again` where it has lost everything."""
        if error_code in MOVED:
            self.forget_coordinator(GROUP, self._load.group)
        elif error_code not in EXPECTED:
            self._load.complain("ExpectedErrors", f"{self.name} was told {error_code.name}")
        if error_code in OUT:
            self._load.ownership.leaves(self._member_id)
            self._epoch = JOIN_EPOCH
            raise Again
        return error_code is ErrorCode.NONE
