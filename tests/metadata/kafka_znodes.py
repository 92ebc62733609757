"""What Kafka 3.9 itself wrote: by its encoders (MakeZnodes.java), and the whole tree of a broker that ran."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from strandline.metadata import paths
from strandline.metadata.broker_values import decode_broker
from strandline.metadata.config_values import decode_config, decode_config_change
from strandline.metadata.values import (
    decode_cluster_id,
    decode_controller,
    decode_controller_epoch,
    decode_features,
    decode_log_dir_event,
    decode_partition_state,
    decode_partitions,
    decode_producer_id_block,
    decode_reassignment,
    decode_topic,
)
from strandline.model.partitions import TopicPartition

HERE = Path(__file__).resolve().parent


def _lines(name: str) -> list[tuple[str, bytes]]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [(name, value.encode()) for name, _, value in (line.partition("\t") for line in lines)]


ENCODED = _lines("znodes-3.9.txt")
WRITTEN = dict(ENCODED)
OF_A_BROKER = dict(_lines("znodes-of-a-broker-3.9.txt"))

DECODERS: dict[str, Callable[[bytes], Any]] = {
    "isr_change": lambda data: decode_partitions(paths.ISR_CHANGE_NOTIFICATION, data),
    "preferred": lambda data: decode_partitions(paths.PREFERRED_REPLICA_ELECTION, data),
    "reassign": decode_reassignment,
    "controller": decode_controller,
    "controller_epoch": decode_controller_epoch,
    "log_dir_event": decode_log_dir_event,
    "config_change": decode_config_change,
    "config": lambda data: decode_config("topics/orders", data),
    "cluster_id": decode_cluster_id,
    "producer_ids": decode_producer_id_block,
    "topic": lambda data: decode_topic("orders", data),
    "state RECOVERING": lambda data: decode_partition_state(TopicPartition("orders", 0), data),
    "broker 5": lambda data: decode_broker(1, data),
    "feature 2": decode_features,
}
