"""A fetcher for each broker that leads partitions which this one follows."""

from __future__ import annotations

from collections.abc import Callable

from strandline.broker.fetcher_settings import FetcherSettings
from strandline.broker.host import Host
from strandline.broker.partition import Partition
from strandline.broker.peers import Peers
from strandline.broker.replica_fetcher import ReplicaFetcher
from strandline.broker.replication_quotas import ReplicationQuotas

NO_LEADER = -1


class ReplicaFetchers:
    def __init__(
        self,
        broker_id: int,
        broker_epoch: Callable[[], int],
        peers: Peers,
        settings: FetcherSettings,
        quotas: ReplicationQuotas,
        host: Host,
    ) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._peers = peers
        self._settings = settings
        self._quotas = quotas
        self._host = host
        self._fetchers: dict[int, ReplicaFetcher] = {}
        self._leader_of: dict[Partition, int] = {}

    def follow(self, partition: Partition, leader_id: int) -> None:
        self.unfollow(partition)
        if leader_id == NO_LEADER:
            return
        fetcher = self._fetchers.get(leader_id)
        if fetcher is None:
            fetcher = self._fetchers[leader_id] = ReplicaFetcher(
                leader_id, self._broker_id, self._broker_epoch, self._peers, self._settings, self._quotas, self._host
            )
        self._leader_of[partition] = leader_id
        fetcher.follow(partition)

    def unfollow(self, partition: Partition) -> None:
        leader_id = self._leader_of.pop(partition, NO_LEADER)
        fetcher = self._fetchers.get(leader_id)
        if fetcher is None:
            return
        fetcher.unfollow(partition)
        if not len(fetcher):
            fetcher.close()
            del self._fetchers[leader_id]

    def flushed(self, partition: Partition) -> None:
        fetcher = self._fetchers.get(self._leader_of.get(partition, NO_LEADER))
        if fetcher is not None:
            fetcher.flushed()

    def close(self) -> None:
        for fetcher in self._fetchers.values():
            fetcher.close()
        self._fetchers.clear()
        self._leader_of.clear()
