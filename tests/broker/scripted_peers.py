"""Other brokers that answer when a test says so."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from strandline.broker.peers import PeerFailed, Purpose
from strandline.client.connection import HearBegun
from strandline.metadata.answer import Answer
from strandline.wire.layout import Message

M = TypeVar("M", bound=Message)


class Asked(NamedTuple):
    broker_id: int
    request: Message
    answer: Answer[Any]


class ScriptedPeers:
    def __init__(self) -> None:
        self.asked: list[Asked] = []

    def ask(
        self,
        broker_id: int,
        request: Message,
        response: type[M],  # noqa: ARG002
        *,
        version: int,  # noqa: ARG002
        purpose: Purpose,  # noqa: ARG002
        timeout_ms: int,  # noqa: ARG002
        hear_begun: HearBegun | None = None,  # noqa: ARG002
    ) -> Answer[M]:
        answer: Answer[M] = Answer()
        self.asked.append(Asked(broker_id, request, answer))
        return answer

    def hang_up(self, broker_id: int, purpose: Purpose) -> None:
        pass

    def take(self, broker_id: int) -> tuple[Any, Answer[Any]]:
        """The oldest request to this broker that is not answered."""
        (found, *_) = [each for each in self.asked if each.broker_id == broker_id]
        self.asked.remove(found)
        return found.request, found.answer

    def fail(self, broker_id: int) -> None:
        self.take(broker_id)[1].deliver(PeerFailed("the broker went away"))
