"""The journal of a cluster: every election, epoch, ISR change, truncation and controller, with causes (SPEC R6).

Entries wait in a queue, and go in batches to the leader of an internal topic, which the first of them creates. Whoever
tells something never waits. If the journal cannot be written, for its leader may be what has just failed, entries stay
in the queue and are tried again; when there are too many the oldest go, and the journal says how many.

A broker alone keeps none: nothing can happen to its replicas that its own log does not tell.
"""

from __future__ import annotations

import logging
from collections import deque
from itertools import islice

from strandline.broker.cluster_image import JOURNAL, ClusterImage
from strandline.broker.host import Host, Timer
from strandline.broker.journal_entries import Entry, ReplicaEntry, controller_entry, replica_entry
from strandline.broker.journal_settings import JournalSettings
from strandline.broker.partitions import Partitions
from strandline.broker.peers import PeerFailed, Peers, Purpose
from strandline.broker.procedures import begin, pause
from strandline.broker.topic_administration import TopicAdministration
from strandline.controller.journal import JournalEntry
from strandline.metadata.errors import StoreError
from strandline.model.failures import ErrorCode, Refused, StorageFailed
from strandline.model.partitions import TopicPartition
from strandline.records.builder import build_batch
from strandline.records.record import Record
from strandline.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData

logger = logging.getLogger(__name__)

PARTITION = TopicPartition(JOURNAL, 0)
PRODUCE_VERSION = 9
LEADER_ONLY = 1  # the journal must be there when fewer replicas are in sync than anything else asks for
WRITE_AFTER_MS = 100  # what happens together is written together
TRY_AGAIN_MS = 1_000
TIMEOUT_MS = 5_000
LAST_WORDS_MS, LOOK_MS = 500, 5
COMPANY_WAIT_MS = 60_000  # then it is created with as many replicas as there are brokers
ENTRIES_PER_BATCH = 500
TOO_LARGE = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)


