"""`strandline explain` for every place that a record can be in."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from strandline.cli.explain import Wanted, explanation
from strandline.cli.main import cli
from strandline.client.replicas import Replica
from strandline.client.view import PartitionView
from strandline.model.partitions import TopicPartition
from strandline.wire.messages.describe_replicas import FollowerDescription, RecordPlace, ReplicaDescription

ORDERS = TopicPartition("orders", 0)
VIEW = PartitionView(0, 1, 4, (1, 2, 3), (1, 2))


def place(**changes: bool) -> RecordPlace:
    return RecordPlace(0, 4096, 40, 49, 4, 500, 1_700_000_000_000, 7, **changes)


def described(found: RecordPlace | None, in_sync: tuple[int, ...] = (1, 2)) -> list[Replica]:
    """Log start 10, last stable 50, high watermark 60, log end 70; 2 ends at 60, nobody hears of 3."""
    followers = [FollowerDescription(2, 60, 5, 40, 2 in in_sync), FollowerDescription(3)]
    places = [] if found is None else [found]
    leader = ReplicaDescription(0, 0, True, 4, 10, 50, 60, 70, 2, None, followers, places)
    second = ReplicaDescription(0, 0, False, 4, 10, 50, 58, 60, places=[])
    return [
        Replica(ORDERS, 1, leader, None),
        Replica(ORDERS, 2, second, followers[0]),
        Replica(ORDERS, 3, None, followers[1], "no broker at 127.0.0.1:1"),
    ]


@pytest.mark.parametrize(
    ("offset", "found", "visible"),
    [
        (9, None, "to nobody: the log begins at 10, what was before has been deleted"),
        (45, place(), "to every consumer"),
        (45, None, "to nobody: compaction has removed it"),
        (45, place(is_transactional=True, is_control=True), "to nobody: it is the marker that ends a transaction"),
        (
            45,
            place(is_transactional=True, is_aborted=True),
            "to read_uncommitted consumers only: its transaction was aborted",
        ),
        (
            55,
            place(is_transactional=True),
            (
                "to read_uncommitted consumers only: a transaction is open since offset 50;"
                " `strandline transaction find-hanging` says whose"
            ),
        ),
        (
            65,
            place(),
            "to followers only: it is above the high watermark; in-sync replicas that do not have it yet: 2 ends at 60",
        ),
        (70, None, "to nobody: it has not been written, the log ends at 70"),
    ],
)
def test_who_may_see_it(offset: int, found: RecordPlace | None, visible: str) -> None:
    says = explanation(Wanted(ORDERS, offset), VIEW, described(found))["says"]
    assert says[-1] == f"visible       {visible}"
    assert "unknown       broker 3: no broker at 127.0.0.1:1" in says


def test_too_few_in_sync_hold_everything_back() -> None:
    view = PartitionView(0, 1, 4, (1, 2, 3), (1,))
    says = explanation(Wanted(ORDERS, 65), view, described(place(), in_sync=(1,)))["says"]
    assert says[-1].endswith("in sync are 1, fewer than min.insync.replicas=2, so it stands still")


def test_without_a_leader_nobody_sees_anything() -> None:
    view = PartitionView(0, -1, 4, (1, 2, 3), (1,))
    found = explanation(Wanted(ORDERS, 45), view, described(place())[1:])
    assert found["leader"] is None
    assert found["says"][-1] == "leader        none answers: nobody can read or write orders-0 now"


@pytest.mark.parametrize("name", ["orders", "orders/0", "orders@5", "orders/x@5", "orders/0@-1", "/0@5"])
def test_what_names_no_record(name: str) -> None:
    outcome = CliRunner().invoke(cli, ["explain", name])
    assert outcome.exit_code == 2
    assert "write TOPIC/PARTITION@OFFSET, as in orders/0@47" in outcome.output
