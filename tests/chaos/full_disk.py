"""A disk that is full: one of a broker's two data directories. Only what lies there may suffer.

The broker takes the directory out of service at the first write that fails; others lead what it led there. The rest of
its partitions stay in sync all the while. Afterwards there is room again, and the broker is restarted: a directory that
has failed stays out until then, as in Kafka.
"""

from __future__ import annotations

import os

from tests.chaos.faults import NOTICED_TIMEOUT_S, Unfelt
from tests.chaos.networked_cluster import NetworkedCluster
from tests.chaos.sight import ClusterSight, Sight, Waited

from strandline.model.partitions import TopicPartition

PIECE = bytes(64 * 1024)


class FullDisk(Unfelt):
    name = "full-disk"

    def __init__(self, networked: NetworkedCluster) -> None:
        self._networked = networked
        self._cluster = networked.cluster
        self._victim = 0
        self._there: set[TopicPartition] = set()

    def strike(self, sight: Sight) -> str:
        """A broker that leads something there, if there is one."""
        there = {each: self._on_small_disk(each, sight) for each in self._cluster.brokers}
        led = {each: len(names & set(sight.led_by(each))) for each, names in there.items()}
        self._victim = max(there, key=lambda each: (led[each], len(there[each])))
        self._there = there[self._victim]
        self._fill()
        return f"broker {self._victim}, with {', '.join(map(str, sorted(self._there))) or 'nothing'}"

    def hold(self, sight: ClusterSight) -> None:
        sight.wait_until(self._is_without_them, f"that {self._victim} has lost {self._there}", NOTICED_TIMEOUT_S)
        lost = sorted(name for name, isr in self._look(sight) if self._victim not in isr and name not in self._there)
        if lost or not self._cluster.broker(self._victim).is_running:
            raise Waited(f"a full disk with {self._there} has cost broker {self._victim} {lost or 'its life'} too")

    def heal(self) -> None:
        os.remove(self._filler)
        if self._cluster.broker(self._victim).is_running:
            self._cluster.stop(self._victim)
        self._cluster.start(self._victim)

    def _on_small_disk(self, broker_id: int, sight: Sight) -> set[TopicPartition]:
        names = os.listdir(self._networked.small_disks[broker_id])
        return {name for name in sight.partitions if str(name) in names}

    @property
    def _filler(self) -> str:
        return f"{os.path.dirname(self._networked.small_disks[self._victim])}/filler"

    def _fill(self) -> None:
        with open(self._filler, "wb", buffering=0) as file:
            for piece in (PIECE, b"\0"):
                self._write_until_full(file.fileno(), piece)

    def _write_until_full(self, descriptor: int, piece: bytes) -> None:
        try:
            while os.write(descriptor, piece):
                continue
        except OSError:
            return

    def _is_without_them(self, sight: Sight) -> bool:
        return all(self._victim not in sight.partitions[name].in_sync for name in self._there)

    def _look(self, sight: ClusterSight) -> list[tuple[TopicPartition, tuple[int, ...]]]:
        seen = sight.look()
        return [] if seen is None else [(name, state.in_sync) for name, state in seen.partitions.items()]
