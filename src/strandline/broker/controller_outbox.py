"""A controller's requests on their way: to each broker one after another, in order, until it has answered.

A broker that does not answer is asked again, unless it has gone or is back with a new epoch: then the controller will
tell it everything anyway, and what was meant for its earlier life is dropped. So is one asked again that does not know
yet under which epoch it is registered: the answer to its registration may come later than our order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from strandline.broker.controller_letters import Letter, put
from strandline.broker.controller_messages import (
    LEADER_AND_ISR_VERSION,
    STOP_REPLICA_VERSION,
    UPDATE_METADATA_VERSION,
    leader_and_isr_answered,
    leader_and_isr_request,
    stop_replica_answered,
    stop_replica_request,
    update_metadata_request,
)
from strandline.broker.host import Host
from strandline.broker.peers import PeerFailed, Peers, Purpose
from strandline.broker.procedures import begin, pause
from strandline.controller.effects import LeaderAndIsr, Request, StopReplica, UpdateMetadata
from strandline.controller.events import BrokerAnswer, UpdateMetadataAnswered
from strandline.model.failures import ErrorCode
from strandline.wire.layout import Message
from strandline.wire.messages.leader_and_isr import LeaderAndIsrResponse
from strandline.wire.messages.stop_replica import StopReplicaResponse
from strandline.wire.messages.update_metadata import UpdateMetadataResponse

RETRY_MS = 200


class Mail(NamedTuple):
    """One request as it goes out."""

    broker_epoch: int
    effect: Request

    def message(self) -> tuple[Message, int]:
        match self.effect:
            case LeaderAndIsr():
                return leader_and_isr_request(self.effect), LEADER_AND_ISR_VERSION
            case StopReplica():
                return stop_replica_request(self.effect), STOP_REPLICA_VERSION
            case UpdateMetadata():
                return update_metadata_request(self.effect, self.broker_epoch), UPDATE_METADATA_VERSION

    def response_class(self) -> type[Message]:
        match self.effect:
            case LeaderAndIsr():
                return LeaderAndIsrResponse
            case StopReplica():
                return StopReplicaResponse
            case UpdateMetadata():
                return UpdateMetadataResponse

    def event(self, broker_id: int, response: Message) -> BrokerAnswer:
        if isinstance(self.effect, LeaderAndIsr) and isinstance(response, LeaderAndIsrResponse):
            return leader_and_isr_answered(self.effect, response)
        if isinstance(self.effect, StopReplica) and isinstance(response, StopReplicaResponse):
            return stop_replica_answered(self.effect, response)
        assert isinstance(response, UpdateMetadataResponse)
        return UpdateMetadataAnswered(broker_id, self.broker_epoch, ErrorCode(response.error_code))


class ControllerOutbox:
    def __init__(
        self,
        peers: Peers,
        host: Host,
        request_timeout_ms: int,
        answered: Callable[[BrokerAnswer], None],
    ) -> None:
        self._peers = peers
        self._host = host
        self._request_timeout_ms = request_timeout_ms
        self._answered = answered
        self._broker_epochs: dict[int, int] = {}
        self._letters: dict[int, deque[Letter]] = {}
        self._sending: set[int] = set()
        self._is_open = True

    def brokers_seen(self, broker_epochs: dict[int, int]) -> None:
        self._broker_epochs = broker_epochs

    def send(self, effect: Request) -> None:
        if isinstance(effect, UpdateMetadata):
            for broker_id, broker_epoch in effect.recipients:
                self._put(broker_id, broker_epoch, effect)
        else:
            self._put(effect.broker_id, effect.broker_epoch, effect)

    @property
    def is_empty(self) -> bool:
        return not self._sending

    def close(self) -> None:
        self._is_open = False
        self._letters.clear()

    def _put(self, broker_id: int, broker_epoch: int, effect: Request) -> None:
        put(self._letters.setdefault(broker_id, deque()), broker_epoch, effect)
        if broker_id not in self._sending:
            self._sending.add(broker_id)
            self._host.call_soon(lambda: begin(self._send_all(broker_id)))  # what follows at once may go with it

    async def _send_all(self, broker_id: int) -> None:
        while self._is_open and (letters := self._letters.get(broker_id)):
            letter = letters.popleft()
            await self._send(broker_id, Mail(letter.broker_epoch, letter.effect()))
        self._sending.discard(broker_id)

    async def _send(self, broker_id: int, mail: Mail) -> None:
        """Until it is answered, or the broker is not the one any more that it was meant for."""
        message, version = mail.message()
        while self._is_open and self._broker_epochs.get(broker_id) == mail.broker_epoch:
            try:
                response = await self._peers.ask(
                    broker_id,
                    message,
                    mail.response_class(),
                    version=version,
                    purpose=Purpose.CONTROL,
                    timeout_ms=self._request_timeout_ms,
                )
            except PeerFailed:
                await pause(self._host, RETRY_MS)
                continue
            if getattr(response, "error_code", ErrorCode.NONE) == ErrorCode.STALE_BROKER_EPOCH:
                # The store has told us of its registration before it told the broker itself (KIP-380).
                await pause(self._host, RETRY_MS)
                continue
            if self._is_open:
                self._answered(mail.event(broker_id, response))
            return
