"""What a new cluster needs: a directory of its own, ports, and a ZooKeeper."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping

from strandline.cluster.cluster_plan import FILE_NAME, OWN_SETTINGS, ClusterRefused
from strandline.cluster.ports import PORT_MAX, PortInUse, ReservedPorts, free_ports_from
from strandline.cluster.zookeeper_ensemble import PORTS_EACH, ZooKeeperEnsemble
from strandline.cluster.zookeeper_installation import NotInstalled, ZooKeeperInstallation, find_installation
from strandline.metadata.zookeeper_settings import ZooKeeperSettings
from strandline.model.settings import BadSetting

ZOOKEEPER_PORT, MEMBER_PORT = 2181, 2888  # ZooKeeper's own, or the next that are free
ANSWER_TIMEOUT_S = 2.0
ADVICE_ON_PORTS = (
    "Choose other ports with --port (0 takes any that are free), or end what has it: `ss -ltnp` shows who."
)


def check_directory(directory: str) -> None:
    if os.path.exists(f"{directory}/{FILE_NAME}"):
        raise ClusterRefused(f"There is a cluster in {directory} already.")
    if os.path.exists(directory) and (not os.path.isdir(directory) or os.listdir(directory)):
        raise ClusterRefused(f"{directory} has in it what is not a cluster's: choose another --dir.")


def check_settings(settings: Mapping[str, str]) -> None:
    for name in OWN_SETTINGS:
        if name in settings:
            raise ClusterRefused(f"{name} is not the same for all brokers, and the cluster sets it: leave it out.")


def reserve_broker_ports(first: int, count: int) -> ReservedPorts:
    """Consecutive ones; with 0 any."""
    if first + count - 1 > PORT_MAX:
        raise ClusterRefused(f"There are no {count} ports from {first} on: the last one is {PORT_MAX}.")
    try:
        return ReservedPorts(range(first, first + count) if first else [0] * count)
    except PortInUse as problem:
        raise PortInUse(f"{problem} {ADVICE_ON_PORTS}") from None


def create_zookeeper(
    directory: str, installation: ZooKeeperInstallation, count: int, *, any_ports: bool
) -> ZooKeeperEnsemble:
    """Any ports may be another's at the next start: those that nobody is given for the asking are kept for longer."""
    if any_ports:
        return ZooKeeperEnsemble.create(directory, installation, client_ports=[0] * count)
    return ZooKeeperEnsemble.create(
        directory,
        installation,
        client_ports=free_ports_from(ZOOKEEPER_PORT, count),
        member_ports=free_ports_from(MEMBER_PORT, count * (PORTS_EACH - 1)),
    )


def find_zookeeper(directory: str, java_home: str | None) -> ZooKeeperEnsemble:
    """Also where it cannot be started any more, so that it can be stopped."""
    try:
        return ZooKeeperEnsemble.find(directory, find_installation(java_home))
    except NotInstalled as missing:
        return ZooKeeperEnsemble.find(directory, missing)


def check_zookeeper_answers(connect: str) -> None:
    """Of an ensemble that is not ours: a broker would try for long before it says so."""
    try:
        addresses = ZooKeeperSettings(zookeeper_connect=connect).addresses()
    except BadSetting as problem:
        raise ClusterRefused(f"{problem}.") from None
    for address in addresses:
        try:
            socket.create_connection(address, ANSWER_TIMEOUT_S).close()
        except OSError:
            continue
        return
    raise ClusterRefused(
        f"No ZooKeeper answers at {connect}: start it, or leave --zookeeper out, and the cluster has one of its own."
    )
