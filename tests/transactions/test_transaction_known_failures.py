"""Failures that others had with transactions, and that the coordinator must not repeat.

They are the rows *Idempotence, transactions* of the list of known bugs that are decided here. The rest are decided in
the log and in the broker.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.transactions.producing import add, end, ended, init, started, states
from tests.transactions.shell import Shell, partitions

from strandline.model.failures import ErrorCode, Refused
from strandline.transactions.commands import AddOffsets
from strandline.transactions.epochs import LAST_GIVEN_EPOCH, Producer
from strandline.transactions.formats import decode_record
from strandline.transactions.records import Transaction
from strandline.transactions.replies import AddOffsetsReply
from strandline.transactions.states import TransactionState
from strandline.transactions.verification import KnownProducer, TransactionalBatch, Verifications
from strandline.transactions.verification_requests import ProducerSupport, producer_error


@pytest.mark.parametrize("verify_only", [True, False])
def test_kafka_14402_a_late_produce_opens_no_hanging_transaction(verify_only: bool) -> None:
    """Row 47, KIP-890: the coordinator does not vouch for a transaction that is over, nor adds to it."""
    shell = Shell()
    producer = started(shell)
    add(shell, producer, "orders-0")
    ended(shell, producer, is_commit=True)
    shell.write_markers()
    late = add(shell, producer, "orders-0", verify_only=verify_only)
    assert late == [ErrorCode.PRODUCER_FENCED]
    assert states(shell) == {"pay": "CompleteCommit"}


def test_kafka_14884_the_transaction_is_looked_at_again_right_before_the_append() -> None:
    """Row 47: the coordinator said yes, the transaction timed out, the marker is here: the batch is not written."""
    verifications = Verifications()
    batch = TransactionalBatch(7, 0, 0)
    token = verifications.begin(batch, None, bumps_epoch=False, now_ms=0)
    assert token is not None
    verifications.verified(7, token)
    verifications.check(batch, None)
    verifications.written(7)
    with pytest.raises(Refused) as refused:
        verifications.check(batch, KnownProducer(0, is_in_transaction=False))
    assert refused.value.error_code is ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("is_commit", [True, False])
@pytest.mark.parametrize("next_is_commit", [True, False])
def test_kafka_14562_a_late_end_does_not_end_the_next_transaction(is_commit: bool, next_is_commit: bool) -> None:
    """Row 48; found by Jepsen as lost writes and torn transactions."""
    shell = Shell()
    first = started(shell)
    add(shell, first, "orders-0")
    second = ended(shell, first, is_commit=is_commit)
    shell.write_markers()
    add(shell, second, "orders-0", "orders-1")
    for outcome in (True, False):
        assert end(shell, first, is_commit=outcome).error_code is ErrorCode.PRODUCER_FENCED
    assert states(shell) == {"pay": "Ongoing"}
    ended(shell, second, is_commit=next_is_commit)
    assert [marker.is_commit for marker in shell.sent] == [next_is_commit]


def test_kafka_9666_no_epoch_is_used_up_by_writes_that_fail() -> None:
    """Row 50: the log takes nothing while a new producer comes again and again."""
    shell = Shell()
    started(shell)
    producer = started(shell)
    add(shell, producer, "orders-0")
    shell.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    for _ in range(100):
        assert init(shell).error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    shell.append_error = None
    following = ended(shell, producer, is_commit=True)
    assert following == Producer(producer.producer_id, producer.producer_epoch + 1)


@pytest.mark.parametrize("append_error", [ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.MESSAGE_TOO_LARGE])
def test_kafka_7519_nothing_stays_pending_when_the_log_fails(append_error: ErrorCode) -> None:
    """Row 50: each step fails once and works the second time."""
    shell = Shell()

    def fails_once(step: str, request: Callable[[], ErrorCode]) -> None:
        shell.append_error = append_error
        assert request() is not ErrorCode.NONE, step
        shell.append_error = None
        assert request() is ErrorCode.NONE, step

    fails_once("init", lambda: init(shell).error_code)
    # The first attempt took a producer id and gave it to nobody.
    producer = Producer(1001, 0)
    fails_once("add", lambda: add(shell, producer, "orders-0")[0])
    fails_once("end", lambda: end(shell, producer, is_commit=True).error_code)
    shell.append_error = append_error
    shell.write_markers()
    assert states(shell) == {"pay": "PrepareCommit"}
    shell.append_error = None
    shell.pass_time(1_000)
    assert states(shell) == {"pay": "CompleteCommit"}


@pytest.mark.parametrize("step_ms", [-10_000_000, -61_000, 3_600_000])
def test_kafka_8803_a_clock_that_is_set_makes_no_transaction_immortal(step_ms: int) -> None:
    """Row 51."""
    shell = Shell()
    add(shell, started(shell), "orders-0")
    shell.set_clock(step_ms)
    shell.pass_time(90_000)
    shell.write_markers()
    assert states(shell) == {"pay": "CompleteAbort"}
    following = started(shell)
    add(shell, following, "orders-0")
    ended(shell, following, is_commit=True)


def test_kip_360_a_zombie_does_not_come_back_as_a_new_producer() -> None:
    """Row 52: with its old pair a producer may recover only as long as nobody else has come."""
    shell = Shell()
    zombie = started(shell)
    recovered = init(shell, proof=zombie)
    assert recovered.error_code is ErrorCode.NONE
    assert recovered.producer_epoch == zombie.producer_epoch + 1
    successor = started(shell)
    for proof in (zombie, Producer(recovered.producer_id, recovered.producer_epoch)):
        assert init(shell, proof=proof).error_code is ErrorCode.PRODUCER_FENCED
    add(shell, successor, "orders-0")
    ended(shell, successor, is_commit=True)


def test_kafka_9307_a_coordinator_that_comes_back_keeps_nothing_of_its_former_self() -> None:
    """Rows 54 (KAFKA-9307, 15468, 15784): one fail-over after the other; the state is what the log says, each time."""
    shell = Shell()
    producer = started(shell)
    for _ in range(20):
        add(shell, producer, "orders-0", "orders-1")
        shell.restart()
        assert states(shell) == {"pay": "Ongoing"}
        producer = ended(shell, producer, is_commit=True)
        shell.restart()
        assert [marker.partitions for marker in shell.sent] == [partitions(["orders-0", "orders-1"])]
        shell.markers_written(shell.sent[0].written([(partitions(["orders-0"])[0], ErrorCode.NONE)]))
        shell.restart()
        shell.write_markers()
        assert states(shell) == {"pay": "CompleteCommit"}
        assert not shell.shard.resigned(shell.now_ms).records
        shell.restart()
    assert producer.producer_epoch == 20


def test_kafka_15784_memory_and_log_are_updated_together() -> None:
    """Row 54: at every moment a new coordinator, made from the log, says what the living one says."""
    shell = Shell()

    def compare() -> None:
        twin = Shell()
        twin.log, twin.committed = list(shell.log), len(shell.log)
        twin.restart()
        assert states(twin) == states(shell)

    producer = started(shell)
    compare()
    add(shell, producer, "orders-0")
    compare()
    init(shell)
    compare()
    shell.write_markers()
    compare()
    producer = started(shell)
    add(shell, producer, "orders-0")
    ended(shell, producer, is_commit=True)
    compare()
    shell.pass_time(100_000)
    compare()


@pytest.mark.parametrize("how", ["InitProducerId", "timeout"])
def test_kafka_6119_and_5231_whoever_lost_its_transaction_lost_its_epoch(how: str) -> None:
    """Row 56: the producer was away while its transaction was aborted, comes back and goes on."""
    shell = Shell()
    producer = started(shell)
    add(shell, producer, "orders-0")
    if how == "InitProducerId":
        assert init(shell).error_code is ErrorCode.CONCURRENT_TRANSACTIONS
    else:
        shell.pass_time(80_000)
    (marker,) = shell.sent
    assert not marker.is_commit
    # Its records are fenced where the marker is, its requests here.
    assert marker.producer_epoch > producer.producer_epoch
    assert add(shell, producer, "orders-1") == [ErrorCode.PRODUCER_FENCED]
    offsets = AddOffsets(
        transactional_id="pay",
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        offsets_partition=0,
    )
    assert shell.ask(offsets, AddOffsetsReply).error_code is ErrorCode.PRODUCER_FENCED
    assert end(shell, producer, is_commit=True).error_code is not ErrorCode.NONE
    shell.write_markers()
    assert end(shell, producer, is_commit=True).error_code is not ErrorCode.NONE
    assert add(shell, producer, "orders-1") == [ErrorCode.PRODUCER_FENCED]


@pytest.mark.parametrize("support", ProducerSupport)
def test_kafka_14034_a_producer_never_hears_unknown_server_error(support: ProducerSupport) -> None:
    """Row 58: it makes the Java client raise its epoch, and write twice."""
    for answer in ErrorCode:
        heard = producer_error(answer, support)
        assert heard is not ErrorCode.UNKNOWN_SERVER_ERROR
        assert (heard is ErrorCode.NONE) == (answer is ErrorCode.NONE)


def test_redpanda_6018_a_coordinator_that_dies_between_add_and_end_forgets_no_partition() -> None:
    """Row 59: half a transaction was committed."""
    shell = Shell()
    producer = started(shell)
    add(shell, producer, "orders-0")
    shell.restart()
    add(shell, producer, "orders-1")
    shell.restart()
    ended(shell, producer, is_commit=True)
    assert [marker.partitions for marker in shell.sent] == [partitions(["orders-0", "orders-1"])]


def test_redpanda_3232_an_abort_of_an_older_epoch_does_not_touch_the_newer() -> None:
    """Row 59."""
    shell = Shell()
    old = started(shell)
    new = started(shell)
    add(shell, new, "orders-0")
    for bumps_epoch in (True, False):
        reply = end(shell, old, is_commit=False, bumps_epoch=bumps_epoch)
        assert reply.error_code is ErrorCode.PRODUCER_FENCED
    ended(shell, new, is_commit=True)
    assert [(marker.is_commit, marker.producer_epoch) for marker in shell.sent] == [(True, new.producer_epoch + 1)]


def test_kafka_18660_epochs_run_out_without_a_gap_in_the_transactions() -> None:
    """EndTxn tells the new producer id, across fail-overs; nobody is given an epoch that could not be fenced."""
    shell = Shell()
    last = Transaction(
        state=TransactionState.EMPTY,
        producer_id=7,
        producer_epoch=LAST_GIVEN_EPOCH - 2,
        timeout_ms=60_000,
        last_update_ms=0,
    )
    shell.put("pay", last)
    shell.restart()
    producer, given = Producer(7, LAST_GIVEN_EPOCH - 2), []
    for _ in range(5):
        add(shell, producer, "orders-0")
        producer = ended(shell, producer, is_commit=True)
        given.append(producer)
        shell.restart()
        shell.write_markers()
    new_id = producer.producer_id
    assert given == [
        Producer(7, LAST_GIVEN_EPOCH - 1),
        Producer(7, LAST_GIVEN_EPOCH),
        Producer(new_id, 0),
        Producer(new_id, 1),
        Producer(new_id, 2),
    ]
    records = [decode_record(*entry) for entry in shell.log]
    assert all(
        record is not None
        and record.transaction is not None
        and (record.transaction.producer_epoch <= LAST_GIVEN_EPOCH or record.transaction.state.is_prepared)
        for record in records
    )
