"""The head of a batch of any format. Only v2 has one as such; older messages get one made up for them."""

from __future__ import annotations

from strandline.records.batch import MAGIC_V2, BatchHead, Buffer, magic_of, read_head, verify_batch
from strandline.records.legacy import read_legacy_head, verify_legacy


def head_of(batch: Buffer) -> BatchHead:
    return read_head(batch) if magic_of(batch) == MAGIC_V2 else read_legacy_head(batch)


def verified_head_of(batch: Buffer) -> BatchHead:
    """The head of one whole batch whose length, CRC and counts hold."""
    return verify_batch(batch) if magic_of(batch) == MAGIC_V2 else verify_legacy(batch)
