"""Which APIs there are, in which versions, and since when a version is flexible.

`SERVED` has Kafka 4.3's stable ranges: what a client may be told of. `INTER_BROKER` is how a controller on ZooKeeper
speaks with its brokers, in the ranges of Kafka 3.9, the last that had one; no client hears of it. `OWN` is what our
tools ask of our brokers and Kafka has no request for; its keys are far above Kafka's. `SPOKEN` is all of them: what
can be read and written. Whether a broker handles an API is another question, and its handlers are the answer.

ListTransactions stops at 1: version 2 has patterns in a language of regular expressions that is not Python's.

Flexible versions (KIP-482) write lengths as unsigned varints plus one and end each structure with tagged fields.

The broker advertises from `SERVED` only those APIs that it has a handler for. Two ranges lie on purpose:
Produce is advertised from version 0, for librdkafka before 2.11.1 sends uncompressed when 0 is missing
(KAFKA-18659), but 0 to 2 are refused, as in Kafka; and ApiVersions is answered whatever its version (KIP-511).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

NEVER = 2**15  # no version reaches it


class ApiKey(IntEnum):
    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    DESCRIBE_TOPIC_PARTITIONS = 75
    DESCRIBE_REPLICAS = 24_000


class Api(NamedTuple):
    key: ApiKey
    first_version: int
    last_version: int
    flexible_from: int
    advertised_from: int

    @property
    def module(self) -> str:
        """Name of its module in `wire.messages`."""
        return self.key.name.lower()

    @property
    def name(self) -> str:
        """As Kafka writes it: `CreateTopics`."""
        return "".join(word.capitalize() for word in self.key.name.split("_"))

    def serves(self, version: int) -> bool:
        return self.first_version <= version <= self.last_version


def api(key: ApiKey, first_version: int, last_version: int, flexible_from: int, advertised_from: int = -1) -> Api:
    return Api(
        key, first_version, last_version, flexible_from, advertised_from if advertised_from >= 0 else first_version
    )


SERVED: dict[int, Api] = {
    entry.key: entry
    for entry in (
        api(ApiKey.PRODUCE, 3, 13, flexible_from=9, advertised_from=0),
        api(ApiKey.FETCH, 4, 18, flexible_from=12),
        api(ApiKey.LIST_OFFSETS, 1, 11, flexible_from=6),
        api(ApiKey.METADATA, 0, 13, flexible_from=9),
        api(ApiKey.OFFSET_COMMIT, 2, 10, flexible_from=8),
        api(ApiKey.OFFSET_FETCH, 1, 10, flexible_from=6),
        api(ApiKey.FIND_COORDINATOR, 0, 6, flexible_from=3),
        api(ApiKey.JOIN_GROUP, 0, 9, flexible_from=6),
        api(ApiKey.HEARTBEAT, 0, 4, flexible_from=4),
        api(ApiKey.LEAVE_GROUP, 0, 5, flexible_from=4),
        api(ApiKey.SYNC_GROUP, 0, 5, flexible_from=4),
        api(ApiKey.DESCRIBE_GROUPS, 0, 6, flexible_from=5),
        api(ApiKey.LIST_GROUPS, 0, 5, flexible_from=3),
        api(ApiKey.SASL_HANDSHAKE, 0, 1, flexible_from=NEVER),
        api(ApiKey.API_VERSIONS, 0, 4, flexible_from=3),
        api(ApiKey.CREATE_TOPICS, 2, 7, flexible_from=5),
        api(ApiKey.DELETE_TOPICS, 1, 6, flexible_from=4),
        api(ApiKey.DELETE_RECORDS, 0, 2, flexible_from=2),
        api(ApiKey.INIT_PRODUCER_ID, 0, 5, flexible_from=2),
        api(ApiKey.OFFSET_FOR_LEADER_EPOCH, 2, 4, flexible_from=4),
        api(ApiKey.ADD_PARTITIONS_TO_TXN, 0, 5, flexible_from=3),
        api(ApiKey.ADD_OFFSETS_TO_TXN, 0, 4, flexible_from=3),
        api(ApiKey.END_TXN, 0, 5, flexible_from=3),
        api(ApiKey.WRITE_TXN_MARKERS, 1, 2, flexible_from=1),
        api(ApiKey.TXN_OFFSET_COMMIT, 0, 5, flexible_from=3),
        api(ApiKey.DESCRIBE_ACLS, 1, 3, flexible_from=2),
        api(ApiKey.CREATE_ACLS, 1, 3, flexible_from=2),
        api(ApiKey.DELETE_ACLS, 1, 3, flexible_from=2),
        api(ApiKey.DESCRIBE_CONFIGS, 1, 4, flexible_from=4),
        api(ApiKey.ALTER_CONFIGS, 0, 2, flexible_from=2),
        api(ApiKey.DESCRIBE_LOG_DIRS, 1, 5, flexible_from=2),
        api(ApiKey.SASL_AUTHENTICATE, 0, 2, flexible_from=2),
        api(ApiKey.CREATE_PARTITIONS, 0, 3, flexible_from=2),
        api(ApiKey.DELETE_GROUPS, 0, 2, flexible_from=2),
        api(ApiKey.ELECT_LEADERS, 0, 2, flexible_from=2),
        api(ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1, flexible_from=1),
        api(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, 1, flexible_from=0),
        api(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 0, flexible_from=0),
        api(ApiKey.OFFSET_DELETE, 0, 0, flexible_from=NEVER),
        api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 0, flexible_from=0),
        api(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, 0, flexible_from=0),
        api(ApiKey.DESCRIBE_CLUSTER, 0, 2, flexible_from=0),
        api(ApiKey.DESCRIBE_PRODUCERS, 0, 0, flexible_from=0),
        api(ApiKey.DESCRIBE_TRANSACTIONS, 0, 0, flexible_from=0),
        api(ApiKey.LIST_TRANSACTIONS, 0, 1, flexible_from=0),
        api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, 1, flexible_from=0),
        api(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, 1, flexible_from=0),
        api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, 0, flexible_from=0),
    )
}

INTER_BROKER: dict[int, Api] = {
    entry.key: entry
    for entry in (
        api(ApiKey.LEADER_AND_ISR, 0, 7, flexible_from=4),
        api(ApiKey.STOP_REPLICA, 0, 4, flexible_from=2),
        api(ApiKey.UPDATE_METADATA, 0, 8, flexible_from=6),
        api(ApiKey.CONTROLLED_SHUTDOWN, 0, 3, flexible_from=3),
    )
}

OWN: dict[int, Api] = {entry.key: entry for entry in (api(ApiKey.DESCRIBE_REPLICAS, 0, 0, flexible_from=0),)}

SPOKEN: dict[int, Api] = SERVED | INTER_BROKER | OWN

DIRECTORIES = "moves between the log directories of a broker are not built"
KRAFT = "belongs to KRaft, which Strandline does not have"
LATER = "not needed by common clients, which ask first and do without"
SHARE = "share groups are not built"
STREAMS = "groups of Kafka Streams are not built"

NOT_SERVED: dict[int, str] = {
    34: DIRECTORIES,
    **dict.fromkeys((38, 39, 40, 41, 48, 49, 57, 71, 72, 74), LATER),
    **dict.fromkeys((52, 53, 54, 55, 56, 58, 59, 62, 63, 64, 67, 70, 73, 80, 81, 82), KRAFT),
    **dict.fromkeys((76, 77, 78, 79, 83, 84, 85, 86, 87, 90, 91, 92), SHARE),
    **dict.fromkeys((88, 89), STREAMS),
}


def is_flexible(api_key: int, version: int) -> bool:
    return version >= SPOKEN[api_key].flexible_from


def advertised(api_keys: Iterable[int]) -> list[tuple[int, int, int]]:
    """Key, first and last version as ApiVersions says them, of the APIs that the broker handles for clients."""
    handled = sorted((SERVED.keys() | OWN.keys()) & set(api_keys))
    return [(key, SPOKEN[key].advertised_from, SPOKEN[key].last_version) for key in handled]
