"""Classic groups under random lives: clients come, go, die, lose replies and retry; coordinators restart and fail to
write. A partition has one owner per generation (invariant 22), nobody waits forever, and when things calm down the
group is stable with exactly those that live (KAFKA-12890, KAFKA-9752, KAFKA-10284)."""

from __future__ import annotations

from random import Random

import pytest
from tests.groups.shell import Shell

from strandline.groups.commands import (
    DescribeGroups,
    Heartbeat,
    JoinGroup,
    JoinProtocol,
    LeaveGroup,
    LeavingMember,
    SyncGroup,
)
from strandline.groups.decisions import Ticket
from strandline.groups.replies import (
    DescribedGroup,
    DescribeGroupsReply,
    HeartbeatReply,
    JoinGroupReply,
    LeaveGroupReply,
    Reply,
    SyncGroupReply,
)
from strandline.groups.settings import GroupSettings
from strandline.model.failures import ErrorCode

PARTITIONS = tuple(f"p{number}" for number in range(6))


class Client:
    def __init__(self, shell: Shell, name: str, instance_id: str | None) -> None:
        self.shell = shell
        self.name = name
        self.instance_id = instance_id
        self.forget()
        self.version = 0
        self.joins = 0

    def forget(self) -> None:
        self.member_id = ""
        self.generation = -1
        self.to_assign: tuple[str, ...] | None = None  # the members, if it leads and has not assigned
        self.assigned: tuple[str, ...] | None = None
        self.ticket: Ticket | None = None

    def act(self) -> None:
        if self.ticket is not None:
            if self.ticket in self.shell.answers:
                reply = self.shell.answers.pop(self.ticket)
                self.ticket = None
                self.hear(reply)
        elif self.generation < 0:
            self.join()
        elif self.assigned is None:
            self.sync()
        else:
            self.heartbeat()

    def give_up_waiting(self) -> None:
        """The connection broke; the client knows only what it knew."""
        if self.ticket is not None:
            self.ticket = None
            self.generation = -1

    def join(self) -> None:
        self.joins += 1
        self._send(
            JoinGroup(
                group="g",
                member_id=self.member_id,
                group_instance_id=self.instance_id,
                client_id=self.name,
                session_timeout_ms=10_000,
                rebalance_timeout_ms=30_000,
                protocol_type="consumer",
                protocols=(JoinProtocol(name="range", metadata=f"v{self.version}".encode()),),
                unique_id=str(self.joins),
            )
        )

    def sync(self) -> None:
        assignments: list[tuple[str, bytes]] = []
        members = self.to_assign or ()
        for place, member_id in enumerate(members):
            assignments.append((member_id, " ".join(PARTITIONS[place :: len(members)]).encode()))
        self._send(
            SyncGroup(
                group="g",
                member_id=self.member_id,
                group_instance_id=self.instance_id,
                generation=self.generation,
                assignments=tuple(assignments),
            )
        )

    def heartbeat(self) -> None:
        self._send(
            Heartbeat(
                group="g",
                member_id=self.member_id,
                group_instance_id=self.instance_id,
                generation=self.generation,
            )
        )

    def leave(self) -> None:
        leaving = LeavingMember(member_id=self.member_id, group_instance_id=self.instance_id)
        self.shell.ask(LeaveGroup(group="g", members=(leaving,)), LeaveGroupReply)

    def _send(self, command: JoinGroup | SyncGroup | Heartbeat) -> None:
        decision = self.shell.decide(command)
        if decision.ticket is not None:
            self.ticket = decision.ticket
        else:
            assert decision.reply is not None
            self.hear(decision.reply)

    def hear(self, reply: Reply) -> None:
        assert isinstance(reply, JoinGroupReply | SyncGroupReply | HeartbeatReply)
        match reply.error_code:
            case ErrorCode.NONE:
                self._learn(reply)
            case ErrorCode.MEMBER_ID_REQUIRED:
                assert isinstance(reply, JoinGroupReply)
                self.member_id = reply.member_id
            case ErrorCode.REBALANCE_IN_PROGRESS:
                self.generation, self.assigned = -1, None
            case ErrorCode.COORDINATOR_NOT_AVAILABLE:
                pass
            case ErrorCode.UNKNOWN_MEMBER_ID | ErrorCode.ILLEGAL_GENERATION | ErrorCode.FENCED_INSTANCE_ID:
                self.forget()
            case _:
                raise AssertionError(reply)

    def _learn(self, reply: JoinGroupReply | SyncGroupReply | HeartbeatReply) -> None:
        if isinstance(reply, JoinGroupReply):
            self.member_id, self.generation = reply.member_id, reply.generation
            self.assigned = None
            self.to_assign = tuple(member.member_id for member in reply.members) or None
        elif isinstance(reply, SyncGroupReply):
            self.assigned = tuple(reply.assignment.decode().split())


