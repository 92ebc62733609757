"""LeaderAndIsr (4), versions 0 to 7, flexible from 4: the controller tells a broker whom its partitions follow.

As in Kafka 3.9, between brokers only. `type` says whether the request names every partition that the broker should
have (KIP-516): 1 incremental, 2 full.
"""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, boolean, int8, int16, int32, int64, many, text, uuid


@dataclass(slots=True)
class LeaderAndIsrPartitionState:
    topic_name: str = text(until=1)
    partition_index: int = int32()
    controller_epoch: int = int32()
    leader: int = int32()
    leader_epoch: int = int32()
    isr: list[int] = many("int32")
    partition_epoch: int = int32()
    replicas: list[int] = many("int32")
    adding_replicas: list[int] = many("int32", since=3)
    removing_replicas: list[int] = many("int32", since=3)
    is_new: bool = boolean(since=1)
    leader_recovery_state: int = int8(since=6)


@dataclass(slots=True)
class LeaderAndIsrTopicState:
    topic_name: str = text()
    topic_id: bytes = uuid(since=5)
    partition_states: list[LeaderAndIsrPartitionState] = many(LeaderAndIsrPartitionState)


@dataclass(slots=True)
class LeaderAndIsrLiveLeader:
    broker_id: int = int32()
    host_name: str = text()
    port: int = int32()


@dataclass(slots=True)
class LeaderAndIsrRequest(Message):
    api_key: ClassVar[int] = 4
    controller_id: int = int32()
    is_kraft_controller: bool = boolean(since=7)
    controller_epoch: int = int32()
    broker_epoch: int = int64(-1, since=2)
    type: int = int8(since=5)
    ungrouped_partition_states: list[LeaderAndIsrPartitionState] = many(LeaderAndIsrPartitionState, until=1)
    topic_states: list[LeaderAndIsrTopicState] = many(LeaderAndIsrTopicState, since=2)
    live_leaders: list[LeaderAndIsrLiveLeader] = many(LeaderAndIsrLiveLeader)


@dataclass(slots=True)
class LeaderAndIsrPartitionError:
    topic_name: str = text(until=4)
    partition_index: int = int32()
    error_code: int = int16()


@dataclass(slots=True)
class LeaderAndIsrTopicError:
    topic_id: bytes = uuid()
    partition_errors: list[LeaderAndIsrPartitionError] = many(LeaderAndIsrPartitionError)


@dataclass(slots=True)
class LeaderAndIsrResponse(Message):
    api_key: ClassVar[int] = 4
    error_code: int = int16()
    partition_errors: list[LeaderAndIsrPartitionError] = many(LeaderAndIsrPartitionError, until=4)
    topics: list[LeaderAndIsrTopicError] = many(LeaderAndIsrTopicError, since=5)
