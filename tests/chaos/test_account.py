"""The account of a run: what it counts, what it finds, and when it calls a run void."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.broker.running_broker import batch_of
from tests.chaos import network
from tests.chaos.availability import Acknowledgements, percentiles
from tests.chaos.complaints import Complaints
from tests.chaos.nemesis import Struck
from tests.chaos.program import command_again
from tests.chaos.replica_bytes import differences
from tests.chaos.scoreboard import SOUND, UNSOUND, VOID, Scoreboard
from tests.chaos.work import Work

from strandline.history.checker import check
from strandline.history.operations import Begin, Commit, Decision, End, Operation, Outcome, Poll, Record, Send
from strandline.history.verdict import NOTHING_READ
from strandline.model.partitions import TopicPartition

S = 1_000_000
ORDERS = [TopicPartition("orders", index) for index in range(2)]


def acknowledged_at(partition: TopicPartition, *seconds: float) -> list[Operation]:
    return [
        Send(
            number, "anna", Outcome.OK, int(at * S) - 10, int(at * S), "orders", partition, f"{partition}@{at}", number
        )
        for number, at in enumerate(seconds, 1)
    ]


def read_again(operations: list[Operation]) -> Operation:
    """What was acknowledged outside of transactions."""
    records = [
        Record(each.partition, each.offset, each.value)
        for each in operations
        if isinstance(each, Send) and each.outcome is Outcome.OK and each.transaction is None
        if each.partition is not None and each.offset is not None
    ]
    return Poll(len(operations) + 1, "carl", Outcome.OK, 60 * S, 60 * S + 1, tuple(records))


ENOUGH = Work(written=100, aborted=10, copied=1000, group_commits=100)


def scoreboard_of(
    operations: list[Operation],
    *struck: Struck,
    crashes: tuple[str, ...] = (),
    at_least: int = 1,
    work: Work = ENOUGH,
    seconds: float = 60.0,
) -> Scoreboard:
    """Of a run in which what was sent was read again, and the replicas were compared."""
    verdict, acknowledgements = check([*operations, read_again(operations)]), Acknowledgements(operations)
    return Scoreboard(seconds, struck, acknowledgements, work, verdict, [], 1000, crashes, [], at_least)


def fault(name: str = "kill-leader", began_s: float = 2, ended_s: float = 10, *, has_bitten: bool = True) -> Struck:
    return Struck(name, "broker 1", int(began_s * S), ended_us=int(ended_s * S), has_bitten=has_bitten)


def test_the_partition_that_was_silent_for_longest_counts() -> None:
    """From the fault on, up to the next: not from the last record before it."""
    operations = acknowledged_at(ORDERS[0], 1, 2.5, 7, 9) + acknowledged_at(ORDERS[1], 1, 3, 4, 5, 9)
    scoreboard = scoreboard_of(operations, fault(began_s=2, ended_s=10))
    assert scoreboard.silences_s == {"kill-leader": [4.5]}
    assert "kill-leader" in str(scoreboard)
    assert scoreboard.as_fields()["acknowledged"] == 9


def test_an_account_has_its_seed_and_the_command_for_the_same_faults() -> None:
    scoreboard = scoreboard_of(acknowledged_at(ORDERS[0], 1, 2.5, 9), fault())
    asked = ["--cycles", "17", "--directory", "/tmp/x", "--seed=3", "--faults", "storm,ring"]
    scoreboard.seed, scoreboard.command = 5, command_again(asked, 5)
    again = "python -m tests.chaos --cycles 17 --faults storm,ring --seed 5"
    assert (scoreboard.as_fields()["seed"], scoreboard.as_fields()["command"]) == (5, again)
    assert str(scoreboard).endswith(f"the same faults again: {again}")
    assert command_again(["--seed", "3", "--directory=x", "--network"], 3) == "python -m tests.chaos --network --seed 3"


def test_a_client_that_was_replaced_is_told_and_many_are_no_accident() -> None:
    scoreboard = scoreboard_of(acknowledged_at(ORDERS[0], 1, 2.5, 9), fault())
    scoreboard.replaced = ["member-0 was replaced"]
    assert "client: member-0 was replaced" in str(scoreboard)
    assert scoreboard.exit_code == SOUND
    scoreboard.replaced = ["member-0 was replaced"] * 3
    assert scoreboard.exit_code == UNSOUND


def test_a_partition_that_never_came_back_was_silent_to_the_end() -> None:
    scoreboard = scoreboard_of(acknowledged_at(ORDERS[0], 1, 2.5), fault(began_s=2, ended_s=10))
    assert scoreboard.silences_s == {"kill-leader": [7.5]}


def test_records_of_transactions_count_and_their_silences_do_not() -> None:
    in_transaction = [each._replace(transaction="t1") for each in acknowledged_at(ORDERS[1], 1, 9)]  # type: ignore[call-arg]
    refused = [each._replace(outcome=Outcome.UNKNOWN, value="?") for each in acknowledged_at(ORDERS[0], 4)]  # type: ignore[call-arg]
    scoreboard = scoreboard_of([*acknowledged_at(ORDERS[0], 1, 3, 5, 8), *in_transaction, *refused], fault())
    assert scoreboard.silences_s == {"kill-leader": [3.0]}
    fields = scoreboard.as_fields()
    assert (fields["acknowledged"], fields["not_acknowledged"]) == (6, 1)


def test_percentiles_are_by_rank() -> None:
    assert percentiles([3.0, 1.0, 2.0]) == (3, 2.0, 3.0, 3.0)
    assert percentiles([float(value) for value in range(200)]) == (200, 100.0, 198.0, 199.0)


def test_a_run_that_proves_nothing_is_void() -> None:
    operations = acknowledged_at(ORDERS[0], 1, 3)
    assert scoreboard_of(operations, fault()).exit_code == SOUND
    assert scoreboard_of(operations).exit_code == VOID, "nothing happened"
    assert scoreboard_of(operations, fault(), at_least=3).exit_code == VOID, "too little traffic"
    unnoticed = scoreboard_of(operations, fault(), fault("ring", has_bitten=False))
    assert unnoticed.exit_code == VOID
    assert unnoticed.void_because == ["ring was never noticed"]


def test_a_run_of_which_nothing_was_read_or_compared_is_void() -> None:
    operations = acknowledged_at(ORDERS[0], 1, 3)
    unread = scoreboard_of(operations, fault())
    unread.verdict = check(operations)
    assert (unread.exit_code, unread.void_because) == (VOID, [NOTHING_READ])
    uncompared = scoreboard_of(operations, fault())
    uncompared.replica_bytes = 0
    assert (uncompared.exit_code, uncompared.void_because) == (VOID, ["no replicas were compared"])


def test_a_run_whose_transactions_and_groups_come_to_nothing_is_void() -> None:
    """Their clients go on after any error, so that nobody hears of it. A run that is longer owes more."""
    operations = acknowledged_at(ORDERS[0], 1, 3)
    nothing = scoreboard_of(operations, fault(), work=Work.of(operations, "copies"))
    assert nothing.exit_code == VOID
    assert nothing.void_because == [
        "only 0 transactions were written, and not 3",
        "only 0 records were copied, and not 1",
        "only 0 commits of groups were acknowledged, and not 3",
    ]
    for name in Work._fields:
        assert len(scoreboard_of(operations, fault(), work=ENOUGH._replace(**{name: 0})).void_because) == 1
    assert scoreboard_of(operations, fault(), seconds=3000, work=ENOUGH).void_because == [
        "only 100 transactions were written, and not 150",
        "only 100 commits of groups were acknowledged, and not 150",
    ]
    assert scoreboard_of(operations, fault(), work=ENOUGH._replace(written=2000)).void_because == [
        "only 10 transactions were aborted, and not 20"
    ]
    copied = Work.missing(ENOUGH._replace(copied=40), 60, 1000)
    assert copied == ["only 40 records were copied, and not 50"]


def test_who_has_written_little_need_not_have_aborted_anything() -> None:
    operations = acknowledged_at(ORDERS[0], 1, 3)
    few = Work(written=1, aborted=0, copied=1, group_commits=1)
    assert scoreboard_of(operations, fault(), seconds=18, work=few).exit_code == SOUND
    for name in ("written", "copied", "group_commits"):
        assert scoreboard_of(operations, fault(), seconds=1, work=few._replace(**{name: 0})).exit_code == VOID


def test_only_what_was_acknowledged_is_work() -> None:
    def told(name: str, topic: str, outcome: Outcome, decision: Decision) -> list[Operation]:
        return [
            Begin(1, "anna", Outcome.OK, 1, 2, name),
            Send(2, "anna", Outcome.OK, 3, 4, topic, TopicPartition(topic, 0), name, 0, name),
            Commit(3, "anna", Outcome.OK, 5, 6, "copiers", ((ORDERS[0], 1),), name),
            End(4, "anna", outcome, 7, 8, name, decision),
        ]

    def work_of(*operations: Operation) -> Work:
        return Work.of(operations, "copies")

    nothing, ok, unknown = Work(0, 0, 0, 0), Outcome.OK, Outcome.UNKNOWN
    assert work_of(*told("t1", "orders", ok, Decision.COMMIT)) == nothing._replace(written=1)
    assert work_of(*told("t1", "copies", ok, Decision.COMMIT)) == nothing._replace(copied=1)
    assert work_of(*told("t1", "orders", ok, Decision.ABORT)) == nothing._replace(aborted=1)
    for topic in ("orders", "copies"):
        assert work_of(*told("t1", topic, unknown, Decision.COMMIT)) == nothing
        assert work_of(*told("t1", topic, Outcome.ASKED, Decision.ABORT)) == nothing
        begin, _, _, end = told("t1", topic, ok, Decision.COMMIT)
        assert work_of(begin, end) == nothing, "without a record"
    begin, send, _, end = told("t1", "copies", ok, Decision.COMMIT)
    assert work_of(begin, send, end) == nothing, "nobody's offsets"
    by_group = [Commit(5, "carl", outcome, 1, 2, "kitchen", ((ORDERS[0], 1),)) for outcome in Outcome]
    assert work_of(*by_group) == nothing._replace(group_commits=1)


def test_a_broken_promise_is_worse_than_a_void_run() -> None:
    twice = [*acknowledged_at(ORDERS[0], 1), *acknowledged_at(ORDERS[0], 1)]
    conflicting = [twice[0], twice[1]._replace(value="another")]  # type: ignore[call-arg]
    assert scoreboard_of(conflicting).exit_code == UNSOUND
    assert scoreboard_of(acknowledged_at(ORDERS[0], 1), fault(), crashes=("Traceback",)).exit_code == UNSOUND


def placed(offset: int, value: bytes) -> bytes:
    batch = bytearray(batch_of(value))
    batch[:8] = offset.to_bytes(8, "big")
    return bytes(batch)


def replica(directory: Path, broker_id: int, *segments: tuple[int, bytes]) -> str:
    folder = directory / f"broker-{broker_id}" / "orders-0"
    os.makedirs(folder)
    for base_offset, content in segments:
        (folder / f"{base_offset:020}.log").write_bytes(content)
    return str(folder.parent)


def test_replicas_are_compared_below_the_high_watermark_wherever_their_segments_end(tmp_path: Path) -> None:
    a, b, c, other = placed(0, b"a"), placed(1, b"b"), placed(2, b"c"), placed(2, b"x")
    directories = {
        1: [replica(tmp_path, 1, (0, a + b + c))],
        2: [replica(tmp_path, 2, (0, a), (1, b + other))],
        3: [str(tmp_path / "nothing")],
    }
    assert differences(directories, {ORDERS[0]: 2}, {ORDERS[0]: (1, 2)}) == ([], 2 * len(a + b))
    assert len(differences(directories, {ORDERS[0]: 3}, {ORDERS[0]: (1, 2)})[0]) == 1, "other bytes"
    assert len(differences(directories, {ORDERS[0]: 2}, {ORDERS[0]: (1, 2, 3)})[0]) == 1, "no bytes"


def test_tracebacks_in_a_brokers_log_are_found(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    log.write_text("2026 WARNING slow\nfine\n")
    complaints = Complaints([str(log)])
    assert (complaints.count(), complaints.crashes()) == (1, [])
    log.write_text("fine\nTraceback (most recent call last):\n  File x\nValueError: 3\n")
    (crash,) = complaints.crashes()
    assert crash.endswith("ValueError: 3")


def test_without_namespaces_it_says_so_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "TOOLS", ("unshare", "no-such-tool"))
    monkeypatch.delenv(network.INSIDE, raising=False)
    with pytest.raises(network.NotPermitted, match="no-such-tool, which this machine does not have"):
        network.enter("tests.chaos", [])