class Life:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.shell = Shell(GroupSettings(group_initial_rebalance_delay_ms=1_000))
        self.clients: list[Client] = []
        self.clients_made = 0

    def step(self) -> None:
        self.random.choice([self.come, self.act, self.act, self.act, self.wait, self.trouble])()
        self.check()

    def come(self, instance_id: str | None = None) -> None:
        if len(self.clients) < 5 or instance_id is not None:
            self.clients_made += 1
            if instance_id is None and self.random.random() < 0.4:
                instance_id = f"i{self.clients_made}"
            self.clients.append(Client(self.shell, f"c{self.clients_made}", instance_id))

    def act(self) -> None:
        for client in self.clients:
            if self.random.random() < 0.6:
                client.act()

    def wait(self) -> None:
        self.shell.pass_time(self.random.choice([1, 500, 3_000]))

    def trouble(self) -> None:
        self.random.choice(
            [self.leave, self.die, self.restart, self.fail_to_append, self.break_connection, self.change]
        )()

    def leave(self) -> None:
        if self.clients:
            self._pick().leave()

    def die(self) -> None:
        if self.clients:
            client = self._pick()
            if client.instance_id is not None and self.random.random() < 0.7:
                self.come(client.instance_id)

    def _pick(self) -> Client:
        return self.clients.pop(self.random.randrange(len(self.clients)))

    def restart(self) -> None:
        decision = self.shell.shard.resigned(self.shell.now_ms)
        assert {ticket for ticket, _ in decision.released} == self.shell.parked
        assert all(answer.error_code is ErrorCode.NOT_COORDINATOR for _, answer in decision.released)
        self.shell.restart()
        for client in self.clients:
            client.give_up_waiting()

    def fail_to_append(self) -> None:
        self.shell.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
        self.act()
        self.shell.pass_time(1_000)
        self.shell.append_error = None

    def break_connection(self) -> None:
        if self.clients:
            self.random.choice(self.clients).give_up_waiting()

    def change(self) -> None:
        if self.clients:
            client = self.random.choice(self.clients)
            client.version += 1
            if client.ticket is None and client.member_id:
                client.generation, client.assigned = -1, None

    def check(self) -> None:
        owners: dict[tuple[int, str], str] = {}
        for client in self.clients:
            for partition in client.assigned or ():
                owner = owners.setdefault((client.generation, partition), client.name)
                assert owner == client.name

    def calm_down(self) -> None:
        for _ in range(150):
            self.shell.pass_time(1_000)
            for client in self.clients:
                client.act()
                client.act()
            self.check()


def described(shell: Shell) -> DescribedGroup:
    return shell.ask(DescribeGroups(groups=("g",)), DescribeGroupsReply).groups[0]


@pytest.mark.parametrize("seed", range(40))
def test_a_group_always_finds_back_to_rest(seed: int) -> None:
    life = Life(seed)
    for _ in range(80):
        life.step()
    life.come()
    life.calm_down()
    # A new member whose client broke off may hold a place for five minutes.
    life.shell.pass_time(1)
    for _ in range(3):
        life.calm_down()
    group = described(life.shell)
    assert group.state == "Stable"
    assert {member.member_id for member in group.members} == {client.member_id for client in life.clients}
    assert sorted(name for client in life.clients for name in client.assigned or ()) == sorted(PARTITIONS)
    assert not life.shell.parked
    life.shell.restart()
    assert described(life.shell) == group
