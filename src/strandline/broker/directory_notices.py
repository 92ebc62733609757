"""The controller is told that a data directory of this broker has failed: others shall lead what was in it (SPEC L10).

The notice, a node below `/log_dir_event_notification`, says only which broker it is: the controller then gives it its
orders again, and hears which of them cannot be followed. Until the store has the notice it is tried again; a broker
that registers anew in between is given all its orders anyway.
"""

from __future__ import annotations

import logging

from strandline.broker.current_session import CurrentSession
from strandline.broker.host import Host
from strandline.broker.procedures import begin
from strandline.metadata import paths
from strandline.metadata.errors import StoreError
from strandline.metadata.values import encode_log_dir_event

logger = logging.getLogger(__name__)

TRY_AGAIN_MS = 500


class DirectoryNotices:
    def __init__(self, broker_id: int, session: CurrentSession, host: Host) -> None:
        self._broker_id = broker_id
        self._session = session
        self._host = host
        self._is_open = True

    def close(self) -> None:
        self._is_open = False

    def tell(self) -> None:
        if self._is_open:
            begin(self._tell())

    async def _tell(self) -> None:
        try:
            event = encode_log_dir_event(self._broker_id)
            await self._session.create(paths.LOG_DIR_EVENT_PREFIX, event, sequential=True)
        except StoreError as failure:
            logger.warning("the controller was not told of a failed directory: %s", failure)
            self._host.call_later(TRY_AGAIN_MS, self.tell)
