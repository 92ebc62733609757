"""The account of what Spark wrote: which records must be there, and what is missing, doubled or wrong."""

from __future__ import annotations

from dataclasses import replace

from tests.chaos.spark_account import SparkAccount, committed_records, judge
from tests.chaos.test_account import ORDERS, acknowledged_at, fault, scoreboard_of

from strandline.history.operations import Outcome, Poll, Record
from strandline.model.partitions import TopicPartition

EXACT = SparkAccount(records=3, batches=2, lost=0, doubled=0, wrong=0, kills=1, fell=("no broker",))


def polled(process: str, *records: Record) -> Poll:
    return Poll(9, process, Outcome.OK, 0, 1, records)


def test_what_is_acknowledged_or_committed_must_be_there() -> None:
    sent = acknowledged_at(ORDERS[0], 1, 2)
    in_transaction = acknowledged_at(ORDERS[1], 1)[0]._replace(transaction="t1")  # type: ignore[call-arg]
    unknown = acknowledged_at(ORDERS[1], 2)[0]._replace(outcome=Outcome.UNKNOWN)  # type: ignore[call-arg]
    read = polled("last", Record(ORDERS[1], 7, "seen"), Record(TopicPartition("copies", 0), 3, "elsewhere"))
    others = polled("somebody", Record(ORDERS[1], 8, "of a reader who saw only a part"))
    wanted = committed_records([*sent, in_transaction, unknown, read, others], "orders", "last")
    assert wanted == {(0, 1): "orders-0@1", (0, 2): "orders-0@2", (1, 7): "seen"}


def test_missing_doubled_and_wrong_records_are_told_apart() -> None:
    wanted = {(0, 1): "a", (0, 2): "b", (1, 0): "c"}
    found = [((0, 1), "a"), ((0, 1), "a"), ((0, 1), "a"), ((0, 2), "other"), ((1, 5), "aborted")]
    account = judge(wanted, found, batches=2, kills=0, fell=[])
    assert (account.lost, account.doubled, account.wrong, account.is_exact) == (2, 2, 2, False)
    account = judge(wanted, [((1, 0), "c"), ((0, 1), "a"), ((0, 2), "b")], batches=2, kills=1, fell=["no broker"])
    assert (account, account.is_exact, account.restarts) == (EXACT, True, 2)


def test_it_joins_the_verdict() -> None:
    scoreboard = scoreboard_of(acknowledged_at(ORDERS[0], 1, 3), fault())
    for account, code in (
        (EXACT, 0),
        (replace(EXACT, lost=1), 1),
        (replace(EXACT, doubled=1), 1),
        (replace(EXACT, wrong=1), 1),
        (replace(EXACT, held_up=("orders-in-spark-0",)), 1),
        (replace(EXACT, records=0), 3),
    ):
        scoreboard.spark = account
        assert scoreboard.exit_code == code, account
    scoreboard.spark = EXACT
    assert "Spark: 3 records in 2 batches, lost 0, doubled 0, wrong 0, 2 restarts (1 of them after kills)" in str(
        scoreboard
    )
    assert "Spark's query ended: no broker" in str(scoreboard)
