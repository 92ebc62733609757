"""The shard as its shell sees it (SPEC P3): what waits for the commit, what a new leader knows, what is bounded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.transactions.producing import add, end, ended, init, started, states
from tests.transactions.shell import Shell, partitions

from strandline.model.failures import ErrorCode
from strandline.records.batch import split_batches
from strandline.records.record import read_records
from strandline.transactions.commands import (
    AddPartitions,
    DescribeTransactions,
    EndTransaction,
    InitProducerId,
    ListTransactions,
    PartitionsDeleted,
)
from strandline.transactions.decisions import EXPIRY_TIMER, TIMEOUTS_TIMER, Decision
from strandline.transactions.epochs import Producer
from strandline.transactions.formats import decode_record
from strandline.transactions.producer_ids import ProducerIds
from strandline.transactions.replies import (
    AddPartitionsReply,
    EndTransactionReply,
    InitProducerIdReply,
    ListTransactionsReply,
)
from strandline.transactions.settings import TransactionSettings
from strandline.transactions.shard import TransactionShard
from strandline.transactions.timeouts import DECISION_BYTES_MAX

GOLDEN = Path(__file__).parent.parent / "golden"


def test_a_shard_that_loads_says_so() -> None:
    shard = TransactionShard(TransactionSettings(), ProducerIds(), coordinator_epoch=0)
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    init_command = InitProducerId(transactional_id="pay", transaction_timeout_ms=1000)
    assert shard.decide(init_command, 0) == Decision(reply=InitProducerIdReply(error_code=loading))
    end_command = EndTransaction(transactional_id="pay", producer_id=1, producer_epoch=0, is_commit=True)
    assert shard.decide(end_command, 0) == Decision(reply=EndTransactionReply(error_code=loading))
    assert shard.decide(ListTransactions(), 0) == Decision(reply=ListTransactionsReply(error_code=loading))
    assert not shard.timer_fired(TIMEOUTS_TIMER, 0).timers


def test_neither_reply_nor_marker_goes_out_before_the_record_is_committed() -> None:
    shell = Shell()
    producer = started(shell)
    add(shell, producer, "orders-0")
    shell.commits_at_once = False
    shell.replies.clear()
    end(shell, producer, is_commit=True)
    assert (shell.replies, shell.sent) == ([], [])
    shell.commit(len(shell.log))
    assert [type(reply) for reply in shell.replies] == [EndTransactionReply]
    assert [marker.is_commit for marker in shell.sent] == [True]


def test_reads_wait_too() -> None:
    """A broker must not be told that a partition is part of a transaction as long as that may be lost."""
    shell = Shell()
    producer = started(shell)
    shell.commits_at_once = False
    shell.replies.clear()
    add(shell, producer, "orders-0")
    add(shell, producer, "orders-0", verify_only=True)
    assert shell.replies == []
    shell.commit(len(shell.log))
    assert [type(reply) for reply in shell.replies] == [AddPartitionsReply] * 2


def test_a_decision_that_was_not_committed_may_be_lost_and_nobody_has_heard_of_it() -> None:
    shell = Shell()
    producer = started(shell)
    add(shell, producer, "orders-0")
    shell.commits_at_once = False
    end(shell, producer, is_commit=True)
    assert shell.sent == []
    del shell.log[shell.committed :]
    shell.commits_at_once = True
    shell.restart()
    assert states(shell) == {"pay": "Ongoing"}
    # The producer tries again, and may as well decide otherwise.
    ended(shell, producer, is_commit=False)
    assert [marker.is_commit for marker in shell.sent] == [False]


def test_a_new_leader_sends_no_marker_before_what_it_found_is_committed() -> None:
    """Its log may end with records that no other replica has yet."""
    shell = Shell()
    producer = started(shell)
    add(shell, producer, "orders-0")
    shell.commits_at_once = False
    end(shell, producer, is_commit=True)
    shell.restart()
    assert shell.sent == []
    shell.commit(len(shell.log))
    assert [(marker.is_commit, marker.coordinator_epoch) for marker in shell.sent] == [(True, 1)]


def test_deciding_changes_nothing_stored() -> None:
    shell = Shell()
    producer = started(shell)
    command = AddPartitions(
        transactional_id="pay",
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        partitions=partitions(["orders-0"]),
    )
    first = shell.shard.decide(command, 0)
    assert first.records
    assert shell.shard.decide(command, 0) == first
    assert states(shell) == {"pay": "Empty"}


def test_results_for_another_coordinator_mean_nothing() -> None:
    shell = Shell()
    producer = started(shell)
    add(shell, producer, "orders-0")
    end(shell, producer, is_commit=True)
    old = shell.sent.pop().all_partitions(ErrorCode.NONE)
    shell.restart()
    assert not shell.markers_written(old).records
    assert states(shell) == {"pay": "PrepareCommit"}
    shell.write_markers()
    assert states(shell) == {"pay": "CompleteCommit"}


def test_a_compacted_log_loads_as_the_whole_log_does() -> None:
    shell = Shell()
    for name in ("a", "b"):
        producer = started(shell, name)
        for _ in range(3):
            add(shell, producer, "orders-0", transactional_id=name)
            producer = ended(shell, producer, is_commit=True, transactional_id=name)
            shell.write_markers()
    add(shell, producer, "orders-1", transactional_id="b")
    whole = states(shell)
    shell.log = list({key: (key, value) for key, value in shell.log}.values())
    shell.restart()
    assert states(shell) == whole == {"a": "CompleteCommit", "b": "Ongoing"}


@pytest.mark.parametrize("series", ["3.9", "4.3"])
def test_it_goes_on_where_kafkas_coordinator_stopped(series: str) -> None:
    """The last thing that Kafka heard of `blue` was the beginning of a transaction; of `red`, an end."""
    shell = Shell()
    for batch in split_batches(bytearray((GOLDEN / f"transaction-state-{series}.log").read_bytes())):
        for entry in read_records(batch):
            assert entry.key is not None
            shell.log.append((bytes(entry.key), None if entry.value is None else bytes(entry.value)))
    shell.committed = len(shell.log)
    shell.restart()
    before = {name: shell.stored(name) for name in states(shell)}
    assert before
    for name, transaction in before.items():
        assert transaction is not None
        if transaction.state.title == "Ongoing":
            holder = Producer(transaction.producer_id, transaction.producer_epoch)
            ended(shell, holder, is_commit=True, transactional_id=name)
            shell.write_markers()
        following = started(shell, name)
        assert following.producer_id == transaction.producer_id
        assert following.producer_epoch > transaction.producer_epoch


def many_ids(shell: Shell, count: int) -> list[str]:
    names = [f"{'n' * 1000}-{number}" for number in range(count)]
    for name in names:
        add(shell, started(shell, name), "orders-0", transactional_id=name)
    return names


def test_timeouts_of_many_transactions_fit_into_batches() -> None:
    """A coordinator that was away finds them all late at once; one batch for all could be refused for ever."""
    shell = Shell()
    names = many_ids(shell, 600)
    log_end, sizes = len(shell.log), []
    for key, decision in shell.advance(80_000):
        if key == TIMEOUTS_TIMER and decision.records:
            sizes.append(sum(len(k) + len(v or b"") for k, v in shell.log[log_end:]))
            log_end = len(shell.log)
    assert len(sizes) == 3
    assert max(sizes) < DECISION_BYTES_MAX + 2000
    assert set(states(shell).values()) == {"PrepareAbort"}
    assert len(shell.sent) == len(names)


def test_tombstones_of_many_ids_fit_into_batches() -> None:
    shell = Shell(TransactionSettings(transactional_id_expiration_ms=1000))
    for number in range(600):
        started(shell, f"{'n' * 1000}-{number}")
    counts = [len(decision.records) for key, decision in shell.advance(3_600_000) if key == EXPIRY_TIMER]
    assert len(counts) == 3
    assert sum(counts) == 600
    assert states(shell) == {}


def test_an_id_that_cannot_be_stored_is_refused() -> None:
    shell = Shell()
    assert init(shell, "é" * 16_384).error_code is ErrorCode.INVALID_REQUEST
    assert init(shell, "n" * 32_767).error_code is ErrorCode.NONE
    producer = started(shell)
    assert add(shell, producer, f"{'t' * 32_768}-0") == [ErrorCode.INVALID_REQUEST]


def test_settings_may_change() -> None:
    shell = Shell()
    assert init(shell, timeout_ms=900_000).error_code is ErrorCode.NONE
    shell.shard.settings_changed(replace(shell.settings, transaction_max_timeout_ms=1000))
    assert init(shell, timeout_ms=1001).error_code is ErrorCode.INVALID_TRANSACTION_TIMEOUT


def test_news_of_other_partitions_change_nothing() -> None:
    shell = Shell()
    producer = started(shell)
    add(shell, producer, "orders-0")
    end(shell, producer, is_commit=True)
    decision = shell.decide(PartitionsDeleted(partitions=partitions(["stock-0"])))
    assert not decision.records
    assert not decision.timers


def test_every_line_is_one_line() -> None:
    """What clients name goes into the broker's log."""
    shell = Shell()
    nasty = "two\nlines \x1b[2J"
    producer = started(shell, nasty)
    add(shell, producer, f"{nasty}-0", transactional_id=nasty)
    end(shell, producer, is_commit=True, transactional_id=nasty)
    for decision in (
        shell.decide(DescribeTransactions(transactional_ids=(nasty,))),
        shell.markers_written(shell.sent[0].all_partitions(ErrorCode.NETWORK_EXCEPTION)),
        *(decision for _, decision in shell.advance(1000)),
    ):
        assert all(len(line.splitlines()) == 1 and "\x1b" not in line for line in decision.lines())
    assert all("\x1b" not in str(decode_record(*entry)) for entry in shell.log)
