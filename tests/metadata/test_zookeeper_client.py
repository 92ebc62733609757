"""What kazoo's thread and the owner's have to say of one connection comes in the order of the server's bytes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kazoo.protocol.states import EventType, KeeperState, WatchedEvent, ZnodeStat

from strandline.metadata import paths
from strandline.metadata.store import SessionState, WatchEvent
from strandline.metadata.zookeeper_client import ZooKeeperClient
from strandline.metadata.zookeeper_settings import ZooKeeperSettings

OVERTAKING_S = 0.3  # for whoever could overtake
CHANGED = WatchedEvent(EventType.CHILD, KeeperState.CONNECTED, paths.BROKER_IDS)


class Told:
    def __init__(self) -> None:
        self.order: list[str] = []

    def told_state(self, state: SessionState, session_id: int) -> None:
        """Nobody starts it."""

    def told_event(self, event: WatchEvent) -> None:
        self.order.append(str(event))


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def client(told: Told) -> Iterator[ZooKeeperClient]:
    settings = ZooKeeperSettings.from_properties({"zookeeper.connect": "127.0.0.1:1"})
    client = ZooKeeperClient(settings, lambda what: what(), told)
    yield client
    client._kazoo.close()


def test_an_event_does_not_overtake_the_answer_that_set_its_watch(
    client: ZooKeeperClient, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it did where the owner's thread stood still between asking kazoo and saying whom to call: the event found
    nobody who watched, and nobody was told of any change from then on."""
    connection: list[threading.Thread] = []

    def get_children_async(_: str, watch: Callable[[WatchedEvent], None], **__: Any) -> Any:
        result = client._handler.async_result()

        def receive() -> None:
            result.set(([], ZnodeStat(*(0 for _ in ZnodeStat._fields))))
            watch(CHANGED)

        connection.append(threading.Thread(target=receive))
        connection[0].start()
        connection[0].join(OVERTAKING_S)  # the owner stands still
        return result

    monkeypatch.setattr(client._kazoo, "get_children_async", get_children_async)
    client.children(paths.BROKER_IDS, True, lambda _: told.order.append("answer"))
    connection[0].join()
    assert told.order == ["answer", f"children {paths.BROKER_IDS}"]


def test_an_answer_that_came_at_once_is_told(
    client: ZooKeeperClient, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exists_async(*_: Any) -> Any:
        result = client._handler.async_result()
        result.set(None)
        return result

    monkeypatch.setattr(client._kazoo, "exists_async", exists_async)
    client.exists("/brokers", False, lambda stat: told.order.append(f"answer {stat}"))
    assert told.order == ["answer None"]
