"""StopReplica (5), versions 0 to 4, flexible from 2: the controller has a broker stop replicas, or delete them.

As in Kafka 3.9, between brokers only. A leader epoch of -1 means that it is not known, -2 that the topic is being
deleted (KIP-570).
"""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, boolean, int16, int32, int64, many, text


@dataclass(slots=True)
class StopReplicaPartitionV0:
    topic_name: str = text()
    partition_index: int = int32()


@dataclass(slots=True)
class StopReplicaTopicV1:
    name: str = text()
    partition_indexes: list[int] = many("int32")


@dataclass(slots=True)
class StopReplicaPartitionState:
    partition_index: int = int32()
    leader_epoch: int = int32(-1)
    delete_partition: bool = boolean()


@dataclass(slots=True)
class StopReplicaTopicState:
    topic_name: str = text()
    partition_states: list[StopReplicaPartitionState] = many(StopReplicaPartitionState)


@dataclass(slots=True)
class StopReplicaRequest(Message):
    api_key: ClassVar[int] = 5
    controller_id: int = int32()
    is_kraft_controller: bool = boolean(since=4)
    controller_epoch: int = int32()
    broker_epoch: int = int64(-1, since=1)
    delete_partitions: bool = boolean(until=2)
    ungrouped_partitions: list[StopReplicaPartitionV0] = many(StopReplicaPartitionV0, until=0)
    topics: list[StopReplicaTopicV1] = many(StopReplicaTopicV1, since=1, until=2)
    topic_states: list[StopReplicaTopicState] = many(StopReplicaTopicState, since=3)


@dataclass(slots=True)
class StopReplicaPartitionError:
    topic_name: str = text()
    partition_index: int = int32()
    error_code: int = int16()


@dataclass(slots=True)
class StopReplicaResponse(Message):
    api_key: ClassVar[int] = 5
    error_code: int = int16()
    partition_errors: list[StopReplicaPartitionError] = many(StopReplicaPartitionError)
