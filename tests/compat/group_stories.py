"""What members of a group live through, told once for every client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tests.compat.group_members import PARTITIONS, Client, Member, read_of, share_fairly, wait_until

from strandline.testing import Broker

Produce = Callable[[str, list[bytes]], None]  # to a topic, its partitions in turn


class OpenClient(Protocol):
    def __call__(self, topic: str, group: str) -> Callable[[], Client]: ...


def values(first: int, count: int) -> list[bytes]:
    return [f"{number:06}".encode() for number in range(first, first + count)]


def three_members_share_and_one_goes(open_client: OpenClient, produce: Produce, topic: str) -> None:
    produce(topic, values(0, 60))
    opens = open_client(topic, f"{topic}-group")
    with Member(opens) as anna:
        wait_until(lambda: read_of(anna) == values(0, 60), anna)
        anna.do(lambda client: client.commit())
        with Member(opens) as bert:
            wait_until(lambda: share_fairly(anna, bert), anna, bert)
            with Member(opens) as cora:
                wait_until(lambda: share_fairly(anna, bert, cora), anna, bert, cora)
                produce(topic, values(60, 60))
                wait_until(lambda: len(read_of(anna, bert, cora)) >= 120, anna, bert, cora)
                assert read_of(anna, bert, cora) == values(0, 120)
                assert all(len(member.values) >= 20 for member in (bert, cora))
                for member in (anna, bert, cora):
                    member.do(lambda client: client.commit())
            wait_until(lambda: share_fairly(anna, bert), anna, bert)
            produce(topic, values(120, 60))
            wait_until(lambda: len(read_of(anna, bert, cora)) >= 180, anna, bert)
            assert read_of(anna, bert, cora) == values(0, 180)


def what_was_committed_is_not_read_again(open_client: OpenClient, produce: Produce, topic: str) -> None:
    produce(topic, values(0, 60))
    opens = open_client(topic, f"{topic}-group")
    with Member(opens) as first:
        wait_until(lambda: read_of(first) == values(0, 60), first)
        first.do(lambda client: client.commit())
    produce(topic, values(60, 30))
    with Member(opens) as second, Member(open_client(topic, f"{topic}-others")) as other:
        wait_until(lambda: len(read_of(second)) >= 30 and len(read_of(other)) >= 90, second, other)
    assert read_of(second) == values(60, 30)
    assert read_of(other) == values(0, 90)


def a_member_seeks(open_client: OpenClient, produce: Produce, topic: str) -> None:
    produce(topic, values(0, 60))
    with Member(open_client(topic, f"{topic}-group")) as member:
        wait_until(lambda: read_of(member) == values(0, 60), member)
        member.do(lambda client: client.seek(2, 7))
        wait_until(lambda: len(member.values) >= 63, member)
    assert sorted(member.values[60:]) == values(0, 60)[2::PARTITIONS][7:]


def members_go_on_after_a_restart(
    open_client: OpenClient, produce: Produce, topic: str, broker: Broker, how: str
) -> None:
    """Nobody reads twice what was committed, nobody misses what comes then."""
    produce(topic, values(0, PARTITIONS))
    opens = open_client(topic, f"{topic}-group")
    with Member(opens) as anna, Member(opens) as bert:
        wait_until(lambda: share_fairly(anna, bert), anna, bert)
        produce(topic, values(PARTITIONS, 60 - PARTITIONS))
        wait_until(lambda: set(read_of(anna, bert)) == set(values(0, 60)), anna, bert)
        for member in (anna, bert):
            member.do(lambda client: client.commit())
        before = len(anna.values), len(bert.values)
        broker.kill() if how == "kill" else broker.stop()
        broker.start()
        produce(topic, values(60, 60))
        wait_until(lambda: len(anna.values) + len(bert.values) >= sum(before) + 60, anna, bert)
        wait_until(lambda: share_fairly(anna, bert), anna, bert)
        assert sorted(anna.values[before[0] :] + bert.values[before[1] :]) == values(60, 60)
        for member in (anna, bert):
            member.do(lambda client: client.commit())
    with Member(opens) as later:
        wait_until(lambda: share_fairly(later), later)
        produce(topic, values(120, 6))
        wait_until(lambda: len(later.values) >= 6, later)
        assert read_of(later) == values(120, 6)
