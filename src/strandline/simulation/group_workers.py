"""A simulated member of a group that commits offsets, each no less than what it found, and does nothing else.

A commit whose outcome is not known may be carried out late; so it commits nothing more before it has joined again, in
another generation, in which the late one is refused.
"""

from __future__ import annotations

from strandline.broker.peers import PeerFailed
from strandline.model.failures import ErrorCode
from strandline.simulation.coordinated import GROUP
from strandline.simulation.group_members import GroupMember
from strandline.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

COMMIT_VERSION = 7


class Worker(GroupMember):
    async def _commit(self) -> None:
        index = self.chance.choice(list(self._positions))
        self._positions[index] += self.chance.randint(0, 3)
        offset = self._positions[index]
        partition = OffsetCommitRequestPartition(index, offset, committed_metadata=self.name)
        request = OffsetCommitRequest(
            self._load.group,
            self._generation,
            self._member_id,
            group_instance_id=self._instance_id,
            topics=[OffsetCommitRequestTopic(self._load.consumed, partitions=[partition])],
        )
        sent_us, generation = self.world.now_us, self._generation
        self._load.sent(index, offset)
        commit = f"{self.name}: {offset} for {self._load.consumed}-{index} in generation {generation}"
        coordinator = await self.coordinator_of(GROUP, self._load.group)
        self.world.note(f"{commit} is sent to {coordinator}")
        try:
            answer = await self.ask_coordinator(GROUP, self._load.group, request, OffsetCommitResponse, COMMIT_VERSION)
        except PeerFailed as failure:
            self.world.note(f"{commit} is not answered by {coordinator}: {failure}")
            raise
        error_code = ErrorCode(answer.topics[0].partitions[0].error_code)
        is_committed = error_code is ErrorCode.NONE
        outcome = f"committed by {coordinator}" if is_committed else f"refused by {coordinator}: {error_code.name}"
        self.world.note(f"{commit} is {outcome}")
        self._check(request, error_code)
        self._load.committed(self.name, generation, index, offset, sent_us)
