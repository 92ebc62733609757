"""How a cluster on this machine is: which of its processes run, and what its brokers say of it, if one answers."""

from __future__ import annotations

from enum import StrEnum

from strandline.client.blocking import Blocking
from strandline.client.failures import ClientError
from strandline.client.settings import ClientSettings
from strandline.client.view import ClusterView
from strandline.cluster.process import ServerProcess
from strandline.cluster.process_cluster import ProcessCluster
from strandline.model.lazy_dataclass import dataclass

ANSWER_TIMEOUT_MS = 2_000


class ProcessState(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    title: str
    state: ProcessState
    pid: int | None
    address: str
    log_path: str


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    zookeepers: tuple[ProcessStatus, ...]
    brokers: dict[int, ProcessStatus]
    view: ClusterView | None  # None if no broker answers

    @property
    def word(self) -> str:
        running = {status.state is ProcessState.RUNNING for status in (*self.zookeepers, *self.brokers.values())}
        return "up" if running == {True} else "partly up" if True in running else "down"

    def led_by(self, broker_id: int) -> tuple[int, int] | None:
        """How many partitions it leads, and of how many of these not all replicas are in sync; None if unknown."""
        if self.view is None:
            return None
        partitions = [each for topic in self.view.topics.values() for each in topic.partitions.values()]
        led = [partition for partition in partitions if partition.leader_id == broker_id]
        return len(led), sum(partition.is_under_replicated for partition in led)


def status_of(cluster: ProcessCluster) -> ClusterStatus:
    zookeepers = tuple(_process_status(server.process, server.address) for server in cluster.zookeepers)
    brokers = {
        broker_id: _process_status(broker.process, broker.address) for broker_id, broker in cluster.brokers.items()
    }
    awake = [status.address for status in brokers.values() if status.state is ProcessState.RUNNING]
    return ClusterStatus(zookeepers, brokers, view_of_brokers(awake) if awake else None)


def view_of_brokers(addresses: list[str]) -> ClusterView | None:
    settings = ClientSettings(
        bootstrap_servers=tuple(addresses),
        socket_connection_setup_timeout_ms=ANSWER_TIMEOUT_MS,
        request_timeout_ms=ANSWER_TIMEOUT_MS,
        default_api_timeout_ms=ANSWER_TIMEOUT_MS,
    )
    try:
        with Blocking(settings) as client:
            return client(lambda cluster: cluster.refresh(None))
    except ClientError:
        return None


def _process_status(process: ServerProcess, address: str) -> ProcessStatus:
    pid = process.pid
    state = ProcessState.STOPPED
    if pid is not None:
        state = ProcessState.PAUSED if process.is_paused else ProcessState.RUNNING
    return ProcessStatus(process.title, state, pid, address, process.log_path)
