"""WriteTxnMarkers, v1-v2: a transaction of these partitions has ended (SPEC P3). From coordinators, and from an
administrator who aborts a transaction that hangs.

A marker is answered when it is committed. It never shares an append with a batch of its producer: other requests of the
same receive are appended first. On `__consumer_offsets` it moves the group's offsets too, so there its groups must be
loaded.
"""

from __future__ import annotations

from typing import cast

from strandline.broker.cluster_image import CONSUMER_OFFSETS
from strandline.broker.commit_watch import committed
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.broker.host import Host
from strandline.broker.partition import Partition
from strandline.broker.partitions import Partitions
from strandline.broker.transaction_gate import TransactionGate
from strandline.metadata.answer import Answer
from strandline.model.failures import ErrorCode, Refused, StorageFailed
from strandline.records.control import build_marker
from strandline.replication.leader import ACKS_ALL
from strandline.wire.layout import Message
from strandline.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

COMMIT_TIMEOUT_MS = 20_000  # less than the coordinator waits for its answer


class MarkerWriter:
    def __init__(self, partitions: Partitions, groups: GroupCoordinator, gate: TransactionGate, host: Host) -> None:
        self._partitions = partitions
        self._groups = groups
        self._gate = gate
        self._host = host

    async def write(self, request: Message) -> Message:
        """All of them first, then wait for all: a partition that is slow holds up the answer, not the others."""
        next_turn: Answer[None] = Answer()
        self._host.call_soon(lambda: next_turn.deliver(None))
        await next_turn
        response = WriteTxnMarkersResponse()
        waiting: list[tuple[Answer[ErrorCode], WritableTxnMarkerPartitionResult]] = []
        for marker in cast(WriteTxnMarkersRequest, request).markers:
            answer = WritableTxnMarkerResult(marker.producer_id)
            response.markers.append(answer)
            for topic in marker.topics:
                results = [WritableTxnMarkerPartitionResult(index) for index in topic.partition_indexes]
                answer.topics.append(WritableTxnMarkerTopicResult(topic.name, results))
                for result in results:
                    try:
                        waiting.append((self._append(topic.name, marker, result), result))
                    except Refused as refused:
                        result.error_code = refused.error_code
                    except StorageFailed:
                        result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        for outcome, result in waiting:
            result.error_code = await outcome
        return response

    def _append(
        self, topic: str, marker: WritableTxnMarker, result: WritableTxnMarkerPartitionResult
    ) -> Answer[ErrorCode]:
        partition = self._partitions.leader_of(topic, result.partition_index)
        assert partition.leader is not None
        partition.leader.check_append(ACKS_ALL)
        self._gate.check_marker(partition, marker.producer_id, marker.producer_epoch, marker.transaction_version)
        groups = self._groups.ready(partition) if topic == CONSUMER_OFFSETS else None
        end_offset = self._write(partition, marker)
        self._gate.written(partition, marker.producer_id)
        if groups is not None:
            groups.transaction_ended(marker.producer_id, committed=marker.transaction_result)
        return committed(partition, end_offset, self._host, COMMIT_TIMEOUT_MS)

    def _write(self, partition: Partition, marker: WritableTxnMarker) -> int:
        now_ms = self._host.now_ms()
        batch = build_marker(
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            is_commit=marker.transaction_result,
            coordinator_epoch=marker.coordinator_epoch,
            timestamp=now_ms,
        )
        (outcome,) = partition.append([batch], now_ms, from_client=False)
        if isinstance(outcome, Refused):
            raise outcome
        return outcome.last_offset + 1
