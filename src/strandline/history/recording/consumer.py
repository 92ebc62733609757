"""A confluent-kafka consumer whose polls, assignments and commits are written down."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from strandline.history.operations import How
from strandline.history.recording.client_library import needing_confluent_kafka
from strandline.history.recording.commits import Commits
from strandline.history.recording.journal import Journal, clock_name
from strandline.history.recording.marks import HEADER, mark_of
from strandline.history.recording.producer import RecordedGroup, RecordingProducer
from strandline.history.recording.settings import ClientSettings
from strandline.history.recording.silence import Silence

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, TopicPartition

    Rebalanced = Callable[[Any, list[TopicPartition]], object]

COMMITTED_TIMEOUT_S = 10.0
BEGINNING, END, STORED, INVALID = -2, -1, -1000, -1001  # librdkafka's
POSITIONS: dict[int, str] = {BEGINNING: "beginning", END: "end"}
CONSUME_MAX = 1_000_000  # librdkafka's

Place = tuple[str, int]


class RecordingConsumer:
    """Everything else that a `confluent_kafka.Consumer` has is there too, and is not recorded.

    `within` is the producer whose transactions its polls belong to. It polls one record after the other, also in
    `consume`: only so is it known which came before a rebalance and which after.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        journal: Journal,
        *,
        header: str | None = HEADER,
        within: RecordingProducer | None = None,
        **more: Any,
    ) -> None:
        """`more` are settings too, such as `logger`."""
        with needing_confluent_kafka():
            from confluent_kafka import Consumer

        settings = {**settings, **more}
        told = ClientSettings(settings)
        self._on_commit = settings.get("on_commit")
        self._consumer = Consumer({**settings, "on_commit": self._committed})
        self._journal = journal
        self._header = header
        self._within = within
        self._group = told.group
        self._reset = told.reset
        self._positions: dict[Place, int] = {}
        self._held: set[Place] = set()  # what it was given, and has not given up
        self._commits = Commits(journal, self._group)
        self._paused: set[Place] = set()
        self._silence = Silence()
        self._moved_us = 0  # when a rebalance was last told of
        self._is_rebalancing = False
        journal.write(
            "client",
            isolation=told.isolation,
            group=self._group,
            auto_commit=told.commits_by_itself,
            clock=clock_name(),
            is_urgent=True,
        )

    # Reading.

    def poll(self, timeout: float | None = None) -> Message | None:
        began_us = self._journal.now_us()
        message = self._consumer.poll(-1 if timeout is None else timeout)
        self._tell_poll(began_us, [] if message is None else [message])
        return message

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        if not 0 < num_messages <= CONSUME_MAX:
            return self._consumer.consume(num_messages, timeout)  # which reads nothing, and may complain
        messages: list[Message] = []
        told = 0
        began_us = self._journal.now_us()
        while len(messages) < num_messages:
            moved_us = self._moved_us
            try:
                message = self._consumer.poll(0 if messages else timeout)
            except BaseException:
                self._tell_poll(
                    began_us, messages[told:], max(began_us, self._moved_us - 1)
                )  # they are read all the same
                raise
            if self._moved_us != moved_us:  # what came before the rebalance is told apart
                self._tell_poll(began_us, messages[told:], self._moved_us - 1)
                told, began_us = len(messages), self._moved_us + 1  # the silence since then is its own
            if message is None:
                break
            messages.append(message)
        self._tell_poll(began_us, messages[told:])
        return messages

    def _tell_silence(self, began_us: int) -> None:
        now_us = self._journal.now_us()
        since_us = None if self._paused else self._silence.goes_on(max(began_us, self._moved_us + 1), now_us)
        if since_us is not None:
            self._journal.write("poll", began_us=since_us, ended_us=now_us, records=[], is_urgent=True)

    def _tell_poll(self, began_us: int, messages: list[Message], ended_us: int | None = None) -> None:
        if not messages and ended_us is None:
            self._tell_silence(began_us)
            return
        self._silence.ends()
        records = []
        for message in messages:
            if message.error() is None:
                topic, partition, offset = message.topic(), message.partition(), message.offset()
                assert topic is not None
                assert partition is not None
                assert offset is not None
                mark = mark_of(message.headers(), message.value(), self._header)
                records.append([topic, partition, offset, mark])
                self._positions[topic, partition] = offset + 1
        if records:
            self._commits.read_on(self._read_up_to())
            # A rebalance that was told of during the poll came before its records.
            if ended_us is None:
                ended_us = self._journal.now_us()
                began_us = max(began_us, self._moved_us + 1)
            self._journal.write(
                "poll",
                began_us=min(began_us, ended_us),
                ended_us=ended_us,
                records=records,
                transaction=None if self._within is None else self._within.transaction_at_work,
                is_urgent=True,
            )

    # Where it reads.

    def subscribe(
        self,
        topics: list[str],
        on_assign: Rebalanced | None = None,
        on_revoke: Rebalanced | None = None,
        on_lost: Rebalanced | None = None,
    ) -> None:
        def assigned(_consumer: object, partitions: list[TopicPartition]) -> None:
            began_us = self._journal.now_us()
            self._tell_assign(How.REBALANCE, self._starts(partitions), began_us)
            self._call_back(on_assign, partitions)

        def revoked(_consumer: object, partitions: list[TopicPartition]) -> None:
            self._call_back(on_revoke, partitions)
            self._tell_revoke(partitions)

        def lost(_consumer: object, partitions: list[TopicPartition]) -> None:
            self._call_back(on_lost or on_revoke, partitions)
            self._tell_revoke(partitions)

        for callback in (on_assign, on_revoke, on_lost):
            if callback is not None and not callable(callback):
                raise TypeError(f"{callback!r} is no callback")
        self._consumer.subscribe(topics, on_assign=assigned, on_revoke=revoked, on_lost=lost)

    def _call_back(self, callback: Rebalanced | None, partitions: list[TopicPartition]) -> None:
        if callback is not None:
            self._is_rebalancing = True
            try:
                callback(self, partitions)
            finally:
                self._is_rebalancing = False

    def _starts(self, partitions: list[TopicPartition]) -> list[list[Any]]:
        """Where the group is, which the client itself will ask for next."""
        from confluent_kafka import KafkaException

        try:
            committed = self._consumer.committed(partitions, COMMITTED_TIMEOUT_S)
        except KafkaException:
            return [[each.topic, each.partition, None] for each in partitions]
        return [
            [
                each.topic,
                each.partition,
                None if each.error is not None else each.offset if each.offset >= 0 else self._reset,
            ]
            for each in committed
        ]

    def assign(self, partitions: list[TopicPartition]) -> None:
        began_us = self._journal.now_us()
        self._consumer.assign(partitions)
        if not self._is_rebalancing:
            self._tell_revoke(None, began_us)  # it comes before what is assigned, also by its time
        self._tell_chosen(partitions, began_us)

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        began_us = self._journal.now_us()
        self._consumer.incremental_assign(partitions)
        self._tell_chosen(partitions, began_us)

    def _tell_chosen(self, partitions: Iterable[TopicPartition], began_us: int) -> None:
        """In a callback, what names no offset begins where the group is, which was told already."""
        chosen = [
            [each.topic, each.partition, each.offset if each.offset >= 0 else POSITIONS.get(each.offset)]
            for each in partitions
            if not (self._is_rebalancing and each.offset in (STORED, INVALID))
        ]
        if chosen:
            self._tell_assign(How.SEEK if self._is_rebalancing else How.ASSIGN, chosen, began_us)

    def seek(self, partition: TopicPartition) -> None:
        began_us = self._journal.now_us()
        self._consumer.seek(partition)
        position = partition.offset if partition.offset >= 0 else POSITIONS.get(partition.offset)
        self._tell_assign(How.SEEK, [[partition.topic, partition.partition, position]], began_us)

    def pause(self, partitions: list[TopicPartition]) -> None:
        self._consumer.pause(partitions)
        self._silence.ends()
        self._paused |= {(each.topic, each.partition) for each in partitions}

    def resume(self, partitions: list[TopicPartition]) -> None:
        self._consumer.resume(partitions)
        self._paused -= {(each.topic, each.partition) for each in partitions}

    def unassign(self) -> None:
        self._consumer.unassign()
        self._tell_revoke(None)

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        self._consumer.incremental_unassign(partitions)
        self._tell_revoke(partitions)

    def unsubscribe(self) -> None:
        self._consumer.unsubscribe()
        self._tell_revoke(None)

    def _tell_assign(self, how: How, positions: list[list[Any]], began_us: int) -> None:
        self._silence.ends()
        for topic, partition, _ in positions:
            self._positions.pop((topic, partition), None)
            self._held.add((topic, partition))
        self._moved_us = self._journal.now_us()
        self._journal.write(
            "assign", began_us=began_us, ended_us=self._moved_us, how=how.value, positions=positions, is_urgent=True
        )

    def _tell_revoke(self, partitions: list[TopicPartition] | None, began_us: int | None = None) -> None:
        self._silence.ends()
        gone = None if partitions is None else {(each.topic, each.partition) for each in partitions}
        for place in list(self._positions):
            if gone is None or place in gone:
                del self._positions[place]
        self._paused = set() if gone is None else self._paused - gone
        self._held = set() if gone is None else self._held - gone
        self._moved_us = self._journal.now_us()
        named = None if gone is None else [list(place) for place in sorted(gone)]
        began_us = self._moved_us if began_us is None else began_us
        self._journal.write("revoke", began_us=began_us, ended_us=self._moved_us, partitions=named, is_urgent=True)

    # Commits.

    def commit(
        self,
        message: Message | None = None,
        offsets: list[TopicPartition] | None = None,
        asynchronous: bool = True,
    ) -> list[TopicPartition] | None:
        from confluent_kafka import KafkaException

        arguments: dict[str, Any] = {"message": message} if message is not None else {}
        if offsets is not None:
            arguments["offsets"] = offsets
        commit = self._commits.ask(self._meant(message, offsets), is_of_all_read=not arguments)
        if asynchronous:
            try:
                self._consumer.commit(asynchronous=True, **arguments)
            except KafkaException:
                self._commits.was_not_made(commit)
                raise
            self._commits.goes_on(commit)
            return None
        try:
            committed: list[TopicPartition] = self._consumer.commit(asynchronous=False, **arguments)
        except KafkaException as refused:
            self._commits.refused(commit, refused.args[0])
            raise
        self._commits.answered(commit, committed)
        return committed

    def _meant(self, message: Message | None, offsets: list[TopicPartition] | None) -> list[list[Any]]:
        if message is not None:  # one with an error has no offset, and is refused
            is_record = message.error() is None
            return [[message.topic(), message.partition(), (message.offset() or 0) + 1]] if is_record else []
        if offsets is not None:  # the client leaves out what names none
            return [[each.topic, each.partition, each.offset] for each in offsets if each.offset >= 0]
        return self._read_up_to()

    def _read_up_to(self) -> list[list[Any]]:
        return [[topic, partition, offset] for (topic, partition), offset in self._positions.items()]

    def _committed(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        self._commits.answered_next(error, partitions)
        if self._on_commit is not None:
            self._on_commit(error, partitions)

    def consumer_group_metadata(self) -> RecordedGroup:
        recorded = RecordedGroup(self._consumer.consumer_group_metadata())
        recorded.group = self._group
        return recorded

    # Its end.

    def close(self) -> None:
        self._consumer.close()
        self._commits.close()
        if self._held:
            self._tell_revoke(None)
        self._journal.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)
