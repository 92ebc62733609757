"""A broker asks coordinators for its producers: one request at a time, and answers that producers understand."""

from __future__ import annotations

import pytest
from tests.transactions.shell import partitions

from strandline.model.failures import ErrorCode
from strandline.transactions.commands import AddPartitions
from strandline.transactions.verification_requests import (
    Answered,
    Asker,
    ProducerSupport,
    VerificationRequests,
    producer_error,
)


def asker(
    number: int, *names: str, transactional_id: str = "pay", producer_id: int = 7, epoch: int = 0, verify: bool = True
) -> Asker:
    question = AddPartitions(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=epoch,
        partitions=partitions(names),
        verify_only=verify,
    )
    return Asker(number, question)


def test_questions_gather_while_a_request_is_under_way() -> None:
    requests = VerificationRequests()
    assert requests.take() is None
    first, second, third = asker(1, "a-0"), asker(2, "a-1"), asker(3, "a-0", transactional_id="other")
    assert requests.ask(first) == []
    assert requests.take() == ([first.question], [first])
    assert requests.ask(second) == requests.ask(third) == []
    assert requests.take() is None
    requests.finished()
    assert requests.take() == ([second.question, third.question], [second, third])
    requests.finished()
    assert requests.take() is None


def test_partitions_of_one_transaction_are_asked_for_together() -> None:
    requests = VerificationRequests()
    askers = [asker(1, "a-0", "a-1"), asker(2, "a-1", "b-0")]
    for entry in askers:
        assert requests.ask(entry) == []
    assert requests.take() == ([asker(0, "a-0", "a-1", "b-0").question], askers)


def test_a_newer_epoch_answers_the_older() -> None:
    requests = VerificationRequests()
    old, new = asker(1, "a-0", epoch=3), asker(2, "a-1", epoch=4)
    requests.ask(old)
    assert requests.ask(new) == [Answered(old, ErrorCode.INVALID_PRODUCER_EPOCH)]
    assert requests.ask(old) == [Answered(old, ErrorCode.INVALID_PRODUCER_EPOCH)]
    assert requests.take() == ([new.question], [new])


@pytest.mark.parametrize(
    "other", [asker(2, "a-1", producer_id=8), asker(2, "a-1", verify=False)], ids=["another id", "adding"]
)
def test_what_does_not_go_together_is_tried_again(other: Asker) -> None:
    requests = VerificationRequests()
    first = asker(1, "a-0")
    requests.ask(first)
    assert requests.ask(other) == [Answered(first, ErrorCode.NETWORK_EXCEPTION)]
    assert requests.take() == ([other.question], [other])


OLD, NEWER, NEWEST = ProducerSupport.NO_ABORTABLE_ERROR, ProducerSupport.ABORTABLE_ERROR, ProducerSupport.EPOCH_BUMPS


@pytest.mark.parametrize(
    ("answer", "support", "heard"),
    [
        (ErrorCode.NONE, OLD, ErrorCode.NONE),
        (ErrorCode.PRODUCER_FENCED, NEWEST, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.TRANSACTION_ABORTABLE, OLD, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.TRANSACTION_ABORTABLE, NEWER, ErrorCode.TRANSACTION_ABORTABLE),
        (ErrorCode.CONCURRENT_TRANSACTIONS, OLD, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.CONCURRENT_TRANSACTIONS, NEWER, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.CONCURRENT_TRANSACTIONS, NEWEST, ErrorCode.CONCURRENT_TRANSACTIONS),
        (ErrorCode.NOT_COORDINATOR, NEWEST, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.NETWORK_EXCEPTION, OLD, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, NEWER, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, OLD, ErrorCode.INVALID_TXN_STATE),
    ],
)
def test_what_a_producer_hears(answer: ErrorCode, support: ProducerSupport, heard: ErrorCode) -> None:
    assert producer_error(answer, support) is heard
