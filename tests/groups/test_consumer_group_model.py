"""Consumer groups (KIP-848) under random lives: clients come, go, die, lose replies; coordinators restart and fail to
write. No partition is ever in two hands (invariant 22), and when things calm down everybody has a fair share."""

from __future__ import annotations

from random import Random
from uuid import UUID

import pytest
from tests.groups.shell import Shell

from strandline.groups.commands import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    ConsumerGroupDescribe,
    ConsumerGroupHeartbeat,
    OwnedPartitions,
)
from strandline.groups.replies import ConsumerGroupDescribeReply, ConsumerGroupHeartbeatReply, DescribedConsumerGroup
from strandline.model.failures import ErrorCode

Partition = tuple[UUID, int]
REJOIN = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND}


class Client:
    """Gives up before it takes, as the protocol asks."""

    def __init__(self, shell: Shell, name: str, topics: tuple[str, ...], instance_id: str | None) -> None:
        self.shell = shell
        self.name = name
        self.topics = topics
        self.instance_id = instance_id
        self.epoch = JOIN_EPOCH
        self.owned: set[Partition] = set()
        self.target: set[Partition] = set()
        self.says_all = True

    def beat(self, *, reply_lost: bool = False) -> None:
        joins = self.epoch == JOIN_EPOCH
        says_all = joins or self.says_all
        command = ConsumerGroupHeartbeat(
            group="g",
            member_id=self.name,
            member_epoch=self.epoch,
            instance_id=self.instance_id,
            rebalance_timeout_ms=60_000 if says_all else -1,
            subscribed_topic_names=self.topics if says_all else None,
            owned_partitions=stated(self.owned),
        )
        reply = self.shell.ask(command, ConsumerGroupHeartbeatReply)
        self.says_all = reply_lost or reply.error_code is not ErrorCode.NONE
        if not reply_lost:
            self._hear(reply)

    def _hear(self, reply: ConsumerGroupHeartbeatReply) -> None:
        if reply.error_code in REJOIN:
            self.epoch, self.owned, self.target = JOIN_EPOCH, set(), set()
        elif reply.error_code is ErrorCode.NONE:
            self.epoch = reply.member_epoch
            if reply.assignment is not None:
                self.target = {(entry.topic_id, number) for entry in reply.assignment for number in entry.partitions}
                self.take()
        else:
            assert reply.error_code in (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.UNRELEASED_INSTANCE_ID)

    def take(self) -> None:
        """At once, unless it has something to give up; that takes its time."""
        if self.owned <= self.target:
            self.owned |= self.target

    def revoke(self) -> None:
        self.owned &= self.target
        self.take()

    def leave(self, epoch: int) -> bool:
        command = ConsumerGroupHeartbeat(
            group="g", member_id=self.name, member_epoch=epoch, instance_id=self.instance_id
        )
        self.owned = set()
        return self.shell.ask(command, ConsumerGroupHeartbeatReply).error_code is ErrorCode.NONE


def stated(owned: set[Partition]) -> tuple[OwnedPartitions, ...]:
    return tuple(OwnedPartitions(topic_id=topic_id, partitions=(number,)) for topic_id, number in sorted(owned))


class Life:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.shell = Shell()
        self.partitions = {"orders": 4, "payments": 3}
        self.shell.set_topics(**self.partitions)
        self.clients: list[Client] = []
        self.clients_made = 0

    def step(self) -> None:
        self.random.choice([self.come, self.beat, self.beat, self.beat, self.revoke, self.revoke, self.trouble])()
        self.check()

    def come(self, instance_id: str | None = None) -> None:
        if len(self.clients) < 5 or instance_id is not None:
            self.clients_made += 1
            name = f"m{self.clients_made}"
            topics = self.random.choice([("orders",), ("orders", "payments"), ("payments", "unknown")])
            if instance_id is None and self.random.random() < 0.4:
                instance_id = f"i{self.clients_made}"
            self.clients.append(Client(self.shell, name, topics, instance_id))

    def beat(self) -> None:
        for client in self.clients:
            if self.random.random() < 0.5:
                client.beat(reply_lost=self.random.random() < 0.2)

    def revoke(self) -> None:
        for client in self.clients:
            if self.random.random() < 0.5:
                client.revoke()

    def trouble(self) -> None:
        self.random.choice([self.leave, self.die, self.restart, self.grow, self.fail_to_append])()

    def leave(self) -> None:
        if self.clients:
            client = self.clients.pop(self.random.randrange(len(self.clients)))
            if client.instance_id is not None and client.epoch > 0 and client.leave(LEAVE_STATIC_EPOCH):
                self.come(client.instance_id)
            else:
                client.leave(LEAVE_EPOCH)

    def die(self) -> None:
        """Its session passes; the others heartbeat meanwhile."""
        if self.clients:
            self.clients.pop(self.random.randrange(len(self.clients)))
            for _ in range(3):
                self.shell.pass_time(20_000)
                for client in self.clients:
                    client.revoke()
                    client.beat()
                self.check()

    def restart(self) -> None:
        self.shell.restart()

    def grow(self) -> None:
        self.partitions["orders"] = min(self.partitions["orders"] + 2, 12)
        self.shell.set_topics(**self.partitions)

    def fail_to_append(self) -> None:
        self.shell.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
        self.beat()
        self.shell.pass_time(1_000)
        self.shell.append_error = None

    def check(self) -> None:
        held = [partition for client in self.clients for partition in client.owned]
        assert len(held) == len(set(held))

    def calm_down(self) -> None:
        for _ in range(12):
            self.shell.pass_time(5_000)
            for client in self.clients:
                client.beat()
                client.revoke()
                self.check()


def described(shell: Shell) -> DescribedConsumerGroup:
    reply = shell.ask(ConsumerGroupDescribe(groups=("g",)), ConsumerGroupDescribeReply)
    return reply.groups[0]


@pytest.mark.parametrize("seed", range(40))
def test_partitions_are_in_one_hand_and_all_are_in_some(seed: int) -> None:
    life = Life(seed)
    for _ in range(60):
        life.step()
    life.come()
    life.calm_down()
    life.calm_down()
    read = {name for client in life.clients for name in client.topics if name in life.partitions}
    everything = {
        (life.shell.topics[name].topic_id, number) for name in read for number in range(life.partitions[name])
    }
    assert {partition for client in life.clients for partition in client.owned} == everything
    group = described(life.shell)
    assert group.state == "Stable"
    assert {member.member_id for member in group.members} == {client.name for client in life.clients}
    life.shell.restart()
    assert sorted(map(str, described(life.shell).members)) == sorted(map(str, group.members))
