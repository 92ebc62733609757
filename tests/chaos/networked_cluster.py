"""Three brokers and three ZooKeepers, each with an address of its own; and each broker with a clock and disks of its
own that can go wrong."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

from tests.chaos.network import Network
from tests.chaos.process_faults import ProcessFaults, build

from strandline.cluster.cluster_plan import ClusterPlan, replicated
from strandline.cluster.process_cluster import ProcessCluster
from strandline.cluster.zookeeper_ensemble import QUICK, ZooKeeperEnsemble
from strandline.cluster.zookeeper_installation import find_installation
from strandline.cluster.zookeeper_server import Member, ZooKeeperServer, write_configuration

SIZE = 3
BROKER_PORT, CLIENT_PORT, QUORUM_PORT, ELECTION_PORT = 9092, 2181, 2888, 3888
SMALL_DISK_MB = 512  # in memory; half an hour of the clients fits


def broker_name(broker_id: int) -> str:
    return f"b{broker_id}"


def zookeeper_name(server_id: int) -> str:
    return f"z{server_id}"


class NetworkedCluster:
    def __init__(self, directory: str, settings: Mapping[str, str]) -> None:
        ids = range(1, SIZE + 1)
        self.network = Network([*map(broker_name, ids), *map(zookeeper_name, ids)])
        os.makedirs(directory)
        library = build(directory)
        self.faults = {each: ProcessFaults(library, f"{directory}/faults-{each}") for each in ids}
        self.small_disks = {each: _small_disk(f"{directory}/small-disk-{each}") for each in ids}
        places = {
            each: self.network.place(broker_name(each), *self.faults[each].environment)._replace(
                more_data=(self.small_disks[each],)
            )
            for each in ids
        }
        self.cluster = ProcessCluster(
            directory,
            ClusterPlan(dict.fromkeys(ids, BROKER_PORT), SIZE, settings={**replicated(SIZE), **settings}),
            self._zookeeper(directory),
            places=places,
            broker_flags=["-v"],
        )

    def _zookeeper(self, directory: str) -> ZooKeeperEnsemble:
        installation = find_installation()
        members = [
            Member(each, CLIENT_PORT, QUORUM_PORT, ELECTION_PORT, host=self.network.address(zookeeper_name(each)))
            for each in range(1, SIZE + 1)
        ]
        servers = []
        for member in members:
            home = f"{directory}/zookeeper-{member.server_id}"
            write_configuration(home, member, members, QUICK)
            place = self.network.place(zookeeper_name(member.server_id))
            servers.append(ZooKeeperServer(home, installation, place))
        return ZooKeeperEnsemble(servers)


def _small_disk(path: str) -> str:
    """A file system in memory that can be filled without harm to anybody else."""
    os.makedirs(path)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK_MB}m", "tmpfs", path], check=True)
    data = f"{path}/data"
    os.makedirs(data)
    return data
