"""`make chaos`: faults on real processes. Exits with 1 if a promise was broken, with 3 if the run proves nothing."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Iterator

from tests.chaos.faults import Fault, Kill, KillZooKeeperLeader, Pause, ZooKeeperAway
from tests.chaos.run import SETTINGS, Run

from strandline.cluster.process_cluster import ProcessCluster


def main() -> int:
    options = _options()
    directory = options.directory or tempfile.mkdtemp(prefix="strandline-chaos-")
    settings = {**SETTINGS, "zookeeper.session.timeout.ms": str(options.session_ms)}
    with ProcessCluster.create(
        f"{directory}/cluster", zookeepers=options.zookeepers, settings=settings, broker_flags=["-v"]
    ) as cluster:
        run = Run(cluster, f"{directory}/histories", tell=_tell)
        scoreboard = run.run(_faults(cluster, options), rate_per_s=options.rate, at_least=options.at_least)
    with open(f"{directory}/scoreboard.json", "w", encoding="utf-8") as file:
        file.write(scoreboard.as_json())
    print(scoreboard)
    print(f"everything is in {os.path.abspath(directory)}")
    return scoreboard.exit_code


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Faults on real processes.")
    parser.add_argument("--directory", help="for the cluster and the histories; must not exist")
    parser.add_argument("--faults", default="kill-leader,kill-follower,kill-controller")
    parser.add_argument("--cycles", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=None)
    parser.add_argument("--zookeepers", type=int, default=1)
    parser.add_argument("--session-ms", type=int, default=3000)
    parser.add_argument("--rate", type=float, default=300.0, help="records a second")
    parser.add_argument("--at-least", type=int, default=1000, help="acknowledged records")
    return parser.parse_args()


def _faults(cluster: ProcessCluster, options: argparse.Namespace) -> Iterator[Fault]:
    session_s = options.session_ms / 1000
    known: list[Fault] = [
        *(Kill(cluster, whom) for whom in ("leader", "follower", "controller")),
        *(Pause(cluster, whom, 2 * session_s + 1) for whom in ("leader", "follower", "controller")),
        Pause(cluster, "follower", 2.5, name="lag"),
        ZooKeeperAway(cluster),
        ZooKeeperAway(cluster, 60.0),
        KillZooKeeperLeader(cluster),
    ]
    by_name = {fault.name: fault for fault in known}
    chosen = [by_name[name] for name in options.faults.split(",")]
    if options.minutes is None:
        yield from itertools.chain.from_iterable(itertools.repeat(chosen, options.cycles))
        return
    ends_s = time.monotonic() + options.minutes * 60
    for fault in itertools.cycle(chosen):
        if time.monotonic() > ends_s:
            return
        yield fault


def _tell(sentence: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {sentence}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
