"""A classic group: who is in it, who leads it, what they agreed on.

What is **stored** is the last generation that was completed: its number, protocol, leader, members and assignment, all
in one record. Only `ClassicGroup.restored`, called by `GroupShard.apply`, makes it. A rebalance in progress, with its
new members, waiting requests and timers, is **not stored**: when the coordinator moves, clients find their requests
refused and come again, and the new coordinator begins from the last completed generation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from strandline.groups.classic_member import ClassicMember
from strandline.groups.commands import NO_GENERATION, JoinProtocol
from strandline.groups.consumer_protocol import CONSUMER_PROTOCOL_TYPE, subscribed_topics
from strandline.groups.records import NONE_MS, GroupMetadataKey, GroupMetadataValue, GroupRecord
from strandline.groups.states import ClassicState, check_transition
from strandline.model.failures import ErrorCode, Refused, check
from strandline.model.lazy_dataclass import dataclass

REBALANCING = (ClassicState.PREPARING_REBALANCE, ClassicState.COMPLETING_REBALANCE)


@dataclass(slots=True)
class InitialRebalance:
    """The first rebalance of an empty group waits a little for more members, so that they need not rebalance again."""

    delay_ms: int
    remaining_ms: int
    member_added: bool = False


class ClassicGroup:
    __slots__ = (
        "generation",
        "group_id",
        "initial_rebalance",
        "is_stored",
        "leader_id",
        "members",
        "pending_members",
        "pending_sync_members",
        "protocol",
        "protocol_type",
        "state",
        "state_timestamp_ms",
        "static_members",
        "topics",
    )

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.state = ClassicState.EMPTY
        self.state_timestamp_ms: int | None = None
        self.generation = 0
        self.protocol_type: str | None = None  # None: it only stores offsets, a "simple" group
        self.protocol: str | None = None
        self.leader_id: str | None = None  # a member, if there are any
        self.members: dict[str, ClassicMember] = {}
        self.static_members: dict[str, str] = {}  # instance id to member id
        self.pending_members: dict[str, None] = {}  # ids given out (KIP-394); not yet members
        self.pending_sync_members: dict[str, None] = {}  # of this generation, and have not asked for their assignment
        self.initial_rebalance: InitialRebalance | None = None
        self.topics: frozenset[str] | None = None  # that consumers of this group read; None: not known
        self.is_stored = False

    @classmethod
    def restored(cls, group_id: str, value: GroupMetadataValue, previous: ClassicGroup | None) -> ClassicGroup:
        """The group as a record tells it. From the one it replaces it keeps what no record holds."""
        group = cls(group_id)
        group.is_stored = True
        group.generation = value.generation
        group.protocol_type = value.protocol_type or None
        group.protocol = value.protocol
        group.leader_id = value.leader
        timestamp_ms = value.current_state_timestamp
        group.state_timestamp_ms = None if timestamp_ms == NONE_MS else timestamp_ms
        group.state = ClassicState.STABLE if value.members else ClassicState.EMPTY
        for stored in value.members:
            group._add(ClassicMember.stored(stored, value.protocol))
        group.update_topics()
        if previous is not None:
            group._resume(previous)
        return group

    def _resume(self, previous: ClassicGroup) -> None:
        self.pending_members = previous.pending_members
        self.pending_sync_members = previous.pending_sync_members if self.members else {}
        for member in self.members.values():
            known = previous.members.get(member.member_id)
            if known is None:
                continue
            check(known.join_ticket is None and known.sync_ticket is None, f"{member.member_id} was left waiting")
            if known.metadata_for(self.protocol) == member.metadata_for(self.protocol):
                member.protocols = known.protocols

    def become(self, state: ClassicState, now_ms: int) -> None:
        check_transition(self.group_id, self.state, state)
        self.state = state
        self.state_timestamp_ms = now_ms

    # Membership

    def add(self, member: ClassicMember, protocol_type: str) -> None:
        if not self.members:
            self.protocol_type = protocol_type
        self._add(member)
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.pending_members.pop(member.member_id, None)

    def _add(self, member: ClassicMember) -> None:
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id

    def remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is not None and member.group_instance_id is not None:
            del self.static_members[member.group_instance_id]
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self.pending_members.pop(member_id, None)
        self.pending_sync_members.pop(member_id, None)

    def rename(self, member: ClassicMember, member_id: str) -> None:
        """A static member came back without its id: it is the same member under a new one (KIP-345)."""
        del self.members[member.member_id]
        if self.leader_id == member.member_id:
            self.leader_id = member_id
        if member.member_id in self.pending_sync_members:
            del self.pending_sync_members[member.member_id]
            self.pending_sync_members[member_id] = None
        member.member_id = member_id
        self._add(member)

    def is_leader(self, member_id: str) -> bool:
        return self.leader_id == member_id

    @property
    def waiting_to_join(self) -> int:
        return sum(member.join_ticket is not None for member in self.members.values())

    @property
    def all_joined(self) -> bool:
        return not self.pending_members and self.waiting_to_join == len(self.members)

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def elect_leader(self) -> bool:
        """A leader that did not come to this generation makes room for one that did, if any did."""
        leader = self.members.get(self.leader_id or "")
        if leader is None or leader.join_ticket is None:
            came = (member.member_id for member in self.members.values() if member.join_ticket is not None)
            self.leader_id = next(came, self.leader_id)
        return self.waiting_to_join > 0

    # Protocols

    def supports(self, protocol_type: str, protocols: tuple[JoinProtocol, ...]) -> bool:
        if not self.members:
            return bool(protocol_type) and bool(protocols)
        return protocol_type == self.protocol_type and any(
            entry.name in self._protocols_of_all() for entry in protocols
        )

    def _protocols_of_all(self) -> frozenset[str]:
        # Sets: what a member names twice it knows once.
        known = [{entry.name for entry in member.protocols} for member in self.members.values()]
        counts = Counter(name for names in known for name in names)
        return frozenset(name for name, count in counts.items() if count == len(self.members))

    def select_protocol(self) -> str:
        """Each member votes for the first it likes of those all know; of equals, the one voted for first."""
        candidates = self._protocols_of_all()
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    def start_generation(self, now_ms: int) -> None:
        self.generation += 1
        self.initial_rebalance = None
        self.protocol = self.select_protocol() if self.members else None
        self.become(ClassicState.COMPLETING_REBALANCE if self.members else ClassicState.EMPTY, now_ms)
        self.pending_sync_members = dict.fromkeys(self.members)
        self.update_topics()

    def update_topics(self) -> None:
        self.topics = None
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE or (self.members and self.protocol is None):
            return
        found = [subscribed_topics(member.metadata_for(self.protocol) or b"") for member in self.members.values()]
        if None not in found:
            self.topics = frozenset().union(*(topics for topics in found if topics is not None))

    # Records

    def to_store(self, assignments: Mapping[str, bytes], state_timestamp_ms: int) -> GroupRecord:
        value = GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol,
            leader=self.leader_id,
            current_state_timestamp=state_timestamp_ms,
            members=tuple(
                member.to_store(self.protocol, assignments.get(member.member_id, b""))
                for member in self.members.values()
            ),
        )
        return GroupRecord(GroupMetadataKey(self.group_id), value)

    def tombstones(self) -> list[GroupRecord]:
        return [GroupRecord(GroupMetadataKey(self.group_id), None)]

    # What requests of members must pass

    def check_member(self, member_id: str, group_instance_id: str | None) -> ClassicMember:
        if group_instance_id is not None:
            current_id = self.static_members.get(group_instance_id)
            if current_id is not None and current_id != member_id:
                raise Refused(ErrorCode.FENCED_INSTANCE_ID, f"{group_instance_id} is now {current_id}")
            if current_id is None:
                raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"no member is {group_instance_id}")
        if member_id not in self.members:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"{member_id!r} is not a member")
        return self.members[member_id]

    def check_generation(self, generation: int) -> None:
        if generation != self.generation:
            raise Refused(ErrorCode.ILLEGAL_GENERATION, f"generation {generation} is not {self.generation}")

    def check_commit(
        self, member_id: str, group_instance_id: str | None, generation: int, *, is_transactional: bool
    ) -> None:
        if generation <= NO_GENERATION and self.is_empty:
            return  # an administrator, or a consumer that does not use the group to share partitions
        if generation > NO_GENERATION or member_id or group_instance_id is not None:
            self.check_member(member_id, group_instance_id)
            self.check_generation(generation)
        elif not is_transactional:
            # Older transactional producers send neither member nor generation (before KIP-447).
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, "the group has members, and this is none of them")
        if not is_transactional and self.state is ClassicState.COMPLETING_REBALANCE:
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS, "the assignment is not known yet")

    def check_offset_delete(self) -> None:
        if not self.is_empty and self.protocol_type != CONSUMER_PROTOCOL_TYPE:
            raise Refused(ErrorCode.NON_EMPTY_GROUP, "the group has members, and what they read is not known")

    def check_deletion(self) -> None:
        if not self.is_empty:
            raise Refused(ErrorCode.NON_EMPTY_GROUP, f"the group is {self.state.value}")

    # Offsets

    @property
    def is_empty(self) -> bool:
        return self.state is ClassicState.EMPTY

    @property
    def has_pending_members(self) -> bool:
        return bool(self.pending_members)

    @property
    def is_simple(self) -> bool:
        return self.protocol_type is None and self.is_empty and not self.pending_members

    def is_subscribed_to(self, topic: str) -> bool:
        """Where consumers do not say what they read, nothing of theirs may be taken."""
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE if self.topics is None else topic in self.topics

    def retention_start_ms(self, commit_timestamp_ms: int) -> int | None:
        """From when the retention of an offset counts; None while it must not expire (KIP-211, KAFKA-13636)."""
        if self.protocol_type is None:
            return commit_timestamp_ms
        if self.is_empty:
            return self.state_timestamp_ms if self.state_timestamp_ms is not None else commit_timestamp_ms
        # During a rebalance the topics are about to change, and a slow member is not a gone one.
        knows_topics = self.protocol_type == CONSUMER_PROTOCOL_TYPE and self.topics is not None
        return commit_timestamp_ms if knows_topics and self.state is ClassicState.STABLE else None
