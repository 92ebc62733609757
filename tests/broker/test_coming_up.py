"""What a broker that comes up takes for the whole of its cluster."""

from __future__ import annotations

from uuid import UUID

from tests.broker.manual_host import ManualHost

from strandline.broker.cluster_image import BrokerAddress, ClusterImage, TopicImage
from strandline.broker.coming_up import JOIN_TIMEOUT_MS, ComingUp
from strandline.broker.procedures import begin
from strandline.model.failures import ErrorCode


class Scene:
    def __init__(self) -> None:
        self.image = ClusterImage("cluster")
        self.host = ManualHost(now_ms=0)
        self.coming_up = ComingUp(1, self.image, self.host)

    def told_of_brokers(self, *broker_ids: int) -> None:
        self.image.brokers = {each: BrokerAddress(each, "localhost", 9092) for each in broker_ids}
        self.coming_up.look()

    def told_of(self, topic: str) -> None:
        self.image.put_topic(TopicImage(topic, UUID(int=1)))
        self.coming_up.look()


def test_all_topics_that_the_store_has_must_have_been_told() -> None:
    """A controller that takes over tells of the brokers first."""
    scene = Scene()
    scene.coming_up.expect({"orders", "gone"}, going={"gone"})
    scene.told_of_brokers(1, 2)
    assert scene.image.no_topic("other").error_code == ErrorCode.LEADER_NOT_AVAILABLE
    scene.told_of("orders")
    assert scene.image.no_topic("other").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_what_it_hears_before_it_has_asked_the_store_is_not_all() -> None:
    scene = Scene()
    scene.told_of_brokers(1, 2)
    assert not scene.image.is_complete
    scene.coming_up.expect(["orders"])
    assert not scene.image.is_complete
    scene.told_of("orders")
    assert scene.image.is_complete


def test_a_cluster_without_topics_is_complete_with_its_brokers() -> None:
    scene = Scene()
    scene.coming_up.expect([])
    assert not scene.image.is_complete
    scene.told_of_brokers(1)
    assert scene.image.is_complete


def test_a_topic_that_nobody_tells_of_is_not_waited_for_for_ever() -> None:
    """It was deleted meanwhile."""
    scene = Scene()
    scene.coming_up.expect(["gone"])
    begin(scene.coming_up.over())
    scene.told_of_brokers(1, 2)
    scene.host.pass_time(JOIN_TIMEOUT_MS)
    assert scene.image.is_complete


def test_without_a_controller_it_knows_nothing_however_long_it_waits() -> None:
    scene = Scene()
    scene.coming_up.expect([])
    begin(scene.coming_up.over())
    scene.host.pass_time(10 * JOIN_TIMEOUT_MS)
    assert not scene.image.is_complete
    scene.told_of_brokers(1)
    assert scene.image.is_complete
