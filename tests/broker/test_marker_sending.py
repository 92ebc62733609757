"""Markers on their way to the leaders of partitions: one request at a time, and every partition is answered for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast
from uuid import UUID

from tests.broker.manual_host import ManualHost
from tests.broker.scripted_peers import ScriptedPeers

from strandline.broker.cluster_image import ClusterImage, PartitionImage, TopicImage
from strandline.broker.marker_sending import LOOK_AGAIN_MS, MarkerSender
from strandline.metadata.answer import Answer
from strandline.metadata.errors import ConnectionLost, NoNode
from strandline.metadata.store import NodeData, Session
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.transactions.markers import Marker, MarkersWritten
from strandline.wire.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

ORDERS, INVOICES = TopicPartition("orders", 0), TopicPartition("invoices", 0)
GONE = TopicPartition("gone", 0)


class Store:
    """Answers every question with the same failure."""

    def __init__(self) -> None:
        self.failure: NoNode | ConnectionLost = NoNode("/brokers/topics/gone")
        self.looks = 0

    def get(self, _path: str) -> Answer[NodeData]:
        self.looks += 1
        answer: Answer[NodeData] = Answer()
        answer.deliver(self.failure)
        return answer


class Scene:
    """`orders` is led by broker 2, `invoices` by broker 3."""

    def __init__(self) -> None:
        self.host = ManualHost(0)
        self.image = ClusterImage("cluster")
        self.store = Store()
        self.peers = ScriptedPeers()
        self.sender = MarkerSender(self.image, cast(Session, self.store), self.host)
        self.sender.peers = self.peers
        self.sender.when_deleted = self._deleted
        self.deleted: list[TopicPartition] = []
        self.results: list[MarkersWritten] = []
        self.put_topic("orders", 2)
        self.put_topic("invoices", 3)

    def put_topic(self, name: str, leader: int, topic_id: int = 1) -> None:
        self.image.put_topic(TopicImage(name, UUID(int=topic_id), {0: PartitionImage(leader, 0, (2, 3), (2, 3))}))

    def _deleted(self, partitions: Sequence[TopicPartition]) -> None:
        self.deleted += partitions

    def send(self, producer_id: int, *partitions: TopicPartition) -> None:
        marker = Marker(
            transactional_id="t",
            number=1,
            producer_id=producer_id,
            producer_epoch=0,
            coordinator_epoch=0,
            is_commit=True,
            partitions=partitions,
        )
        self.sender.send([marker], self.results.append)

    def errors(self) -> dict[TopicPartition, ErrorCode]:
        return {name: error_code for result in self.results for name, error_code in result.results}


def producers_in(request: WriteTxnMarkersRequest) -> list[int]:
    return [marker.producer_id for marker in request.markers]


def answer_to(request: WriteTxnMarkersRequest, error_code: ErrorCode = ErrorCode.NONE) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        [
            WritableTxnMarkerResult(
                marker.producer_id,
                [
                    WritableTxnMarkerTopicResult(
                        topic.name,
                        [WritableTxnMarkerPartitionResult(index, error_code) for index in topic.partition_indexes],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


def test_each_leader_gets_its_own_partitions() -> None:
    scene = Scene()
    scene.send(7, ORDERS, INVOICES)
    for broker_id, error_code in ((2, ErrorCode.NONE), (3, ErrorCode.NOT_LEADER_OR_FOLLOWER)):
        request, answer = scene.peers.take(broker_id)
        answer.deliver(answer_to(request, error_code))
    assert scene.errors() == {ORDERS: ErrorCode.NONE, INVOICES: ErrorCode.NOT_LEADER_OR_FOLLOWER}


def test_what_comes_up_while_one_is_under_way_goes_into_the_next() -> None:
    """But never two markers of one producer: their answers could not be told apart."""
    scene = Scene()
    for producer_id in (1, 2, 3, 2):
        scene.send(producer_id, ORDERS)
    sent = []
    while scene.peers.asked:
        assert len(scene.peers.asked) == 1
        request, answer = scene.peers.take(2)
        sent.append(producers_in(request))
        answer.deliver(answer_to(request))
    assert sent == [[1], [2, 3], [2]]
    assert len(scene.results) == 4


def test_a_broker_that_goes_away_is_a_result() -> None:
    scene = Scene()
    scene.send(7, ORDERS)
    scene.peers.fail(2)
    assert scene.errors() == {ORDERS: ErrorCode.NETWORK_EXCEPTION}
    scene.send(7, ORDERS)
    assert len(scene.peers.asked) == 1, "and the way is free again"


def test_a_partition_that_the_answer_leaves_out_is_not_written() -> None:
    scene = Scene()
    scene.send(7, ORDERS)
    scene.peers.take(2)[1].deliver(WriteTxnMarkersResponse())
    assert scene.errors() == {ORDERS: ErrorCode.NETWORK_EXCEPTION}


def test_a_partition_without_a_leader_is_no_deleted_one() -> None:
    scene = Scene()
    scene.put_topic("orders", -1)
    scene.send(7, ORDERS)
    scene.host.pass_time(60_000)
    assert scene.errors() == {ORDERS: ErrorCode.LEADER_NOT_AVAILABLE}
    assert (scene.deleted, scene.store.looks) == ([], 0)


def test_what_the_controller_deleted_is_told_at_once() -> None:
    scene = Scene()
    scene.image.remove_topic("orders")
    scene.host.settle()
    assert scene.deleted == [ORDERS]
    scene.deleted = []
    scene.send(7, ORDERS)
    scene.host.settle()
    assert scene.deleted == [ORDERS], "to a transaction that was decided later, too"
    scene.put_topic("orders", 2, topic_id=9)
    scene.deleted = []
    scene.send(7, ORDERS)
    assert len(scene.peers.asked) == 1


def test_what_nobody_has_heard_of_is_deleted_when_the_store_says_so_twice() -> None:
    scene = Scene()
    scene.send(7, GONE)
    scene.send(7, GONE)
    scene.host.settle()
    assert (scene.deleted, scene.store.looks) == ([], 1)
    scene.host.pass_time(LOOK_AGAIN_MS)
    assert (scene.deleted, scene.store.looks) == ([GONE], 2)


def test_a_topic_that_comes_between_two_looks_is_not_deleted() -> None:
    """A coordinator that has just taken over may know of a topic later than of its transactions."""
    scene = Scene()
    scene.send(7, GONE)
    scene.put_topic("gone", 2)
    scene.host.pass_time(LOOK_AGAIN_MS)
    assert scene.deleted == []


def test_a_store_that_says_nothing_deletes_nothing() -> None:
    scene = Scene()
    scene.store.failure = ConnectionLost()
    scene.send(7, GONE)
    scene.host.pass_time(60_000)
    assert scene.deleted == []
