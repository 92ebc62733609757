"""The shell of the controller: stands for election, gives it what happens, does what it decides (SPEC R4, R7).

Every broker has one. It holds the office while the znode `/controller` is its own; whoever creates that node raises
`/controller_epoch` in the same multi, and every write of a controller checks that nobody has raised it since. When the
node goes, all stand again.

A watch says that something has changed, never what: the loop reads, and gives what it has read to the controller, over
and over. The store may be silent for a while; a read is tried again until it is answered or the office is lost.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from uuid import UUID

from strandline.broker.controller_office import NotController, Office
from strandline.broker.current_session import CurrentSession
from strandline.broker.host import Host
from strandline.broker.peers import Peers
from strandline.broker.procedures import begin
from strandline.controller.controller import Controller
from strandline.controller.events import UncleanElectionChanged
from strandline.controller.journal import JournalEntry
from strandline.controller.replies import Reply
from strandline.controller.requests import Request
from strandline.controller.settings import ControllerSettings
from strandline.metadata import paths
from strandline.metadata.answer import Answer
from strandline.metadata.errors import MultiFailed, NodeExists, NoNode, SessionOver, StoreError
from strandline.metadata.operations import Create, SetData
from strandline.metadata.store import Session
from strandline.metadata.values import (
    ControllerRegistration,
    decode_controller,
    decode_controller_epoch,
    encode_controller,
    encode_controller_epoch,
)

logger = logging.getLogger(__name__)

TRY_AGAIN_MS = 200


class ControllerLoop:
    def __init__(
        self,
        broker_id: int,
        session: CurrentSession,
        peers: Peers,
        settings: ControllerSettings,
        unclean_topics: Callable[[], dict[str, bool]],
        host: Host,
        *,
        request_timeout_ms: int = 30_000,
        tell: Callable[[JournalEntry], object] = lambda _: None,
    ) -> None:
        """`unclean_topics` are those that set `unclean.leader.election.enable` for themselves."""
        self.controller_id = -1  # as last read
        self._broker_id = broker_id
        self._session = session
        self._peers = peers
        self._settings = settings
        self._unclean_topics = unclean_topics
        self._host = host
        self._request_timeout_ms = request_timeout_ms
        self._tell = tell
        self._office: Office | None = None
        self._is_open = True
        self._followed: Session | None = None  # in which somebody follows who is in office
        self._changed: Answer[None] = Answer()

    @property
    def controller(self) -> Controller | None:
        """The one in office, if it is here and knows everything."""
        return None if self._office is None or not self._office.is_in_charge else self._office.controller

    @property
    def holds_office(self) -> bool:
        """Whether the controller is here, if only just."""
        return self._office is not None

    def name_of(self, topic_id: UUID) -> str | None:
        """As the controller knows it: brokers hear of it later. `NotController` where it is not here, or only just."""
        if self._office is None or not self._office.is_in_charge:
            raise NotController("another broker is the controller, or will be")
        topics = self._office.controller.cluster.topics.values()
        return next((topic.name for topic in topics if topic.topic_id == topic_id), None)

    def lacks(self, topic: str) -> bool:
        """Whether the controller is here, knows what there is, and has no such topic."""
        office = self._office
        return office is not None and office.is_in_charge and topic not in office.controller.cluster.topics

    def knows(self, topic: str) -> bool:
        """Whether the controller, if it is here, has such a topic, be it one that goes."""
        return self._office is not None and topic in self._office.controller.cluster.topics

    @property
    def is_idle(self) -> bool:
        return self._office is None or self._office.is_idle

    def start(self) -> None:
        """In the session that stands now: for the first time, or because the last one is over."""
        session = self._session.now
        if self._is_open and self._followed is not session:
            self._followed = session
            begin(self._follow_office(session))

    def close(self) -> None:
        self._is_open = False
        self._leave("this broker stops")

    def session_expired(self) -> None:
        """And with it the office, for the node is gone."""
        self._leave("the session with the metadata store is over")

    def connected_again(self) -> None:
        """What was watched may have changed without our hearing of it."""
        self._look_again()
        if self._office is not None:
            self._office.look_again()

    def unclean_election_changed(self, topic: str | None, is_enabled: bool | None) -> None:
        if self._office is not None:
            self._office.step(UncleanElectionChanged(topic, is_enabled))

    def ask(self, make_request: Callable[[int], Request]) -> Answer[Reply]:
        """Of the controller, if it is here; else `NotController`."""
        return self.ask_all((make_request,))[0]

    def ask_all(self, make_requests: Sequence[Callable[[int], Request]]) -> list[Answer[Reply]]:
        """At once: what becomes of them is written, and told to the brokers, together."""
        if self._office is not None:
            return self._office.ask(make_requests)
        answers: list[Answer[Reply]] = [Answer() for _ in make_requests]
        for answer in answers:
            self._host.call_soon(partial(answer.deliver, NotController("another broker is the controller")))
        return answers

    # Standing.

    async def _follow_office(self, session: Session) -> None:
        """Who is in office, again whenever that changes; if nobody is, we stand."""
        while self._is_open and self._followed is session:
            try:
                await self._look_at_office(session)
            except NoNode:
                continue  # it went while we looked
            except SessionOver:
                return
            except StoreError:
                await self._pause()

    async def _look_at_office(self, session: Session) -> None:
        changed: Answer[None] = Answer()
        self._changed = changed
        if await session.exists(paths.CONTROLLER, lambda _: _deliver(changed)) is None:
            self._leave("its node is gone")
            await self._try_to_win(session)
            return
        node = await session.get(paths.CONTROLLER)
        self.controller_id = decode_controller(node.data).broker_id
        if node.stat.ephemeral_owner != session.session_id:
            self._leave(f"broker {self.controller_id} is the controller")
        elif self._office is None:  # we have won and not heard of it, or have resigned
            await session.delete(paths.CONTROLLER)
            return
        await changed

    def _look_again(self) -> None:
        changed = self._changed
        self._host.call_soon(lambda: _deliver(changed))

    def _pause(self) -> Answer[None]:
        pause: Answer[None] = Answer()
        self._host.call_later(TRY_AGAIN_MS, lambda: _deliver(pause))
        return pause

    async def _try_to_win(self, session: Session) -> None:
        epoch, version = await self._controller_epoch(session)
        registration = ControllerRegistration(self._broker_id, self._host.now_ms())
        try:
            await session.multi(
                [
                    Create(paths.CONTROLLER, encode_controller(registration), ephemeral=True),
                    SetData(paths.CONTROLLER_EPOCH, encode_controller_epoch(epoch + 1), version),
                ]
            )
        except MultiFailed:
            return  # somebody was quicker
        self.controller_id = self._broker_id
        controller = Controller(self._broker_id, epoch + 1, version + 1, self._settings)
        self._office = Office(
            controller, session, self._peers, self._host, self._request_timeout_ms, self._tell, self._resign
        )
        logger.info("broker %d is the controller, epoch %d", self._broker_id, epoch + 1)
        self._office.take_over(self._unclean_topics())

    async def _controller_epoch(self, session: Session) -> tuple[int, int]:
        """Of the last controller, and the znode's version."""
        try:
            node = await session.get(paths.CONTROLLER_EPOCH)
        except NoNode:
            with suppress(NodeExists):
                await session.create(paths.CONTROLLER_EPOCH, encode_controller_epoch(0))
            node = await session.get(paths.CONTROLLER_EPOCH)
        return decode_controller_epoch(node.data), node.stat.version

    def _leave(self, reason: str) -> None:
        office, self._office = self._office, None
        if office is not None:
            logger.info("broker %d is no longer the controller: %s", self._broker_id, reason)
            office.close(reason)

    def _resign(self, reason: str) -> None:
        """The controller itself wants to go, and its node with it, for the others wait for that."""
        self._leave(reason)
        self._look_again()


def _deliver(answer: Answer[None]) -> None:
    if not answer.is_ready:
        answer.deliver(None)
