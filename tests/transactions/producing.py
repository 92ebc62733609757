"""Short words for what producers ask of a shell."""

from __future__ import annotations

from tests.transactions.shell import Shell, partitions

from strandline.model.failures import ErrorCode
from strandline.transactions.commands import AddPartitions, EndTransaction, InitProducerId, ListTransactions
from strandline.transactions.epochs import Producer
from strandline.transactions.replies import (
    AddPartitionsReply,
    EndTransactionReply,
    InitProducerIdReply,
    ListTransactionsReply,
)


def init(
    shell: Shell, transactional_id: str = "pay", proof: Producer | None = None, timeout_ms: int = 60_000
) -> InitProducerIdReply:
    producer_id, producer_epoch = proof or Producer(-1, -1)
    command = InitProducerId(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )
    return shell.ask(command, InitProducerIdReply)


def started(shell: Shell, transactional_id: str = "pay") -> Producer:
    reply = init(shell, transactional_id)
    assert reply.error_code is ErrorCode.NONE
    return Producer(reply.producer_id, reply.producer_epoch)


def add(
    shell: Shell, producer: Producer, *names: str, transactional_id: str = "pay", verify_only: bool = False
) -> list[ErrorCode]:
    command = AddPartitions(
        transactional_id=transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        partitions=partitions(names),
        verify_only=verify_only,
        client_version=0 if verify_only else 2,
    )
    return [result.error_code for result in shell.ask(command, AddPartitionsReply).results]


def end(
    shell: Shell, producer: Producer, *, is_commit: bool, transactional_id: str = "pay", bumps_epoch: bool = True
) -> EndTransactionReply:
    command = EndTransaction(
        transactional_id=transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        is_commit=is_commit,
        bumps_epoch=bumps_epoch,
    )
    return shell.ask(command, EndTransactionReply)


def ended(shell: Shell, producer: Producer, *, is_commit: bool, transactional_id: str = "pay") -> Producer:
    reply = end(shell, producer, is_commit=is_commit, transactional_id=transactional_id)
    assert reply.error_code is ErrorCode.NONE
    return Producer(reply.producer_id, reply.producer_epoch)


def states(shell: Shell) -> dict[str, str]:
    reply = shell.ask(ListTransactions(), ListTransactionsReply)
    return {entry.transactional_id: entry.state for entry in reply.transactions}
