"""Transactions under random lives: producers die and come back as zombies, requests and markers are lost, delayed and
doubled, coordinators lose what was not committed. Invariants 18 and 29 and those of the coordinator itself:

- a transaction is all or nothing: its values are all committed or all aborted, in every partition
- what a producer was told is what happened
- epochs never go back, and what is prepared completes with the outcome it was prepared with
- no marker is under way before the record that decided it is committed
- when things calm down nothing is open anywhere
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from tests.transactions.data_partition import DataPartition, Value
from tests.transactions.shell import Shell

from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import TopicPartition
from strandline.transactions.commands import AddPartitions, Command, EndTransaction, InitProducerId
from strandline.transactions.epochs import Producer
from strandline.transactions.formats import decode_record
from strandline.transactions.markers import Marker
from strandline.transactions.records import Transaction
from strandline.transactions.replies import AddPartitionsReply, EndTransactionReply, InitProducerIdReply, Reply
from strandline.transactions.settings import TransactionSettings
from strandline.transactions.states import TransactionState
from strandline.transactions.verification import Token, TransactionalBatch

PARTITIONS = tuple(TopicPartition("orders", number) for number in range(3))
IDS = ("a", "b")
TRY_AGAIN = {
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
}


class World:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.shell = Shell(
            TransactionSettings(transaction_abort_timed_out_transaction_cleanup_interval_ms=500), transaction_version=2
        )
        self.shell.commits_at_once = False
        self.partitions = {name: DataPartition() for name in PARTITIONS}
        self.messages: list[Callable[[], None]] = []  # under way, to arrive in any order
        self.stragglers: list[Callable[[], None]] = []  # that take much longer
        self.clients: dict[str, Client] = {}
        self.clients_made = 0
        self.told: dict[str, bool] = {}  # outcome of transactions, as producers were told
        self.acknowledged: dict[str, set[Value]] = {}
        self.committed_states: dict[str, Transaction | None] = {}
        self.seen = 0

    # The network.

    def send(self, message: Callable[[], None], *, may_double: bool = False) -> None:
        fate = self.random.random()
        if fate < 0.05:
            return
        (self.messages if fate < 0.95 else self.stragglers).append(message)
        if may_double and self.random.random() < 0.3:
            self.stragglers.append(message)

    def deliver(self, *, may_straggle: float = 0.04) -> None:
        is_late = self.stragglers and self.random.random() < may_straggle
        messages = self.stragglers if is_late else self.messages
        if messages:
            messages.pop(self.random.randrange(len(messages)))()

    def ask_coordinator(self, command: Command, answer: Callable[[Reply], None]) -> None:
        self.shell.decide(command, answer)

    # What goes on beside the clients.

    def commit(self) -> None:
        log_end = self.random.randint(self.shell.committed, len(self.shell.log))
        self.shell.commit(len(self.shell.log) if self.random.random() < 0.7 else log_end)
        self.check_committed()
        for marker in self.shell.sent:
            self.check_decided(marker)
            for partition in marker.partitions:
                self.send_marker(marker, partition)
        self.shell.sent.clear()

    def send_marker(self, marker: Marker, partition: TopicPartition) -> None:
        fate = self.random.random()
        if fate < 0.8:
            self.messages.append(lambda: self.mark(marker, partition, is_answered=True))
            return
        # The connection breaks. The request was lost, or it is still on its way: of an old client's transaction, which
        # nothing could tell from the next, it was lost.
        if fate < 0.95 and marker.transaction_version >= 2:
            self.stragglers.append(lambda: self.mark(marker, partition, is_answered=False))
        event = marker.written([(partition, ErrorCode.NETWORK_EXCEPTION)])
        self.messages.append(lambda: self.hear_of_markers(marker, partition, event.results[0][1]))

    def mark(self, marker: Marker, partition: TopicPartition, *, is_answered: bool) -> None:
        unavailable = self.random.random() < 0.1
        error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER if unavailable else self.partitions[partition].mark(marker)
        if is_answered:
            self.messages.append(lambda: self.hear_of_markers(marker, partition, error_code))

    def hear_of_markers(self, marker: Marker, partition: TopicPartition, error_code: ErrorCode) -> None:
        self.shell.markers_written(marker.written([(partition, error_code)]))

    def fail_over(self) -> None:
        """Some of what was not committed is lost; whoever waits never hears."""
        keep = self.random.randint(self.shell.committed, len(self.shell.log))
        self.shell.shard.resigned(self.shell.now_ms)
        del self.shell.log[keep:]
        self.shell.restart()

    def trouble(self) -> None:
        kind = self.random.choice(["fail over", "log", "leader", "kill", "time"])
        if kind == "fail over":
            self.fail_over()
        elif kind == "log":
            self.shell.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
            for _ in range(10):
                self.calm_step()
            self.shell.append_error = None
        elif kind == "leader":
            self.random.choice(list(self.partitions.values())).new_leader()
        elif kind == "kill":
            self.start_client(self.random.choice(IDS))
        else:
            self.shell.pass_time(self.random.choice([100, 600, 3_000]))

    def start_client(self, transactional_id: str) -> None:
        """The one before is not told; what it has sent still arrives."""
        self.clients_made += 1
        is_old = transactional_id == "b" and self.random.random() < 0.5
        self.clients[transactional_id] = Client(self, transactional_id, self.clients_made, is_old=is_old)

    def live(self, steps: int) -> None:
        for transactional_id in IDS:
            self.start_client(transactional_id)
        for _ in range(steps):
            if self.random.random() < 0.02:
                self.trouble()
            else:
                self.calm_step()

    def calm_step(self) -> None:
        kind = self.random.random()
        if kind < 0.35:
            client = self.clients[self.random.choice(IDS)]
            client.act()
            if client.is_dead:
                self.start_client(client.transactional_id)
        elif kind < 0.75:
            self.deliver()
        else:
            self.commit()

    def calm_down(self) -> None:
        """No more trouble, no more work; whatever is open ends by its timeout."""
        for _ in range(40):
            for _ in range(40):
                self.commit()
                self.deliver(may_straggle=0.5)
            self.shell.pass_time(1_000)
        assert not self.messages
        assert not self.stragglers

    # Invariants.

    def check_committed(self) -> None:
        for key, value in self.shell.log[self.seen : self.shell.committed]:
            record = decode_record(key, value)
            assert record is not None
            before, after = self.committed_states.get(record.transactional_id), record.transaction
            self.committed_states[record.transactional_id] = after
            if before is None or after is None:
                continue
            if before.producer_id == after.producer_id:
                assert after.producer_epoch >= before.producer_epoch
            else:
                assert after.producer_id > before.producer_id
            if before.state.is_prepared:
                assert after.state.is_complete
                assert after.state.is_commit == before.state.is_commit
        self.seen = self.shell.committed

    def check_decided(self, marker: Marker) -> None:
        decided = self.committed_states[marker.transactional_id]
        assert decided is not None
        assert decided.state is (
            TransactionState.PREPARE_COMMIT if marker.is_commit else TransactionState.PREPARE_ABORT
        )
        assert (decided.producer_id, decided.producer_epoch) == (marker.producer_id, marker.producer_epoch)

    def check_outcomes(self) -> None:
        committed = {value for partition in self.partitions.values() for value in partition.committed}
        aborted = {value for partition in self.partitions.values() for value in partition.aborted}
        committed_transactions = {value.transaction for value in committed}
        assert not committed_transactions & {value.transaction for value in aborted}, "a torn transaction"
        for transaction, is_commit in self.told.items():
            if is_commit:
                assert self.acknowledged.get(transaction, set()) <= committed
            else:
                assert transaction not in committed_transactions
        for transaction, values in self.acknowledged.items():
            assert transaction not in committed_transactions or values <= committed
        assert len(committed) == sum(len(partition.committed) for partition in self.partitions.values())

    def check_nothing_is_open(self) -> None:
        for partition in self.partitions.values():
            assert not any(producer.open for producer in partition.producers.values())
        assert all(
            transaction is not None and transaction.state.may_expire for transaction in self.committed_states.values()
        )


class Client:
    """A producer of one transactional id. An old one (before KIP-890) adds its partitions itself, and its requests are
    not delayed: what protects against that it does not have."""

    def __init__(self, world: World, transactional_id: str, number: int, *, is_old: bool) -> None:
        self.world = world
        self.transactional_id = transactional_id
        self.name = f"{transactional_id}{number}"
        self.is_old = is_old
        self.producer: Producer | None = None
        self.transactions_begun = 0
        self.is_dead = False
        self.requests_made = 0
        self.awaited: int | None = None  # the number of the request that it waits for
        self.begin()

    def begin(self) -> None:
        self.transactions_begun += 1
        self.transaction = f"{self.name}.{self.transactions_begun}"
        self.next_value = 0
        self.pending: tuple[TopicPartition, int, Value] | None = None
        self.decided: bool | None = None  # to commit
        if not self.is_old or self.transactions_begun == 1:
            self.sequences = dict.fromkeys(PARTITIONS, 0)

    def act(self) -> None:
        if self.is_dead or (self.awaited is not None and self.world.random.random() < 0.85):
            return
        self.requests_made += 1
        self.awaited = self.requests_made
        if self.producer is None:
            self.init()
        elif self.decided is not None:
            self.end(self.producer, self.decided)
        elif self.pending is None and self.world.random.random() < 0.35:
            self.decided = self.next_value == 0 or self.world.random.random() < 0.7
            self.decided = self.decided and self.next_value > 0
            self.end(self.producer, self.decided)
        else:
            self.produce(self.producer)

    def hears(self, handle: Callable[[Reply], None]) -> Callable[[Reply], None]:
        """Only the answer that it waits for, if it arrives."""
        number = self.awaited

        def answer(reply: Reply) -> None:
            def arrive() -> None:
                if number == self.awaited and not self.is_dead:
                    self.awaited = None
                    handle(reply)

            self.world.send(arrive)

        return answer

    def request(self, message: Callable[[], None], *, may_double: bool) -> None:
        if self.is_old:
            message()
        else:
            self.world.send(message, may_double=may_double)

    def init(self) -> None:
        command = InitProducerId(transactional_id=self.transactional_id, transaction_timeout_ms=2_000)
        answer = self.hears(self.hear_init)
        self.request(lambda: self.world.ask_coordinator(command, answer), may_double=False)

    def hear_init(self, reply: Reply) -> None:
        assert isinstance(reply, InitProducerIdReply)
        assert reply.error_code is ErrorCode.NONE or reply.error_code in TRY_AGAIN
        if reply.error_code is ErrorCode.NONE:
            self.producer = Producer(reply.producer_id, reply.producer_epoch)

    def produce(self, producer: Producer) -> None:
        if self.pending is None:
            partition = self.world.random.choice(PARTITIONS)
            self.pending = (partition, self.sequences[partition], Value(self.transaction, self.next_value))
            self.next_value += 1
            self.sequences[partition] += 1
        partition, sequence, value = self.pending
        batch = TransactionalBatch(*producer, sequence)
        answer = self.hears_of_value(value)
        if not self.is_old:
            self.request(lambda: self.at_leader(batch, partition, value, answer), may_double=True)
            return
        add = AddPartitions(
            transactional_id=self.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            partitions=(partition,),
        )

        def added(reply: Reply) -> None:
            assert isinstance(reply, AddPartitionsReply)
            if reply.results[0].error_code is ErrorCode.NONE:
                self.at_leader(batch, partition, value, answer)
            else:
                answer(reply.results[0].error_code)

        self.world.ask_coordinator(add, added)

    def hears_of_value(self, value: Value) -> Callable[[ErrorCode], None]:
        number = self.awaited

        def answer(error_code: ErrorCode) -> None:
            def arrive() -> None:
                if number == self.awaited and not self.is_dead:
                    self.awaited = None
                    self.hear_of_value(value, error_code)

            self.world.send(arrive)

        return answer

    def at_leader(
        self, batch: TransactionalBatch, partition: TopicPartition, value: Value, answer: Callable[[ErrorCode], None]
    ) -> None:
        """What `broker/partition` is to do."""
        leader = self.world.partitions[partition]
        try:
            token = leader.begin(batch, bumps_epoch=not self.is_old)
        except Refused as refusal:
            answer(refusal.error_code)
            return
        if token is None:
            self.append(leader, batch, value, answer)
            return
        question = AddPartitions(
            transactional_id=self.transactional_id,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            partitions=(partition,),
            verify_only=self.is_old,
            client_version=0 if self.is_old else 2,
        )
        asked = token

        def heard(reply: Reply) -> None:
            self.world.send(lambda: self.coordinator_said(reply, leader, asked, batch, value, answer))

        self.world.ask_coordinator(question, heard)

    def coordinator_said(
        self,
        reply: Reply,
        leader: DataPartition,
        token: Token,
        batch: TransactionalBatch,
        value: Value,
        answer: Callable[[ErrorCode], None],
    ) -> None:
        assert isinstance(reply, AddPartitionsReply)
        error_code = reply.results[0].error_code
        if error_code is not ErrorCode.NONE:
            answer(error_code)
            return
        leader.verifications.verified(batch.producer_id, token)
        self.append(leader, batch, value, answer)

    def append(
        self, leader: DataPartition, batch: TransactionalBatch, value: Value, answer: Callable[[ErrorCode], None]
    ) -> None:
        try:
            leader.append(batch, value)
        except Refused as refusal:
            answer(refusal.error_code)
        else:
            answer(ErrorCode.NONE)

    def hear_of_value(self, value: Value, error_code: ErrorCode) -> None:
        if self.pending is None or self.pending[2] != value:
            return
        if error_code is ErrorCode.NONE:
            self.pending = None
            self.world.acknowledged.setdefault(self.transaction, set()).add(value)
        elif error_code not in TRY_AGAIN:
            self.decided = False  # abort, and see

    def end(self, producer: Producer, is_commit: bool) -> None:
        command = EndTransaction(
            transactional_id=self.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            is_commit=is_commit,
            bumps_epoch=not self.is_old,
        )
        answer = self.hears(self.hear_end)
        self.request(lambda: self.world.ask_coordinator(command, answer), may_double=True)

    def hear_end(self, reply: Reply) -> None:
        assert isinstance(reply, EndTransactionReply)
        if reply.error_code is ErrorCode.NONE:
            assert self.decided is not None
            self.world.told[self.transaction] = self.decided
            self.producer = Producer(reply.producer_id, reply.producer_epoch)
            self.begin()
        elif reply.error_code not in TRY_AGAIN:
            self.is_dead = True


@pytest.mark.parametrize("seed", range(60))
def test_transactions_are_all_or_nothing(seed: int) -> None:
    world = World(seed)
    world.live(4_000)
    world.calm_down()
    world.check_outcomes()
    world.check_nothing_is_open()


def test_the_lives_are_eventful() -> None:
    """Or the test above would say nothing."""
    worlds = [World(seed) for seed in range(10)]
    for world in worlds:
        world.live(4_000)
        world.calm_down()
    partitions = [partition for world in worlds for partition in world.partitions.values()]
    assert sum(len(partition.committed) for partition in partitions) > 100
    assert sum(len(partition.aborted) for partition in partitions) > 100
    outcomes = [is_commit for world in worlds for is_commit in world.told.values()]
    assert min(outcomes.count(True), outcomes.count(False)) > 50
    assert sum(world.shell.coordinator_epoch for world in worlds) > 30
