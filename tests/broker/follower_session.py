"""A leader of four partitions and the connection of one follower, which has a session (KIP-227)."""

from __future__ import annotations

from itertools import count

from tests.broker.kafka_peer import framed_request
from tests.broker.manual_host import ManualHost
from tests.broker.partition_alone import FOLLOWER_ID, PartitionAlone
from tests.broker.running_broker import batch_of

from strandline.broker.configuration import Configuration
from strandline.broker.connection import Connection, Part
from strandline.broker.dispatch import Dispatch
from strandline.broker.fetch_sessions import FetchSessions
from strandline.broker.handlers.fetch import FetchHandler
from strandline.broker.partitions import Partitions
from strandline.broker.replication_quotas import ReplicationQuotas
from strandline.log.log_slice import LogSlice
from strandline.log.recovery import open_log
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.simulation.disk import SimulatedDisk
from strandline.wire.codec import decode, encode
from strandline.wire.header import response_body
from strandline.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from strandline.wire.versions import ApiKey

NOW_MS = 1_700_000_000_000
TOPIC_ID = bytes(range(16))
VERSION, WAIT_MS = 17, 500
BROKER_EPOCH, LEADER_EPOCH = 2, 3
PARTITIONS = 4


class Leader:
    """Four partitions with one record each, of which the follower has all, and a connection from it."""

    def __init__(self) -> None:
        self.host = ManualHost(NOW_MS)
        self.all = Partitions()
        self.partitions = [self._partition(index) for index in range(PARTITIONS)]
        numbers = count(5)
        self.sessions = FetchSessions(10, lambda: next(numbers))
        quotas = ReplicationQuotas(1, Configuration({}), self.host)
        handler = FetchHandler(self.all, self.sessions, {FOLLOWER_ID: BROKER_EPOCH}, quotas, self.host, 2**20)
        self._dispatch = Dispatch({ApiKey.FETCH: handler})
        self.ends = [1] * PARTITIONS  # of the follower's logs
        self.stream = b""  # the last answer, as it came
        self.connect()

    def _partition(self, index: int) -> PartitionAlone:
        name = TopicPartition("orders", index)
        log = open_log(SimulatedDisk(), f"/{name}", name, LogSettings(segment_index_bytes=1024), now_ms=NOW_MS)
        partition = PartitionAlone(name, TOPIC_ID, log, elapsed_ms=self.host.elapsed_ms)
        partition.lead(LEADER_EPOCH, replicas=(1, FOLLOWER_ID), now_ms=NOW_MS)
        partition.append([batch_of(b"first", timestamp=NOW_MS)], NOW_MS)
        self.all.add(partition)
        return partition

    def connect(self) -> None:
        self.connection = Connection(self._dispatch, lambda: None)
        self.session_id, self.session_epoch = 0, 0

    def write(self, index: int) -> None:
        self.partitions[index].append([batch_of(b"more", timestamp=NOW_MS)], NOW_MS)

    def ask(
        self, *named: int, forgotten: tuple[int, ...] = (), epoch: int = BROKER_EPOCH, wait_ms: int = WAIT_MS
    ) -> list[PartitionData] | None:
        """None if the fetch waits."""
        wanted = [FetchPartition(index, LEADER_EPOCH, self.ends[index], LEADER_EPOCH, 0, 2**20) for index in named]
        request = FetchRequest(
            replica_state=ReplicaState(FOLLOWER_ID, epoch),
            max_wait_ms=wait_ms,
            min_bytes=1,
            session_id=self.session_id,
            session_epoch=self.session_epoch,
            topics=[FetchTopic(topic_id=TOPIC_ID, partitions=wanted)] if wanted else [],
            forgotten_topics_data=[ForgottenTopic(topic_id=TOPIC_ID, partitions=list(forgotten))] if forgotten else [],
        )
        frame = framed_request(ApiKey.FETCH, VERSION, body=encode(request, VERSION))
        return self._heard(self.connection.receive(memoryview(bytearray(frame))))

    def hear(self) -> list[PartitionData] | None:
        self.host.settle()
        return self._heard(self.connection.proceed())

    def _heard(self, parts: list[Part]) -> list[PartitionData] | None:
        if not parts:
            return None
        self.stream = stream = b"".join(part.read() if isinstance(part, LogSlice) else bytes(part) for part in parts)  # type: ignore[arg-type]
        response = decode(FetchResponse, VERSION, response_body(ApiKey.FETCH, VERSION, memoryview(stream)[4:]))
        self.session_id, self.session_epoch = response.session_id, self.session_epoch + 1
        return [each for topic in response.responses for each in topic.partitions]

    def wait(self) -> list[PartitionData] | None:
        self.host.pass_time(WAIT_MS)
        return self.hear()
