"""A broker comes, takes over the replicas of another, and that one is retired by a controlled shutdown; the next time
another goes and the first one comes back. Clients should not notice."""

from __future__ import annotations

from tests.chaos.faults import NOTICED_TIMEOUT_S, Unfelt
from tests.chaos.sight import ClusterSight, Sight

from strandline.client.blocking import Blocking
from strandline.client.reassignments import reassign
from strandline.client.settings import ClientSettings
from strandline.cluster.process_cluster import ProcessCluster


class Retire(Unfelt):
    """Of a cluster with one broker more than replicas, which does not run."""

    name = "retire"

    def __init__(self, cluster: ProcessCluster) -> None:
        self._cluster = cluster
        self._retired = 0

    def strike(self, sight: Sight) -> str:
        (spare,) = (each for each, broker in self._cluster.brokers.items() if not broker.is_running)
        self._retired = next(each for each in sorted(sight.brokers) if each != sight.controller)
        self._cluster.start(spare)
        targets = {
            name: [spare if each == self._retired else each for each in state.in_sync]
            for name, state in sight.partitions.items()
        }
        with Blocking(ClientSettings(bootstrap_servers=tuple(self._cluster.bootstrap.split(",")))) as client:
            refusals = client(lambda cluster: reassign(cluster, targets))
        assert not any(refusals.values()), refusals
        return f"broker {self._retired}, for broker {spare}"

    def hold(self, sight: ClusterSight) -> None:
        sight.wait_until(
            lambda it: it.are_in_sync(3) and not any(self._retired in each.in_sync for each in it.partitions.values()),
            f"that {self._retired} has handed over all it had",
            NOTICED_TIMEOUT_S,
        )
        self._cluster.stop(self._retired)

    def heal(self) -> None:
        """It stays away."""
