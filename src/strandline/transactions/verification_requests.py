"""A broker's questions to transaction coordinators, and what their answers mean to its producers (KIP-890).

A broker has one AddPartitionsToTxn request under way to each coordinator; what comes up meanwhile goes into the next.
In a request there is one entry for each transactional id: questions of the same producer are put together, and where
two producers ask, the older epoch has been answered by the newer.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import NamedTuple

from strandline.model.failures import ErrorCode
from strandline.transactions.commands import AddPartitions


class Asker(NamedTuple):
    """A produce request that waits."""

    number: int
    question: AddPartitions


class Answered(NamedTuple):
    asker: Asker
    error_code: ErrorCode


class VerificationRequests:
    """To one coordinator."""

    __slots__ = ("_askers", "_is_under_way", "_questions")

    def __init__(self) -> None:
        self._questions: dict[str, AddPartitions] = {}
        self._askers: dict[str, list[Asker]] = {}
        self._is_under_way = False

    def ask(self, asker: Asker) -> list[Answered]:
        """Whoever is answered without asking."""
        question = asker.question
        waiting = self._questions.get(question.transactional_id)
        if waiting is None or _is_of_same_producer(waiting, question):
            self._put(asker, waiting)
            return []
        if waiting.producer_epoch > question.producer_epoch:
            return [Answered(asker, ErrorCode.INVALID_PRODUCER_EPOCH)]
        # Same epoch and yet another question: a new producer id, or adding instead of verifying. Let the first try
        # again.
        is_older = waiting.producer_epoch < question.producer_epoch
        error_code = ErrorCode.INVALID_PRODUCER_EPOCH if is_older else ErrorCode.NETWORK_EXCEPTION
        replaced = [Answered(older, error_code) for older in self._askers.pop(question.transactional_id)]
        self._put(asker, None)
        return replaced

    def _put(self, asker: Asker, waiting: AddPartitions | None) -> None:
        question = asker.question
        known = () if waiting is None else waiting.partitions
        partitions = tuple(dict.fromkeys((*known, *question.partitions)))
        self._questions[question.transactional_id] = replace(question, partitions=partitions)
        self._askers.setdefault(question.transactional_id, []).append(asker)

    def take(self) -> tuple[list[AddPartitions], list[Asker]] | None:
        """The next request and who waits for it; None while one is under way, or where there is nothing to ask."""
        if self._is_under_way or not self._questions:
            return None
        self._is_under_way = True
        questions = list(self._questions.values())
        askers = [asker for waiting in self._askers.values() for asker in waiting]
        self._questions.clear()
        self._askers.clear()
        return questions, askers

    def finished(self) -> None:
        """The request under way has been answered, or never will be."""
        self._is_under_way = False


def _is_of_same_producer(one: AddPartitions, other: AddPartitions) -> bool:
    return replace(one, partitions=()) == replace(other, partitions=())


class ProducerSupport(Enum):
    """What the client's Produce or TxnOffsetCommit request knows about."""

    NO_ABORTABLE_ERROR = 0  # Produce up to version 10, TxnOffsetCommit up to 3
    ABORTABLE_ERROR = 1  # Produce 11, TxnOffsetCommit 4
    EPOCH_BUMPS = 2  # Produce from 12 on, TxnOffsetCommit from 5 on: the broker adds the partitions


TRY_AGAIN = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
UNDERSTOOD = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)


def producer_error(error_code: ErrorCode, support: ProducerSupport) -> ErrorCode:
    """What the producer hears when the coordinator's answer was this.

    NOT_ENOUGH_REPLICAS makes any client try again, without asking for metadata. UNKNOWN_SERVER_ERROR is never said:
    it makes a Java producer raise its epoch and write twice (KAFKA-14034).
    """
    if error_code in UNDERSTOOD:
        return error_code
    if error_code in TRY_AGAIN:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if error_code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error_code is ErrorCode.CONCURRENT_TRANSACTIONS:
        return error_code if support is ProducerSupport.EPOCH_BUMPS else ErrorCode.NOT_ENOUGH_REPLICAS
    is_old = support is ProducerSupport.NO_ABORTABLE_ERROR
    return ErrorCode.INVALID_TXN_STATE if is_old else ErrorCode.TRANSACTION_ABORTABLE
