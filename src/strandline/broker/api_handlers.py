"""Which handler serves which API: the one table from which ApiVersions is answered too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.broker.admin_handlers import admin_handlers
from strandline.broker.dispatch import Handler
from strandline.broker.handlers.api_versions import api_versions_handler
from strandline.broker.handlers.fetch import FetchHandler
from strandline.broker.handlers.init_producer_id import init_producer_id_handler
from strandline.broker.handlers.list_offsets import list_offsets_handler
from strandline.broker.handlers.metadata import metadata_handler
from strandline.broker.handlers.offset_for_leader_epoch import offset_for_leader_epoch_handler
from strandline.broker.handlers.produce import ProduceHandler
from strandline.wire.versions import ApiKey

if TYPE_CHECKING:
    from strandline.broker.broker import Broker


def api_handlers(broker: Broker, produce: ProduceHandler) -> dict[ApiKey, Handler]:
    fetch = FetchHandler(broker.partitions, broker.fetch_sessions, broker.host, broker.settings.fetch_max_bytes)
    handlers: dict[ApiKey, Handler] = {
        ApiKey.PRODUCE: produce,
        ApiKey.FETCH: fetch,
        ApiKey.LIST_OFFSETS: list_offsets_handler(broker.partitions),
        ApiKey.METADATA: metadata_handler(broker.image, broker.controller),
        ApiKey.INIT_PRODUCER_ID: init_producer_id_handler(broker.producer_ids),
        ApiKey.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch_handler(broker.partitions),
        **admin_handlers(broker),
    }
    handlers[ApiKey.API_VERSIONS] = api_versions_handler(handlers)
    return handlers
