"""A cluster of three processes on a real ZooKeeper: what replication costs, and how quick it is (SPEC R1, R2, R8).

What counts is the CPU time of all brokers together. One replica and three are measured on the same cluster, in turns.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from statistics import quantiles
from typing import NamedTuple

from benchmarks import load
from benchmarks.bare_loop import listening
from benchmarks.batches import NEARLY_16_KIB
from benchmarks.measure import Aim, Figure, Row, Timing, interleave, rate, share, timed
from benchmarks.scratch import Run
from benchmarks.served import Served
from strandline.cluster.process_cluster import ProcessCluster
from strandline.metadata.paths import partition_state_path
from strandline.metadata.values import PartitionState, decode_partition_state
from strandline.model.partitions import TopicPartition

ACKS_ALL, LEADER_ONLY = -1, 1
WAIT_S = 120.0
SETTINGS = {
    "strandline.journal.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "log.retention.ms": "-1",  # the records are years old, and a run beside neighbours sees retention come round
}
IDLE_PARTITIONS = 1_000
IDLE_S = 10.0


class Brokers:
    """Three of them, and who leads what."""

    def __init__(self, cluster: ProcessCluster) -> None:
        from confluent_kafka.admin import AdminClient
        from kazoo.client import KazooClient

        self.cluster = cluster
        self._zookeeper = KazooClient(self.cluster.connect)
        self._zookeeper.start()
        self._admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap, "log_level": 0})

    def create(self, topic: str, replicas: int, partitions: int = 1) -> None:
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import NewTopic

        deadline = time.monotonic() + WAIT_S
        while True:
            try:
                self._admin.create_topics([NewTopic(topic, partitions, replicas)])[topic].result(WAIT_S)
                break
            except KafkaException as failure:  # the controller was stopped just now, and it has not heard of the next
                if failure.args[0].code() != KafkaError.NOT_CONTROLLER or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        self.wait_in_sync(topic, replicas, partitions)

    def wait_in_sync(self, topic: str, replicas: int, partitions: int = 1) -> None:
        """As the store has it: clients are told some seconds later."""
        deadline = time.monotonic() + WAIT_S
        while any(len(self._state(topic, index).isr) < replicas for index in range(partitions)):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{topic} is not in sync")
            time.sleep(0.01)

    def leader(self, topic: str) -> int:
        return self._state(topic, 0).leader

    def _state(self, topic: str, index: int) -> PartitionState:
        name = TopicPartition(topic, index)
        data, _ = self._zookeeper.get(partition_state_path(name))
        return decode_partition_state(name, data)

    def port_of_leader(self, topic: str) -> int:
        return int(self.cluster.brokers[self.leader(topic)].address.rpartition(":")[2])

    def served(self) -> list[Served]:
        pids = [each.process.pid for each in self.cluster.brokers.values()]
        return [Served(pid, 0, 0.0) for pid in pids if pid is not None]

    def close(self) -> None:
        self._zookeeper.stop()
        self._zookeeper.close()

    def cpu_s(self) -> float:
        return sum(each.cpu_s() for each in self.served())

    def timed(self, work: Callable[[], object]) -> Timing:
        cpu_s, wall_s = self.cpu_s(), time.perf_counter()
        work()
        return Timing(time.perf_counter() - wall_s, self.cpu_s() - cpu_s)


@contextmanager
def three_brokers(run: Run) -> Iterator[Brokers]:
    with run.folder("cluster") as folder, ProcessCluster.create(f"{folder}/cluster", settings=SETTINGS) as cluster:
        try:
            with closing(Brokers(cluster)) as brokers:
                yield brokers
        finally:
            cluster.kill_all()  # nobody reads these logs again, so nothing is synced and nobody told


def replicated_produce(run: Run) -> list[Row]:
    """The same batches to a topic with three replicas and acks=all, and to one with one replica and acks=1."""
    requests = run.some(4_000, 200)
    batch = load.sized_batch(NEARLY_16_KIB)
    with three_brokers(run) as brokers:
        turns = []
        for topic, replicas, acks in (("three", 3, ACKS_ALL), ("one", 1, LEADER_ONLY)):
            brokers.create(topic, replicas)
            request, port = load.produce_request(batch, topic=topic, acks=acks), brokers.port_of_leader(topic)
            with load.connect(port) as connected:
                answer_bytes = 4 + len(load.ask(connected, request))
            turns.append(_flood(brokers, port, request, answer_bytes, requests))
        ours, theirs = interleave(run.some(7, 2), *turns)
    gigabytes = requests * len(batch) / 1e9
    return [
        Row(
            what="produce 16 KiB to 3 replicas, acks=all",
            unit="MB/s",
            ours=rate(ours, gigabytes * 1e3),
            twin="1 replica, acks=1",
            theirs=rate(theirs, gigabytes * 1e3),
            share=share(ours, theirs),
        ),
        Row(
            what="  CPU of all brokers for a GB",
            unit="s",
            ours=_each(ours, gigabytes),
            twin="1 replica, acks=1",
            theirs=_each(theirs, gigabytes),
        ),
    ]


def _flood(brokers: Brokers, port: int, request: bytes, answer_bytes: int, requests: int) -> Callable[[], Timing]:
    def work() -> None:
        load.flood(port, request, answer_bytes, connections=4, window=5, requests=requests)

    return lambda: brokers.timed(work)


def _each(timings: list[Timing], amount: float) -> Figure:
    costs = sorted(each.cpu_s / amount for each in timings)
    middle = costs[len(costs) // 2]
    return Figure(middle, middle)


def catch_up(run: Run) -> list[Row]:
    """A follower that was away fetches what it has missed, beside a bare copy of the same bytes over a socket.

    The copy is timed from the first bytes in the follower's file to the last. Before that, it is told what to follow
    and connects; after that, the store is told that it is in sync: that takes the same time whatever there is to copy,
    and has a row of its own.
    """
    requests = run.some(24_000, 1_000)
    batch = load.sized_batch(NEARLY_16_KIB)
    ours, theirs, around = [], [], []
    with three_brokers(run) as brokers:
        for number in range(run.some(3, 1)):
            missed = _miss(brokers, f"orders{number}", batch, requests)
            copied, around_s = _catch_up(brokers, missed)
            ours.append(copied)
            around.append(Timing(around_s, 0.0))
            theirs.append(timed(lambda segments=missed.segments: _copy(segments, f"{run.scratch}/copy")))  # type: ignore[misc]
    megabytes = requests * len(batch) / 1e6
    around_ms = sorted(each.wall_s * 1e3 for each in around)[len(around) // 2]
    return [
        Row(
            what="a follower catches up",
            unit="MB/s",
            ours=rate(ours, megabytes),
            twin="sendfile to a socket, and to a file",
            theirs=rate(theirs, megabytes),
            share=share(ours, theirs),
            aim=Aim(at_least=1 / 1.5, of_share=True),
        ),
        Row(what="  until it begins, and until it is in sync", unit="ms", ours=Figure(around_ms, around_ms)),
    ]


class Missed(NamedTuple):
    """What a follower has missed."""

    topic: str
    away: int
    segments: list[str]  # of the leader

    @property
    def size_bytes(self) -> int:
        return sum(map(os.path.getsize, self.segments))


def _miss(brokers: Brokers, topic: str, batch: bytes, requests: int) -> Missed:
    brokers.create(topic, 3)
    leader = brokers.leader(topic)
    away = next(each for each in brokers.cluster.brokers if each != leader)
    brokers.cluster.stop(away)
    request = load.produce_request(batch, topic=topic)
    port = brokers.port_of_leader(topic)
    with load.connect(port) as connected:
        answer_bytes = 4 + len(load.ask(connected, request))
    load.flood(port, request, answer_bytes, connections=4, window=5, requests=requests)
    return Missed(topic, away, _segments(brokers.cluster.directory, leader, topic))


def _catch_up(brokers: Brokers, missed: Missed) -> tuple[Timing, float]:
    """The copy, as if all had been copied at the pace of what came after the first bytes; and the seconds around it."""
    size_bytes = missed.size_bytes
    brokers.cluster.start(missed.away)
    started_s, (path, *_) = time.perf_counter(), _segments(brokers.cluster.directory, missed.away, missed.topic)
    first_bytes = _wait_for_bytes(path, 1)
    begun_s, cpu_s = time.perf_counter(), brokers.cpu_s()
    _wait_for_bytes(path, size_bytes)
    ended_s, cpu_s = time.perf_counter(), brokers.cpu_s() - cpu_s
    brokers.wait_in_sync(missed.topic, 3)
    around_s = time.perf_counter() - ended_s + begun_s - started_s
    part = size_bytes / (size_bytes - first_bytes)
    return Timing((ended_s - begun_s) * part, cpu_s * part), around_s


def _wait_for_bytes(path: str, size_bytes: int) -> int:
    deadline = time.monotonic() + WAIT_S
    while (found := os.path.getsize(path)) < size_bytes:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{path} has {found} of {size_bytes} bytes")
        time.sleep(0.001)
    return found


def _segments(directory: str, broker_id: int, topic: str) -> list[str]:
    found = []
    for folder, _, names in os.walk(directory):
        if folder.endswith(f"{topic}-0") and f"{os.sep}broker-{broker_id}{os.sep}" in folder + os.sep:
            found += [os.path.join(folder, name) for name in sorted(names) if name.endswith(".log")]
    if not found:
        raise RuntimeError(f"no segments of broker {broker_id} below {directory}")
    return found


def _copy(segments: list[str], target: str) -> None:
    listener = listening()
    receiver = threading.Thread(target=_receive, args=(listener, target))
    receiver.start()
    with socket.create_connection(listener.getsockname()) as connected:
        for path in segments:
            with open(path, "rb") as file:
                position, size = 0, os.fstat(file.fileno()).st_size
                while position < size:
                    position += os.sendfile(connected.fileno(), file.fileno(), position, size - position)
    receiver.join()
    listener.close()
    os.remove(target)


def _receive(listener: socket.socket, target: str) -> None:
    connected, _ = listener.accept()
    buffer = memoryview(bytearray(2**20))
    with connected, open(target, "wb", buffering=0) as file:
        while count := connected.recv_into(buffer):
            file.write(buffer[:count])


def replicated_latency(run: Run) -> list[Row]:
    """One tiny record after another, each on three replicas before the next is sent."""
    with three_brokers(run) as brokers:
        brokers.create("orders", 3)
        request = load.produce_request(load.tiny_batch(), topic="orders", acks=ACKS_ALL)
        with load.connect(brokers.port_of_leader("orders")) as connected:
            load.ask(connected, request)
            took_us: list[float] = []

            def ask_all() -> None:
                for _ in range(run.some(2_000, 100)):
                    begun_s = time.perf_counter()
                    load.ask(connected, request)
                    took_us.append((time.perf_counter() - begun_s) * 1e6)

            timing = brokers.timed(ask_all)
    percentiles = quantiles(took_us, n=1000)
    cost_ms = timing.cpu_s * 1e6 / len(took_us)
    return [
        *(
            Row(what=f"produce to 3 replicas and wait, {name}", unit="µs", ours=Figure(value, value))
            for name, value in (("median", percentiles[499]), ("99th percentile", percentiles[989]))
        ),
        Row(what="  CPU of all brokers for 1,000", unit="ms", ours=Figure(cost_ms, cost_ms)),
    ]


def idle_partitions(run: Run) -> list[Row]:
    """What a thousand partitions cost while nobody writes: each broker has a replica of all of them."""
    partitions = run.some(IDLE_PARTITIONS, 50)
    with three_brokers(run) as brokers:
        before = [each.resident_bytes() for each in brokers.served()]
        brokers.create("many", 3, partitions)
        time.sleep(1)
        idle = brokers.timed(lambda: time.sleep(run.some(int(IDLE_S), 1)))
        after = [each.resident_bytes() for each in brokers.served()]
    percent = 100 * idle.cpu_s / 3 / idle.wall_s
    grown = (sum(after) - sum(before)) / 3 / 1e6
    return [
        Row(what=f"{partitions} idle partitions, CPU of a broker", unit="%", ours=Figure(percent, percent)),
        Row(what="  memory of a broker for them", unit="MB", ours=Figure(grown, grown)),
    ]
