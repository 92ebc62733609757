"""TxnOffsetCommit, v0-v5: how far a group has come, as part of a transaction (SPEC P3). From v3 on with the group
member that did the reading (KIP-447); v5 need not have called AddOffsetsToTxn (KIP-890).

The group's partition of `__consumer_offsets` is a partition of the transaction like any other: whether it is part of it
is asked of the transaction's coordinator before the first offset is written, and the offsets count from the marker on.
"""

from __future__ import annotations

from collections.abc import Callable

from strandline.broker.cluster_image import ClusterImage
from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.broker.group_requests import Response
from strandline.broker.transaction_services import TransactionServices
from strandline.groups.commands import OffsetToCommit, TransactionalOffsetCommit
from strandline.groups.replies import OffsetCommitReply
from strandline.model.coordinators import client_error
from strandline.model.failures import ErrorCode, Refused
from strandline.records.batch import NO_SEQUENCE
from strandline.transactions.commands import AddPartitions
from strandline.transactions.states import EPOCH_BUMPS
from strandline.transactions.verification import Token, TransactionalBatch
from strandline.transactions.verification_requests import ProducerSupport, producer_error
from strandline.wire.codec import decode, encode
from strandline.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

ABORTABLE_ERROR_FROM = 4
EPOCH_BUMPS_FROM = 5


def txn_offset_commit_handler(
    groups: GroupCoordinator, transactions: TransactionServices, image: ClusterImage
) -> Handler:
    def handle(request: Request) -> Body | Instead:
        version = request.api_version
        asked = decode(TxnOffsetCommitRequest, version, request.body)
        commit = Commit(image)
        for topic in asked.topics:
            commit.add_topic(topic)
        if not commit.offsets:
            return encode(commit.response, version)
        response = Response(request)
        writing = Writing(groups, transactions, asked, _support(version), commit)
        writing.begin(lambda reply: response.put(encode(commit.answered(reply), version)))
        return response.now_or_later()

    return handle


def _support(version: int) -> ProducerSupport:
    if version >= EPOCH_BUMPS_FROM:
        return ProducerSupport.EPOCH_BUMPS
    return ProducerSupport.ABORTABLE_ERROR if version >= ABORTABLE_ERROR_FROM else ProducerSupport.NO_ABORTABLE_ERROR


class Commit:
    """One request: what is to be committed, and the places in the response where the outcome goes."""

    def __init__(self, image: ClusterImage) -> None:
        self.response = TxnOffsetCommitResponse()
        self.offsets: list[OffsetToCommit] = []
        self._image = image
        self._places: list[TxnOffsetCommitResponsePartition] = []

    def add_topic(self, asked: TxnOffsetCommitRequestTopic) -> None:
        answer = TxnOffsetCommitResponseTopic(asked.name)
        self.response.topics.append(answer)
        topic = self._image.topics.get(asked.name)
        for wanted in asked.partitions:
            place = TxnOffsetCommitResponsePartition(wanted.partition_index)
            answer.partitions.append(place)
            if topic is None or wanted.partition_index not in topic.partitions:
                place.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                continue
            self._places.append(place)
            self.offsets.append(
                OffsetToCommit(
                    topic=topic.name,
                    partition=wanted.partition_index,
                    offset=wanted.committed_offset,
                    leader_epoch=wanted.committed_leader_epoch,
                    metadata=wanted.committed_metadata,
                )
            )

    def answered(self, reply: OffsetCommitReply) -> TxnOffsetCommitResponse:
        for place, result in zip(self._places, reply.results, strict=True):
            place.error_code = result.error_code
        return self.response


class Writing:
    """From the question to the coordinator of the transaction to the records in the group's partition."""

    def __init__(
        self,
        groups: GroupCoordinator,
        transactions: TransactionServices,
        asked: TxnOffsetCommitRequest,
        support: ProducerSupport,
        commit: Commit,
    ) -> None:
        self._groups = groups
        self._transactions = transactions
        self._gate = transactions.gate
        self._transactional_id = asked.transactional_id
        self._support = support
        self._head = TransactionalBatch(asked.producer_id, asked.producer_epoch, NO_SEQUENCE)
        self._command = TransactionalOffsetCommit(
            group=asked.group_id,
            member_id=asked.member_id,
            group_instance_id=asked.group_instance_id,
            generation=asked.generation_id,
            producer_id=asked.producer_id,
            producer_epoch=asked.producer_epoch,
            offsets=tuple(commit.offsets),
        )

    def begin(self, answer: Callable[[OffsetCommitReply], object]) -> None:
        led = self._groups.led_groups(self._command.group)
        if led is None or not self._transactions.produce.asks_for(self._support):
            self._groups.ask(self._command.group, self._command, answer)
            return
        try:
            token = self._gate.begin(led.partition, self._head, self._support)
        except Refused as refused:
            self._refuse(answer, refused.error_code)
            return
        if token is None:
            self._write(answer)
            return
        adds = self._support is ProducerSupport.EPOCH_BUMPS
        question = AddPartitions(
            transactional_id=self._transactional_id,
            producer_id=self._head.producer_id,
            producer_epoch=self._head.producer_epoch,
            partitions=(led.partition.name,),
            verify_only=not adds,
            client_version=EPOCH_BUMPS if adds else 0,
        )
        self._transactions.questions.ask(
            question, lambda errors: self._answered(answer, token, errors[led.partition.name])
        )

    def _answered(self, answer: Callable[[OffsetCommitReply], object], token: Token, error_code: ErrorCode) -> None:
        if error_code is not ErrorCode.NONE:
            self._refuse(answer, producer_error(error_code, self._support))
            return
        led = self._groups.led_groups(self._command.group)
        if led is not None:
            self._gate.verified(led.partition, self._head.producer_id, token)
        self._write(answer)

    def _write(self, answer: Callable[[OffsetCommitReply], object]) -> None:
        """Nothing comes between the check and the append."""
        led = self._groups.led_groups(self._command.group)
        if led is not None:
            try:
                self._gate.check(led.partition, self._head)
            except Refused as refused:
                self._refuse(answer, refused.error_code)
                return
        self._groups.ask(self._command.group, self._command, answer)
        if led is not None and self._gate.is_open(led.partition, self._head):
            self._gate.written(led.partition, self._head.producer_id)

    def _refuse(self, answer: Callable[[OffsetCommitReply], object], error_code: ErrorCode) -> None:
        """The group's own log is not the client's: it hears of a coordinator that it may ask again."""
        refused = Refused(client_error(error_code), "the offsets are not part of the transaction")
        answer(self._command.refused(refused))
