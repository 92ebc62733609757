"""A member of a classic group."""

from __future__ import annotations

from strandline.groups.commands import JoinGroup, JoinProtocol
from strandline.groups.decisions import Ticket
from strandline.groups.records import MemberMetadata
from strandline.groups.replies import DescribedMember, JoinedMember
from strandline.model.lazy_dataclass import dataclass


@dataclass(slots=True, kw_only=True)
class ClassicMember:
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[JoinProtocol, ...]  # in the order the member likes them
    assignment: bytes = b""
    join_ticket: Ticket | None = None  # its JoinGroup is parked
    sync_ticket: Ticket | None = None  # its SyncGroup is parked
    is_new: bool = False  # it has not been in any generation

    @classmethod
    def joining(cls, member_id: str, command: JoinGroup) -> ClassicMember:
        return cls(
            member_id=member_id,
            group_instance_id=command.group_instance_id,
            client_id=command.client_id,
            client_host=command.client_host,
            session_timeout_ms=command.session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms(command),
            protocols=command.protocols,
            is_new=True,
        )

    @classmethod
    def stored(cls, member: MemberMetadata, protocol: str | None) -> ClassicMember:
        """Only the metadata of the protocol in use is stored; the others come back when the member next joins."""
        return cls(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            session_timeout_ms=member.session_timeout,
            # Version 0 of the record has only the session's.
            rebalance_timeout_ms=member.rebalance_timeout if member.rebalance_timeout >= 0 else member.session_timeout,
            protocols=(JoinProtocol(name=protocol or "", metadata=member.subscription),),
            assignment=member.assignment,
        )

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def is_excused(self) -> bool:
        """Waiting for us is as good as a heartbeat; only not for a new member, whose client may be long gone."""
        return not self.is_new and (self.join_ticket is not None or self.sync_ticket is not None)

    def metadata_for(self, protocol: str | None) -> bytes | None:
        return next((entry.metadata for entry in self.protocols if entry.name == protocol), None)

    def vote(self, candidates: frozenset[str]) -> str:
        return next(entry.name for entry in self.protocols if entry.name in candidates)

    def joined(self, protocol: str | None) -> JoinedMember:
        return JoinedMember(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            metadata=self.metadata_for(protocol) or b"",
        )

    def described(self, protocol: str | None) -> DescribedMember:
        return DescribedMember(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            metadata=self.metadata_for(protocol) or b"",
            assignment=self.assignment,
        )

    def to_store(self, protocol: str | None, assignment: bytes) -> MemberMetadata:
        return MemberMetadata(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            rebalance_timeout=self.rebalance_timeout_ms,
            session_timeout=self.session_timeout_ms,
            subscription=self.metadata_for(protocol) or b"",
            assignment=assignment,
        )


def rebalance_timeout_ms(command: JoinGroup) -> int:
    return command.rebalance_timeout_ms if command.rebalance_timeout_ms >= 0 else command.session_timeout_ms
