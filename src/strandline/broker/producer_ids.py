"""Producer ids out of the store, in blocks (SPEC P2): what `transactions.producer_ids` asks its shell to do.

One block is taken at a time, for all who wait. Where the store gives none they are told so, and whoever asks next makes
the next attempt.
"""

from __future__ import annotations

import logging

from strandline.broker.host import Host
from strandline.broker.procedures import begin
from strandline.metadata import paths
from strandline.metadata.answer import Answer, Unanswered
from strandline.metadata.errors import BadVersion, StoreError
from strandline.metadata.store import Session
from strandline.metadata.values import ProducerIdBlock, decode_producer_id_block, encode_producer_id_block
from strandline.model.failures import CorruptData
from strandline.transactions.producer_ids import Block, ProducerIds, ProducerIdsExhausted, next_block

logger = logging.getLogger(__name__)


class NoProducerIds(Unanswered):
    """There are none left, or nobody can tell which are."""


class ProducerIdBlocks:
    def __init__(self, session: Session, broker_id: int, host: Host) -> None:
        self.ids = ProducerIds()
        self._session = session
        self._broker_id = broker_id
        self._host = host
        self._waiting: list[Answer[None]] = []

    async def take(self) -> int:
        """An id, once there is one; raises what the store says where it gives none."""
        while True:
            await self.ready()
            producer_id = self.ids.claim()
            if producer_id is not None:
                self.replenish()
                return producer_id

    async def ready(self) -> None:
        """Wait for the next block where nothing is left of the last."""
        while self.ids.is_empty:
            self.replenish()
            if not self.ids.is_requested:
                raise NoProducerIds("the store gave none a moment ago")
            came: Answer[None] = Answer()
            self._waiting.append(came)
            await came

    def replenish(self) -> None:
        """Ask for the next block where it is time to."""
        if self.ids.wants_block(self._host.elapsed_ms()):
            self.ids.requested()
            begin(self._take_block())

    async def _take_block(self) -> None:
        try:
            self.ids.received(await self._next_block())
        except (StoreError, NoProducerIds) as failure:
            self.ids.failed(self._host.elapsed_ms())
            logger.warning("no producer ids from the store: %s", failure)
            self._tell(failure)
        else:
            self._tell(None)

    async def _next_block(self) -> Block:
        while True:
            node = await self._session.get(paths.LATEST_PRODUCER_ID_BLOCK)
            try:
                latest = decode_producer_id_block(node.data) if node.data else None
                block = next_block(None if latest is None else Block(latest.first, latest.last))
            except (CorruptData, ProducerIdsExhausted) as failure:
                raise NoProducerIds(str(failure)) from None
            value = encode_producer_id_block(ProducerIdBlock(self._broker_id, block.first, block.last))
            try:
                await self._session.set(paths.LATEST_PRODUCER_ID_BLOCK, value, node.stat.version)
            except BadVersion:
                continue  # another broker was quicker
            return block

    def _tell(self, outcome: Unanswered | None) -> None:
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.deliver(outcome)
