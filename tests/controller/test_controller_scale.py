"""Many topics: what happens to one costs nothing for the others."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from tests.controller.shell import Shell

from strandline.controller.cluster import Topic
from strandline.controller.draft import CHANGES_PER_WRITE_MAX
from strandline.controller.effects import LeaderAndIsr, UpdateMetadata, Write
from strandline.controller.replies import TopicReply
from strandline.controller.requests import CreateTopicRequest, DeleteTopicRequest
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition


class NotToBeWalked(dict[str, Topic]):
    def __iter__(self) -> Iterator[str]:
        raise AssertionError("all topics were walked through for one")

    keys = values = items = __iter__  # type: ignore[assignment]


def one_broker() -> Shell:
    shell = Shell()
    shell.brokers(1)
    shell.take_over()
    return shell


def create(shell: Shell, number: int, partition_count: int = 1) -> None:
    shell.step(
        CreateTopicRequest(
            request=number, topic=f"topic-{number}", topic_id=UUID(int=number + 1), partition_count=partition_count
        )
    )


def test_creating_a_thousand_topics_walks_through_none() -> None:
    """One machine, one broker: each topic is one write, one order and one piece of news, however many there are."""
    shell = one_broker()
    shell.requests.clear()
    topics = shell.controller.cluster.topics = NotToBeWalked()
    for number in range(1_000):
        create(shell, number)
    assert len(topics) == len(shell.store.topics) == 1_000
    assert len(shell.replies) == 1_000
    assert len(shell.requests) == 2_000
    assert all(len(one.partitions) == 1 for one in shell.requests)
    shell.step(DeleteTopicRequest(request=1, topic="topic-500"))
    shell.answer_stops(1)
    assert "topic-500" not in shell.store.topics


def test_a_thousand_requests_under_way_at_once_are_a_thousand_writes_at_once() -> None:
    """Nothing waits for another topic's write, so that a store can take them all in one go."""
    shell = one_broker()
    shell.is_holding = True
    for number in range(1_000):
        create(shell, number)
    assert len(shell.open) == 1_000
    shell.is_holding = False
    shell.answer_all()
    assert len(shell.store.leaderships) == 1_000


def test_a_topic_of_many_partitions_is_written_in_pieces() -> None:
    shell = one_broker()
    shell.is_holding = True
    create(shell, 1, partition_count=3 * CHANGES_PER_WRITE_MAX)
    (first,) = shell.open
    assert isinstance(first, Write)
    assert len(first.changes) == 1 + CHANGES_PER_WRITE_MAX
    shell.answer()
    assert [len(write.changes) for write in shell.open if isinstance(write, Write)] == [CHANGES_PER_WRITE_MAX] * 2
    assert not shell.replies, "it cannot be used as a whole yet"
    shell.is_holding = False
    shell.answer_all()
    assert len(shell.store.leaderships) == 3 * CHANGES_PER_WRITE_MAX
    (reply,) = shell.replies
    assert isinstance(reply, TopicReply)
    assert reply.error_code is ErrorCode.NONE


def test_a_lost_broker_is_dealt_with_in_few_writes_and_one_request_each() -> None:
    shell = Shell()
    shell.brokers(1, 2)
    shell.take_over(2)
    placement = dict.fromkeys(range(1_000), (1, 2))
    shell.step(CreateTopicRequest(request=1, topic="wide", topic_id=UUID(int=1), placement=placement))
    shell.is_holding = True
    shell.requests.clear()
    shell.lose(1)
    assert len(shell.open) == 1_000 / CHANGES_PER_WRITE_MAX
    shell.is_holding = False
    shell.answer_all()
    assert {state.leader for state in shell.store.leaderships.values()} == {2}
    assert len([one for one in shell.requests if isinstance(one, LeaderAndIsr)]) == 1_000 / CHANGES_PER_WRITE_MAX
    told = [one for one in shell.requests if isinstance(one, UpdateMetadata)]
    assert sum(len(one.partitions) for one in told) == 1_000


def test_a_broker_that_has_nothing_to_do_with_a_topic_hears_of_it_once() -> None:
    shell = Shell()
    shell.brokers(1, 2, 3)
    shell.take_over()
    shell.requests.clear()
    shell.step(CreateTopicRequest(request=1, topic="a", topic_id=UUID(int=1), placement={0: (1, 2)}))
    orders = {one.broker_id for one in shell.requests if isinstance(one, LeaderAndIsr)}
    (news,) = [one for one in shell.requests if isinstance(one, UpdateMetadata)]
    assert orders == {1, 2}
    assert [broker_id for broker_id, _ in news.recipients] == [1, 2, 3]
    assert [told.partition for told in news.partitions] == [TopicPartition("a", 0)]
