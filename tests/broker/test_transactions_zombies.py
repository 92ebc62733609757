"""Somebody else has the transactional id now: the old one is refused at every API, in every version (SPEC P3)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.broker.running_transactions import RunningTransactions
from tests.broker.transaction_peer import Pair, TransactionPeer

from strandline.model.failures import ErrorCode

FENCED, OLD_EPOCH = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningTransactions]:
    with RunningTransactions(str(tmp_path_factory.mktemp("data"))) as running:
        yield running


@pytest.fixture
def peer(running: RunningTransactions) -> Iterator[TransactionPeer]:
    with running.producer() as peer:
        yield peer


@pytest.fixture
def zombie(peer: TransactionPeer, request: pytest.FixtureRequest) -> tuple[str, Pair]:
    """Its transaction was open when the other one came, which has one open now. Also gives the id."""
    transactional_id = request.node.name
    peer.create_topic("orders")
    peer.find_coordinator("group")
    old = peer.started(transactional_id)
    peer.added(transactional_id, old, "orders")
    assert peer.append(transactional_id, old, "orders", 0, b"old") == 0
    assert peer.add_offsets(transactional_id, old, "group") == 0
    assert peer.commit_offset(transactional_id, old, "group", "orders", 1) == 0
    new = peer.started(transactional_id)
    peer.added(transactional_id, new, "orders")
    assert peer.append(transactional_id, new, "orders", 0, b"new") == 0
    return transactional_id, old


@pytest.mark.parametrize("version", range(4))
def test_add_partitions(peer: TransactionPeer, zombie: tuple[str, Pair], version: int) -> None:
    assert peer.add_partitions(*zombie, "orders", version=version) == [FENCED if version >= 2 else OLD_EPOCH]


@pytest.mark.parametrize("version", range(5))
def test_add_offsets(peer: TransactionPeer, zombie: tuple[str, Pair], version: int) -> None:
    assert peer.add_offsets(*zombie, "group", version=version) == (FENCED if version >= 2 else OLD_EPOCH)


@pytest.mark.parametrize("version", range(6))
def test_offsets(peer: TransactionPeer, zombie: tuple[str, Pair], version: int) -> None:
    assert peer.commit_offset(*zombie, "group", "orders", 7, version=version) == OLD_EPOCH


@pytest.mark.parametrize("version", range(3, 13))
def test_produce(running: RunningTransactions, peer: TransactionPeer, zombie: tuple[str, Pair], version: int) -> None:
    before = running.log_end_offset("orders")
    assert peer.append(*zombie, "orders", 1, b"late", version=version) == OLD_EPOCH
    assert running.log_end_offset("orders") == before


@pytest.mark.parametrize("version", range(3, 13))
def test_produce_where_nobody_has_heard_of_the_new_one(
    running: RunningTransactions, peer: TransactionPeer, zombie: tuple[str, Pair], version: int
) -> None:
    peer.create_topic("invoices")
    before = running.log_end_offset("invoices")
    assert peer.append(*zombie, "invoices", 0, b"late", version=version) == OLD_EPOCH
    assert running.log_end_offset("invoices") == before


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("version", range(6))
def test_the_end(peer: TransactionPeer, zombie: tuple[str, Pair], version: int, commit: bool) -> None:
    answer = peer.end(*zombie, commit=commit, version=version)
    assert answer.error_code == (FENCED if version >= 2 else OLD_EPOCH)
    assert peer.describe(zombie[0]).transaction_state == "Ongoing"


@pytest.mark.parametrize("version", range(3, 6))
def test_coming_back_with_the_old_pair(peer: TransactionPeer, zombie: tuple[str, Pair], version: int) -> None:
    answer = peer.init(*zombie, version=version)
    assert answer.error_code == (FENCED if version >= 4 else OLD_EPOCH)
    assert peer.describe(zombie[0]).transaction_state == "Ongoing"


def test_another_producer_id(peer: TransactionPeer, zombie: tuple[str, Pair]) -> None:
    """Row "EndTxn wrong producer id": 49."""
    transactional_id, _ = zombie
    stranger = Pair(10**9, 0)
    assert peer.end(transactional_id, stranger, commit=True).error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert peer.add_partitions(transactional_id, stranger, "orders") == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
