"""A cluster for tests: several brokers in this process, and what can go wrong with them, as calls.

    with Cluster(brokers=3) as cluster:
        cluster.create_topic("orders")
        Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"}) ...
        cluster.kill(cluster.leader("orders"))

Each broker is a thread with the code that a process runs: real sockets, real files, Kafka's own requests between them.
The metadata is in an embedded store that they share, as a cluster shares its ZooKeeper. Whatever is heavy is imported
when a cluster starts.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Self, TypeVar

from strandline.testing.failure import BrokerFailed, PortTaken
from strandline.testing.life import HOST, START_TIMEOUT_S
from strandline.testing.properties import gather_cluster_properties, internal_topics, text_properties

if TYPE_CHECKING:
    from strandline.testing.faults import Member
    from strandline.testing.member import MemberThread
    from strandline.testing.stored_cluster import StoredCluster

Answer = TypeVar("Answer")
STORE = "store"
POLL_S = 0.01
WAIT_S = 30.0


class Cluster:
    """`start` and `close` it, or use it in `with` or `async with`. Brokers count from 1."""

    def __init__(
        self,
        settings: Mapping[str, object] | None = None,
        *,
        brokers: int = 3,
        session_timeout_ms: int = 500,
        seed: int = 0,
        **keywords: object,
    ) -> None:
        """Settings by Kafka's names, or as keywords with underscores for dots, are those of every broker.

        A broker that is not heard of for `session_timeout_ms` is dead to the others. The seed is for what `drop` loses.
        """
        if brokers < 1:
            raise ValueError(f"a cluster has brokers: {brokers} are too few")
        self._properties = gather_cluster_properties(settings or {}, keywords, brokers)
        self._session_timeout_ms = session_timeout_ms
        self._seed = seed
        self._ports = dict.fromkeys(range(1, brokers + 1), 0)
        self._members: dict[int, MemberThread] = {}
        self._has_started = self._has_formed = False
        self._scratch = tempfile.mkdtemp(prefix="strandline-")
        self._remove_scratch = weakref.finalize(self, shutil.rmtree, self._scratch, ignore_errors=True)

    # Where it is.

    @property
    def bootstrap(self) -> str:
        """For a client's `bootstrap.servers`: all brokers, dead ones too."""
        self._check_started()
        return ",".join(f"{HOST}:{port}" for port in self._ports.values())

    @property
    def broker_ids(self) -> list[int]:
        return list(self._ports)

    def address(self, broker_id: int) -> str:
        self._check_started()
        return f"{HOST}:{self._port(broker_id)}"

    def is_running(self, broker_id: int) -> bool:
        self._port(broker_id)
        return broker_id in self._members and self._members[broker_id].is_alive()

    # What it has.

    def create_topic(
        self, name: str, partitions: int | None = None, settings: Mapping[str, object] | None = None
    ) -> str:
        """Returns the name, once all replicas are in sync. With as many replicas as there are brokers, 3 at most,
        unless `default.replication.factor` says otherwise."""
        from strandline.testing.topics import create_topic

        deadline = time.monotonic() + WAIT_S
        while True:
            controller = self.wait_for(self.controller, "a controller")
            try:
                create_topic((HOST, self._port(controller)), name, partitions, text_properties(settings or {}))
                break
            except BrokerFailed as failure:
                if "NOT_CONTROLLER" not in str(failure) or time.monotonic() > deadline:
                    raise
                time.sleep(POLL_S)  # it has the office, and still reads what there is
        self.wait_in_sync(name)
        return name

    def controller(self) -> int | None:
        """The broker that holds the office, None while nobody does."""
        return self._stored.controller()

    def leader(self, topic: str, partition: int = 0) -> int | None:
        """None while there is none."""
        leader = self._stored.state(topic, partition).leader
        return None if leader < 0 else leader

    def leader_epoch(self, topic: str, partition: int = 0) -> int:
        return self._stored.state(topic, partition).leader_epoch

    def in_sync(self, topic: str, partition: int = 0) -> tuple[int, ...]:
        return self._stored.state(topic, partition).isr

    def replicas(self, topic: str) -> dict[int, tuple[int, ...]]:
        """Of each partition, the preferred leader first."""
        return self._stored.replicas(topic)

    def wait_in_sync(self, topic: str | None = None, timeout_s: float = WAIT_S) -> None:
        """Until every partition, of this topic or of all, has a leader and all its replicas in sync."""

        def are_in_sync() -> bool:
            topics = [topic] if topic is not None else self._stored.topics()
            return all(map(self._stored.is_in_sync, topics))

        self.wait_for(are_in_sync, f"all replicas of {topic or 'all topics'} in sync", timeout_s)

    def wait_for(self, question: Callable[[], Answer | None], what: str, timeout_s: float = WAIT_S) -> Answer:
        """Until the answer is neither None nor false."""
        deadline = time.monotonic() + timeout_s
        while not (answer := question()):
            if time.monotonic() > deadline:
                raise BrokerFailed(f"waited {timeout_s:g} s in vain for {what}")
            time.sleep(POLL_S)
        return answer

    # What goes wrong.

    def kill(self, broker_id: int) -> None:
        """Nothing is flushed, nothing is told. The others find out after `session_timeout_ms`."""
        self._wait_until_formed()
        self._member(broker_id).kill()
        del self._members[broker_id]

    def stop(self, broker_id: int) -> None:
        """A clean stop."""
        self._wait_until_formed()
        self._members.pop(self._member(broker_id).broker.settings.broker_id).stop()

    def restart(self, broker_id: int) -> None:
        """After `kill` or `stop`, on its data and its port; a broker that runs is stopped first."""
        if broker_id in self._members:
            self.stop(broker_id)
        self._begin(broker_id)

    def pause(self, broker_id: int) -> None:
        """It stands still, as by SIGSTOP, until `resume`."""
        self._wait_until_formed()
        self._member(broker_id).pause()

    def resume(self, broker_id: int) -> None:
        self._member(broker_id).resume()

    def partition(self, *groups: Collection[Member]) -> None:
        """Brokers of one group do not reach those of another: `partition({1}, {2, 3})`. Clients reach all of them.

        So does the metadata store unless it is named: `partition({1}, {2, 3, "store"})` takes it from broker 1.
        """
        named = [each for group in groups for each in group]
        for each in named:
            if each != STORE:
                self._port(each)
            if named.count(each) > 1:
                raise BrokerFailed(f"partition: {each!r} is in two groups, which do not reach each other")
        self._wait_until_formed()
        self._network.partition(groups)
        for broker_id, member in self._members.items():
            if self._network.passes(broker_id, STORE):
                member.reach_store()
            else:
                member.lose_store()

    def drop(self, api: str, share: float) -> None:
        """Of the requests between brokers, by Kafka's name for them: `drop("Fetch", 0.3)`."""
        self._network.drop(api, share)

    def slow_disk(self, broker_id: int, sync_ms: int = 200) -> None:
        """Every sync takes so much longer; 0 is as before."""
        self._member(broker_id).filesystem.sync_delay_ms = sync_ms

    def heal(self) -> None:
        """No partitions, no losses, quick disks, everybody runs that was paused. The dead stay dead."""
        self._network.heal()
        for member in self._members.values():
            member.filesystem.sync_delay_ms = 0
            member.reach_store()
            member.resume()

    # Its life.

    def start(self) -> Self:
        """Returns when clients can connect to every broker. The internal topics come in the background."""
        from strandline.testing.faults import Network
        from strandline.testing.shared_store import StoreThread
        from strandline.testing.stored_cluster import StoredCluster

        if self._has_started:
            raise BrokerFailed("the cluster runs already, or is closed")
        self._has_started = True
        self._network = Network(self._seed)
        os.mkdir(f"{self._scratch}/store")
        self._store = StoreThread(f"{self._scratch}/store")
        self._stored_cluster = StoredCluster(self._store)
        for broker_id in self._ports:
            self._begin(broker_id)
        return self

    def close(self) -> None:
        """Stop all brokers, and remove their data."""
        try:
            if self._members:
                self.heal()
                self._stop_all()
            if self._has_started:
                self._store.close()
        finally:
            self._remove_scratch()

    def _stop_all(self) -> None:
        """The controller last, so that it need not move over and over."""
        order = sorted(self._members, key=lambda broker_id: broker_id == self.controller())
        for broker_id in order:
            self._members.pop(broker_id).stop()

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        import asyncio

        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(self, *_: object) -> None:
        import asyncio

        await asyncio.to_thread(self.close)

    def _begin(self, broker_id: int) -> None:
        """Between two lives any client on this machine may have been given our port to call from: wait for it."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                self._members[broker_id] = self._new_life(broker_id)
                self._ports[broker_id] = self._members[broker_id].port
                return
            except PortTaken:
                if not self._ports[broker_id] or time.monotonic() > deadline:
                    raise
                time.sleep(POLL_S)

    def _new_life(self, broker_id: int) -> MemberThread:
        from strandline.testing.member import MemberThread
        from strandline.testing.shared_store import StoreConnection

        own = {
            "broker.id": str(broker_id),
            "log.dirs": f"{self._scratch}/broker-{broker_id}",
            "listeners": f"PLAINTEXT://{HOST}:{self._port(broker_id)}",
        }
        connection = StoreConnection(self._store, self._session_timeout_ms)
        return MemberThread(self._properties | own, connection, self._network)

    def _wait_until_formed(self) -> None:
        """Before the first harm: groups and transactions that begin after it need topics with all their replicas."""
        if not self._has_formed:
            self._has_formed = True
            expected = internal_topics(self._properties, len(self._ports))
            self.wait_for(lambda: all(map(self._is_made, expected)), "the internal topics")

    def _is_made(self, topic: str) -> bool:
        """Not only decided: every broker that runs has its replicas, and is done with what it was told."""
        from strandline.model.partitions import TopicPartition

        return self._stored.is_in_sync(topic) and all(
            self._members[broker_id].broker.partitions.find(TopicPartition(topic, index)) is not None
            for index, replicas in self.replicas(topic).items()
            for broker_id in replicas
            if broker_id in self._members
        )

    def _port(self, broker_id: Member) -> int:
        if not isinstance(broker_id, int) or broker_id not in self._ports:
            raise BrokerFailed(f"there is no broker {broker_id}: they are 1 to {len(self._ports)}")
        return self._ports[broker_id]

    def _member(self, broker_id: int) -> MemberThread:
        self._port(broker_id)
        if broker_id not in self._members:
            raise BrokerFailed(f"broker {broker_id} does not run: `restart` it")
        return self._members[broker_id]

    def _check_started(self) -> None:
        if not self._has_started:
            raise BrokerFailed("the cluster has not been started: use `with Cluster() as cluster`, or call start()")

    @property
    def _stored(self) -> StoredCluster:
        self._check_started()
        return self._stored_cluster
