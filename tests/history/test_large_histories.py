"""However large a history is, and whatever is wrong with it: time grows with its operations, not with their pairs."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence

import pytest
from tests.history.planting import TOPIC, Line, assign, client, commit, end, operations, poll, send, trim

from strandline.history.checker import check
from strandline.history.expectations import Expectations
from strandline.history.operations import Operation

SMALL, LARGE = 500, 5000
GROWTH_MAX = 4  # of what one operation takes, over ten times as many: were it pairs that take time, it would be 10
REPEATS = 3  # the quickest counts: whatever else the machine does only adds


def claims_of_an_offset(count: int) -> list[Line]:
    return [send("anna", f"v{number}", 0) for number in range(count)]


def knots_of_two_transactions(count: int) -> list[Line]:
    lines: list[Line] = []
    for number in range(count):
        anna, bert = f"a{number}", f"b{number}"
        for partition, first, second in ((0, anna, bert), (1, bert, anna)):
            for offset, name in ((2 * number, first), (2 * number + 1, second)):
                lines.append(send(name[0], f"{name}.{partition}", offset, partition, transaction=name))
        lines += [end(name[0], name) for name in (anna, bert)]
    return lines


def jumps_to_and_fro(count: int) -> list[Line]:
    """By a consumer that its group may have moved, over what one transaction wrote."""
    sends = [send("anna", f"v{number}", number, transaction="t1") for number in range(count)]
    jumps = [poll("carl", (0, "v0")), poll("carl", (count - 1, f"v{count - 1}"))] * (count // 2)
    return [*sends, end("anna", "t1"), ("assign", {"process": "carl", "how": "subscribe"}), *jumps]


def commits_in_doubt(count: int) -> list[Line]:
    doubtful = [commit("carl", 0, outcome="unknown")] * count
    return [
        client("carl", group="kitchen"),
        commit("carl", 0),
        *doubtful,
        *[assign("carl", 0, how="rebalance")] * count,
    ]


def a_transaction_of_which_most_is_lost(count: int) -> list[Line]:
    sends = [send("anna", f"v{number}", number, transaction="t1") for number in range(count)]
    ends = [end("anna", "t1"), assign("carl", 0), poll("carl", (count - 1, f"v{count - 1}"))]
    return [*sends, *ends]


def ends_that_failed(count: int) -> list[Line]:
    """And offsets for each."""
    commits = [commit("carl", 0, transaction="t1")] * count
    return [*commits, *[end("carl", "t1", outcome="fail")] * count, end("carl", "t1")]


def lives_of_a_process(count: int) -> list[Line]:
    """It was started again after each operation, and sought, and named another clock."""
    lines: list[Line] = []
    for number in range(count):
        lines += [
            client("anna", clock=f"{number}", group="kitchen", acks=number % 2),
            send("anna", f"v{number}", number),
        ]
        lines += [assign("anna", number, how="seek"), poll("anna", (number, f"v{number}"), transaction="t1")]
        lines += [commit("anna", number), assign("anna", number, how="rebalance")]
    return [*lines, *[end("anna", "t1", outcome="unknown")] * count]


def what_is_withheld(count: int) -> list[Line]:
    """In many partitions, of many transactions; some of their records lie nowhere."""
    clocks = [client("anna", clock="here"), client("carl", clock="here", isolation="read_uncommitted")]
    lines: list[Line] = [*clocks, client("dora", clock="here")]
    for number in range(count):
        lines += [assign("carl", 0, number), assign("dora", 0, number), trim("admin", 0, number)]
        lines += [send("anna", f"v{number}", 0, number, transaction=f"t{number}"), end("anna", f"t{number}")]
        lines += [send("anna", f"x{number}", None, None, outcome="unknown", transaction=f"t{number}")]
        lines += [poll("carl", (0, f"v{number}"), partition=number)]
    return [*lines, poll("dora", began_us=10**6, ended_us=10**7)]


def trims_of_a_partition(count: int) -> list[Line]:
    """Each after a record was sent and read."""
    lines: list[Line] = [client(process, clock="here") for process in ("carl", "admin")]
    for number in range(count):
        lines += [send("anna", f"v{number}", number), poll("carl", (number, f"v{number}")), trim("admin", number)]
    return lines


def trims_by_many(count: int) -> list[Line]:
    """Each by a clock of its own."""
    trims = [trim(f"admin{number}", number) for number in range(count)]
    polls = [poll("carl", (number, f"v{number}")) for number in range(count)]
    return [*trims, *polls]


def short_commits_amid_a_long_one(count: int) -> list[Line]:
    lines = [client("carl", group="kitchen"), commit("carl", 0, ended_us=10**9)]
    for number in range(count):
        lines += [commit("carl", number), assign("carl", number, how="rebalance")]
    return lines


def long_commits(count: int) -> list[Line]:
    lines = [client("carl", group="kitchen"), commit("carl", 0)]
    for number in range(count):
        lines += [commit("carl", number, ended_us=10**9), assign("carl", number, how="rebalance")]
    return lines


def starts_of_which_nobody_knows_when(count: int) -> list[Line]:
    """Members are given a partition, and read from it only after all has been committed."""
    members = [f"m{number}" for number in range(count)]
    lines = [client(member, group="kitchen", clock="here") for member in ("carl", *members)]
    lines += [send("anna", "a", count), commit("carl", 0)]
    lines += [assign(member, how="rebalance", began_us=10**6) for member in members]
    lines += [commit("carl", count - number, began_us=10**6 + number) for number in range(count)]
    return [*lines, *[poll(member, (count, "a"), began_us=10**7) for member in members]]


def one_value_sent_ever_again(count: int) -> list[Line]:
    """And the end of its log is lost."""
    clocks = [client(process, clock="here") for process in ("carl", "dora")]
    sends = [send("anna", "a", number) for number in range(count)]
    reads = [assign("carl", 0), *[poll("carl", (number, "a")) for number in range(count)]]
    return [*clocks, *sends, *reads, assign("dora", 0), poll("dora")]


def one_value_acknowledged_ever_again(count: int) -> list[Line]:
    """At one place, and read at many."""
    sends = [send("anna", "a", 0) for _ in range(count)]
    return [*sends, assign("carl", 0), *[poll("carl", (number, "a")) for number in range(2 * count)]]


def sends_without_offsets_amid_trims(count: int) -> list[Line]:
    """In many partitions, or nobody knows in which."""
    lines: list[Line] = [client(process, clock="here") for process in ("anna", "admin")]
    for number in range(count):
        lines += [send("anna", f"v{number}", 0, number), trim("admin", 1, number), trim("admin", number)]
        lines += [
            send("anna", f"x{number}"),
            send("anna", f"y{number}", None, None, transaction="t1", outcome="unknown"),
        ]
    return [*lines, end("anna", "t1")]


def offsets_that_were_aborted(count: int) -> list[Line]:
    """And a group that begins there, or elsewhere, ever again."""
    lines: list[Line] = [client(process, group="kitchen", clock="here") for process in ("anna", "carl")]
    lines += [send("anna", f"v{number}", number) for number in range(count)]
    for number in range(count):
        name = f"t{number}"
        lines += [commit("carl", number % 7, transaction=name), end("carl", name, "abort")]
        lines += [assign("carl", number, how="rebalance"), assign("carl", 3, how="rebalance")]
    return lines


def one_record_consumed_ever_again(count: int) -> list[Line]:
    """By each on purpose."""
    lines = [client("carl", group="kitchen"), send("anna", "a", 0)]
    for number in range(count):
        name = f"t{number}"
        lines += [assign("carl", 0, how="seek"), poll("carl", (0, "a"), transaction=name)]
        lines += [commit("carl", 1, transaction=name), end("carl", name)]
    return lines


def long_polls(count: int) -> list[Line]:
    """Half of them went past one record."""
    sends = [send("anna", f"v{number}", number) for number in range(count)]
    records = [[TOPIC, 0, number, f"v{number}"] for number in range(0, count, 2)]
    return [*sends, assign("carl", 0), ("poll", {"process": "carl", "records": records})]


@pytest.mark.parametrize(
    "history",
    [
        claims_of_an_offset,
        knots_of_two_transactions,
        jumps_to_and_fro,
        commits_in_doubt,
        a_transaction_of_which_most_is_lost,
        ends_that_failed,
        lives_of_a_process,
        what_is_withheld,
        trims_of_a_partition,
        trims_by_many,
        short_commits_amid_a_long_one,
        long_commits,
        starts_of_which_nobody_knows_when,
        one_value_sent_ever_again,
        one_value_acknowledged_ever_again,
        sends_without_offsets_amid_trims,
        offsets_that_were_aborted,
        one_record_consumed_ever_again,
        long_polls,
    ],
)
def test_time_grows_with_the_operations(history: Callable[[int], list[Line]]) -> None:
    assert operation_seconds(history(LARGE)) < GROWTH_MAX * operation_seconds(history(SMALL))


def operation_seconds(history: Sequence[Line]) -> float:
    """Of CPU. Nothing is collected meanwhile: that takes as long as the other tests of the process left things."""
    done = operations(*history)
    gc.disable()
    try:
        return min(check_seconds(done) for _ in range(REPEATS)) / len(done)
    finally:
        gc.enable()


def check_seconds(done: Sequence[Operation]) -> float:
    began_s = time.process_time()
    check(done, Expectations(is_read_to_end=True, is_every_writer_recorded=True))
    return time.process_time() - began_s
