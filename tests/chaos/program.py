"""`make chaos`: faults on real processes. Exits with 1 if a promise was broken, with 3 if the run proves nothing.

With --network, the cluster is in network namespaces and can be cut apart, its disks and clocks go wrong, and there are
three ZooKeepers; where namespaces are not permitted, it says so and fails.
"""

from __future__ import annotations

import argparse
import itertools
import os
import secrets
import shlex
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from random import Random

from tests.amounts import some, some_of_it
from tests.assertions import demand_assertions
from tests.chaos.cuts import Cuts, DisksAndClocks
from tests.chaos.faults import Bounce, Fault, Kill, KillAll, KillZooKeeperLeader, Pause, ZooKeeperAway
from tests.chaos.full_disk import FullDisk
from tests.chaos.known_faults import UnknownFault, names_of
from tests.chaos.moving import Retire
from tests.chaos.network import NotPermitted, enter
from tests.chaos.networked_cluster import NetworkedCluster
from tests.chaos.process_faults import NoCompiler
from tests.chaos.run import PARTITIONS, SETTINGS, TOPIC, Run
from tests.chaos.spark_client import KillSpark, SparkClient
from tests.chaos.storm import Storm

from strandline.cluster.cluster_plan import ClusterRefused
from strandline.cluster.ports import PortInUse, ReservedPorts
from strandline.cluster.process_cluster import ProcessCluster
from strandline.cluster.zookeeper_installation import NotInstalled

NOT_POSSIBLE = 2
INTERRUPTED = 130
KILLS = "kill-leader,kill-follower,kill-controller"
OUTAGE_S, STORM_S = 60.0, 20.0
REPLICAS = 3
STEADY_PORTS = range(10_000, 32_000)


class NoDirectory(Exception):
    """One sentence: why a run cannot be kept where somebody wants it."""


def main() -> int:
    options = _options()
    demand_assertions("chaos")
    try:
        names = names_of(options)
        if options.network:
            enter("tests.chaos", sys.argv[1:])
        return _run(options, names)
    except (NotPermitted, NotInstalled, NoCompiler, UnknownFault, NoDirectory, ClusterRefused) as problem:
        print(f"chaos: {problem}", file=sys.stderr)
        return NOT_POSSIBLE
    except KeyboardInterrupt:
        print("chaos: interrupted; the histories were not checked", file=sys.stderr)
        return INTERRUPTED


def _run(options: argparse.Namespace, names: list[str]) -> int:
    directory = _made_directory(options.directory)
    settings = {**SETTINGS, "zookeeper.session.timeout.ms": str(options.session_ms)}
    _tell(f"seed {options.seed}, in {os.path.abspath(directory)}")
    cluster, known = _cluster(directory, settings, options)
    with cluster:
        for broker_id in list(cluster.brokers)[REPLICAS:]:
            cluster.stop(broker_id)
        spark = None
        if options.spark:
            spark = SparkClient(f"{directory}/spark", cluster.bootstrap, TOPIC, PARTITIONS)
            known[KillSpark.name] = KillSpark(spark)
        run = Run(cluster, f"{directory}/histories", spark=spark, tell=_tell)
        scoreboard = run.run(
            _chosen([known[name] for name in names], options), rate_per_s=options.rate, at_least=options.at_least
        )
    scoreboard.seed, scoreboard.command = options.seed, command_again(sys.argv[1:], options.seed)
    with open(f"{directory}/scoreboard.json", "w", encoding="utf-8") as file:
        file.write(scoreboard.as_json())
    print(scoreboard)
    print(f"everything is in {os.path.abspath(directory)}")
    return scoreboard.exit_code


def _made_directory(wanted: str | None) -> str:
    """With a place for the histories, so that it is known to take some. Raises `NoDirectory`."""
    try:
        directory = wanted or tempfile.mkdtemp(prefix="strandline-chaos-")
        os.makedirs(f"{directory}/histories", exist_ok=True)
    except OSError as error:
        raise NoDirectory(f"the run cannot be kept in {wanted or 'TMPDIR'}: {error.strerror or error}") from error
    return directory


