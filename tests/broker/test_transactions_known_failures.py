"""What went wrong with transactions in Kafka and in its relatives, each as a test against a whole broker.

Rows 49, 52 and 55 (expiry of producers, deleted producers, bad snapshots) are the log's: `test_producer_state.py` and
`test_producer_snapshots.py`. Row 50 is in `test_transaction_coordinator.py`, row 53 in `test_transactions_broker.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.broker.running_transactions import RunningTransactions
from tests.broker.transaction_peer import Pair, TransactionPeer

from strandline.broker.transaction_questions import Answered
from strandline.model.failures import ErrorCode
from strandline.transactions.commands import AddPartitions


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningTransactions]:
    with RunningTransactions(str(tmp_path)) as running:
        yield running


@pytest.fixture
def peer(running: RunningTransactions) -> Iterator[TransactionPeer]:
    with running.producer() as peer:
        peer.create_topic("orders")
        yield peer


@pytest.mark.parametrize(
    ("version", "error_code"), [(10, ErrorCode.INVALID_TXN_STATE), (11, ErrorCode.TRANSACTION_ABORTABLE)]
)
def test_a_late_batch_does_not_begin_a_transaction_that_nobody_ends(
    running: RunningTransactions, peer: TransactionPeer, version: int, error_code: ErrorCode
) -> None:
    """Row 47, KAFKA-14402: it came after the end of its transaction, and the last stable offset stood still."""
    pair = peer.started("t")
    peer.transact("t", pair, "orders", 0, b"a")
    running.wait_until_stable("orders")
    before = running.log_end_offset("orders")
    peer.wait_until_complete("t")
    assert peer.append("t", pair, "orders", 1, b"late", version=version) == error_code
    peer.create_topic("invoices")
    peer.added("t", pair, "invoices")
    assert peer.append("t", pair, "orders", 1, b"late", version=version) == error_code, "another partition's"
    assert running.log_end_offset("orders") == before
    assert peer.fetch("orders").last_stable_offset == before


def test_a_yes_that_is_older_than_the_marker_does_not_count(
    running: RunningTransactions, peer: TransactionPeer
) -> None:
    """Row 47, KAFKA-14884, 14920: the transaction ended while the coordinator's answer was on its way."""
    held: list[Callable[[], object]] = []
    questions = running.broker.transactions.questions
    ask = questions.ask

    def hold(question: AddPartitions, answered: Answered) -> None:
        ask(question, lambda errors: held.append(lambda: answered(errors)))

    pair = peer.started("t")
    peer.added("t", pair, "orders")
    running.call(lambda: setattr(questions, "ask", hold))
    with running.producer() as slow:
        slow.tell_append("t", pair, "orders", 0, b"late")
        running.wait_until(lambda: bool(held))
        running.call(lambda: setattr(questions, "ask", ask))
        assert peer.end("t", pair, commit=True).error_code == 0
        peer.wait_until_complete("t")
        running.call(lambda: held[0]())
        assert slow.hear_appended().error_code == ErrorCode.INVALID_TXN_STATE
    running.wait_until_stable("orders")
    assert peer.uncommitted("orders") == []


def test_a_late_end_does_not_end_the_next_transaction(running: RunningTransactions, peer: TransactionPeer) -> None:
    """Row 48, KAFKA-14562: with an epoch for each transaction a delayed EndTxn is known for what it is."""
    first = peer.started("t")
    assert peer.append_until_complete("t", first, "orders", b"a") == 0
    answer = peer.end("t", first, commit=True, version=5)
    second = Pair(answer.producer_id, answer.producer_epoch)
    assert peer.append_until_complete("t", second, "orders", b"b") == 0
    for commit in (True, False):
        late = peer.end("t", first, commit=commit, version=5)
        assert late.error_code == ErrorCode.PRODUCER_FENCED
    assert peer.describe("t").transaction_state == "Ongoing"
    assert peer.seen("orders") == [b"a"]
    assert peer.end("t", second, commit=True, version=5).error_code == 0
    running.wait_until_stable("orders")
    assert peer.seen("orders") == [b"a", b"b"]


def test_the_next_transaction_may_come_before_the_last_marker(
    running: RunningTransactions, peer: TransactionPeer
) -> None:
    """KAFKA-18575: it waits for the marker, for a moment; a client that hears of it waits longer than need be."""
    pair = peer.started("t")
    for number in range(50):
        assert peer.append("t", pair, "orders", 0, str(number).encode(), version=12) == 0
        answer = peer.end("t", pair, commit=True, version=5)
        assert answer.error_code == 0
        pair = Pair(answer.producer_id, answer.producer_epoch)
    running.wait_until_stable("orders")
    assert peer.seen("orders") == [str(number).encode() for number in range(50)]


