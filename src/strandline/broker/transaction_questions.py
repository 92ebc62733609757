"""A broker's questions to transaction coordinators: is this partition part of that transaction? Or: add it (KIP-890).

The coordinator is this broker itself, or another, which gets one AddPartitionsToTxn request at a time with all that has
come up (`VerificationRequests`). Every question is answered: nobody waits longer than for a request between brokers.

Where the last transaction of a producer that adds is not complete yet, the question is asked again for a short while
before the client hears of it, since its end is a matter of milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby

from strandline.broker.host import Host
from strandline.broker.peers import PeerFailed, Peers, Purpose
from strandline.broker.procedures import begin
from strandline.broker.transaction_coordinator import TransactionCoordinator
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.transactions.commands import AddPartitions
from strandline.transactions.replies import AddPartitionsReply
from strandline.transactions.verification_requests import Asker, VerificationRequests
from strandline.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)

QUESTION_TIMEOUT_MS = 10_000
ADD_PARTITIONS_VERSION = 5

Errors = Mapping[TopicPartition, ErrorCode]
Answered = Callable[[Errors], object]


class TransactionQuestions:
    def __init__(self, broker_id: int, coordinator: TransactionCoordinator, peers: Peers, host: Host) -> None:
        self._broker_id = broker_id
        self._coordinator = coordinator
        self._peers = peers
        self._host = host
        self._to_broker: dict[int, VerificationRequests] = {}
        self._answers: dict[int, Answered] = {}
        self._last_number = 0

    def ask(self, question: AddPartitions, answered: Answered) -> None:
        """`answered` is called once, now or later, with an error for each partition of the question."""
        if question.verify_only:
            self._ask(question, answered)
        else:
            settings = self._coordinator.settings
            patience_ms = settings.add_partitions_to_txn_retry_backoff_max_ms
            self._ask(question, partial(self._added, question, answered, patience_ms))

    def _added(self, question: AddPartitions, answered: Answered, patience_ms: int, errors: Errors) -> None:
        if patience_ms <= 0 or ErrorCode.CONCURRENT_TRANSACTIONS not in errors.values():
            answered(errors)
            return
        pause_ms = min(self._coordinator.settings.add_partitions_to_txn_retry_backoff_ms, patience_ms)
        again = partial(self._added, question, answered, patience_ms - pause_ms)
        self._host.call_later(pause_ms, lambda: self._ask(question, again))

    def _ask(self, question: AddPartitions, answered: Answered) -> None:
        broker_id = self._coordinator.broker_of(question.transactional_id)
        if broker_id is None:
            answered(_all(question, ErrorCode.COORDINATOR_NOT_AVAILABLE))
        elif broker_id == self._broker_id:
            self._coordinator.ask(question.transactional_id, question, lambda reply: answered(_errors_of(reply)))
        else:
            self._ask_broker(broker_id, question, answered)

    # Other brokers.

    def _ask_broker(self, broker_id: int, question: AddPartitions, answered: Answered) -> None:
        self._last_number += 1
        self._answers[self._last_number] = answered
        requests = self._to_broker.setdefault(broker_id, VerificationRequests())
        for asker, error_code in requests.ask(Asker(self._last_number, question)):
            self._answers.pop(asker.number)(_all(asker.question, error_code))
        self._send(broker_id, requests)

    def _send(self, broker_id: int, requests: VerificationRequests) -> None:
        taken = requests.take()
        if taken is not None:
            questions, askers = taken
            begin(self._request(broker_id, requests, questions, askers))

    async def _request(
        self,
        broker_id: int,
        requests: VerificationRequests,
        questions: Sequence[AddPartitions],
        askers: Sequence[Asker],
    ) -> None:
        request = AddPartitionsToTxnRequest([_transaction(question) for question in questions])
        try:
            response = await self._peers.ask(
                broker_id,
                request,
                AddPartitionsToTxnResponse,
                version=ADD_PARTITIONS_VERSION,
                purpose=Purpose.VERIFICATION,
                timeout_ms=QUESTION_TIMEOUT_MS,
            )
            found = {result.transactional_id: _results(result) for result in response.results_by_transaction}
        except PeerFailed:
            found = {}
        requests.finished()
        for asker in askers:
            results = found.get(asker.question.transactional_id, {})
            errors = {name: results.get(name, ErrorCode.NETWORK_EXCEPTION) for name in asker.question.partitions}
            self._answers.pop(asker.number)(errors)
        self._send(broker_id, requests)


def _all(question: AddPartitions, error_code: ErrorCode) -> Errors:
    return dict.fromkeys(question.partitions, error_code)


def _errors_of(reply: AddPartitionsReply) -> Errors:
    return {result.partition: result.error_code for result in reply.results}


def _results(result: AddPartitionsToTxnResult) -> Errors:
    return {
        TopicPartition(topic.name, each.partition_index): ErrorCode(each.partition_error_code)
        for topic in result.topic_results
        for each in topic.results_by_partition
    }


def _transaction(question: AddPartitions) -> AddPartitionsToTxnTransaction:
    by_topic = groupby(sorted(question.partitions), key=lambda partition: partition.topic)
    topics = [AddPartitionsToTxnTopic(topic, [partition for _, partition in names]) for topic, names in by_topic]
    return AddPartitionsToTxnTransaction(
        question.transactional_id, question.producer_id, question.producer_epoch, question.verify_only, topics
    )
