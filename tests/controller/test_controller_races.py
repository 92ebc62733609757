"""Two things at once: what the controller knows when the second comes, and what it must not do."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.controller.shell import Shell

from strandline.controller.effects import LeaderAndIsr, TimerKind
from strandline.controller.events import DeletionRequestsSeen, IsrChangesSeen, Outcome, TimerFired, TopicSeen
from strandline.controller.replies import ControlledShutdownReply, PartitionsReply, TopicReply
from strandline.controller.requests import (
    AddPartitionsRequest,
    AlterReassignmentsRequest,
    ControlledShutdownRequest,
    CreateTopicRequest,
    DeleteTopicRequest,
)
from strandline.controller.settings import ControllerSettings
from strandline.controller.values import ReplicaAssignment, TopicAssignment
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition

ORDERS = TopicPartition("orders", 0)


def create(topic: str, *placement: tuple[int, ...], request: int = 1) -> CreateTopicRequest:
    return CreateTopicRequest(
        request=request, topic=topic, topic_id=UUID(int=request), placement=dict(enumerate(placement))
    )


def cluster_of(*broker_ids: int, replicas: tuple[int, ...] = (1, 2)) -> Shell:
    shell = Shell()
    shell.brokers(*broker_ids)
    shell.take_over(broker_ids[-1])
    shell.step(create("orders", replicas))
    return shell


def release(shell: Shell) -> None:
    shell.is_holding = False
    shell.answer_all()


# A broker restarts while something is under way.


def test_a_follower_out_of_sync_that_restarts_during_a_write_may_come_back_to_the_isr() -> None:
    """It had nothing that anybody counted on."""
    shell = cluster_of(1, 2, 3, replicas=(1, 2, 3))
    shell.change_isr(ORDERS, 1, 2)
    shell.is_holding = True
    shell.lose(2)
    shell.bounce(3)
    release(shell)
    shell.change_isr(ORDERS, 1, 3)
    assert shell.store.leaderships[ORDERS].isr == (1, 3)


def test_a_follower_out_of_sync_that_restarts_during_a_read_may_come_back_to_the_isr() -> None:
    """The read has shown that it was not in sync."""
    shell = cluster_of(1, 2)
    shell.change_isr(ORDERS, 1)
    shell.is_holding = True
    shell.step(IsrChangesSeen(frozenset({ORDERS}), ()))
    shell.bounce(2)
    release(shell)
    shell.change_isr(ORDERS, 1, 2)
    assert shell.store.leaderships[ORDERS].isr == (1, 2)


def test_a_follower_that_restarts_while_its_place_in_the_isr_is_read_is_not_trusted() -> None:
    """It may have joined before it restarted, and have lost since what it had then."""
    shell = cluster_of(1, 2)
    shell.change_isr(ORDERS, 1)
    shell.is_holding = True
    shell.store.change_isr(ORDERS, (1, 2))
    shell.step(IsrChangesSeen(frozenset({ORDERS}), ()))
    shell.bounce(2)
    release(shell)
    assert shell.store.leaderships[ORDERS].isr == (1,)


def test_a_leader_that_was_away_when_its_topic_was_made_leads_in_a_new_epoch_when_it_is_back() -> None:
    """It went while the topic was no topic yet, and is back before anything was written without it."""
    shell = Shell()
    shell.brokers(1, 2)
    shell.take_over(2)
    shell.is_holding = True
    shell.step(create("orders", (1,)))
    shell.lose(1)
    shell.answer()
    shell.lose_answer(is_written=False)
    shell.join(1)
    release(shell)
    assert (shell.store.leaderships[ORDERS].leader, shell.store.leaderships[ORDERS].leader_epoch) == (1, 1)


def test_a_follower_whose_place_in_the_isr_is_announced_after_it_has_restarted_is_not_trusted() -> None:
    """When it was restarted, nobody here knew that it mattered."""
    shell = cluster_of(1, 2)
    shell.change_isr(ORDERS, 1)
    shell.change_isr(ORDERS, 1, 2, is_notified=False)
    shell.bounce(2)
    shell.step(IsrChangesSeen(frozenset({ORDERS}), ()))
    assert shell.store.leaderships[ORDERS].isr == (1,)
    shell.change_isr(ORDERS, 1, 2)
    assert shell.store.leaderships[ORDERS].isr == (1, 2), "it has caught up in its new life"


def test_a_log_directory_that_failed_does_not_follow_a_replica_to_its_next_life() -> None:
    shell = cluster_of(1, 2, 3)
    shell.storage_error(1, ORDERS)
    shell.step(AlterReassignmentsRequest(request=2, targets={ORDERS: (2, 3)}))
    shell.change_isr(ORDERS, 2, 3)
    shell.requests.clear()
    shell.step(AlterReassignmentsRequest(request=3, targets={ORDERS: (2, 3, 1)}))
    orders = [one for one in shell.requests if isinstance(one, LeaderAndIsr) and one.broker_id == 1]
    assert [order.is_new for one in orders for order in one.partitions] == [True]


# Topics with names that cannot both be.


def test_names_under_creation_are_taken() -> None:
    shell = Shell()
    shell.brokers(1)
    shell.take_over()
    shell.is_holding = True
    shell.step(create("a.b", (1,), request=1))
    shell.step(create("a.b", (1,), request=2))
    shell.step(create("a_b", (1,), request=3))
    assert [(reply.request, reply.error_code) for reply in shell.replies if isinstance(reply, TopicReply)] == [
        (2, ErrorCode.TOPIC_ALREADY_EXISTS),
        (3, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ]
    shell.refuse(Outcome.IMPOSSIBLE)
    shell.step(create("a_b", (1,), request=4))
    release(shell)
    assert list(shell.store.topics) == ["a_b"]


# Growing and moving.


def test_a_move_asked_for_while_another_is_being_written_is_written_next() -> None:
    shell = cluster_of(1, 2, 3, 4)
    shell.is_holding = True
    shell.step(AlterReassignmentsRequest(request=2, targets={ORDERS: (3,)}))
    shell.step(AlterReassignmentsRequest(request=3, targets={ORDERS: (4,)}))
    release(shell)
    assert shell.store.topics["orders"][0].partitions[0] == ReplicaAssignment((4, 1, 2), (4,), (1, 2))
    assert [reply.request for reply in shell.replies if isinstance(reply, PartitionsReply)] == [2, 3]


def moving(shell: Shell) -> ReplicaAssignment:
    return shell.store.topics["orders"][0].partitions[0]


def all_are_in_sync(shell: Shell, *isr: int) -> None:
    """The controller has yet to read it."""
    shell.is_holding = True
    shell.store.change_isr(ORDERS, isr)
    shell.step(IsrChangesSeen(frozenset({ORDERS}), ()))


def test_a_move_that_is_just_being_completed_is_not_cancelled() -> None:
    """Its leader would not be assigned, and who is assigned not in sync."""
    shell = cluster_of(1, 2, replicas=(1,))
    shell.step(AlterReassignmentsRequest(request=2, targets={ORDERS: (2,)}))
    all_are_in_sync(shell, 1, 2)
    shell.answer()
    shell.step(AlterReassignmentsRequest(request=3, targets={ORDERS: None}))
    release(shell)
    reply = shell.replies[-1]
    assert isinstance(reply, PartitionsReply)
    assert reply.results[0].error_code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert (moving(shell), shell.store.leaderships[ORDERS].isr) == (ReplicaAssignment((2,)), (2,))


def test_a_move_that_is_just_being_cancelled_is_not_completed() -> None:
    shell = cluster_of(1, 2, replicas=(1,))
    shell.step(AlterReassignmentsRequest(request=2, targets={ORDERS: (2,)}))
    all_are_in_sync(shell, 1, 2)
    shell.step(AlterReassignmentsRequest(request=3, targets={ORDERS: None}))
    release(shell)
    assert (moving(shell), shell.store.leaderships[ORDERS].isr) == (ReplicaAssignment((1,)), (1,))


def test_a_move_that_is_replaced_while_it_is_being_completed_goes_on_to_where_it_was_sent_last() -> None:
    shell = cluster_of(1, 2, 3, replicas=(1,))
    shell.step(AlterReassignmentsRequest(request=2, targets={ORDERS: (2,)}))
    all_are_in_sync(shell, 1, 2)
    shell.answer()
    shell.step(AlterReassignmentsRequest(request=3, targets={ORDERS: (2, 3)}))
    release(shell)
    assert moving(shell) == ReplicaAssignment((2, 3, 1), (2, 3), (1,))
    shell.change_isr(ORDERS, 2, 3)
    assert (moving(shell), shell.store.leaderships[ORDERS].isr) == (ReplicaAssignment((2, 3)), (2, 3))


def test_a_move_to_where_it_is_writes_nothing() -> None:
    shell = cluster_of(1, 2)
    written = len(shell.store.written), shell.store.topics["orders"][1]
    shell.step(AlterReassignmentsRequest(request=2, targets={ORDERS: (1, 2)}))
    (reply,) = [reply for reply in shell.replies if isinstance(reply, PartitionsReply)]
    assert reply.results[0].error_code is ErrorCode.NONE
    assert (len(shell.store.written), shell.store.topics["orders"][1]) == written


def test_another_order_of_the_same_replicas_is_told_to_the_leader() -> None:
    shell = cluster_of(1, 2)
    shell.step(AlterReassignmentsRequest(request=2, targets={ORDERS: (2, 1)}))
    assert shell.store.topics["orders"][0].partitions[0] == ReplicaAssignment((2, 1))
    assert shell.store.leaderships[ORDERS].leader_epoch == 1
    assert shell.store.leaderships[ORDERS].leader == 1, "the preferred leader is elected when it is asked for"


def test_a_tool_grows_a_topic_as_we_want_to() -> None:
    """What it has put there is what there is; and those who asked for it have what they wanted."""
    shell = cluster_of(1, 2)
    shell.is_holding = True
    shell.step(AddPartitionsRequest(request=2, topic="orders", partition_count=2))
    shell.step(AddPartitionsRequest(request=3, topic="orders", partition_count=3))
    shell.lose_answer(is_written=False)
    assignment, version = shell.store.topics["orders"]
    grown = {**assignment.partitions, 1: ReplicaAssignment((2,)), 2: ReplicaAssignment((2,))}
    shell.store.topics["orders"] = (TopicAssignment(assignment.topic_id, grown), version + 1)
    release(shell)
    assert {name.partition: state.leader for name, state in shell.store.leaderships.items()} == {0: 1, 1: 2, 2: 2}
    assert sorted(reply.request for reply in shell.replies) == [1, 2, 3]
    assert not shell.controller.cluster.waiters


@pytest.mark.parametrize("assignment", [{}, {1: ReplicaAssignment((1,))}])
def test_a_topic_with_a_gap_in_its_numbers_cannot_grow(assignment: dict[int, ReplicaAssignment]) -> None:
    shell = cluster_of(1, 2)
    shell.store.topics["odd"] = (TopicAssignment(UUID(int=9), assignment), 0)
    shell.step(shell.store.topic_seen("odd"))
    shell.step(AddPartitionsRequest(request=2, topic="odd", partition_count=5))
    reply = shell.replies[-1]
    assert isinstance(reply, TopicReply)
    assert reply.error_code is ErrorCode.INVALID_PARTITIONS


# Deleting.


def test_a_deletion_waits_for_what_is_under_way() -> None:
    shell = cluster_of(1, 2)
    shell.is_holding = True
    shell.lose(1)
    shell.step(DeletionRequestsSeen(frozenset({"orders"})))
    assert not shell.entries[-1].endswith("is being deleted")
    release(shell)
    assert shell.entries[-1] == "topic orders: is being deleted"


def test_a_topic_that_is_seen_to_be_gone_before_its_removal_is_answered_was_deleted_by_us() -> None:
    shell = cluster_of(1, 2)
    shell.step(DeleteTopicRequest(request=2, topic="orders"))
    shell.answer_stops(1)
    shell.is_holding = True
    shell.answer_stops(2)
    shell.step(TopicSeen("orders", None))
    release(shell)
    assert shell.entries[-1] == "topic orders: deleted"


def test_a_broker_shuts_down_while_a_topic_it_led_is_being_deleted() -> None:
    shell = cluster_of(1, 2)
    shell.step(DeleteTopicRequest(request=2, topic="orders"))
    epoch = shell.store.brokers[1].broker_epoch
    shell.step(ControlledShutdownRequest(request=3, broker_id=1, broker_epoch=epoch))
    assert shell.replies[-1] == ControlledShutdownReply(3), "it leads nothing that others could"


def test_a_controller_that_may_not_delete_does_not_go_on_with_a_deletion() -> None:
    shell = cluster_of(1, 2)
    shell.store.deletion_requests.add("orders")
    other = Shell(ControllerSettings(delete_topic_enable=False), shell.store)
    other.take_over(2)
    other.step(DeletionRequestsSeen(frozenset({"orders"})))
    assert not shell.store.deletion_requests
    other.lose(1)
    assert shell.store.leaderships[ORDERS].leader == 2, "it is a topic like any other"


# The balance of leaders.


@pytest.mark.parametrize(("partition_count", "leader"), [(10, 2), (9, 1)])
def test_leaders_return_only_above_the_limit(partition_count: int, leader: int) -> None:
    """One of ten that broker 1 should lead is 10 %, which is not above 10; one of nine is."""
    shell = Shell()
    shell.brokers(1, 2)
    shell.take_over(2)
    shell.step(create("orders", *[(1, 2)] * partition_count))
    shell.storage_error(1, ORDERS)
    shell.repair_log_directory(1, ORDERS)
    shell.change_isr(ORDERS, 2, 1)
    shell.step(TimerFired(TimerKind.REBALANCE))
    assert shell.store.leaderships[ORDERS].leader == leader
    assert shell.timer_at_ms == 300_000
