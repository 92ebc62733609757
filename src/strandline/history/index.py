"""A history, sorted so that every anomaly can be looked for in one pass."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from strandline.history.asked import Asked
from strandline.history.lives import Lives
from strandline.history.operations import (
    Begin,
    Client,
    Commit,
    End,
    Operation,
    Outcome,
    Poll,
    Record,
    Send,
    TimedOperation,
    Trim,
)
from strandline.history.partition_log import PartitionLog
from strandline.history.reading import ConsumerWalk
from strandline.history.transaction import Fate, Transaction
from strandline.history.transactions import Transactions
from strandline.history.writers import Writers
from strandline.model.partitions import TopicPartition


class History:
    def __init__(self, operations: Iterable[Operation]) -> None:
        self.lives = Lives()
        self.processes: dict[str, list[TimedOperation]] = defaultdict(list)
        self.sends: list[Send] = []
        self.polls: list[Poll] = []
        self.commits: list[Commit] = []
        self.transactions = Transactions()
        self.logs: dict[TopicPartition, PartitionLog] = {}
        self.operation_counts: Counter[tuple[str, str]] = Counter()
        self.foreign_count = 0  # records read that no recorded process sent
        self.record_count = 0
        self.recognised_count = 0  # records read that are known to be one that was sent
        self._trims: list[Trim] = []
        self._writers = Writers()
        self._asked = Asked()
        for operation in operations:
            self._sort(operation)
        self.lives.settle()
        for operation in self._asked.unanswered(self.processes, self.lives):
            self._sort(operation)
        for done in self.processes.values():
            done.sort(key=self._order)
        self.transactions.settle(self.lives)
        self._writers.settle(self.sends, self.lives.is_promised)
        self._let_go_of_late_polls()
        self._note_reads()
        self._note_sends()
        self._settle_logs()
        walk = self._walk()
        self.breaks, self.starts, self.looks, self.sought = walk.breaks, walk.starts, walk.looks, walk.sought

    # Building it, in this order: what was read decides the fate of open transactions, that decides what is visible.

    def _order(self, operation: TimedOperation) -> tuple[int, int, int]:
        """One life after the other: each may have a clock of its own."""
        return self.lives.number(operation), operation.began_us, operation.number

    def _sort(self, operation: Operation) -> None:
        if isinstance(operation, Client):
            self.lives.note(operation)
            return
        if operation.outcome is Outcome.ASKED:
            self._asked.note(operation)
            return
        self.operation_counts[type(operation).__name__.lower(), operation.outcome.value] += 1
        self.processes[operation.process].append(operation)
        match operation:
            case Send():
                self.sends.append(operation)
                self._writers.note(operation)
                self.transactions.note(operation)
            case Poll() if operation.outcome is not Outcome.FAIL:
                self.polls.append(operation)
                self.transactions.note(operation)
            case Commit():
                self.commits.append(operation)
                self.transactions.note(operation)
            case Begin() | End():
                self.transactions.note(operation)
            case Trim():
                self._trims.append(operation)

    def _let_go_of_late_polls(self) -> None:
        late = self.transactions.let_go_of_late_polls(self.lives)
        alone = {poll.number: poll._replace(transaction=None) for poll in self.polls if poll.number in late}
        if alone:
            self.polls = [alone.get(poll.number, poll) for poll in self.polls]
            for done in self.processes.values():
                done[:] = [alone.get(each.number, each) for each in done]

    def _note_reads(self) -> None:
        for poll in self.polls:
            is_committed = self.lives.reads_committed(poll)
            for record in poll.records:
                partition, offset, value = record
                log = self.log(partition)
                log.claim(offset, value, poll)
                log.read_values.add(value)
                writer = self.writer_of(record)
                self.recognised_count += writer is not None
                if is_committed:
                    log.committed_offsets.add(offset)
                    if writer is not None and writer.transaction is not None:
                        self.transactions.by_name[writer.transaction].was_read(poll, self.lives.share_clock)
            self.record_count += len(poll.records)

    def _note_sends(self) -> None:
        for send in self.sends:
            if send.outcome is Outcome.OK and send.offset is not None and send.partition is not None:
                self.log(send.partition).claim(send.offset, send.value, send)

    def _settle_logs(self) -> None:
        for trim in self._trims:
            for partition, offset in trim.offsets if trim.outcome is not Outcome.FAIL else ():
                self.log(partition).trims.note(trim, offset)
        for log in self.logs.values():
            log.trims.settle()
            log.known = sorted(
                offset
                for offset, (_, witness) in log.claims.items()
                if isinstance(witness, Poll) or self.lives.is_promised(witness)
            )
            log.visible = [offset for offset in log.known if self._is_visible(log, offset)]

    def _is_visible(self, log: PartitionLog, offset: int) -> bool:
        value, witness = log.claims[offset]
        writer = self.writer_of(Record(log.partition, offset, value))
        if writer is None:
            self.foreign_count += not self.is_ambiguous(log.partition.topic, value)
            return offset in log.committed_offsets or (isinstance(witness, Send) and self.is_committed(witness))
        return self.is_committed(writer)

    def _walk(self) -> ConsumerWalk:
        walk = ConsumerWalk(self.logs, self.lives)
        for done in self.processes.values():
            walk.walk(done)
        return walk

    # Questions.

    def log(self, partition: TopicPartition) -> PartitionLog:
        log = self.logs.get(partition)
        if log is None:
            log = self.logs[partition] = PartitionLog(partition, self.lives.timeline)
        return log

    def writer(self, topic: str, value: str) -> Send | None:
        """None also where several sent it, so that none can be blamed."""
        return self._writers.by_value(topic, value)

    def writer_of(self, record: Record) -> Send | None:
        """Where several sent its value, the one that was told of this place."""
        return self._writers.of(record)

    def is_ambiguous(self, topic: str, value: str) -> bool:
        return self._writers.is_ambiguous(topic, value)

    def told_of_one_place(self) -> Iterator[tuple[Record, list[Send]]]:
        """Sends of the same value that were acknowledged at the same offset."""
        return self._writers.told_of_one_place()

    def sent_to(self, partition: TopicPartition, value: str) -> list[Send]:
        """What may lie there of a value that was sent more than once."""
        return self._writers.sent_to(partition, value)

    def transaction_of(self, operation: Send | Poll) -> Transaction | None:
        return None if operation.transaction is None else self.transactions.by_name[operation.transaction]

    def is_committed(self, send: Send) -> bool:
        """Not that it is in the log, but that readers of committed records see it if it is."""
        transaction = self.transaction_of(send)
        return send.outcome is not Outcome.FAIL and (transaction is None or transaction.fate is Fate.COMMITTED)

    def promises(self) -> Iterator[Send]:
        """What readers must find; where, is not known of some that were sent in a transaction."""
        for send in self.sends:
            is_acknowledged = send.outcome is Outcome.OK or self._is_in_commit(send)
            if is_acknowledged and self._is_known_apart(send) and self.is_committed(send):
                yield send

    def _is_known_apart(self, send: Send) -> bool:
        """From others that sent the same value: by where it was acknowledged."""
        has_place = send.outcome is Outcome.OK and send.offset is not None
        return has_place or not self.is_ambiguous(send.topic, send.value)

    def is_read(self, send: Send, log: PartitionLog) -> bool:
        if not self.is_ambiguous(send.topic, send.value):
            return send.value in log.read_values
        return send.offset is not None and log.is_read_at(send.offset, send.value)

    def _is_in_commit(self, send: Send) -> bool:
        """Clients wait for what they sent before they ask for the commit: once that is acknowledged, it is there."""
        transaction = self.transaction_of(send)
        return transaction is not None and transaction.acknowledged_end is not None

    def topics(self) -> frozenset[str]:
        return frozenset({send.topic for send in self.sends} | {partition.topic for partition in self.logs})

    def counts(self) -> dict[str, int]:
        by_fate = Counter(transaction.fate for transaction in self.transactions.by_name.values())
        return {
            "processes": len(self.processes),
            "partitions": len(self.logs),
            "records_read": self.record_count,
            "records_recognised": self.recognised_count,
            "acknowledged": self.operation_counts["send", "ok"],
            "transactions_committed": by_fate[Fate.COMMITTED],
            "transactions_aborted": by_fate[Fate.ABORTED],
            "transactions_open": by_fate[Fate.OPEN],
            "foreign_records": self.foreign_count,
            "values_sent_twice": self._writers.ambiguous_count,
        }
