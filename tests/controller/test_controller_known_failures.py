"""Failures that controllers have had before: each has a test here, named by the row of the list it comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

import pytest
from tests.controller.shell import Shell
from tests.controller.store_twin import StoreTwin

from strandline.controller.effects import LeaderAndIsr, ReadTopic, StopReplica, UpdateMetadata, Write
from strandline.controller.events import (
    BrokersSeen,
    ControllerMoved,
    DeletionRequestsSeen,
    IsrChangesSeen,
    LeaderAndIsrAnswered,
    LogDirFailuresSeen,
    StopReplicaAnswered,
    TopicSeen,
    UpdateMetadataAnswered,
)
from strandline.controller.replies import ControlledShutdownReply, PartitionsReply, TopicReply
from strandline.controller.requests import (
    AddPartitionsRequest,
    AlterReassignmentsRequest,
    ControlledShutdownRequest,
    CreateTopicRequest,
    DeleteTopicRequest,
    ElectionKind,
    ElectLeadersRequest,
)
from strandline.controller.values import NO_LEADER, LiveBroker, ReplicaAssignment, TopicAssignment
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition

ORDERS = TopicPartition("orders", 0)


def cluster_of(*broker_ids: int, replicas: tuple[int, ...] = (1, 2)) -> Shell:
    """A controller, and one topic with one partition."""
    shell = Shell()
    shell.brokers(*broker_ids)
    shell.take_over()
    shell.step(create("orders", replicas))
    return shell


def create(topic: str, *placement: tuple[int, ...], request: int = 1) -> CreateTopicRequest:
    identity = UUID(int=sum(topic.encode()))
    return CreateTopicRequest(request=request, topic=topic, topic_id=identity, placement=dict(enumerate(placement)))


def test_old_controller_writes_nothing_kafka_6082() -> None:
    """Row 17. Every write is checked with the epoch under which it was decided; one that fails ends the controller."""
    shell = cluster_of(1, 2)
    shell.is_holding = True
    shell.store.controller_epoch += 1  # another has won
    shell.lose(1)
    writes = [call for call in shell.open if isinstance(call, Write)]
    assert [write.controller_epoch_version for write in writes] == [shell.store.controller_epoch_version - 1]
    requests_before = list(shell.requests)
    shell.answer()
    assert shell.resigned
    assert shell.store.leaderships[ORDERS].leader == 1
    assert shell.requests == requests_before
    shell.join(1)
    assert shell.requests == requests_before, "nobody hears of it any more"


def test_a_broker_that_knows_a_newer_controller_ends_the_old_one() -> None:
    shell = cluster_of(1, 2)
    shell.step(UpdateMetadataAnswered(2, shell.store.brokers[2].broker_epoch, ErrorCode.STALE_CONTROLLER_EPOCH))
    assert shell.resigned


def test_a_state_written_by_a_newer_controller_ends_the_old_one() -> None:
    shell = cluster_of(1, 2)
    newer = Shell(store=shell.store)
    newer.take_over(2)
    newer.lose(1)
    shell.step(IsrChangesSeen(frozenset({ORDERS}), ()))
    assert shell.resigned


def test_whoever_waits_is_told_when_the_controller_moves() -> None:
    shell = cluster_of(1, 2, 3)
    shell.is_holding = True
    shell.step(create("later", (1,), request=2))
    shell.step(AlterReassignmentsRequest(request=3, targets={ORDERS: (3, 2)}))
    shell.step(ControlledShutdownRequest(request=4, broker_id=1, broker_epoch=shell.store.brokers[1].broker_epoch))
    shell.step(DeleteTopicRequest(request=5, topic="orders"))
    shell.step(ControllerMoved("the session is over"))
    answers = {reply.request: reply for reply in shell.replies}
    for request in (2, 4, 5):
        reply = answers[request]
        assert isinstance(reply, TopicReply | ControlledShutdownReply)
        assert reply.error_code is ErrorCode.NOT_CONTROLLER
    moved = answers[3]
    assert isinstance(moved, PartitionsReply)
    assert [result.error_code for result in moved.results] == [ErrorCode.NOT_CONTROLLER]


def test_delayed_control_request_cannot_hit_a_restarted_broker_kafka_7235() -> None:
    """Row 18. Every request carries the epoch of the broker it is for, and follows a registration at once."""
    shell = cluster_of(1, 2)
    shell.requests.clear()
    shell.bounce(2)
    epochs = {broker_id: broker.broker_epoch for broker_id, broker in shell.store.brokers.items()}
    assert shell.requests
    for request in shell.requests:
        match request:
            case LeaderAndIsr() | StopReplica():
                assert request.broker_epoch == epochs[request.broker_id]
            case UpdateMetadata():
                assert dict(request.recipients) == {one: epochs[one] for one, _ in request.recipients}


def test_registration_during_a_write_does_not_miss_what_follows_kafka_9839() -> None:
    """Row 18. The requests are made when the write is done, with the newest epochs; none was kept from before."""
    shell = cluster_of(1, 2, 3, replicas=(1, 2, 3))
    shell.is_holding = True
    shell.lose(1)
    shell.bounce(2)
    epoch = shell.store.brokers[2].broker_epoch
    shell.requests.clear()
    shell.is_holding = False
    shell.answer_all()
    orders = [one for one in shell.requests if isinstance(one, LeaderAndIsr) and one.broker_id == 2]
    assert {request.broker_epoch for request in orders} == {epoch}
    assert orders[-1].partitions[0].leadership == shell.store.leaderships[ORDERS]


def test_answers_of_an_earlier_life_mean_nothing() -> None:
    shell = cluster_of(1, 2)
    old = shell.store.brokers[1].broker_epoch
    shell.bounce(1)
    shell.change_isr(ORDERS, 2, 1)
    state = shell.store.leaderships[ORDERS]
    shell.step(LeaderAndIsrAnswered(1, old, partitions={ORDERS: ErrorCode.KAFKA_STORAGE_ERROR}))
    shell.step(StopReplicaAnswered(1, old, partitions={ORDERS: ErrorCode.NONE}))
    assert shell.store.leaderships[ORDERS] == state


def test_stale_list_of_brokers_does_not_bring_an_old_epoch_back() -> None:
    shell = cluster_of(1, 2)
    old = shell.store.brokers[2]
    shell.bounce(2)
    shell.step(BrokersSeen((shell.store.brokers[1], old)))
    assert shell.controller.cluster.brokers[2].broker_epoch > old.broker_epoch


def test_written_but_answer_lost_is_success_kafka_14144() -> None:
    """Row 19. The state found is the state wanted: it is told to the replicas, and not written again."""
    shell = cluster_of(1, 2)
    shell.is_holding = True
    shell.lose(1)
    shell.requests.clear()
    shell.lose_answer(is_written=True)
    assert not [one for one in shell.requests if isinstance(one, LeaderAndIsr)], "not known yet, so not told yet"
    shell.is_holding = False
    shell.answer_all()
    assert len(shell.store.written) == 2
    told = [one for one in shell.requests if isinstance(one, LeaderAndIsr)]
    assert [request.partitions[0].leadership for request in told] == [shell.store.leaderships[ORDERS]]


def test_isr_changed_meanwhile_is_read_and_decided_again() -> None:
    """Row 19, the other half: BadVersion is not the end."""
    shell = cluster_of(1, 2, 3, replicas=(1, 2, 3))
    shell.change_isr(ORDERS, 1, 3, is_notified=False)
    shell.lose(1)
    assert shell.store.leaderships[ORDERS].leader == 3, "2 has left the ISR, which we did not know"


@pytest.mark.parametrize("is_written", [True, False])
def test_one_partition_of_many_that_was_changed_does_not_hold_up_the_others(is_written: bool) -> None:
    shell = Shell()
    shell.brokers(1, 2)
    shell.take_over()
    shell.step(create("orders", *[(1, 2)] * 5))
    shell.change_isr(ORDERS, 1, is_notified=False)
    shell.is_holding = True
    shell.lose(1)
    if is_written:
        shell.answer()
    else:
        shell.lose_answer(is_written=False)
    shell.is_holding = False
    shell.answer_all()
    leaders = {name.partition: state.leader for name, state in shell.store.leaderships.items()}
    assert leaders == {0: NO_LEADER, 1: 2, 2: 2, 3: 2, 4: 2}
    again = [line for line in shell.lines if line.startswith("write #4")]
    assert [line.count("set partition") for line in again] == [1], "each goes alone, so that it fails alone"


def test_split_brain_one_leader_for_each_epoch_kafka_1483() -> None:
    """Row 25. Two controllers at once, each sure of itself: for an epoch there is one leader."""
    store = StoreTwin()
    old = Shell(store=store)
    old.brokers(1, 2, 3)
    old.take_over(1)
    old.step(create("orders", (1, 2, 3)))
    old.is_holding = True
    del store.brokers[1]
    old.see_brokers()
    new = Shell(store=store)
    new.take_over(2)
    old.is_holding = False
    old.answer_all()
    new.lose(2)
    by_epoch: dict[int, set[int]] = {}
    for _, leadership in store.written:
        by_epoch.setdefault(leadership.leader_epoch, set()).add(leadership.leader)
    assert by_epoch == {0: {1}, 1: {2}, 2: {3}}
    assert old.resigned


def test_deletion_waits_for_a_broker_that_is_down() -> None:
    """A replica that was away must not bring the topic back; and nobody may make another of that name meanwhile."""
    shell = cluster_of(1, 2)
    shell.lose(2)
    shell.step(DeleteTopicRequest(request=2, topic="orders"))
    shell.answer_stops(1)
    assert "orders" in shell.store.topics
    shell.take_over(1)  # another controller waits as well
    shell.answer_stops(1)
    assert "orders" in shell.store.topics
    shell.step(create("orders", (1,), request=3))
    assert isinstance(shell.replies[-1], TopicReply)
    assert shell.replies[-1].error_code is ErrorCode.TOPIC_ALREADY_EXISTS
    shell.join(2)
    shell.answer_stops(2)
    assert not shell.store.topics
    assert not shell.store.leaderships
    assert not shell.store.deletion_requests


def test_broker_lost_while_it_deletes() -> None:
    shell = cluster_of(1, 2)
    shell.step(DeleteTopicRequest(request=2, topic="orders"))
    shell.answer_stops(1)
    shell.lose(2)
    shell.join(2)
    shell.answer_stops(2)
    assert not shell.store.topics


def test_isr_holds_no_broker_that_shuts_down_kafka_14140() -> None:
    """Row 13. Its leader has taken it back before it is gone: it is put out again, and told to stop again."""
    shell = cluster_of(1, 2)
    epoch = shell.store.brokers[2].broker_epoch
    shell.step(ControlledShutdownRequest(request=2, broker_id=2, broker_epoch=epoch))
    assert shell.store.leaderships[ORDERS].isr == (1,)
    shell.requests.clear()
    shell.change_isr(ORDERS, 1, 2)
    assert shell.store.leaderships[ORDERS].isr == (1,)
    assert [one.broker_id for one in shell.requests if isinstance(one, StopReplica)] == [2]


def test_isr_holds_nobody_who_is_not_a_replica_kafka_9672() -> None:
    """Row 13. A move was cancelled, and its leader had not heard of it yet."""
    shell = cluster_of(1, 2, 3)
    shell.step(AlterReassignmentsRequest(request=2, targets={ORDERS: (1, 2, 3)}))
    shell.is_holding = True
    shell.step(AlterReassignmentsRequest(request=3, targets={ORDERS: None}))
    shell.store.change_isr(ORDERS, (1, 2, 3))
    shell.is_holding = False
    shell.answer_all()
    shell.step(IsrChangesSeen(frozenset({ORDERS}), ()))
    assert shell.store.leaderships[ORDERS].isr == (1, 2)
    assert shell.store.topics["orders"][0].partitions[0] == ReplicaAssignment((1, 2))


def test_cancelling_does_not_drop_the_only_one_in_sync() -> None:
    """Both old replicas are lost; only the new one has every record."""
    shell = cluster_of(1, 2, 3, 4)
    shell.step(AlterReassignmentsRequest(request=2, targets={ORDERS: (3, 4)}))
    shell.change_isr(ORDERS, 1, 2, 3)
    shell.lose(1, 2)
    assert shell.store.leaderships[ORDERS].isr == (3,)
    shell.step(AlterReassignmentsRequest(request=3, targets={ORDERS: None}))
    reply = shell.replies[-1]
    assert isinstance(reply, PartitionsReply)
    assert reply.results[0].error_code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert shell.store.leaderships[ORDERS].leader == 3
    shell.join(1, 2)
    shell.change_isr(ORDERS, 3, 1)
    shell.step(AlterReassignmentsRequest(request=4, targets={ORDERS: None}))
    assert shell.store.leaderships[ORDERS].leader == 1, "now there is somebody to go back to"


def test_logs_that_may_exist_are_not_taken_for_new() -> None:
    """A broker that lost the directory of a log would make an empty one elsewhere if it was told that it is new."""
    shell = cluster_of(1, 2)
    other = Shell(store=shell.store)
    held, shell.store.topics = shell.store.topics, {}
    other.take_over(2)  # it has not seen the topic
    shell.store.topics = held
    other.step(shell.store.topic_seen("orders"))
    orders = [order for one in other.requests if isinstance(one, LeaderAndIsr) for order in one.partitions]
    assert [order.leadership for order in orders] == [shell.store.leaderships[ORDERS]] * 2
    assert not any(order.is_new for order in orders)


def test_a_topic_may_allow_unclean_elections_from_its_first_day() -> None:
    shell = Shell()
    shell.brokers(1, 2)
    shell.take_over(2)
    properties = {"unclean.leader.election.enable": "true"}
    request = create("orders", (1, 2))
    shell.step(replace(request, properties=properties))
    shell.change_isr(ORDERS, 1)
    shell.lose(1)
    assert shell.store.leaderships[ORDERS].leader == 2
    assert shell.store.leaderships[ORDERS].is_recovering


def test_a_failed_log_directory_takes_only_its_partitions() -> None:
    shell = Shell()
    shell.brokers(1, 2)
    shell.take_over(2)
    shell.step(create("orders", (1, 2), (1, 2)))
    shell.step(LogDirFailuresSeen(frozenset({1}), ("log_dir_event_0000000001",)))
    shell.storage_error(1, ORDERS)
    leaders = {name.partition: state.leader for name, state in shell.store.leaderships.items()}
    assert leaders == {0: 2, 1: 1}


def test_a_leader_that_is_back_is_not_told_to_lead_on_for_a_directory_that_its_earlier_life_has_lost() -> None:
    """Its notice comes after its return: as long as nothing is decided, there is nothing to order (seed 1897581880)."""
    shell = cluster_of(1, 2)
    shell.is_holding = True
    shell.bounce(1)
    shell.requests.clear()
    shell.step(LogDirFailuresSeen(frozenset({1}), ("log_dir_event_0000000001",)))
    assert [one for one in shell.requests if isinstance(one, LeaderAndIsr)] == []
    shell.is_holding = False
    shell.answer_all()
    orders = [one for one in shell.requests if isinstance(one, LeaderAndIsr) and one.broker_id == 1]
    assert orders[-1].partitions[0].leadership == shell.store.leaderships[ORDERS]
    assert shell.store.leaderships[ORDERS].leader == 2


def test_a_topic_without_replicas_in_the_store_is_left_alone() -> None:
    """What a tool has written badly must not stop the controller."""
    shell = cluster_of(1, replicas=(1,))
    shell.store.topics["bad"] = (TopicAssignment(UUID(int=9), {0: ReplicaAssignment(())}), 0)
    shell.step(shell.store.topic_seen("bad"))
    shell.take_over(1)
    shell.step(ElectLeadersRequest(request=2, kind=ElectionKind.PREFERRED, partitions=None))
    shell.step(DeletionRequestsSeen(frozenset({"bad"})))
    assert "bad" not in shell.store.topics
    assert shell.store.leaderships[ORDERS].leader == 1


def test_a_topic_that_vanished_from_the_store_is_forgotten() -> None:
    """It is not tried again and again."""
    shell = cluster_of(1, 2)
    del shell.store.topics["orders"]
    del shell.store.leaderships[ORDERS]
    shell.lose(1)
    assert "orders" not in shell.controller.cluster.topics


def test_a_new_topic_that_vanished_before_it_had_leaders_is_forgotten() -> None:
    shell = cluster_of(1, 2)
    shell.step(TopicSeen("ghost", TopicAssignment(UUID(int=9), {0: ReplicaAssignment((1,))}), 0))
    assert "ghost" not in shell.controller.cluster.topics


def test_a_topic_that_was_made_anew_under_our_eyes_is_another() -> None:
    shell = cluster_of(1, 2)
    del shell.store.leaderships[ORDERS]
    shell.store.topics["orders"] = (TopicAssignment(UUID(int=77), {0: ReplicaAssignment((2,))}), 0)
    shell.step(shell.store.topic_seen("orders"))
    assert shell.store.leaderships[ORDERS].leader == 2
    assert shell.controller.cluster.topics["orders"].topic_id == UUID(int=77)


def test_address_of_a_broker_changes() -> None:
    shell = cluster_of(1, 2)
    shell.requests.clear()
    shell.store.brokers[2] = LiveBroker(2, shell.store.brokers[2].broker_epoch, (), "elsewhere")
    shell.see_brokers()
    (update,) = shell.requests
    assert isinstance(update, UpdateMetadata)
    assert update.brokers[1].rack == "elsewhere"


def test_topic_written_while_its_creation_was_unknown_is_not_written_twice() -> None:
    shell = Shell()
    shell.brokers(1)
    shell.take_over()
    shell.is_holding = True
    shell.step(create("orders", (1,)))
    shell.lose_answer(is_written=True)
    assert shell.open == [ReadTopic("orders")]
    shell.is_holding = False
    shell.answer_all()
    assert shell.replies == [TopicReply(1, "orders", assignment={0: (1,)})]
    assert len(shell.store.written) == 1


def test_a_broker_that_restarts_while_a_first_leadership_is_unknown_is_trusted_with_it() -> None:
    """There is nothing yet that it could have lost."""
    shell = Shell()
    shell.brokers(1)
    shell.take_over()
    shell.store.topics["orders"] = (TopicAssignment(UUID(int=1), {0: ReplicaAssignment((1,))}), 0)
    shell.is_holding = True
    shell.step(shell.store.topic_seen("orders"))
    shell.lose_answer(is_written=False)
    shell.bounce(1)
    shell.is_holding = False
    shell.answer_all()
    assert shell.store.leaderships[ORDERS].leader == 1


def test_a_topic_is_deleted_while_nobody_knows_whether_it_has_grown() -> None:
    shell = cluster_of(1, 2)
    shell.is_holding = True
    shell.step(DeleteTopicRequest(request=2, topic="orders"))
    shell.step(AddPartitionsRequest(request=3, topic="orders", partition_count=2))
    shell.answer()
    shell.lose_answer(is_written=True)
    shell.is_holding = False
    shell.answer_all()
    shell.answer_stops(1)
    shell.answer_stops(2)
    assert not shell.store.topics
    assert {reply.request: reply.error_code for reply in shell.replies if isinstance(reply, TopicReply)} == {
        1: ErrorCode.NONE,
        2: ErrorCode.NONE,
        3: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_a_partition_that_is_still_being_added_cannot_be_moved() -> None:
    shell = cluster_of(1, 2)
    shell.is_holding = True
    shell.step(AddPartitionsRequest(request=2, topic="orders", partition_count=2))
    shell.step(AlterReassignmentsRequest(request=3, targets={TopicPartition("orders", 1): (1,)}))
    (reply,) = [reply for reply in shell.replies if isinstance(reply, PartitionsReply)]
    assert [result.error_code for result in reply.results] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    shell.is_holding = False
    shell.answer_all()
    assert shell.replies[-1].request == 2


# Fail-over in the middle of anything (SPEC R7).

Step = Callable[[Shell], None]


def answer_all_stops(shell: Shell) -> None:
    for broker_id in (1, 2, 3, 4):
        shell.answer_stops(broker_id)


STORY: list[Step] = [
    lambda shell: shell.step(create("orders", (1, 2), (2, 3), (3, 1))),
    lambda shell: shell.step(AddPartitionsRequest(request=9, topic="orders", partition_count=4)),
    lambda shell: shell.lose(3),
    lambda shell: shell.join(3),
    lambda shell: shell.change_isr(TopicPartition("orders", 1), 2, 3),
    lambda shell: shell.step(
        AlterReassignmentsRequest(request=2, targets={ORDERS: (3, 4), TopicPartition("orders", 1): (2,)})
    ),
    lambda shell: shell.lose(4),
    lambda shell: shell.join(4),
    lambda shell: shell.change_isr(ORDERS, 1, 2, 3, 4) if shell.store.leaderships[ORDERS].leader == 1 else None,
    lambda shell: shell.change_isr(TopicPartition("orders", 2), 1, 3),
    lambda shell: shell.step(ElectLeadersRequest(request=3, kind=ElectionKind.PREFERRED, partitions=None)),
    lambda shell: shell.step(create("gone", (1,), (4,), request=4)),
    lambda shell: shell.step(DeleteTopicRequest(request=5, topic="gone")),
    answer_all_stops,
    lambda shell: shell.lose(1),
]


class MortalShell(Shell):
    """Its controller dies over the call to the store with this number; the write was done, or not."""

    def __init__(self, dies_at: int, *, is_written: bool) -> None:
        super().__init__()
        self.dies_at = dies_at
        self.is_written = is_written
        self.calls = 0
        self.has_died = False

    def answer(self) -> None:
        self.calls += 1
        if self.calls != self.dies_at:
            super().answer()
            return
        call = self.open[0]
        if self.is_written and isinstance(call, Write):
            self.store.apply(call)
        self.has_died = True
        self.take_over(2)


def told(shell: Shell) -> dict[TopicPartition, tuple[int, tuple[int, ...], ReplicaAssignment]]:
    """Where everything ended, without the epochs, which count how it got there."""
    return {
        name: (state.leader, tuple(sorted(state.isr)), shell.store.topics[name.topic][0].partitions[name.partition])
        for name, state in shell.store.leaderships.items()
    }


def live(shell: Shell) -> Shell:
    shell.brokers(1, 2, 3, 4)
    shell.take_over(1)
    for step in STORY:
        died_before = isinstance(shell, MortalShell) and shell.has_died
        step(shell)
        if isinstance(shell, MortalShell) and shell.has_died and not died_before:
            step(shell)  # clients ask again, and what is in the store is seen again
    return shell


CALLS = 23


def test_the_story_has_as_many_calls_to_the_store_as_we_cut_it_at() -> None:
    whole = MortalShell(0, is_written=False)
    live(whole)
    assert whole.calls == CALLS


@pytest.mark.parametrize("is_written", [True, False])
@pytest.mark.parametrize("dies_at", range(1, CALLS + 1))
def test_fail_over_in_the_middle_ends_the_same(dies_at: int, is_written: bool) -> None:
    """A new controller, built from the znodes alone, brings everything to the same end."""
    interrupted = live(MortalShell(dies_at, is_written=is_written))
    assert isinstance(interrupted, MortalShell)
    assert interrupted.has_died
    assert told(interrupted) == told(live(Shell()))
    assert not interrupted.store.deletion_requests
    assert set(interrupted.store.topics) == {"orders"}