def test_a_late_marker_does_not_end_the_next_transaction(running: RunningTransactions, peer: TransactionPeer) -> None:
    """Row 48, KIP-1228: the marker of the first transaction, come again while the second is open."""
    first = peer.started("t")
    assert peer.append_until_complete("t", first, "orders", b"a") == 0
    answer = peer.end("t", first, commit=True, version=5)
    second = Pair(answer.producer_id, answer.producer_epoch)
    assert peer.append_until_complete("t", second, "orders", b"b") == 0
    repeated = peer.write_marker(second, "orders", commit=False, transaction_version=2)
    assert repeated == ErrorCode.INVALID_PRODUCER_EPOCH
    assert peer.end("t", second, commit=True, version=5).error_code == 0
    running.wait_until_stable("orders")
    assert peer.seen("orders") == [b"a", b"b"]


def test_a_clock_that_is_set_back_makes_no_transaction_immortal(
    running: RunningTransactions, peer: TransactionPeer
) -> None:
    """Row 51, KAFKA-8803."""
    pair = peer.started("t", timeout_ms=100)
    peer.added("t", pair, "orders")
    assert peer.append("t", pair, "orders", 0, b"a") == 0
    host = running.broker.host
    now_ms = host.now_ms
    running.call(lambda: setattr(host, "now_ms", lambda: now_ms() - 3_600_000))
    running.wait_until_stable("orders")
    assert peer.seen("orders") == []


def test_a_coordinator_that_comes_again_and_again_knows_the_same(tmp_path: Path) -> None:
    """Rows 54 and 59, KAFKA-9307, 15468, RP#6018: it goes away between AddPartitions and EndTxn, five times."""
    with RunningTransactions(str(tmp_path)) as running, running.producer() as peer:
        peer.create_topic("orders")
        peer.create_topic("invoices")
        pair = peer.started("t")
        peer.added("t", pair, "orders", "invoices")
        assert peer.append("t", pair, "invoices", 0, b"i") == 0
    for number in range(5):
        with RunningTransactions(str(tmp_path)) as running, running.producer() as peer:
            peer.wait_until_loaded("t")
            assert peer.describe("t").transaction_state == "Ongoing"
            assert peer.append("t", pair, "orders", number, str(number).encode()) == 0
            assert peer.seen("orders") == []
    with RunningTransactions(str(tmp_path)) as running, running.producer() as peer:
        peer.wait_until_loaded("t")
        assert peer.end("t", pair, commit=True).error_code == 0
        running.wait_until_stable("orders")
        running.wait_until_stable("invoices")
        assert (peer.seen("orders"), peer.seen("invoices")) == ([b"0", b"1", b"2", b"3", b"4"], [b"i"])


def test_a_producer_whose_time_was_up_is_a_zombie(running: RunningTransactions, peer: TransactionPeer) -> None:
    """Row 56, KAFKA-6119, 5231: the epoch is raised when a transaction is aborted for its age."""
    pair = peer.started("t", timeout_ms=50)
    peer.added("t", pair, "orders")
    assert peer.append("t", pair, "orders", 0, b"a") == 0
    running.wait_until_stable("orders")
    peer.wait_until_complete("t")
    assert peer.append("t", pair, "orders", 1, b"b") == ErrorCode.INVALID_PRODUCER_EPOCH
    assert peer.add_partitions("t", pair, "orders") == [ErrorCode.PRODUCER_FENCED]
    assert peer.end("t", pair, commit=True).error_code == ErrorCode.PRODUCER_FENCED
    assert peer.seen("orders") == []
    back = peer.init("t", pair)
    assert back.error_code == 0, "it may come back for the next epoch (KIP-360)"


def test_batches_that_come_again_are_known(running: RunningTransactions, peer: TransactionPeer) -> None:
    """Row 57, RP#3038: five requests in flight whose answers got lost, the first of which began the transaction."""
    pair = peer.started("t")
    peer.added("t", pair, "orders")
    for _ in range(2):
        for sequence in range(5):
            peer.tell_append("t", pair, "orders", sequence, str(sequence).encode())
        answers = [peer.hear_appended() for _ in range(5)]
        assert [(answer.error_code, answer.base_offset) for answer in answers] == [(0, offset) for offset in range(5)]
    assert peer.end("t", pair, commit=True).error_code == 0
    running.wait_until_stable("orders")
    assert peer.seen("orders") == [b"0", b"1", b"2", b"3", b"4"]


def test_a_coordinator_that_is_not_there_is_no_unknown_error(
    running: RunningTransactions, peer: TransactionPeer
) -> None:
    """Row 58, KAFKA-14034: UNKNOWN_SERVER_ERROR makes a Java producer write twice."""
    pair = peer.started("t")
    peer.added("t", pair, "orders")
    running.call(running.broker.transactions.coordinator.led.close)
    assert peer.append("t", pair, "orders", 0, b"a") == ErrorCode.NOT_ENOUGH_REPLICAS, "which is tried again"
    assert peer.end("t", pair, commit=True).error_code == ErrorCode.NOT_COORDINATOR
