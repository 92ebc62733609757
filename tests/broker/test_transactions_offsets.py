"""Offsets of a group within a transaction: they count from its commit on, and only from the group's own members
(SPEC P3; KIP-98, KIP-447)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.running_transactions import RunningTransactions
from tests.broker.transaction_peer import Pair, TransactionPeer

from strandline.model.failures import ErrorCode
from strandline.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningTransactions]:
    with RunningTransactions(str(tmp_path)) as running:
        yield running


@pytest.fixture
def peer(running: RunningTransactions) -> Iterator[TransactionPeer]:
    with running.producer() as peer:
        peer.create_topic("orders")
        peer.find_coordinator("g")
        yield peer


def committed_offset(peer: TransactionPeer, *, require_stable: bool = False) -> tuple[int, int]:
    """With the error."""
    group = OffsetFetchRequestGroup("g", topics=[OffsetFetchRequestTopics("orders", partition_indexes=[0])])
    request = OffsetFetchRequest(groups=[group], require_stable=require_stable)
    (answer,) = peer.ask(request, 8, OffsetFetchResponse).groups[0].topics[0].partitions
    return answer.committed_offset, answer.error_code


def begun(peer: TransactionPeer, pair: Pair, offset: int, version: int = 3) -> None:
    if version < 5:
        assert peer.add_offsets("t", pair, "g") == 0
    assert peer.commit_offset("t", pair, "g", "orders", offset, version=version) == 0


@pytest.mark.parametrize("version", range(6))
def test_they_count_from_the_commit_on(running: RunningTransactions, peer: TransactionPeer, version: int) -> None:
    """From version 5 on AddOffsetsToTxn need not be called (KIP-890)."""
    pair = peer.started("t")
    begun(peer, pair, 7, version)
    assert committed_offset(peer) == (-1, 0)
    assert committed_offset(peer, require_stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert peer.end("t", pair, commit=True, version=min(version, 5)).error_code == 0
    running.wait_until_stable("__consumer_offsets")
    assert committed_offset(peer, require_stable=True) == (7, 0)


def test_an_abort_forgets_them(running: RunningTransactions, peer: TransactionPeer) -> None:
    pair = peer.started("t")
    begun(peer, pair, 7)
    assert peer.end("t", pair, commit=False).error_code == 0
    running.wait_until_stable("__consumer_offsets")
    assert committed_offset(peer, require_stable=True) == (-1, 0)


@pytest.mark.parametrize("commit", [True, False])
def test_they_outlive_a_restart(tmp_path: Path, commit: bool) -> None:
    with RunningTransactions(str(tmp_path)) as running, running.producer() as peer:
        peer.create_topic("orders")
        peer.find_coordinator("g")
        pair = peer.started("t")
        begun(peer, pair, 7)
    with RunningTransactions(str(tmp_path)) as running, running.producer() as peer:
        peer.wait_until_loaded("t")
        running.wait_until(lambda: not running.broker.groups.led.is_loading)
        assert committed_offset(peer, require_stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        assert peer.end("t", pair, commit=commit).error_code == 0
        running.wait_until_stable("__consumer_offsets")
        assert committed_offset(peer, require_stable=True) == (7 if commit else -1, 0)


def test_a_group_that_is_not_part_of_the_transaction(running: RunningTransactions, peer: TransactionPeer) -> None:
    """It would hang: no marker ever comes to the group's partition (KIP-890)."""
    pair = peer.started("t")
    peer.added("t", pair, "orders")
    refused = {3: ErrorCode.INVALID_TXN_STATE, 4: ErrorCode.TRANSACTION_ABORTABLE}
    for version, error_code in refused.items():
        assert peer.commit_offset("t", pair, "g", "orders", 7, version=version) == error_code
    assert running.log_end_offset("__consumer_offsets") == 0


def test_only_a_member_of_the_generation_commits(peer: TransactionPeer) -> None:
    """KIP-447: a zombie is fenced by its group, even where its transactional id is its own."""
    joined = peer.join("g")
    peer.sync("g", joined, {joined.member_id: b"all"})
    pair = peer.started("t")
    assert peer.add_offsets("t", pair, "g") == 0

    def commit(generation: int, member_id: str) -> int:
        return peer.commit_offset("t", pair, "g", "orders", 7, generation=generation, member_id=member_id)

    assert commit(joined.generation_id - 1, joined.member_id) == ErrorCode.ILLEGAL_GENERATION
    assert commit(joined.generation_id, "somebody") == ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(joined.generation_id, joined.member_id) == 0


def test_a_later_commit_without_a_transaction_wins(running: RunningTransactions, peer: TransactionPeer) -> None:
    pair = peer.started("t")
    begun(peer, pair, 7)
    peer.commit("g", {0: 9})
    assert peer.end("t", pair, commit=True).error_code == 0
    running.wait_until_stable("__consumer_offsets")
    assert committed_offset(peer) == (9, 0)


def test_partitions_that_are_not_there(peer: TransactionPeer) -> None:
    pair = peer.started("t")
    assert peer.add_offsets("t", pair, "g") == 0
    assert peer.commit_offset("t", pair, "g", "nowhere", 7) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
