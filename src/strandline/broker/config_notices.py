"""Settings that others have changed: a notice in the store says whose, and they are read and put in force here.

Every broker looks at every notice, its own too, which changes nothing. When it starts it looks at all that are there:
one may have come after the settings were read.
"""

from __future__ import annotations

import logging

from strandline.broker.configuration import Configuration
from strandline.broker.current_session import CurrentSession
from strandline.broker.host import Host
from strandline.broker.procedures import begin
from strandline.metadata import paths
from strandline.metadata.config_values import decode_config_change
from strandline.metadata.errors import NoNode, SessionOver, StoreError
from strandline.metadata.store import WatchEvent
from strandline.model.failures import CorruptData

logger = logging.getLogger(__name__)

TRY_AGAIN_MS = 200


class ConfigNotices:
    def __init__(self, session: CurrentSession, configuration: Configuration, broker_id: int, host: Host) -> None:
        self._session = session
        self._configuration = configuration
        self._broker_id = broker_id
        self._host = host
        self._seen: set[str] = set()

    def start(self) -> None:
        begin(self._look())

    async def _look(self) -> None:
        try:
            names = set((await self._session.children(paths.CONFIG_CHANGES, self._changed)).names)
            changed = {await self._entity_of(name): None for name in sorted(names - self._seen)}
            for entity in changed:
                if entity is not None:
                    await self._configuration.reload(self._session, entity, self._broker_id)
            self._seen = names
        except SessionOver:
            return
        except StoreError:
            self._host.call_later(TRY_AGAIN_MS, self.start)

    def _changed(self, _: WatchEvent) -> None:
        self.start()

    async def _entity_of(self, name: str) -> str | None:
        """Whose settings have changed, if the notice can be read."""
        try:
            return decode_config_change((await self._session.get(f"{paths.CONFIG_CHANGES}/{name}")).data)
        except NoNode:
            return None
        except CorruptData as damage:
            logger.error("ignored: %s", damage)
            return None
