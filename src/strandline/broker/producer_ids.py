"""Ids for idempotent producers, each given out once in the life of the cluster (SPEC P2).

A broker takes them in blocks from the store, and loses the rest of its block when it stops: there are 2^63.
"""

from __future__ import annotations

from strandline.metadata import paths
from strandline.metadata.errors import BadVersion
from strandline.metadata.store import Session
from strandline.metadata.values import ProducerIdBlock, decode_producer_id_block, encode_producer_id_block
from strandline.model.failures import ErrorCode, Refused
from strandline.model.settings import LONG_MAX

BLOCK_SIZE = 1000


class ProducerIds:
    def __init__(self, session: Session, broker_id: int) -> None:
        self._session = session
        self._broker_id = broker_id
        self._next = 0
        self._end = 0

    async def take(self) -> int:
        while self._next == self._end:
            await self._take_block()
        self._next += 1
        return self._next - 1

    async def _take_block(self) -> None:
        node = await self._session.get(paths.LATEST_PRODUCER_ID_BLOCK)
        first = decode_producer_id_block(node.data).last + 1 if node.data else 0
        if first > LONG_MAX - BLOCK_SIZE:
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "all producer ids have been given out")
        block = ProducerIdBlock(self._broker_id, first, first + BLOCK_SIZE - 1)
        try:
            await self._session.set(paths.LATEST_PRODUCER_ID_BLOCK, encode_producer_id_block(block), node.stat.version)
        except BadVersion:
            return  # another request, or another broker, was quicker
        if self._next == self._end:
            self._next, self._end = first, first + BLOCK_SIZE
