"""A cluster on this machine: ZooKeeper and brokers, each a process of its own, in one directory.

    <directory>/cluster.json      what it is made of (cluster_plan.py)
    <directory>/zookeeper-<id>/   a server of ZooKeeper each, unless another ensemble is used
    <directory>/broker-<id>/      a broker each: its data, its log, its pid

    with ProcessCluster.create("somewhere", brokers=3) as cluster:
        Producer({"bootstrap.servers": cluster.bootstrap}) ...
        cluster.kill(2)
        cluster.start(2)

The processes outlive whoever started them; `find` has them again by the directory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Self

from strandline.cluster.broker_server import BrokerServer
from strandline.cluster.cluster_plan import ClusterPlan, ClusterRefused, load_plan, replicated
from strandline.cluster.creation import (
    ADVICE_ON_PORTS,
    check_directory,
    check_settings,
    check_zookeeper_answers,
    create_zookeeper,
    find_zookeeper,
    reserve_broker_ports,
)
from strandline.cluster.directory_lock import locked
from strandline.cluster.place import HERE, Place
from strandline.cluster.ports import PortInUse, ReservedPorts
from strandline.cluster.process import ServerProcess
from strandline.cluster.starting import Server, start_all
from strandline.cluster.zookeeper_ensemble import ZooKeeperEnsemble
from strandline.cluster.zookeeper_installation import find_installation
from strandline.cluster.zookeeper_server import ZooKeeperServer

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0

Tell = Callable[[str], object]


def _tell_nobody(event: str) -> None:
    """Tests look for themselves."""


class ProcessCluster:
    def __init__(
        self,
        directory: str,
        plan: ClusterPlan,
        zookeeper: ZooKeeperEnsemble | None,
        reserved: ReservedPorts | None = None,
        *,
        places: Mapping[int, Place] | None = None,
        broker_flags: Sequence[str] = (),
    ) -> None:
        """Use `create` or `find`. Brokers that are given no place of their own are here."""
        self.directory = directory
        self.plan = plan
        self.zookeeper = zookeeper
        self._reserved = reserved
        settings = {**plan.settings, "zookeeper.connect": self.connect}
        root = os.path.abspath(directory)
        self.brokers = {
            broker_id: BrokerServer(
                f"{root}/broker-{broker_id}",
                broker_id,
                port,
                settings,
                place=(places or {}).get(broker_id, HERE),
                flags=broker_flags,
            )
            for broker_id, port in plan.brokers.items()
        }

    @classmethod
    def create(
        cls,
        directory: str | os.PathLike[str],
        *,
        brokers: int = 3,
        port: int = 0,
        zookeepers: int = 1,
        zookeeper: str = "",
        settings: Mapping[str, str] | None = None,
        java_home: str | None = None,
        broker_flags: Sequence[str] = (),
    ) -> ProcessCluster:
        """In a directory of its own. Nothing is started yet, and nothing is written if it cannot be.

        Ports are consecutive from `port` on, or any with 0. `zookeeper` is the `zookeeper.connect` of an ensemble that
        is there already. Settings are those of all brokers, by Kafka's names; flags, which are not kept, those of
        `strandline serve`.
        """
        directory = os.fspath(directory)
        check_directory(directory)
        check_settings(settings or {})
        installation = None if zookeeper else find_installation(java_home)
        reserved = reserve_broker_ports(port, brokers)
        plan = ClusterPlan(
            dict(enumerate(reserved.ports, 1)),
            0 if zookeeper else zookeepers,
            zookeeper,
            {**replicated(brokers), **(settings or {})},
        )
        os.makedirs(directory, exist_ok=True)
        ensemble = None
        if installation is not None:
            ensemble = create_zookeeper(directory, installation, zookeepers, any_ports=port == 0)
        plan.save(directory)
        return cls(directory, plan, ensemble, reserved, broker_flags=broker_flags)

    @classmethod
    def find(cls, directory: str | os.PathLike[str], java_home: str | None = None) -> ProcessCluster:
        """The one that was created there, running or not. Raises `ClusterRefused` where there is none."""
        directory = os.fspath(directory)
        plan = load_plan(directory)
        return cls(directory, plan, find_zookeeper(directory, java_home) if plan.zookeepers else None)

    def changed(self, port: int | None, settings: Mapping[str, str]) -> ProcessCluster:
        """The same cluster with other ports, unless None, and with more settings. Not while a broker runs."""
        check_settings(settings)
        running = [broker.process.title for broker in self.brokers.values() if broker.is_running]
        if running:
            raise ClusterRefused(
                f"Ports and settings do not change while brokers run, as {', '.join(running)} in {self.directory}:"
                f" first `strandline cluster down --dir {self.directory}`."
            )
        reserved = None if port is None else reserve_broker_ports(port, len(self.brokers))
        brokers = self.plan.brokers if reserved is None else dict(zip(self.brokers, reserved.ports, strict=True))
        plan = replace(self.plan, brokers=brokers, settings={**self.plan.settings, **settings})
        plan.save(self.directory)
        return ProcessCluster(self.directory, plan, self.zookeeper, reserved)

    # Where it is, and what runs of it.

    @property
    def connect(self) -> str:
        """For `zookeeper.connect`."""
        return self.plan.zookeeper if self.zookeeper is None else self.zookeeper.connect

    @property
    def bootstrap(self) -> str:
        """For a client's `bootstrap.servers`."""
        return ",".join(broker.address for broker in self.brokers.values())

    @property
    def zookeepers(self) -> tuple[ZooKeeperServer, ...]:
        return () if self.zookeeper is None else self.zookeeper.servers

    @property
    def servers(self) -> tuple[Server, ...]:
        """ZooKeeper's first, then the brokers."""
        return (*self.zookeepers, *self.brokers.values())

    @property
    def processes(self) -> tuple[ServerProcess, ...]:
        return tuple(server.process for server in self.servers)

    def broker(self, broker_id: int) -> BrokerServer:
        if broker_id not in self.brokers:
            ids = ", ".join(map(str, self.brokers))
            raise ClusterRefused(f"There is no broker {broker_id} in {self.directory}: its brokers are {ids}.")
        return self.brokers[broker_id]

    # All of it.

    def up(self, tell: Tell = _tell_nobody, timeout_s: float = START_TIMEOUT_S) -> None:
        """Starts what does not run, all at once, and waits until it serves. If that fails, what it started is ended."""
        with locked(self.directory):
            missing = [server for server in self.servers if not server.is_running]
            if not missing:
                raise ClusterRefused(
                    f"The cluster in {self.directory} is up already, at {self.bootstrap}:"
                    f" see it with `strandline cluster status --dir {self.directory}`."
                )
            self._start(missing, tell, timeout_s)

    def down(self, tell: Tell = _tell_nobody, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """The brokers all at once, then ZooKeeper, which they need to take their leave."""
        with locked(self.directory):
            self._stop(self.brokers.values(), tell, timeout_s)
            self._stop(self.zookeepers, tell, timeout_s)

    def kill_all(self) -> None:
        for process in self.processes:
            process.kill()

    def close(self) -> None:
        """All down, and the ports given back."""
        self.down()
        if self.zookeeper is not None:
            self.zookeeper.release_ports()
        if self._reserved is not None:
            self._reserved.release()

    def __enter__(self) -> Self:
        try:
            self.up()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # One broker.

    def start(self, broker_id: int, tell: Tell = _tell_nobody, timeout_s: float = START_TIMEOUT_S) -> None:
        """Returns when it serves."""
        broker = self.broker(broker_id)
        with locked(self.directory):
            if broker.is_running:
                raise ClusterRefused(f"Broker {broker_id} runs already, as process {broker.process.pid}.")
            if self.zookeepers and not any(server.is_running for server in self.zookeepers):
                raise ClusterRefused(
                    f"ZooKeeper does not run, without which a broker cannot start:"
                    f" start all with `strandline cluster up --dir {self.directory}`."
                )
            self._start([broker], tell, timeout_s)

    def stop(self, broker_id: int, tell: Tell = _tell_nobody, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """A controlled shutdown."""
        with locked(self.directory):
            self._stop([self._running(broker_id)], tell, timeout_s)

    def kill(self, broker_id: int) -> None:
        """SIGKILL: nothing is flushed, nobody is told."""
        with locked(self.directory):
            self._running(broker_id).process.kill()

    def pause(self, broker_id: int) -> None:
        """SIGSTOP: it is silent, and its connections stay."""
        self._running(broker_id).process.pause()

    def resume(self, broker_id: int) -> None:
        self._running(broker_id).process.resume()

    def _running(self, broker_id: int) -> BrokerServer:
        broker = self.broker(broker_id)
        if not broker.is_running:
            raise ClusterRefused(
                f"Broker {broker_id} does not run: start it with"
                f" `strandline cluster start {broker_id} --dir {self.directory}`."
            )
        return broker

    def _start(self, servers: list[Server], tell: Tell, timeout_s: float) -> None:
        for server in servers:
            _check_port(server)
        if self.zookeeper is None:
            check_zookeeper_answers(self.connect)
        start_all(servers, lambda server: tell(f"{server.process.title} is ready at {server.address}"), timeout_s)

    def _stop(self, servers: Iterable[Server], tell: Tell, timeout_s: float) -> None:
        running = [server.process for server in servers if server.is_running]
        for process in running:
            process.ask_to_stop()
        for process in running:
            has_listened = process.stop(timeout_s)
            tell(f"{process.title} has stopped" if has_listened else f"{process.title} did not stop, and was killed")


def _check_port(server: Server) -> None:
    try:
        ReservedPorts([int(server.address.rpartition(":")[2])]).release()
    except PortInUse as problem:
        raise PortInUse(f"{server.process.title} cannot start. {problem} {ADVICE_ON_PORTS}") from None
