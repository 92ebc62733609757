"""Which handler serves which API: the one table from which ApiVersions is answered too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.broker.admin_handlers import admin_handlers
from strandline.broker.dispatch import Handler
from strandline.broker.handlers.add_offsets_to_txn import add_offsets_to_txn_handler
from strandline.broker.handlers.add_partitions_to_txn import add_partitions_to_txn_handler
from strandline.broker.handlers.api_versions import api_versions_handler
from strandline.broker.handlers.consumer_group_describe import consumer_group_describe_handler
from strandline.broker.handlers.consumer_group_heartbeat import consumer_group_heartbeat_handler
from strandline.broker.handlers.control import control_handler
from strandline.broker.handlers.delete_groups import delete_groups_handler
from strandline.broker.handlers.describe_groups import describe_groups_handler
from strandline.broker.handlers.describe_transactions import describe_transactions_handler
from strandline.broker.handlers.end_txn import end_txn_handler
from strandline.broker.handlers.fetch import FetchHandler
from strandline.broker.handlers.find_coordinator import find_coordinator_handler
from strandline.broker.handlers.heartbeat import heartbeat_handler
from strandline.broker.handlers.init_producer_id import init_producer_id_handler
from strandline.broker.handlers.join_group import join_group_handler
from strandline.broker.handlers.leave_group import leave_group_handler
from strandline.broker.handlers.list_groups import list_groups_handler
from strandline.broker.handlers.list_offsets import list_offsets_handler
from strandline.broker.handlers.list_transactions import list_transactions_handler
from strandline.broker.handlers.metadata import metadata_handler
from strandline.broker.handlers.offset_commit import offset_commit_handler
from strandline.broker.handlers.offset_delete import offset_delete_handler
from strandline.broker.handlers.offset_fetch import offset_fetch_handler
from strandline.broker.handlers.offset_for_leader_epoch import offset_for_leader_epoch_handler
from strandline.broker.handlers.produce import ProduceHandler
from strandline.broker.handlers.sync_group import sync_group_handler
from strandline.broker.handlers.txn_offset_commit import txn_offset_commit_handler
from strandline.wire.messages.controlled_shutdown import ControlledShutdownRequest
from strandline.wire.messages.leader_and_isr import LeaderAndIsrRequest
from strandline.wire.messages.stop_replica import StopReplicaRequest
from strandline.wire.messages.update_metadata import UpdateMetadataRequest
from strandline.wire.messages.write_txn_markers import WriteTxnMarkersRequest
from strandline.wire.versions import ApiKey

if TYPE_CHECKING:
    from strandline.broker.broker import Broker
    from strandline.broker.membership import Membership


def api_handlers(broker: Broker, produce: ProduceHandler) -> dict[ApiKey, Handler]:
    groups, image, host = broker.groups, broker.image, broker.host
    transactions, coordinator = broker.transactions, broker.transactions.coordinator
    fetch = FetchHandler(
        broker.partitions,
        broker.fetch_sessions,
        broker.membership.live_brokers,
        broker.membership.quotas,
        broker.host,
        broker.settings.fetch_max_bytes,
    )
    handlers: dict[ApiKey, Handler] = {
        ApiKey.PRODUCE: produce,
        ApiKey.FETCH: fetch,
        ApiKey.LIST_OFFSETS: list_offsets_handler(broker.partitions),
        ApiKey.METADATA: metadata_handler(broker.image, broker.controller),
        ApiKey.INIT_PRODUCER_ID: init_producer_id_handler(coordinator, transactions.producer_ids),
        ApiKey.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch_handler(broker.partitions),
        ApiKey.FIND_COORDINATOR: find_coordinator_handler(groups, coordinator, image, broker.controller),
        ApiKey.JOIN_GROUP: join_group_handler(groups, host),
        ApiKey.SYNC_GROUP: sync_group_handler(groups),
        ApiKey.HEARTBEAT: heartbeat_handler(groups),
        ApiKey.LEAVE_GROUP: leave_group_handler(groups),
        ApiKey.OFFSET_COMMIT: offset_commit_handler(groups, image),
        ApiKey.OFFSET_FETCH: offset_fetch_handler(groups, image),
        ApiKey.OFFSET_DELETE: offset_delete_handler(groups, image),
        ApiKey.LIST_GROUPS: list_groups_handler(groups),
        ApiKey.DESCRIBE_GROUPS: describe_groups_handler(groups),
        ApiKey.DELETE_GROUPS: delete_groups_handler(groups),
        ApiKey.CONSUMER_GROUP_HEARTBEAT: consumer_group_heartbeat_handler(groups, host),
        ApiKey.CONSUMER_GROUP_DESCRIBE: consumer_group_describe_handler(groups),
        ApiKey.ADD_PARTITIONS_TO_TXN: add_partitions_to_txn_handler(coordinator, image),
        ApiKey.ADD_OFFSETS_TO_TXN: add_offsets_to_txn_handler(coordinator, groups, image, broker.controller),
        ApiKey.TXN_OFFSET_COMMIT: txn_offset_commit_handler(groups, transactions, image),
        ApiKey.END_TXN: end_txn_handler(coordinator),
        ApiKey.WRITE_TXN_MARKERS: control_handler(WriteTxnMarkersRequest, transactions.marker_writer.write),
        ApiKey.LIST_TRANSACTIONS: list_transactions_handler(coordinator),
        ApiKey.DESCRIBE_TRANSACTIONS: describe_transactions_handler(coordinator),
        **admin_handlers(broker),
    }
    handlers[ApiKey.API_VERSIONS] = api_versions_handler(handlers)
    return handlers | control_handlers(broker.membership)


def control_handlers(membership: Membership) -> dict[ApiKey, Handler]:
    """Not advertised: no client has to do with them."""
    return {
        ApiKey.LEADER_AND_ISR: control_handler(LeaderAndIsrRequest, membership.leader_and_isr),
        ApiKey.STOP_REPLICA: control_handler(StopReplicaRequest, membership.stop_replica),
        ApiKey.UPDATE_METADATA: control_handler(UpdateMetadataRequest, membership.update_metadata),
        ApiKey.CONTROLLED_SHUTDOWN: control_handler(ControlledShutdownRequest, membership.controlled_shutdown),
    }