def command_again(arguments: Sequence[str], seed: int) -> str:
    """Without the directory, which is used up, and with the seed that was drawn if none was given."""
    kept, left = [], deque(arguments)
    while left:
        name, is_assigned, _ = (argument := left.popleft()).partition("=")
        if name not in ("--directory", "--seed"):
            kept.append(argument)
        elif not is_assigned:
            left.popleft()
    return shlex.join(["python", "-m", "tests.chaos", *kept, "--seed", str(seed)])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="Faults on real processes.")
    parser.add_argument("--directory", help="for the cluster and the histories")
    parser.add_argument("--network", action="store_true", help="in network namespaces, with three ZooKeepers")
    parser.add_argument("--faults", default=KILLS, help="names, or 'all'; a wrong one is answered with those there are")
    how_long = parser.add_mutually_exclusive_group()
    how_long.add_argument("--cycles", type=some, help="how often all of them, in their order (1)")
    how_long.add_argument("--minutes", type=some_of_it, help="instead: for so long, in any order")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="of all that is left to chance")
    parser.add_argument("--spare-brokers", type=int, choices=(0, 1), default=0, help="for retire; not with --network")
    parser.add_argument("--spark", action="store_true", help="with Spark's exactly-once sink as a client")
    parser.add_argument("--zookeepers", type=some, default=1)
    parser.add_argument("--session-ms", type=some, default=4000)
    parser.add_argument("--rate", type=some_of_it, default=300.0, help="records a second, beside transactions")
    parser.add_argument("--at-least", type=some, default=1000, help="acknowledged records")
    return parser.parse_args()


def _cluster(
    directory: str, settings: dict[str, str], options: argparse.Namespace
) -> tuple[ProcessCluster, dict[str, Fault]]:
    home, away_s = f"{directory}/cluster", 2 * options.session_ms / 1000 + 2
    if options.network:
        networked = NetworkedCluster(home, settings)
        cluster = networked.cluster
        more: list[Fault] = [
            *Cuts(networked, away_s).faults(),
            *DisksAndClocks(networked, away_s).faults(),
            FullDisk(networked),
            Storm(cluster, options.seed, STORM_S, networked.network),
        ]
    else:
        cluster = ProcessCluster.create(
            home,
            brokers=REPLICAS + options.spare_brokers,
            port=_steady_ports(REPLICAS + options.spare_brokers),
            zookeepers=options.zookeepers,
            settings=settings,
            broker_flags=["-v"],
        )
        more = [Retire(cluster)] if options.spare_brokers else [Storm(cluster, options.seed, STORM_S)]
    if len(cluster.zookeepers) > 1:
        more.append(KillZooKeeperLeader(cluster))
    lag_s = int(settings["replica.lag.time.max.ms"]) / 1000
    known: list[Fault] = [
        *(Kill(cluster, whom) for whom in ("leader", "follower", "controller")),
        KillAll(cluster),
        *(Bounce(cluster, whom) for whom in ("leader", "controller")),
        *(Pause(cluster, whom, away_s) for whom in ("leader", "follower", "controller")),
        Pause(cluster, "follower", 2 * lag_s, name="lag"),
        ZooKeeperAway(cluster),
        ZooKeeperAway(cluster, OUTAGE_S),
        *more,
    ]
    return cluster, {fault.name: fault for fault in known}


def _steady_ports(count: int) -> int:
    """The first of so many, below those that are given for the asking: of these, a client that tries to reach a broker
    that is away may be given the broker's own port to do it from, and keep it."""
    while True:
        first = secrets.choice(STEADY_PORTS)
        with suppress(PortInUse):
            ReservedPorts(range(first, first + count)).release()
            return first


def _chosen(chosen: list[Fault], options: argparse.Namespace) -> Iterator[Fault]:
    if options.minutes is None:
        return itertools.chain.from_iterable(itertools.repeat(chosen, options.cycles or 1))
    return _in_any_order(chosen, options)


def _in_any_order(chosen: list[Fault], options: argparse.Namespace) -> Iterator[Fault]:
    """All of them, shuffled, again and again."""
    chance, ends_s = Random(options.seed), time.monotonic() + options.minutes * 60
    while True:
        chance.shuffle(chosen)
        for fault in chosen:
            if time.monotonic() > ends_s:
                return
            yield fault


def _tell(sentence: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {sentence}", flush=True)
