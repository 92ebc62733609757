"""A short run as a test: leader, follower and controller killed under load, and the account of it. `make chaos` runs
for longer, and cuts the network too."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.faults import Kill
from tests.chaos.run import SETTINGS, Run
from tests.chaos.scoreboard import SOUND

from strandline.cluster.process_cluster import ProcessCluster

QUICK = {**SETTINGS, "zookeeper.session.timeout.ms": "2000"}


def test_three_kills_lose_nothing_double_nothing_and_keep_the_order(tmp_path: Path) -> None:
    cluster = ProcessCluster.create(tmp_path / "cluster", settings=QUICK, broker_flags=["-v"])
    with cluster:
        run = Run(cluster, str(tmp_path / "histories"), tell=lambda _: None, quiet_s=0.2)
        kills = [Kill(cluster, whom) for whom in ("leader", "follower", "controller")]
        scoreboard = run.run(kills, rate_per_s=150, at_least=500)
    assert scoreboard.exit_code == SOUND, str(scoreboard)
