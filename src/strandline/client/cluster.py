"""A cluster as its clients see it: how to reach its brokers, who leads each partition, who coordinates each group.

The view is what some broker said last. It is asked for anew when it has grown old (`metadata.max.age.ms`) and whenever
an answer shows that it was wrong. Calls that can be routed and repeated safely are repeated here, with back-off, until
`default.api.timeout.ms` is over. The very first contact is not: where nobody listens, the caller shall hear it at once.

One connection serves each broker and purpose. A broker answers a connection's requests in order, so long polls must
not stand before heartbeats: fetching has connections of its own.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import NamedTuple, Self, TypeVar

from strandline.client.connection import Connection
from strandline.client.failures import BrokerRefused, BrokerUnreachable, ClientError, NoBroker, NoTopic
from strandline.client.patience import Patience
from strandline.client.settings import ClientSettings
from strandline.client.view import NO_LEADER, ClusterView, TopicView, view_of
from strandline.model.error_codes import ErrorCode
from strandline.wire.layout import Message
from strandline.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

R = TypeVar("R", bound=Message)
ErrorCodes = Callable[[R], Iterable[int]]  # that an answer may hold in several places

GENERAL = ""
FETCHING = "fetching"
COORDINATION = "coordination"
FIRST_CONTACT = -1  # the node id of a broker that we know by a bootstrap address only

GROUP_KEY, TRANSACTION_KEY = 0, 1  # what a coordinator is asked for by
# The broker we asked is not the one, or not yet: look the right one up, and ask again.
ASK_AGAIN = frozenset(
    {
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
    }
)


class Route(NamedTuple):
    """How to find the broker for a call, and how to forget where it was."""

    find: Callable[[], Awaitable[Connection]]
    forget: Callable[[], object] = lambda: None


class Cluster:
    def __init__(self, settings: ClientSettings | None = None) -> None:
        self.settings = settings or ClientSettings()
        self.view = ClusterView()
        self.when_waiting: Callable[[ClientError], object] = lambda _: (
            None
        )  # called when a call takes long to be served
        self._asked_at_s: dict[str, float] = {}  # of each topic in the view
        self._max_age_s = self.settings.metadata_max_age_ms / 1000
        self._connections: dict[tuple[int, str], Connection] = {}
        self._locks: defaultdict[tuple[int, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._coordinators: dict[tuple[int, str], int] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        connections = list(self._connections.values())
        self._connections.clear()
        await asyncio.gather(*(connection.closed() for connection in connections))

    # Connections

    async def broker(self, node_id: int, purpose: str = GENERAL) -> Connection:
        async with self._locks[node_id, purpose]:
            connection = self._connections.get((node_id, purpose))
            if connection is not None and connection.is_open:
                return connection
            node = self.view.nodes.get(node_id)
            if node is None:
                raise BrokerUnreachable(f"broker {node_id} is not among the live brokers of the cluster")
            try:
                connection = await Connection.open(node.address, self.settings)
            except BrokerUnreachable as error:
                raise BrokerUnreachable(f"broker {node_id} says it is at {node.address}, but: {error}") from None
            self._connections[node_id, purpose] = connection
            return connection

    async def any_broker(self) -> Connection:
        for (_, purpose), connection in self._connections.items():
            if purpose == GENERAL and connection.is_open:
                return connection
        async with self._locks[FIRST_CONTACT, GENERAL]:
            known = [node.address for node in self.view.nodes.values()]
            addresses = list(dict.fromkeys([*known, *self.settings.addresses()]))
            failures = []
            for address in addresses:
                try:
                    connection = await Connection.open(address, self.settings)
                except BrokerUnreachable as error:
                    failures.append(str(error))
                    continue
                self._connections[FIRST_CONTACT, GENERAL] = connection
                return connection
        kind = BrokerUnreachable if known else NoBroker
        if len(addresses) == 1:
            raise kind(failures[0])
        raise kind(f"no broker can be reached at {', '.join(map(str, addresses))}: {failures[0]}")

    async def controller(self) -> Connection:
        if self.view.controller_id == NO_LEADER:
            await self.refresh(())
        return await self.broker(self.view.controller_id)

    async def coordinator(self, name: str, key_type: int = GROUP_KEY) -> Connection:
        """Of a group, or of a transactional id."""
        node_id = self._coordinators.get((key_type, name))
        if node_id is None or node_id not in self.view.nodes:
            node_id = self._coordinators[key_type, name] = await self._find_coordinator(name, key_type)
        return await self.broker(node_id, COORDINATION)

    def coordinator_id(self, name: str, key_type: int = GROUP_KEY) -> int:
        """Where it was found before."""
        return self._coordinators.get((key_type, name), NO_LEADER)

    # The view

    async def refresh(self, topics: Collection[str] | None) -> ClusterView:
        """Asks some broker about these topics, None being all, and about the brokers in any case. One that knows of no
        broker has just started and was told nothing yet: it is asked again."""
        patience = Patience(self.settings)
        while not (response := await self._metadata(topics)).brokers:
            await patience.pause(BrokerUnreachable("a broker that has just started knows no cluster yet"))
        found = view_of(response)
        self._asked_at_s.update(dict.fromkeys(found.topics, monotonic()))
        self.view = found if topics is None else found.with_topics_of(self.view)
        return self.view

    async def _metadata(self, topics: Collection[str] | None) -> MetadataResponse:
        wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        request = MetadataRequest(wanted, self.settings.allow_auto_create_topics)
        connection = await self.any_broker()
        response = await connection.ask(request, MetadataResponse)
        if response.error_code:
            raise BrokerRefused(response.error_code, "the state of the cluster")
        return response

    async def topics(self, names: Collection[str], *, fresh: bool = False) -> dict[str, TopicView]:
        """What is known of these topics; an error if one does not exist."""
        missing = [name for name in names if fresh or self.known_topic(name) is None]
        if missing:
            await self._ask_for_topics(missing)
        return {name: self.view.topics[name] for name in names}

    async def _ask_for_topics(self, missing: list[str]) -> None:
        patience = Patience(self.settings)
        creation = Patience(self.settings, self.settings.topic_metadata_propagation_max_ms)
        while True:
            try:
                await self.refresh(missing)
                for name in missing:
                    self._check_topic(name)
                return
            except NoTopic as error:
                if not self.settings.allow_auto_create_topics:
                    raise
                await creation.pause(error)
            except ClientError as error:
                await patience.pause(error)

    def known_topic(self, name: str) -> TopicView | None:
        """What is known of a topic without asking, if that is not too old; for those who ask for every record."""
        asked_at_s = self._asked_at_s.get(name)
        if asked_at_s is None or monotonic() - asked_at_s >= self._max_age_s:
            return None
        return self.view.topics[name]

    def distrust(self, topic: str) -> None:
        """An answer showed that the view of this topic is wrong."""
        self._asked_at_s.pop(topic, None)

    def _check_topic(self, name: str) -> None:
        view = self.view.topics.get(name)
        if view is None or view.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            self.distrust(name)
            raise NoTopic(name)
        if view.error_code:
            self.distrust(name)
            raise BrokerRefused(view.error_code, f"topic {name}")

    # Calls that find their broker

    async def ask_any(self, request: Message, response: type[R], error_codes: ErrorCodes[R]) -> R:
        return await self._ask_until_served(Route(self.any_broker), request, response, error_codes)

    async def ask_controller(self, request: Message, response: type[R], error_codes: ErrorCodes[R]) -> R:
        return await self._ask_until_served(Route(self.controller), request, response, error_codes)

    async def ask_broker(self, node_id: int, request: Message, response: type[R], error_codes: ErrorCodes[R]) -> R:
        """For what only that broker can say."""
        return await self._ask_until_served(Route(partial(self.broker, node_id)), request, response, error_codes)

    async def ask_coordinator(
        self,
        name: str,
        request: Message,
        response: type[R],
        error_codes: ErrorCodes[R],
        *,
        key_type: int = GROUP_KEY,
        version_max: int | None = None,
        timeout_ms: int | None = None,
    ) -> R:
        key = (key_type, name)
        route = Route(partial(self.coordinator, name, key_type), partial(self._coordinators.pop, key, None))
        return await self._ask_until_served(
            route, request, response, error_codes, version_max=version_max, timeout_ms=timeout_ms
        )

    async def _ask_until_served(
        self,
        route: Route,
        request: Message,
        response: type[R],
        error_codes: ErrorCodes[R],
        *,
        version_max: int | None = None,
        timeout_ms: int | None = None,
    ) -> R:
        patience = Patience(self.settings, when_long=self.when_waiting)
        while True:
            try:
                connection = await route.find()
                answer = await connection.ask(request, response, version_max=version_max, timeout_ms=timeout_ms)
                early = next((code for code in error_codes(answer) if code in ASK_AGAIN), None)
                if early is None:
                    return answer
                raise BrokerRefused(early, type(request).__name__)
            except ClientError as error:
                route.forget()
                await patience.pause(error)
            await self._refresh_brokers()

    async def _refresh_brokers(self) -> None:
        with suppress(BrokerUnreachable):  # the next try will meet it, with its own patience
            await self.refresh(())

    async def _find_coordinator(self, name: str, key_type: int) -> int:
        from strandline.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

        request = FindCoordinatorRequest(key=name, key_type=key_type, coordinator_keys=[name])
        response = await (await self.any_broker()).ask(request, FindCoordinatorResponse)
        found = response.coordinators[0] if response.coordinators else response
        if found.error_code:
            what = "group" if key_type == GROUP_KEY else "transactional id"
            raise BrokerRefused(found.error_code, f"{what} {name}", found.error_message)
        if found.node_id not in self.view.nodes:
            await self.refresh(())
        return found.node_id
