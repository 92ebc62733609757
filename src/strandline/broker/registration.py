"""This broker's registration, and those of the others (SPEC M1, R7).

`/brokers/ids/<id>` is ephemeral: it says that we live and where, and it goes with our session. The zxid that made it is
our epoch, by which the controller and the leaders tell this life from an earlier one. When a session has expired the
broker opens another and registers anew, with a new epoch.

The others are watched for their epochs alone: a leader must know whether a follower is still the one that fetched
(KIP-903).
"""

from __future__ import annotations

import logging

from strandline.broker.host import Host
from strandline.broker.procedures import begin
from strandline.metadata import paths
from strandline.metadata.broker_values import BrokerRegistration, encode_broker
from strandline.metadata.errors import NodeExists, NoNode, SessionOver, StoreError
from strandline.metadata.store import Session, WatchEvent

logger = logging.getLogger(__name__)

TRY_AGAIN_MS = 200
NO_EPOCH = -1


class IdInUse(Exception):
    """Another broker lives under our id. The message says what to do."""


class Registration:
    def __init__(self, session: Session, host: Host) -> None:
        self.broker_epoch = NO_EPOCH
        self._session = session
        self._host = host

    async def register(self, registration: BrokerRegistration) -> None:
        path = paths.broker_path(registration.broker_id)
        data = encode_broker(registration)
        try:
            created = await self._session.create(path, data, ephemeral=True)
        except NodeExists:
            created_stat = await self._take_over(path)
            if created_stat is None:
                created = await self._session.create(path, data, ephemeral=True)
            else:
                raise IdInUse(
                    f"broker {registration.broker_id} is registered already: stop it, or choose another broker.id"
                ) from None
        self.broker_epoch = created.stat.created_zxid

    async def _take_over(self, path: str) -> int | None:
        """Whose registration stands in the way: our own of a moment ago may go (KAFKA-7165)."""
        try:
            stat = (await self._session.get(path)).stat
            if stat.ephemeral_owner != self._session.session_id:
                return stat.ephemeral_owner
            await self._session.delete(path)
        except NoNode:
            pass
        return None


class LiveBrokers(dict[int, int]):
    """Broker ids and their epochs, as the store has them."""

    def __init__(self, session: Session, host: Host) -> None:
        super().__init__()
        self._session = session
        self._host = host
        self._begun = 0  # reads
        self._taken = 0  # the read that we are the outcome of

    async def read(self) -> None:
        """Now, and whenever they change. Who reads fewer may overtake an earlier read of more, and stays."""
        self._begun += 1
        number = self._begun
        try:
            names = (await self._session.children(paths.BROKER_IDS, self._changed)).names
            epochs = {}
            for name in names:
                stat = await self._session.exists(paths.broker_path(int(name)))
                if stat is not None:
                    epochs[int(name)] = stat.created_zxid
        except SessionOver:
            return
        except StoreError:
            self._host.call_later(TRY_AGAIN_MS, lambda: begin(self.read()))
            return
        if number > self._taken:
            self._taken = number
            self.clear()
            self.update(epochs)

    def _changed(self, _: WatchEvent) -> None:
        begin(self.read())
