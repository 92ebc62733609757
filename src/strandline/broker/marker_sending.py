"""Markers on their way from a transaction coordinator to the leaders of the partitions (SPEC P3).

Each broker has one WriteTxnMarkers request under way; what comes up meanwhile goes into the next, but never two markers
of one producer into the same. What cannot be sent or is not answered is a result like any other: the coordinator tries
again.

A partition without a leader may have been deleted, and its transaction would wait for it for ever. It counts as deleted
where the controller has told us so, or where the store twice, some seconds apart, has no such partition: a single look
may have been at a server that was behind.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

from strandline.broker.cluster_image import ClusterImage
from strandline.broker.host import Host
from strandline.broker.led_transactions import Written
from strandline.broker.peers import PeerFailed, Peers, Purpose
from strandline.broker.procedures import begin
from strandline.metadata import paths
from strandline.metadata.answer import Answer
from strandline.metadata.errors import NoNode, StoreError
from strandline.metadata.store import Session
from strandline.metadata.values import decode_topic
from strandline.model.failures import CorruptData, ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.transactions.markers import Marker, by_leader
from strandline.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

WRITE_MARKERS_VERSION = 2
MARKERS_PER_REQUEST_MAX = 500
MARKERS_TIMEOUT_MS = 30_000
LOOK_AGAIN_MS = 5_000
DELETED_TOPICS_REMEMBERED = 10_000

Waiting = tuple[Marker, Written]
Deleted = Callable[[Sequence[TopicPartition]], object]


class MarkerSender:
    def __init__(self, image: ClusterImage, session: Session, host: Host) -> None:
        self.peers: Peers | None = None  # once there are any
        self.when_deleted: Deleted = lambda _partitions: None
        self._image = image
        self._session = session
        self._host = host
        self._queues: dict[int, deque[Waiting]] = {}
        self.under_way: set[int] = set()  # to these leaders
        self._topics: dict[str, tuple[UUID, int]] = {}  # with their partition counts
        self._deleted: OrderedDict[str, None] = OrderedDict()
        self._looking: set[TopicPartition] = set()
        image.when_changed(self._topic_changed)

    def send(self, markers: Sequence[Marker], written: Written) -> None:
        """`written` hears of each partition once, later."""
        for leader, led in by_leader(markers, self._leader_of).items():
            if leader is None:
                for marker in led:
                    result = marker.all_partitions(ErrorCode.LEADER_NOT_AVAILABLE)
                    self._host.call_soon(partial(written, result))
                    self._look_for(marker.partitions)
            else:
                self._queues.setdefault(leader, deque()).extend((marker, written) for marker in led)
                self._send_next(leader)

    def _leader_of(self, name: TopicPartition) -> int | None:
        topic = self._image.topics.get(name.topic)
        partition = None if topic is None else topic.partitions.get(name.partition)
        return None if partition is None or partition.leader_id < 0 else partition.leader_id

    # Requests.

    def _send_next(self, leader: int) -> None:
        if leader not in self.under_way and self._queues.get(leader):
            self.under_way.add(leader)
            begin(self._write(leader, self._take(leader)))

    def _take(self, leader: int) -> list[Waiting]:
        queue = self._queues[leader]
        taken: list[Waiting] = []
        producers: set[int] = set()
        while queue and len(taken) < MARKERS_PER_REQUEST_MAX and queue[0][0].producer_id not in producers:
            taken.append(queue.popleft())
            producers.add(taken[-1][0].producer_id)
        if not queue:
            del self._queues[leader]
        return taken

    async def _write(self, leader: int, waiting: Sequence[Waiting]) -> None:
        errors: dict[tuple[int, TopicPartition], ErrorCode] = {}
        try:
            assert self.peers is not None
            response = await self.peers.ask(
                leader,
                WriteTxnMarkersRequest([_writable(marker) for marker, _ in waiting]),
                WriteTxnMarkersResponse,
                version=WRITE_MARKERS_VERSION,
                purpose=Purpose.MARKERS,
                timeout_ms=MARKERS_TIMEOUT_MS,
            )
            errors = _errors_in(response)
        except PeerFailed:
            pass  # what became of them nobody knows
        self.under_way.discard(leader)
        for marker, written in waiting:
            written(
                marker.written(
                    (name, errors.get((marker.producer_id, name), ErrorCode.NETWORK_EXCEPTION))
                    for name in marker.partitions
                )
            )
        self._send_next(leader)

    # Deleted partitions.

    def _topic_changed(self, name: str) -> None:
        topic, before = self._image.topics.get(name), self._topics.pop(name, None)
        if topic is not None:
            self._topics[name] = (topic.topic_id, len(topic.partitions))
            self._deleted.pop(name, None)
        elif before is not None:
            self._deleted[name] = None
            if len(self._deleted) > DELETED_TOPICS_REMEMBERED:
                self._deleted.popitem(last=False)
        if before is not None and (topic is None or topic.topic_id != before[0]):
            gone = [TopicPartition(name, index) for index in range(before[1])]
            self._host.call_soon(lambda: self.when_deleted(gone))

    def _look_for(self, names: Sequence[TopicPartition]) -> None:
        for name in names:
            if self._is_known(name):
                continue  # it has no leader at the moment
            if name.topic in self._deleted:
                self._host.call_soon(partial(self.when_deleted, [name]))
            elif name not in self._looking:
                self._looking.add(name)
                begin(self._look_twice(name))

    def _is_known(self, name: TopicPartition) -> bool:
        topic = self._image.topics.get(name.topic)
        return topic is not None and name.partition in topic.partitions

    async def _look_twice(self, name: TopicPartition) -> None:
        try:
            if await self._is_missing(name):
                pause: Answer[None] = Answer()
                self._host.call_later(LOOK_AGAIN_MS, lambda: pause.deliver(None))
                await pause
                if await self._is_missing(name) and not self._is_known(name):
                    self.when_deleted([name])
        finally:
            self._looking.discard(name)

    async def _is_missing(self, name: TopicPartition) -> bool:
        try:
            node = await self._session.get(paths.topic_path(name.topic))
            return name.partition not in decode_topic(name.topic, node.data).partitions
        except NoNode:
            return True
        except (StoreError, CorruptData):
            return False


def _writable(marker: Marker) -> WritableTxnMarker:
    topics: dict[str, list[int]] = {}
    for name in marker.partitions:
        topics.setdefault(name.topic, []).append(name.partition)
    return WritableTxnMarker(
        marker.producer_id,
        marker.producer_epoch,
        marker.is_commit,
        [WritableTxnMarkerTopic(topic, indexes) for topic, indexes in topics.items()],
        marker.coordinator_epoch,
        marker.transaction_version,
    )


def _errors_in(response: WriteTxnMarkersResponse) -> dict[tuple[int, TopicPartition], ErrorCode]:
    return {
        (marker.producer_id, TopicPartition(topic.name, each.partition_index)): ErrorCode(each.error_code)
        for marker in response.markers
        for topic in marker.topics
        for each in topic.partitions
    }
