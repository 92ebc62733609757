"""Which handler serves which API of administration: topics, settings, what a broker has on its disks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.broker.configs.changes import ConfigChanges
from strandline.broker.configs.requests import ConfigRequests
from strandline.broker.dispatch import Handler
from strandline.broker.handlers.acls import acl_handlers
from strandline.broker.handlers.alter_configs import alter_configs_handler
from strandline.broker.handlers.alter_partition_reassignments import alter_partition_reassignments_handler
from strandline.broker.handlers.alter_user_scram_credentials import alter_user_scram_credentials_handler
from strandline.broker.handlers.create_partitions import create_partitions_handler
from strandline.broker.handlers.create_topics import create_topics_handler
from strandline.broker.handlers.delete_records import delete_records_handler
from strandline.broker.handlers.delete_topics import delete_topics_handler
from strandline.broker.handlers.describe_cluster import describe_cluster_handler
from strandline.broker.handlers.describe_configs import describe_configs_handler
from strandline.broker.handlers.describe_log_dirs import describe_log_dirs_handler
from strandline.broker.handlers.describe_producers import describe_producers_handler
from strandline.broker.handlers.describe_replicas import describe_replicas_handler
from strandline.broker.handlers.describe_topic_partitions import describe_topic_partitions_handler
from strandline.broker.handlers.describe_user_scram_credentials import describe_user_scram_credentials_handler
from strandline.broker.handlers.elect_leaders import elect_leaders_handler
from strandline.broker.handlers.incremental_alter_configs import incremental_alter_configs_handler
from strandline.broker.handlers.list_partition_reassignments import list_partition_reassignments_handler
from strandline.broker.topic_requests import TopicRequests
from strandline.wire.versions import ApiKey

if TYPE_CHECKING:
    from strandline.broker.broker import Broker


def admin_handlers(broker: Broker) -> dict[ApiKey, Handler]:
    image, configuration, controller = broker.image, broker.configuration, broker.controller
    broker_id, host, loop = broker.settings.broker_id, broker.host, broker.membership.loop
    topics = TopicRequests(configuration, image)
    changes = ConfigChanges(broker.controlled)
    configs = ConfigRequests(changes, broker_id)
    return {
        ApiKey.CREATE_TOPICS: create_topics_handler(controller, topics, configuration, host),
        ApiKey.DELETE_TOPICS: delete_topics_handler(controller, host),
        ApiKey.CREATE_PARTITIONS: create_partitions_handler(controller, topics),
        ApiKey.ELECT_LEADERS: elect_leaders_handler(loop),
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: alter_partition_reassignments_handler(loop),
        ApiKey.LIST_PARTITION_REASSIGNMENTS: list_partition_reassignments_handler(loop),
        ApiKey.DELETE_RECORDS: delete_records_handler(broker.partitions, broker.directories, host),
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: describe_topic_partitions_handler(image, configuration),
        ApiKey.DESCRIBE_CLUSTER: describe_cluster_handler(image),
        ApiKey.DESCRIBE_LOG_DIRS: describe_log_dirs_handler(broker.directories, broker.partitions),
        ApiKey.DESCRIBE_REPLICAS: describe_replicas_handler(broker.partitions, host),
        ApiKey.DESCRIBE_PRODUCERS: describe_producers_handler(broker.partitions),
        ApiKey.DESCRIBE_CONFIGS: describe_configs_handler(configuration, image, broker_id, host),
        ApiKey.ALTER_CONFIGS: alter_configs_handler(configs),
        ApiKey.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs_handler(configs),
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: describe_user_scram_credentials_handler(broker.session),
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: alter_user_scram_credentials_handler(changes),
        **acl_handlers(),
    }
