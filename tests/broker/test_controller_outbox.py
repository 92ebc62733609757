"""Orders of a controller reach the life of a broker that they are meant for, however late that learns who it is."""

from __future__ import annotations

from typing import Any

from tests.broker.manual_host import ManualHost
from tests.broker.test_controller_letters import order

from strandline.broker.controller_outbox import RETRY_MS, ControllerOutbox
from strandline.broker.peers import PeerFailed, Purpose
from strandline.controller.events import BrokerAnswer
from strandline.metadata.answer import Answer
from strandline.model.failures import ErrorCode
from strandline.wire.layout import Message
from strandline.wire.messages.leader_and_isr import LeaderAndIsrResponse

STALE = LeaderAndIsrResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
DONE = LeaderAndIsrResponse()


class ScriptedPeers:
    def __init__(self, *outcomes: Message | PeerFailed) -> None:
        self.outcomes = list(outcomes)

    def ask(self, *_: Any, **__: Any) -> Answer[Any]:
        answer: Answer[Any] = Answer()
        answer.deliver(self.outcomes.pop(0))
        return answer

    def hang_up(self, broker_id: int, purpose: Purpose) -> None: ...


def test_a_broker_that_does_not_know_its_registration_yet_is_asked_again() -> None:
    """KIP-380: the watch may be quicker than the answer to its registration. Seed 240126062: it was given up, and its
    replicas stayed away for ever."""
    host, heard = ManualHost(0), list[BrokerAnswer]()
    peers = ScriptedPeers(STALE, PeerFailed("gone"), STALE, DONE)
    outbox = ControllerOutbox(peers, host, 1_000, heard.append)
    outbox.brokers_seen({1: 10})
    outbox.send(order("orders"))
    for _ in range(5):
        host.pass_time(RETRY_MS)
    assert peers.outcomes == []
    assert len(heard) == 1
    assert outbox.is_empty


def test_one_that_is_back_with_another_epoch_is_not() -> None:
    host, heard = ManualHost(0), list[BrokerAnswer]()
    outbox = ControllerOutbox(ScriptedPeers(STALE), host, 1_000, heard.append)
    outbox.brokers_seen({1: 10})
    outbox.send(order("orders"))
    host.pass_time(0)
    outbox.brokers_seen({1: 11})
    host.pass_time(RETRY_MS)
    assert heard == []
    assert outbox.is_empty
