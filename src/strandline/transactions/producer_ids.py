"""Producer ids: no two producers of a cluster ever get the same.

`/latest_producer_id_block` holds the last block of 1000 ids that a broker took. A broker takes the next one by
writing it there, on condition that nobody has written since it read:

    1. `ProducerIds.wants_block` says that one is needed; `requested` is called.
    2. read the znode, with its version;           `next_block` says what to write
    3. write it with that version;                 on success `received`
       somebody was faster, or nobody knows:       from 2 again. The block in question may be lost, which harms nobody:
                                                   there are 2**63 ids
       the store cannot be reached:                `failed`, and later from 1

and then gives out the ids one by one, to idempotent producers and to transactional ids, without asking anybody. The
next block is asked for while a tenth of the last one is left. What a broker has not given out when it stops is never
used.
"""

from __future__ import annotations

from typing import NamedTuple

from strandline.model.failures import ErrorCode, check
from strandline.transactions.replies import InitProducerIdReply

BLOCK_SIZE = 1000
PREFETCH_AT = 100  # ids left
PRODUCER_ID_MAX = 2**63 - 1
RETRY_MS = 50


class Block(NamedTuple):
    """Both ends included."""

    first: int
    last: int


class ProducerIdsExhausted(Exception):
    """All 2**63 of them."""


def next_block(latest: Block | None) -> Block:
    """What to write after the latest block that anybody took."""
    if latest is None:
        return Block(0, BLOCK_SIZE - 1)
    if latest.last > PRODUCER_ID_MAX - BLOCK_SIZE:
        raise ProducerIdsExhausted(
            f"the latest block of producer ids ends at {latest.last}, and there is none after it"
        )
    return Block(latest.last + 1, latest.last + BLOCK_SIZE)


class ProducerIds:
    __slots__ = ("_first_left", "_is_requested", "_last", "_last_received", "_next_block", "_retry_at_ms")

    def __init__(self) -> None:
        self._first_left, self._last = 0, -1
        self._next_block: Block | None = None
        self._last_received = -1
        self._is_requested = False
        self._retry_at_ms: int | None = None

    def claim(self) -> int | None:
        """An id that nobody has had, or None until the next block comes."""
        if self._first_left > self._last:
            if self._next_block is None:
                return None
            (self._first_left, self._last), self._next_block = self._next_block, None
        self._first_left += 1
        return self._first_left - 1

    def wants_block(self, now_ms: int) -> bool:
        if self._is_requested or self._next_block is not None:
            return False
        if self._retry_at_ms is not None and now_ms < self._retry_at_ms:
            return False
        left = self._last - self._first_left + 1
        return left <= PREFETCH_AT

    @property
    def is_empty(self) -> bool:
        return self._first_left > self._last and self._next_block is None

    @property
    def is_requested(self) -> bool:
        """Whether a block is on its way."""
        return self._is_requested

    def requested(self) -> None:
        self._is_requested = True

    def received(self, block: Block) -> None:
        check(self._is_requested and self._next_block is None, f"{block} was not asked for")
        check(self._last_received < block.first <= block.last, f"{block} gives out ids that have been given out")
        self._next_block, self._last_received = block, block.last
        self._is_requested, self._retry_at_ms = False, None

    def failed(self, now_ms: int) -> None:
        self._is_requested, self._retry_at_ms = False, now_ms + RETRY_MS


def init_idempotent_producer(producer_ids: ProducerIds) -> InitProducerIdReply:
    """InitProducerId without a transactional id, which any broker answers."""
    producer_id = producer_ids.claim()
    if producer_id is None:
        return InitProducerIdReply(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    return InitProducerIdReply(producer_id=producer_id, producer_epoch=0)
