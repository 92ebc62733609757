"""Where records went, read by others than those who wrote: librdkafka (`topics`), Arrow, delta-rs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset
from deltalake import DeltaTable
from tests.exactness.topics import messages_in


def keys_in(bootstrap: str, topic: str, partitions: int) -> Iterator[int]:
    """The numbers of all committed records, by their keys."""
    for message in messages_in(bootstrap, topic, partitions):
        yield int(message.key() or b"-1")


def numbers_in(bootstrap: str, topic: str, partitions: int) -> Iterator[int]:
    """By what their values say; they are JSON."""
    for message in messages_in(bootstrap, topic, partitions):
        yield json.loads(message.value() or b"{}").get("number", -1)


def numbers_in_parquet(path: Path) -> Iterator[int]:
    for batch in pyarrow.dataset.dataset(str(path), format="parquet").to_batches(columns=["number"]):
        yield from batch.column(0).to_pylist()


def numbers_in_delta(path: Path) -> Iterator[int]:
    for batch in DeltaTable(str(path)).to_pyarrow_dataset().to_batches(columns=["number"]):
        yield from batch.column(0).to_pylist()
