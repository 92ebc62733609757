"""Questions to the coordinator of a transaction on another broker (KIP-890)."""

from __future__ import annotations

from typing import cast

from tests.broker.manual_host import ManualHost
from tests.broker.scripted_peers import ScriptedPeers

from strandline.broker.transaction_coordinator import TransactionCoordinator
from strandline.broker.transaction_questions import Errors, TransactionQuestions
from strandline.metadata.answer import Answer
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.transactions.commands import AddPartitions
from strandline.transactions.settings import TransactionSettings
from strandline.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)

ORDERS = TopicPartition("orders", 0)


class Coordinator:
    """On broker 2, as far as anybody knows."""

    settings = TransactionSettings()
    leader: int | None = 2

    def broker_of(self, _transactional_id: str) -> int | None:
        return self.leader


class Scene:
    def __init__(self) -> None:
        self.host = ManualHost(0)
        self.peers = ScriptedPeers()
        self.coordinator = Coordinator()
        coordinator = cast(TransactionCoordinator, self.coordinator)
        self.questions = TransactionQuestions(1, coordinator, self.peers, self.host)

    def ask(self, transactional_id: str = "t", *, epoch: int = 0, adds: bool = False) -> list[Errors]:
        answers: list[Errors] = []
        question = AddPartitions(
            transactional_id=transactional_id,
            producer_id=7,
            producer_epoch=epoch,
            partitions=(ORDERS,),
            verify_only=not adds,
        )
        self.questions.ask(question, answers.append)
        return answers

    def answer(self, error_code: ErrorCode = ErrorCode.NONE) -> list[str]:
        """The next request, all of it with this error; the ids that were in it."""
        request, answer = self.peers.take(2)
        return answered(request, answer, error_code)


def answered(
    request: AddPartitionsToTxnRequest, answer: Answer[AddPartitionsToTxnResponse], error_code: ErrorCode
) -> list[str]:
    results = [
        AddPartitionsToTxnResult(
            each.transactional_id,
            [
                AddPartitionsToTxnTopicResult(
                    topic.name, [AddPartitionsToTxnPartitionResult(index, error_code) for index in topic.partitions]
                )
                for topic in each.topics
            ],
        )
        for each in request.transactions
    ]
    answer.deliver(AddPartitionsToTxnResponse(results_by_transaction=results))
    return [each.transactional_id for each in request.transactions]


def test_one_request_at_a_time_for_all_that_has_come_up() -> None:
    scene = Scene()
    answers = [scene.ask(name) for name in ("a", "b", "c", "b")]
    assert scene.answer() == ["a"]
    assert scene.answer() == ["b", "c"]
    assert answers == [[{ORDERS: ErrorCode.NONE}]] * 4
    assert scene.peers.asked == []


def test_the_older_of_two_producers_is_answered_by_the_newer() -> None:
    scene = Scene()
    scene.ask("busy")
    old, new = scene.ask(epoch=0), scene.ask(epoch=1)
    assert old == [{ORDERS: ErrorCode.INVALID_PRODUCER_EPOCH}]
    scene.answer()
    scene.answer()
    assert new == [{ORDERS: ErrorCode.NONE}]


def test_a_coordinator_that_goes_away() -> None:
    scene = Scene()
    first, second = scene.ask("a"), scene.ask("b")
    scene.peers.fail(2)
    assert first == [{ORDERS: ErrorCode.NETWORK_EXCEPTION}]
    assert second == []
    scene.answer()
    assert second == [{ORDERS: ErrorCode.NONE}]


def test_nobody_coordinates() -> None:
    scene = Scene()
    scene.coordinator.leader = None
    assert scene.ask() == [{ORDERS: ErrorCode.COORDINATOR_NOT_AVAILABLE}]


def test_a_transaction_that_is_just_ending_is_waited_for_where_the_broker_adds() -> None:
    """Every 20 ms, for 100 ms; then the client tries again itself."""
    scene = Scene()
    added = scene.ask(adds=True)
    for _ in range(3):
        scene.answer(ErrorCode.CONCURRENT_TRANSACTIONS)
        assert added == []
        scene.host.pass_time(20)
    scene.answer()
    assert added == [{ORDERS: ErrorCode.NONE}]
    added = scene.ask(adds=True)
    for _ in range(5):
        scene.answer(ErrorCode.CONCURRENT_TRANSACTIONS)
        scene.host.pass_time(20)
    scene.answer(ErrorCode.CONCURRENT_TRANSACTIONS)
    assert added == [{ORDERS: ErrorCode.CONCURRENT_TRANSACTIONS}]


def test_a_client_that_adds_itself_hears_of_it_at_once() -> None:
    scene = Scene()
    verified = scene.ask()
    scene.answer(ErrorCode.CONCURRENT_TRANSACTIONS)
    assert verified == [{ORDERS: ErrorCode.CONCURRENT_TRANSACTIONS}]
