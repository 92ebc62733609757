"""Offsets committed within transactions (KIP-98, KIP-447): pending until the marker, and the later in the log wins."""

from __future__ import annotations

from tests.groups.shell import Shell

from strandline.groups.commands import (
    DeleteGroups,
    ListGroups,
    OffsetCommit,
    OffsetFetch,
    OffsetToCommit,
    TransactionalOffsetCommit,
)
from strandline.groups.replies import FetchedOffset, ListGroupsReply, OffsetCommitReply, OffsetFetchReply
from strandline.groups.settings import GroupSettings
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition

PARTITION = TopicPartition("orders", 0)


def commit(shell: Shell, offset: int) -> None:
    shell.ask(OffsetCommit(group="g", offsets=(entry(offset),)), OffsetCommitReply)


def entry(offset: int, metadata: str | None = None) -> OffsetToCommit:
    return OffsetToCommit(topic="orders", partition=0, offset=offset, metadata=metadata)


def commit_in_transaction(shell: Shell, producer_id: int, offset: int) -> None:
    command = TransactionalOffsetCommit(group="g", producer_id=producer_id, producer_epoch=0, offsets=(entry(offset),))
    reply = shell.ask(command, OffsetCommitReply)
    assert [result.error_code for result in reply.results] == [ErrorCode.NONE]


def fetched(shell: Shell, *, require_stable: bool = False) -> FetchedOffset:
    command = OffsetFetch(group="g", partitions=(PARTITION,), require_stable=require_stable)
    return shell.ask(command, OffsetFetchReply).offsets[0]


def test_an_offset_is_pending_until_its_transaction_ends() -> None:
    shell = Shell()
    commit(shell, 1)
    commit_in_transaction(shell, 7, 5)
    assert fetched(shell).offset == 1
    assert fetched(shell, require_stable=True).error_code is ErrorCode.UNSTABLE_OFFSET_COMMIT
    shell.restart()
    assert fetched(shell, require_stable=True).error_code is ErrorCode.UNSTABLE_OFFSET_COMMIT
    shell.end_transaction(7, committed=True)
    assert fetched(shell, require_stable=True).offset == 5
    shell.restart()
    assert fetched(shell).offset == 5


def test_an_abort_drops_it() -> None:
    shell = Shell()
    commit(shell, 1)
    commit_in_transaction(shell, 7, 5)
    shell.end_transaction(7, committed=False)
    assert fetched(shell, require_stable=True).offset == 1


def test_the_later_commit_in_the_log_wins_whatever_the_order_of_the_markers() -> None:
    shell = Shell()
    commit_in_transaction(shell, 7, 5)
    commit_in_transaction(shell, 8, 6)
    commit(shell, 9)
    shell.end_transaction(8, committed=True)
    shell.end_transaction(7, committed=True)
    assert fetched(shell).offset == 9
    commit_in_transaction(shell, 7, 10)
    commit_in_transaction(shell, 8, 11)
    shell.end_transaction(8, committed=True)
    shell.end_transaction(7, committed=True)
    assert fetched(shell).offset == 11


def test_a_marker_without_offsets_means_nothing() -> None:
    shell = Shell()
    shell.end_transaction(7, committed=True)
    assert fetched(shell).offset == -1


def test_pending_offsets_neither_expire_nor_let_their_group_go() -> None:
    shell = Shell(GroupSettings(offsets_retention_ms=1_000, offsets_retention_check_interval_ms=1_000))
    commit(shell, 1)
    commit_in_transaction(shell, 7, 5)
    shell.pass_time(10_000)
    assert fetched(shell).offset == 1
    assert shell.ask(ListGroups(), ListGroupsReply).groups
    shell.end_transaction(7, committed=True)
    shell.pass_time(1_000)
    assert not shell.ask(ListGroups(), ListGroupsReply).groups


def test_deleting_a_group_deletes_what_is_pending() -> None:
    shell = Shell()
    commit_in_transaction(shell, 7, 5)
    shell.decide(DeleteGroups(groups=("g",)))
    shell.end_transaction(7, committed=True)
    assert fetched(shell).offset == -1


def test_a_producer_with_an_old_generation_is_refused() -> None:
    shell = Shell()
    command = TransactionalOffsetCommit(
        group="g", member_id="m", generation=3, producer_id=7, producer_epoch=0, offsets=(entry(1),)
    )
    reply = shell.ask(command, OffsetCommitReply)
    assert [result.error_code for result in reply.results] == [ErrorCode.ILLEGAL_GENERATION]
