"""What ZooKeeper says of a cluster: who lives, who leads, who is in sync, who is the controller.

It is asked directly and anew each time, over a session of its own: brokers may be paused, cut off, or wrong.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, NoNodeError, SessionExpiredError
from kazoo.handlers.threading import KazooTimeoutError

from strandline.metadata import paths
from strandline.model.partitions import TopicPartition

CONNECT_TIMEOUT_S = 5.0
logging.getLogger("kazoo").setLevel(logging.CRITICAL)  # that ZooKeeper is away is no news to whoever took it away
POLL_S = 0.05
NOBODY = -1


class Leadership(NamedTuple):
    leader: int
    leader_epoch: int
    in_sync: tuple[int, ...]
    version: int  # of the node: what changed and changed back is seen by it


class Sight(NamedTuple):
    controller: int
    controller_epoch: int
    brokers: dict[int, int]  # ids, and the zxid of each registration
    partitions: dict[TopicPartition, Leadership]

    def led_by(self, broker_id: int) -> list[TopicPartition]:
        return [name for name, state in self.partitions.items() if state.leader == broker_id]

    def are_in_sync(self, replicas: int) -> bool:
        return all(state.leader != NOBODY and len(state.in_sync) == replicas for state in self.partitions.values())


class Waited(Exception):
    """One sentence: what did not come true in time."""


class ClusterSight:
    def __init__(self, connect: str, topics: tuple[str, ...]) -> None:
        self._connect = connect
        self._topics = topics

    def look(self) -> Sight | None:
        """None while ZooKeeper does not answer."""
        try:
            with self._session() as client:
                return self._look(client)
        except (KazooTimeoutError, ConnectionLoss, SessionExpiredError, ConnectionError):
            return None

    def wait_until(self, holds: Callable[[Sight], bool], what: str, timeout_s: float) -> Sight:
        deadline = time.monotonic() + timeout_s
        while True:
            sight = self.look()
            if sight is not None and holds(sight):
                return sight
            if time.monotonic() > deadline:
                raise Waited(f"{what} did not come true within {timeout_s:g} s: {sight}")
            time.sleep(POLL_S)

    @contextmanager
    def _session(self) -> Iterator[KazooClient]:
        client = KazooClient(self._connect, timeout=CONNECT_TIMEOUT_S)
        try:
            client.start(CONNECT_TIMEOUT_S)
            yield client
        finally:
            client.stop()
            client.close()

    def _look(self, client: KazooClient) -> Sight:
        return Sight(
            _field(client, paths.CONTROLLER, "brokerid", NOBODY),
            _number(client, paths.CONTROLLER_EPOCH),
            {int(name): _created_zxid(client, int(name)) for name in client.get_children(paths.BROKER_IDS)},
            {name: state for topic in self._topics for name, state in self._leaderships(client, topic)},
        )

    def _leaderships(self, client: KazooClient, topic: str) -> Iterator[tuple[TopicPartition, Leadership]]:
        for index in _json(client, paths.topic_path(topic)).get("partitions", {}):
            name = TopicPartition(topic, int(index))
            leadership = _leadership(client, name)
            if leadership is not None:
                yield name, leadership


def _leadership(client: KazooClient, name: TopicPartition) -> Leadership | None:
    try:
        data, stat = client.get(paths.partition_state_path(name))
    except NoNodeError:
        return None
    state = json.loads(data)
    return Leadership(state["leader"], state["leader_epoch"], tuple(sorted(state["isr"])), stat.version)


def _json(client: KazooClient, path: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(client.get(path)[0])
    except NoNodeError:
        return {}
    return found


def _field(client: KazooClient, path: str, field: str, otherwise: int) -> int:
    return int(_json(client, path).get(field, otherwise))


def _number(client: KazooClient, path: str) -> int:
    try:
        return int(client.get(path)[0])
    except NoNodeError:
        return 0


def _created_zxid(client: KazooClient, broker_id: int) -> int:
    stat = client.exists(paths.broker_path(broker_id))
    return NOBODY if stat is None else int(stat.czxid)
