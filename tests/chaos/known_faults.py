"""The names of the faults that there are with which options: known before there is a cluster, so that a wrong one is
told before anything is made."""

from __future__ import annotations

import argparse

from tests.chaos.faults import KillZooKeeperLeader
from tests.chaos.full_disk import FullDisk
from tests.chaos.moving import Retire
from tests.chaos.spark_client import KillSpark
from tests.chaos.storm import Storm

ANYWHERE = frozenset(
    {
        "kill-leader", "kill-follower", "kill-controller", "kill-all", "bounce-leader", "bounce-controller",
        "pause-leader", "pause-follower", "pause-controller", "lag-follower", "zookeeper-restart", "zookeeper-outage",
    }
)  # fmt: skip
IN_NAMESPACES = frozenset(
    {
        "cut-leader", "cut-controller", "cut-off-leader", "one-way", "ring", "cut-zookeeper-from-leader",
        "cut-zookeeper-leader", "slow-disk", "clock-forward", "clock-back", "clock-back-controller", FullDisk.name,
        Storm.name,
    }
)  # fmt: skip


class UnknownFault(Exception):
    """One sentence, with those there are."""


def names_of(options: argparse.Namespace) -> list[str]:
    """Of the faults that are asked for. Raises `UnknownFault`."""
    known = known_with(options)
    names = sorted(known) if options.faults == "all" else options.faults.split(",")
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UnknownFault(f"there is no {', '.join(unknown)} with these options; there are {', '.join(sorted(known))}")
    return names


def known_with(options: argparse.Namespace) -> set[str]:
    known = {*ANYWHERE, *(IN_NAMESPACES if options.network else ())}
    if not options.network:
        known.add(Retire.name if options.spare_brokers else Storm.name)
    if options.network or options.zookeepers > 1:
        known.add(KillZooKeeperLeader.name)
    if options.spark:
        known.add(KillSpark.name)
    return known
