"""What waits for a broker goes out in few letters, and in an order that means the same."""

from __future__ import annotations

from collections import deque
from uuid import UUID

from strandline.broker.controller_letters import Letter, put
from strandline.controller.effects import (
    LeaderAndIsr,
    PartitionMetadata,
    PartitionOrder,
    Request,
    StoppedReplica,
    StopReplica,
    UpdateMetadata,
)
from strandline.controller.values import Leadership, LiveBroker, ReplicaAssignment
from strandline.model.partitions import TopicPartition

TOPIC_ID = UUID(int=1)
LED = Leadership(1, 0, (1,), 1)
ME = LiveBroker(1, 10)


def order(*topics: str, is_full: bool = False) -> LeaderAndIsr:
    assignment = ReplicaAssignment((1,))
    orders = tuple(PartitionOrder(TopicPartition(topic, 0), TOPIC_ID, LED, assignment, True) for topic in topics)
    return LeaderAndIsr(1, 10, 1, 1, orders, (ME,), is_full)


def news(*topics: str) -> UpdateMetadata:
    told = tuple(PartitionMetadata(TopicPartition(topic, 0), TOPIC_ID, LED, (1,), ()) for topic in topics)
    return UpdateMetadata(((1, 10),), 1, 1, (ME,), told)


def stop(*topics: str) -> StopReplica:
    return StopReplica(1, 10, 1, 1, tuple(StoppedReplica(TopicPartition(topic, 0), 0, True) for topic in topics))


def sent(*effects: Request, broker_epochs: tuple[int, ...] = ()) -> list[str]:
    letters: deque[Letter] = deque()
    epochs = broker_epochs or (10,) * len(effects)
    for effect, broker_epoch in zip(effects, epochs, strict=True):
        put(letters, broker_epoch, effect)
    return [_text(letter.effect()) for letter in letters]


def _text(effect: Request) -> str:
    kind = {LeaderAndIsr: "order", UpdateMetadata: "news", StopReplica: "stop"}[type(effect)]
    return " ".join([kind, *(each.partition.topic for each in effect.partitions)])


def test_many_topics_are_one_letter_of_orders_and_one_of_news() -> None:
    assert sent(order("a"), news("a"), order("b"), news("b"), order("c"), news("c")) == ["order a b c", "news a b c"]


def test_a_partition_is_named_once_in_a_letter() -> None:
    assert sent(order("a"), order("a"), order("b")) == ["order a", "order a b"]
    assert sent(news("a"), news("a")) == ["news a", "news a"]


def test_nothing_overtakes_a_stop() -> None:
    assert sent(order("a"), stop("a"), order("b")) == ["order a", "stop a", "order b"]
    assert sent(stop("a"), stop("b"), news("a")) == ["stop a b", "news a"]


def test_many_topics_that_go_are_one_letter_of_news_and_one_of_stops() -> None:
    going = [effect for topic in "abc" for effect in (news(topic), stop(topic))]
    assert sent(*going) == ["news a b c", "stop a b c"]


def test_news_of_a_topic_that_comes_again_wait_for_the_stop() -> None:
    assert sent(news("a"), stop("a"), news("a"), stop("b")) == ["news a", "stop a", "news a", "stop b"]
    assert sent(order("a"), stop("b"), news("c")) == ["order a", "stop b", "news c"]


def test_news_do_not_overtake_orders() -> None:
    assert sent(news("a"), order("a", is_full=True), news("b")) == ["news a", "order a", "news b"]


def test_a_full_list_stays_what_it_is() -> None:
    assert sent(order("a", is_full=True), order("b")) == ["order a", "order b"]
    assert sent(order("a"), order("b", is_full=True)) == ["order a", "order b"]


def test_what_is_for_another_life_of_the_broker_goes_alone() -> None:
    assert sent(order("a"), order("b"), broker_epochs=(10, 12)) == ["order a", "order b"]


def test_leaders_are_named_once() -> None:
    letters: deque[Letter] = deque()
    put(letters, 10, order("a"))
    put(letters, 10, order("b"))
    effect = letters[0].effect()
    assert isinstance(effect, LeaderAndIsr)
    assert effect.leaders == (ME,)
