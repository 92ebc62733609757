"""A broker that stops asks the controller to have others lead first, and knows when asking is of no use (SPEC R6)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.broker.manual_host import ManualHost

from strandline.broker.cluster_image import ClusterImage
from strandline.broker.handing_over import HandingOver
from strandline.broker.peers import PeerFailed, Purpose
from strandline.broker.procedures import begin
from strandline.broker.shutdown_settings import ShutdownSettings
from strandline.metadata.answer import Answer
from strandline.model.failures import ErrorCode
from strandline.wire.layout import Message
from strandline.wire.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)

BACKOFF_MS = 5_000
STILL_LED = ControlledShutdownResponse(remaining_partitions=[RemainingPartition("orders", 0)])
ELSEWHERE = ControlledShutdownResponse(ErrorCode.NOT_CONTROLLER)
DONE = ControlledShutdownResponse()


class Scene:
    """Broker 2 of three wants to go."""

    def __init__(self) -> None:
        self.host = ManualHost(1_000)
        self.image = ClusterImage("cluster")
        self.image.controller_id = 1
        self.live_brokers = {1: 10, 2: 11, 3: 12}
        self.is_store_answering = True
        self.is_done = False
        self.asked: list[tuple[int, Message]] = []
        self._answers: list[Answer[Any]] = []
        self._handing_over = HandingOver(
            2, lambda: 11, self.image, self.live_brokers, lambda: self.is_store_answering, self, self.host
        )

    def ask(self, broker_id: int, request: Message, response: type[Any], **_: Any) -> Answer[Any]:
        del response
        self.asked.append((broker_id, request))
        self._answers.append(Answer())
        return self._answers[-1]

    def hang_up(self, broker_id: int, purpose: Purpose) -> None: ...

    def hand_over(self, settings: ShutdownSettings | None = None) -> None:
        async def run() -> None:
            await self._handing_over.hand_over(settings or ShutdownSettings())
            self.is_done = True

        begin(run())

    def answer(self, outcome: ControlledShutdownResponse | PeerFailed) -> None:
        self._answers[-1].deliver(outcome)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_the_controller_is_asked_once_if_that_is_all(scene: Scene) -> None:
    scene.hand_over()
    assert scene.asked == [(1, ControlledShutdownRequest(2, 11))]
    assert not scene.is_done
    scene.answer(DONE)
    assert scene.is_done


def test_what_is_still_led_is_asked_for_again_after_the_backoff(scene: Scene) -> None:
    scene.hand_over()
    scene.answer(STILL_LED)
    scene.host.pass_time(BACKOFF_MS - 1)
    assert len(scene.asked) == 1
    scene.host.pass_time(100)
    assert len(scene.asked) == 2
    scene.answer(DONE)
    assert scene.is_done


def test_a_broker_stops_all_the_same_when_its_retries_are_used_up(scene: Scene) -> None:
    scene.hand_over(ShutdownSettings(controlled_shutdown_max_retries=2))
    scene.answer(STILL_LED)
    scene.host.pass_time(BACKOFF_MS + 100)
    scene.answer(STILL_LED)
    assert len(scene.asked) == 2
    assert scene.is_done


@pytest.mark.parametrize("outcome", [ELSEWHERE, PeerFailed("gone")])
def test_a_new_controller_is_asked_as_soon_as_it_is_known(
    scene: Scene, outcome: ControlledShutdownResponse | PeerFailed
) -> None:
    scene.hand_over()
    scene.image.controller_id = 3  # before or after the answer
    scene.answer(outcome)
    scene.host.pass_time(100)
    assert [broker_id for broker_id, _ in scene.asked] == [1, 3]


def test_nobody_is_asked_where_nobody_else_is(scene: Scene) -> None:
    del scene.live_brokers[1], scene.live_brokers[3]
    scene.hand_over()
    assert scene.is_done
    assert not scene.asked


def test_the_last_broker_does_not_wait_for_those_that_have_gone_meanwhile(scene: Scene) -> None:
    scene.hand_over()
    scene.answer(STILL_LED)
    del scene.live_brokers[1], scene.live_brokers[3]
    scene.host.pass_time(100)
    assert scene.is_done


@pytest.mark.parametrize("is_silent_before", [True, False])
def test_a_stop_does_not_wait_for_a_store_that_is_silent(scene: Scene, is_silent_before: bool) -> None:
    """KAFKA-9189: no controller can decide anything without it."""
    scene.is_store_answering = not is_silent_before
    scene.hand_over()
    scene.is_store_answering = False
    scene.host.pass_time(200)
    assert scene.is_done


def test_it_can_be_switched_off(scene: Scene) -> None:
    scene.hand_over(ShutdownSettings(controlled_shutdown_enable=False))
    assert scene.is_done
    assert not scene.asked