class JournalQueue:
    """What has happened and is not in the journal yet."""

    def __init__(self, broker_id: int, settings: JournalSettings, host: Host, *, is_kept: bool) -> None:
        self.entries: deque[Entry] = deque()
        self.lost_count = 0
        self.writer: JournalWriter | None = None
        self._broker_id = broker_id
        self._entries_max = settings.journal_queue_entries
        self._host = host
        self._is_kept = is_kept and settings.journal_enable
        self._batch_entries = ENTRIES_PER_BATCH

    def tell(self, entry: JournalEntry) -> None:
        """What the controller has decided, and has committed."""
        if self._is_kept:
            self._put(controller_entry(entry, self._broker_id, self._host.now_ms()))

    def tell_of(self, partition: TopicPartition, effect: ReplicaEntry) -> None:
        """What a replica of ours has done."""
        if self._is_kept:
            self._put(replica_entry(partition, effect, self._broker_id, self._host.now_ms()))

    def _put(self, entry: Entry) -> None:
        self.entries.append(entry)
        if len(self.entries) > self._entries_max:
            self.entries.popleft()
            self.lost_count += 1
        if self.writer is not None:
            self.writer.wake()

    def next_batch(self) -> list[Entry]:
        if self.lost_count:
            says = f"{self.lost_count} entries were lost: the journal could not be written"
            self.entries.appendleft(
                Entry(self._host.now_ms(), self._broker_id, "lost", says, "journal", {"count": self.lost_count})
            )
            self.lost_count = 0
        return list(islice(self.entries, self._batch_entries))

    def was_too_large(self, batch: list[Entry]) -> None:
        """For its topic: fewer are tried next, and one alone that is too large is lost."""
        if len(batch) == 1:
            self.lost_count += 1
            self.written(batch)
        self._batch_entries = max(1, len(batch) // 2)

    def written(self, batch: list[Entry]) -> None:
        """Some of them may have been dropped meanwhile."""
        self._batch_entries = min(2 * self._batch_entries, ENTRIES_PER_BATCH)
        kept = set(map(id, batch))
        while self.entries and id(self.entries[0]) in kept:
            self.entries.popleft()


class JournalWriter:
    def __init__(
        self,
        broker_id: int,
        queue: JournalQueue,
        topics: TopicAdministration,
        image: ClusterImage,
        partitions: Partitions,
        peers: Peers,
        settings: JournalSettings,
        host: Host,
    ) -> None:
        self._settings = settings
        self._alone_until_ms = host.elapsed_ms() + COMPANY_WAIT_MS
        self._broker_id = broker_id
        self._queue = queue
        self._topics = topics
        self._image = image
        self._partitions = partitions
        self._peers = peers
        self._host = host
        self._timer: Timer | None = None
        self._is_writing = False
        self._is_open = True

    def start(self) -> None:
        """Once the broker is a member; what has happened until then waits."""
        self._queue.writer = self
        self.wake()

    async def last_words(self) -> None:
        """What has just happened is told before this broker stops, if that takes no time."""
        if self._timer is not None:
            self._timer.cancel()
            self._begin()
        deadline_ms = self._host.elapsed_ms() + LAST_WORDS_MS
        while self._is_writing and self._host.elapsed_ms() < deadline_ms:
            await pause(self._host, LOOK_MS)

    def close(self) -> None:
        self._is_open = False
        if self._timer is not None:
            self._timer.cancel()

    def wake(self, after_ms: int = WRITE_AFTER_MS) -> None:
        if self._is_open and self._timer is None and not self._is_writing and self._queue.entries:
            self._timer = self._host.call_later(after_ms, self._begin)

    def _begin(self) -> None:
        self._timer, self._is_writing = None, True
        begin(self._write())

    async def _write(self) -> None:
        batch = self._queue.next_batch()
        try:
            if JOURNAL not in self._image.topics:
                self._check_company()
                await self._topics.create_topic_by_default(JOURNAL)
            await self._append(batch)
        except (Refused, PeerFailed, StorageFailed, StoreError) as failure:
            logger.debug("the journal cannot be written now: %s", failure)
            after_ms = TRY_AGAIN_MS
            if isinstance(failure, Refused) and failure.error_code in TOO_LARGE:
                self._queue.was_too_large(batch)
                after_ms = WRITE_AFTER_MS
        else:
            self._queue.written(batch)
            after_ms = WRITE_AFTER_MS
        self._is_writing = False
        self.wake(after_ms)

    def _check_company(self) -> None:
        """Brokers of a new cluster come one after the other, and a journal that only the first has would go with it."""
        missing = self._settings.journal_replication_factor - len(self._image.brokers)
        if missing > 0 and self._host.elapsed_ms() < self._alone_until_ms:
            raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, f"{missing} more brokers are waited for")

    async def _append(self, entries: list[Entry]) -> None:
        topic = self._image.topics.get(JOURNAL)
        leader_id = -1 if topic is None or 0 not in topic.partitions else topic.partitions[0].leader_id
        if leader_id < 0:
            raise Refused(ErrorCode.LEADER_NOT_AVAILABLE, "the journal has no leader")
        batch = build_batch(
            [Record(index, entry.time_ms, entry.key.encode(), entry.value()) for index, entry in enumerate(entries)]
        )
        if leader_id == self._broker_id:
            partition = self._partitions.leader_of(*PARTITION)
            for outcome in partition.append([batch], self._host.now_ms()):
                if isinstance(outcome, Refused):
                    raise outcome
        else:
            await self._send(leader_id, batch)

    async def _send(self, leader_id: int, batch: bytearray) -> None:
        data = TopicProduceData(JOURNAL, partition_data=[PartitionProduceData(0, bytes(batch))])
        request = ProduceRequest(None, LEADER_ONLY, TIMEOUT_MS, [data])
        response = await self._peers.ask(
            leader_id,
            request,
            ProduceResponse,
            version=PRODUCE_VERSION,
            purpose=Purpose.CONTROL,
            timeout_ms=TIMEOUT_MS,
        )
        for topic in response.responses:
            for partition in topic.partition_responses:
                if partition.error_code:
                    raise Refused(ErrorCode(partition.error_code), partition.error_message or "")
