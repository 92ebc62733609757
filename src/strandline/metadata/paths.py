"""Where everything is: Kafka's znodes, as up to 3.9 in ZooKeeper mode (SPEC M1).

/admin/delete_topics/<topic>                      no value: the node is the request
/admin/preferred_replica_election                 values.encode_partitions
/admin/reassign_partitions                        values.encode_reassignment
/brokers/ids/<id>                                 ephemeral; broker_values.BrokerRegistration
/brokers/seqid                                    no value: the version after a set is the next id
/brokers/topics/<topic>                           values.TopicAssignment
/brokers/topics/<topic>/partitions/<p>/state      values.PartitionState
/cluster/id                                       values.encode_cluster_id
/config/changes/config_change_<number>            config_values.encode_config_change
/config/{topics,clients,users,brokers,ips}/<…>    config_values.encode_config
/controller                                       ephemeral; values.ControllerRegistration
/controller_epoch                                 values.encode_controller_epoch
/feature                                          values.FinalizedFeatures
/isr_change_notification/isr_change_<number>      values.encode_partitions
/latest_producer_id_block                         values.ProducerIdBlock
/log_dir_event_notification/log_dir_event_<n>     values.encode_log_dir_event
"""

from __future__ import annotations

from urllib.parse import quote, unquote_plus

from strandline.metadata.operations import name_of
from strandline.model.failures import CorruptData
from strandline.model.partitions import TopicPartition

DELETE_TOPICS = "/admin/delete_topics"
PREFERRED_REPLICA_ELECTION = "/admin/preferred_replica_election"
REASSIGN_PARTITIONS = "/admin/reassign_partitions"
BROKER_IDS = "/brokers/ids"
BROKER_SEQUENCE_ID = "/brokers/seqid"
TOPICS = "/brokers/topics"
CLUSTER_ID = "/cluster/id"
CONFIG = "/config"
CONFIG_CHANGES = "/config/changes"
CONSUMERS = "/consumers"
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
FEATURE = "/feature"
ISR_CHANGE_NOTIFICATION = "/isr_change_notification"
LATEST_PRODUCER_ID_BLOCK = "/latest_producer_id_block"
LOG_DIR_EVENT_NOTIFICATION = "/log_dir_event_notification"

# What a sequential node is created as; the store adds the number.
CONFIG_CHANGE_PREFIX = f"{CONFIG_CHANGES}/config_change_"
ISR_CHANGE_PREFIX = f"{ISR_CHANGE_NOTIFICATION}/isr_change_"
LOG_DIR_EVENT_PREFIX = f"{LOG_DIR_EVENT_NOTIFICATION}/log_dir_event_"

TOPIC_CONFIGS, CLIENT_CONFIGS, USER_CONFIGS, BROKER_CONFIGS, IP_CONFIGS = "topics", "clients", "users", "brokers", "ips"
CONFIG_TYPES = (TOPIC_CONFIGS, CLIENT_CONFIGS, USER_CONFIGS, BROKER_CONFIGS, IP_CONFIGS)
DEFAULT_ENTITY = "<default>"

# What a broker makes sure of at its start, each with its parents, in Kafka's order.
PERSISTENT_PATHS = (
    CONSUMERS,
    BROKER_IDS,
    TOPICS,
    CONFIG_CHANGES,
    DELETE_TOPICS,
    BROKER_SEQUENCE_ID,
    ISR_CHANGE_NOTIFICATION,
    LATEST_PRODUCER_ID_BLOCK,
    LOG_DIR_EVENT_NOTIFICATION,
    *(f"{CONFIG}/{config_type}" for config_type in CONFIG_TYPES),
)


def broker_path(broker_id: int) -> str:
    return f"{BROKER_IDS}/{broker_id}"


def topic_path(topic: str) -> str:
    return f"{TOPICS}/{topic}"


def partitions_path(topic: str) -> str:
    return f"{topic_path(topic)}/partitions"


def partition_path(partition: TopicPartition) -> str:
    return f"{partitions_path(partition.topic)}/{partition.partition}"


def partition_state_path(partition: TopicPartition) -> str:
    return f"{partition_path(partition)}/state"


def delete_topic_path(topic: str) -> str:
    return f"{DELETE_TOPICS}/{topic}"


def config_path(entity_path: str) -> str:
    """Of an entity path such as `topics/orders`; see `entity_path` and `user_client_path`."""
    return f"{CONFIG}/{entity_path}"


def entity_path(config_type: str, entity: str) -> str:
    """Topics and brokers have names that are safe as they are; users, clients and addresses do not."""
    is_safe = config_type in (TOPIC_CONFIGS, BROKER_CONFIGS) or entity == DEFAULT_ENTITY
    return f"{config_type}/{entity if is_safe else sanitize(entity)}"


def user_client_path(user: str, client: str) -> str:
    return f"{entity_path(USER_CONFIGS, user)}/{entity_path(CLIENT_CONFIGS, client)}"


def sanitize(name: str) -> str:
    """A user's or client's name as the name of a node: percent-encoded by Java's rules, the tilde too."""
    return quote(name, safe="").replace("~", "%7E")


def desanitize(name: str) -> str:
    return unquote_plus(name)


def sequence_number(path: str) -> int:
    """Of a sequential node, by its path or its name."""
    digits = name_of(path).rpartition("_")[2]
    if not (digits.isascii() and digits.isdigit()):
        raise CorruptData(f"{path[:200]} has no sequence number")
    return int(digits)
