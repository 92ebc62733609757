"""The dump of everything that is small: aborted transactions, producer snapshots, checkpoints, identities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from strandline.cli.dump_batches import java_optional
from strandline.cli.output import Output
from strandline.cli.targets import Kind, base_offset_of, filesystem
from strandline.log.aborted_index import VERSION, AbortedIndex
from strandline.log.checkpoints import decode_leader_epochs, decode_offsets
from strandline.log.clean_shutdown import decode_clean_shutdown
from strandline.log.filesystem import read_whole
from strandline.log.meta_properties import NODE_ID_KEYS, decode_meta_properties
from strandline.log.partition_metadata import decode_partition_metadata
from strandline.log.producer_snapshots import decode_snapshot
from strandline.model.ids import encode_id

Rows = Iterator[dict[str, Any]]


def dump_state(path: str, kind: Kind, output: Output) -> None:
    """Text lines are `name: value name: value`; what has no value is left out where Kafka does so."""
    for row in READERS[kind](path):
        if output.is_json:
            output.object({"path": path} | row)
        else:
            output.line(" ".join(f"{name}: {_text(name, value)}" for name, value in row.items() if name != "type"))


def _text(name: str, value: object) -> str:
    if name == "currentTxnFirstOffset":
        return java_optional(value if isinstance(value, int) else None)
    return str(value)


def _aborted(path: str) -> Rows:
    for aborted in AbortedIndex(filesystem, path, base_offset_of(path), writable=False).all():
        yield {
            "type": "aborted_transaction",
            "version": VERSION,
            "producerId": aborted.producer_id,
            "firstOffset": aborted.first_offset,
            "lastOffset": aborted.last_offset,
            "lastStableOffset": aborted.last_stable_offset,
        }


def _producers(path: str) -> Rows:
    for entry in decode_snapshot(read_whole(filesystem, path)):
        row: dict[str, Any] = {
            "type": "producer",
            "producerId": entry.producer_id,
            "producerEpoch": entry.producer_epoch,
            "coordinatorEpoch": entry.coordinator_epoch,
            "currentTxnFirstOffset": entry.current_transaction_first_offset,
            "lastTimestamp": entry.last_timestamp,
        }
        batch = entry.last_batch
        if batch is not None:
            row |= {
                "firstSequence": batch.first_sequence,
                "lastSequence": batch.last_sequence,
                "lastOffset": batch.last_offset,
                "offsetDelta": batch.last_offset - batch.first_offset,
                "timestamp": batch.timestamp,
            }
        yield row


def _leader_epochs(path: str) -> Rows:
    for epoch, start_offset in decode_leader_epochs(read_whole(filesystem, path)):
        yield {"type": "leader_epoch", "epoch": epoch, "startOffset": start_offset}


def _offsets(path: str) -> Rows:
    for (topic, partition), offset in decode_offsets(read_whole(filesystem, path)).items():
        yield {"type": "checkpoint", "topic": topic, "partition": partition, "offset": offset}


def _meta_properties(path: str) -> Rows:
    properties = decode_meta_properties(read_whole(filesystem, path))
    values = {
        "version": properties.version,
        NODE_ID_KEYS[properties.version]: properties.node_id,
        "cluster.id": properties.cluster_id,
        "directory.id": None if properties.directory_id is None else encode_id(properties.directory_id),
    }
    known = {name: value for name, value in values.items() if value is not None}
    yield {"type": "meta_properties", **known, **properties.others}


def _partition_metadata(path: str) -> Rows:
    yield {"type": "partition_metadata", "topicId": encode_id(decode_partition_metadata(read_whole(filesystem, path)))}


def _clean_shutdown(path: str) -> Rows:
    yield {"type": "clean_shutdown", "brokerEpoch": decode_clean_shutdown(read_whole(filesystem, path))}


READERS: dict[Kind, Callable[[str], Rows]] = {
    Kind.ABORTED_INDEX: _aborted,
    Kind.PRODUCER_SNAPSHOT: _producers,
    Kind.LEADER_EPOCHS: _leader_epochs,
    Kind.OFFSETS: _offsets,
    Kind.META_PROPERTIES: _meta_properties,
    Kind.PARTITION_METADATA: _partition_metadata,
    Kind.CLEAN_SHUTDOWN: _clean_shutdown,
}
