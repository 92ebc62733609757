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


class RecordedGroup(NamedTuple):
    """What `RecordingConsumer.consumer_group_metadata` returns: the client's own object does not tell its group."""

    group: str
    metadata: object


class RecordingProducer:
    """Everything else that a `confluent_kafka.Producer` has is there too, and is not recorded.

    A send that nobody heard of until `close` is unknown. As many are remembered as the client has under way
    (`queue.buffering.max.messages`). Without `header`, records are sent as they are, and their values must be unique.
    """

    def __init__(self, settings: Mapping[str, Any], journal: Journal, *, header: str | None = HEADER) -> None:
        with needing_confluent_kafka():
            from confluent_kafka import Producer

        self._producer = Producer(dict(settings))
        self._journal = journal
        self._header = header
        self._lock = threading.Lock()  # what is stamped first is sent first
        self._under_way: dict[int, _UnderWay] = {}
        self._count = 0
        self._life = f"{journal.process}.{journal.now_us():x}"
        self._transaction_count = 0
        self.transaction: str | None = None
        acks, is_idempotent = _promises(settings)
        journal.write("client", acks=acks, idempotent=is_idempotent, clock=clock_name(), is_urgent=True)

    def produce(
        self,
        topic: str,
        value: str | bytes | None = None,
        key: str | bytes | None = None,
        partition: int = -1,
        on_delivery: Delivered | None = None,
        timestamp: int = 0,
        headers: Any = None,
        callback: Delivered | None = None,
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
                    on_delivery=self._heard(number, on_delivery or callback),
                    timestamp=timestamp,
                    headers=marked,
                )
            except BaseException:
                del self._under_way[number]
                raise

    def _heard(self, number: int, on_delivery: Delivered | None) -> Delivered:
        def heard(error: KafkaError | None, message: Message) -> None:
            sent = self._under_way.pop(number, None)
            if sent is not None:
                outcome = outcome_of_send(None if error is None else error.code())
                self._tell(sent, outcome, message.partition(), message.offset() if error is None else None)
            if on_delivery is not None:
                on_delivery(error, message)

        return heard

    def _tell(self, sent: _UnderWay, outcome: Outcome, partition: int | None, offset: int | None) -> None:
        """Negative: nobody told (acks=0; a repetition that the broker knew)."""
        self._journal.write(
            "send",
            outcome=outcome.value,
            began_us=sent.began_us,
            ended_us=self._journal.now_us(),
            topic=sent.topic,
            partition=partition if partition is not None and partition >= 0 else sent.partition,
            value=sent.mark,
            offset=offset if offset is not None and offset >= 0 else None,
            transaction=sent.transaction,
        )

    # Transactions.

    def begin_transaction(self) -> None:
        began_us = self._journal.now_us()
        self._producer.begin_transaction()
        self._transaction_count += 1
        self.transaction = f"{self._life}.t{self._transaction_count}"
        self._journal.write(
            "begin", transaction=self.transaction, began_us=began_us, ended_us=self._journal.now_us(), is_urgent=True
        )

    def send_offsets_to_transaction(self, positions: list[TopicPartition], group: object, *timeout: float) -> None:
        """Give it what a `RecordingConsumer` says of its group, or the offsets are sent and not recorded."""
        name, metadata = group if isinstance(group, RecordedGroup) else (None, group)
        began_us = self._journal.now_us()
        outcome = Outcome.UNKNOWN
        try:
            self._producer.send_offsets_to_transaction(positions, metadata, *timeout)
            outcome = Outcome.OK
        finally:
            if name is not None:
                self._journal.write(
                    "commit",
                    outcome=outcome.value,
                    began_us=began_us,
                    ended_us=self._journal.now_us(),
                    group=name,
                    offsets=[[each.topic, each.partition, each.offset] for each in positions],
                    transaction=self.transaction,
                )

    def commit_transaction(self, *timeout: float) -> None:
        self._end(Decision.COMMIT, self._producer.commit_transaction, timeout)

    def abort_transaction(self, *timeout: float) -> None:
        self._end(Decision.ABORT, self._producer.abort_transaction, timeout)

    def _end(self, decision: Decision, call: Callable[..., None], timeout: tuple[float, ...]) -> None:
        from confluent_kafka import KafkaException

        began_us = self._journal.now_us()
        outcome = Outcome.UNKNOWN
        try:
            call(*timeout)
            outcome = Outcome.OK
        except KafkaException as refused:
            outcome = outcome_of_end(refused.args[0].txn_requires_abort())
            raise
        finally:
            self._journal.write(
                "end",
                outcome=outcome.value,
                began_us=began_us,
                ended_us=self._journal.now_us(),
                transaction=self.transaction,
                decision=decision.value,
                is_urgent=True,
            )
            if outcome is Outcome.OK:
                self.transaction = None

    # Its end.

    def close(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._producer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)


def _promises(settings: Mapping[str, Any]) -> tuple[str, bool]:
    """acks, and whether it is idempotent, with librdkafka's names and defaults."""
    flat = {**settings, **settings.get("default.topic.config", {})}
    is_transactional = bool(flat.get("transactional.id"))
    is_idempotent = is_transactional or str(flat.get("enable.idempotence", "false")).lower() == "true"
    acks = str(flat.get("acks", flat.get("request.required.acks", "all")))
    return "all" if acks == "-1" or is_idempotent else acks, is_idempotent
