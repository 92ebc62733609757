"""A confluent-kafka producer whose sends and transactions are written down."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from strandline.history.operations import Decision, Outcome
from strandline.history.recording.client_library import needing_confluent_kafka
from strandline.history.recording.journal import Journal, clock_name
from strandline.history.recording.marks import HEADER, value_mark, with_mark
from strandline.history.recording.outcomes import outcome_of_end, outcome_of_send
from strandline.history.recording.settings import ClientSettings

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, TopicPartition

    Delivered = Callable[[KafkaError | None, Message], None]

CLOSE_TIMEOUT_S = 30.0
PURGE_TIMEOUT_S = 1.0


class _UnderWay(NamedTuple):
    began_us: int
    topic: str
    partition: int | None
    mark: str
    transaction: str | None


class RecordedGroup(bytes):
    """What `RecordingConsumer.consumer_group_metadata` returns: that of the client itself does not tell its group."""

    group: str


class RecordingProducer:
    """Everything else that a `confluent_kafka.Producer` has is there too, and is not recorded.

    A send that nobody heard of until `close` is unknown. As many are remembered as the client has under way
    (`queue.buffering.max.messages`). Without `header`, records are sent as they are, and their values must be unique.
    """

    def __init__(
        self, settings: Mapping[str, Any], journal: Journal, *, header: str | None = HEADER, **more: Any
    ) -> None:
        """`more` are settings too, such as `logger`."""
        with needing_confluent_kafka():
            from confluent_kafka import Producer

        settings = {**settings, **more}
        self._producer = Producer(settings)
        self._on_delivery: Delivered | None = settings.get("on_delivery")
        self._journal = journal
        self._header = header
        self._lock = threading.Lock()  # what is stamped first is sent first
        self._under_way: dict[int, _UnderWay] = {}
        self._count = 0
        self._life = f"{journal.process}.{journal.now_us():x}"
        self._transaction_count = 0
        self.transaction: str | None = None  # until its end was acknowledged
        self._is_end_asked_for = False
        told = ClientSettings(settings)
        journal.write("client", acks=told.acks, idempotent=told.is_idempotent, clock=clock_name(), is_urgent=True)

    def produce(
        self,
        topic: str,
        value: str | bytes | None = None,
        key: str | bytes | None = None,
        partition: int = -1,
        callback: Delivered | None = None,
        on_delivery: Delivered | None = None,
        timestamp: int = 0,
        headers: Any = None,
    ) -> None:
        """What raises was not sent, and is not recorded: it may be tried again."""
        with self._lock:
            self._count += 1
            number = self._count
            mark = value_mark(value) if self._header is None else f"{self._life}.{number}"
            marked = headers if self._header is None else with_mark(headers, self._header, mark)
            chosen = partition if partition >= 0 else None
            self._under_way[number] = _UnderWay(self._journal.now_us(), topic, chosen, mark, self.transaction)
            try:
                self._producer.produce(
                    topic,
                    value,
                    key,
                    partition,
                    on_delivery=self._heard(number, callback or on_delivery or self._on_delivery),
                    timestamp=timestamp,
                    headers=marked,
                )
            except BaseException:
                del self._under_way[number]
                raise

    def produce_batch(
        self,
        topic: str,
        messages: list[dict[str, Any]],
        partition: int = -1,
        callback: Delivered | None = None,
        on_delivery: Delivered | None = None,
    ) -> int:
        """One after the other, since the client's own has no headers. What is refused has an `_error`."""
        from confluent_kafka import KafkaError, KafkaException

        count = 0
        for message in messages:
            told = {name: message[name] for name in ("value", "key") if name in message}
            heard = message.get("callback") or callback or on_delivery
            try:
                self.produce(topic, partition=message.get("partition", partition), callback=heard, **told)
                count += 1
            except BufferError:
                message["_error"] = KafkaError(KafkaError._QUEUE_FULL)
            except KafkaException as refused:
                message["_error"] = refused.args[0]
        return count

    def _heard(self, number: int, on_delivery: Delivered | None) -> Delivered:
        def heard(error: KafkaError | None, message: Message) -> None:
            sent = self._under_way.pop(number, None)
            if sent is not None:
                partition = _natural(message.partition())
                outcome = outcome_of_send(None if error is None else error.code())
                if outcome is Outcome.OK and partition is None and sent.partition is None:
                    outcome = Outcome.UNKNOWN  # nobody knows where it would be
                self._tell(sent, outcome, partition, _natural(message.offset()) if error is None else None)
            if on_delivery is not None:
                on_delivery(error, message)

        return heard

    def _tell(self, sent: _UnderWay, outcome: Outcome, partition: int | None, offset: int | None) -> None:
        self._journal.write(
            "send",
            outcome=outcome.value,
            began_us=sent.began_us,
            ended_us=self._journal.now_us(),
            topic=sent.topic,
            partition=sent.partition if partition is None else partition,
            value=sent.mark,
            offset=offset,
            transaction=sent.transaction,
        )

    # Transactions.

    @property
    def transaction_at_work(self) -> str | None:
        """What is read now belongs to it. Not once its end was asked for: it may have come to that unheard."""
        return None if self._is_end_asked_for else self.transaction

    def begin_transaction(self) -> None:
        began_us = self._journal.now_us()
        self._producer.begin_transaction()
        self._transaction_count += 1
        self.transaction = f"{self._life}.t{self._transaction_count}"
        self._is_end_asked_for = False
        self._journal.write(
            "begin", transaction=self.transaction, began_us=began_us, ended_us=self._journal.now_us(), is_urgent=True
        )

    def send_offsets_to_transaction(
        self, positions: list[TopicPartition], group_metadata: object, timeout: float = -1
    ) -> None:
        """Give it what a `RecordingConsumer` says of its group, or the offsets are sent and not recorded."""
        began_us = self._journal.now_us()
        outcome = Outcome.UNKNOWN
        try:
            self._producer.send_offsets_to_transaction(positions, group_metadata, timeout)
            outcome = Outcome.OK
        finally:
            if isinstance(group_metadata, RecordedGroup):
                self._journal.write(
                    "commit",
                    outcome=outcome.value,
                    began_us=began_us,
                    ended_us=self._journal.now_us(),
                    group=group_metadata.group,
                    offsets=[[each.topic, each.partition, each.offset] for each in positions if each.offset >= 0],
                    transaction=self.transaction,
                )

    def commit_transaction(self, timeout: float = -1) -> None:
        self._end(Decision.COMMIT, self._producer.commit_transaction, timeout)

    def abort_transaction(self, timeout: float = -1) -> None:
        self._end(Decision.ABORT, self._producer.abort_transaction, timeout)

    def _end(self, decision: Decision, call: Callable[[float], None], timeout: float) -> None:
        """In the file before it is asked for, with all that belongs to the transaction: whoever is killed amid the call
        may have committed it."""
        from confluent_kafka import KafkaException

        self._is_end_asked_for = True
        began_us = self._journal.now_us()
        self._tell_end(Outcome.ASKED, decision, began_us, began_us)
        outcome = Outcome.UNKNOWN
        try:
            call(timeout)
            outcome = Outcome.OK
        except KafkaException as refused:
            outcome = outcome_of_end(refused.args[0].txn_requires_abort())
            raise
        finally:
            self._tell_end(outcome, decision, began_us, self._journal.now_us())
            if outcome is Outcome.OK:
                self.transaction = None

    def _tell_end(self, outcome: Outcome, decision: Decision, began_us: int, ended_us: int) -> None:
        if self.transaction is not None:  # where none was begun, none ends
            self._journal.write(
                "end",
                outcome=outcome.value,
                began_us=began_us,
                ended_us=ended_us,
                transaction=self.transaction,
                decision=decision.value,
                is_urgent=True,
            )

    # Its end.

    def close(self, timeout: float = CLOSE_TIMEOUT_S) -> bool:
        """What is still under way after this long is given up, or it would be sent behind our back."""
        try:
            if self._producer.flush(timeout):
                self._producer.purge()
                self._producer.flush(PURGE_TIMEOUT_S)
        finally:  # a client with a fatal error may fail here too
            for number in list(self._under_way):
                sent = self._under_way.pop(number, None)
                if sent is not None:
                    self._tell(sent, Outcome.UNKNOWN, None, None)
            self._journal.flush()
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __bool__(self) -> bool:
        """Also with nothing under way."""
        return True

    def __len__(self) -> int:
        return len(self._producer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)


def _natural(number: int | None) -> int | None:
    """Negative: nobody told (acks=0; a repetition that the broker knew)."""
    return None if number is None or number < 0 else number
