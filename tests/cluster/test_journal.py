"""The journal of a real cluster: what happened is told, with the numbers that decided it (SPEC R6)."""

from __future__ import annotations

import json
import time
from typing import Any

from click.testing import CliRunner
from tests.cluster.orders import (
    WAIT_S,
    Acknowledged,
    admin_of,
    create_topic,
    leader_and_isr,
    wait_until,
)

from strandline.cli.main import cli
from strandline.cluster.process_cluster import ProcessCluster


def told(bootstrap: str, *options: str) -> list[dict[str, Any]]:
    outcome = CliRunner().invoke(cli, ["cluster", "events", "-b", bootstrap, "--format", "json", *options])
    if "this cluster has no journal" in outcome.output:
        return []  # it comes with the first that is to be told
    assert outcome.exit_code == 0, outcome.output
    return [json.loads(line) for line in outcome.output.splitlines()]


def wait_for(bootstrap: str, *options: str, after: int = 0) -> list[dict[str, Any]]:
    deadline = time.monotonic() + WAIT_S
    while len(found := told(bootstrap, *options)) <= after:
        assert time.monotonic() < deadline, "nothing was told"
        time.sleep(0.1)
    return found[after:]


def is_loss_told(bootstrap: str, lost: int) -> bool:
    """By the controller; if it was the one that was lost, there is a new one."""
    controllers = [each["controller"] for each in told(bootstrap, "-k", "controller")]
    if lost in controllers:
        return bool(controllers[-1] != lost)
    losses = [each for each in told(bootstrap, "-k", "broker") if each["about_broker"] == lost]
    return any("registered" not in each["says"] for each in losses)


def test_a_lost_leader_is_told_with_its_election_and_the_isr(cluster: ProcessCluster) -> None:
    admin = admin_of(cluster)
    create_topic(admin)
    load = Acknowledged(cluster.bootstrap)
    load.send(range(100))
    load.flush()
    leader, isr = leader_and_isr(admin)
    elections = len(wait_for(cluster.bootstrap, "-t", "orders-0", "-k", "leadership"))
    cluster.kill(leader)
    bootstrap = ",".join(each.address for broker_id, each in cluster.brokers.items() if broker_id != leader)

    election = wait_for(bootstrap, "-t", "orders-0", "-k", "leadership", after=elections)[0]
    others = [broker_id for broker_id in isr if broker_id != leader]
    assert election["occasion"] == "offline election"
    assert election["before"] == {"leader": leader, "leader_epoch": 0, "isr": election["before"]["isr"]}
    assert election["after"]["leader"] in others
    assert (election["after"]["leader_epoch"], sorted(election["after"]["isr"])) == (1, others)
    assert f"elected {election['after']['leader']} from ISR" in election["says"]
    began = wait_for(bootstrap, "-t", "orders", "-k", "epoch")[0]
    assert (began["broker"], began["leader_epoch"], began["start_offset"]) == (election["after"]["leader"], 1, 100)
    wait_until(lambda: is_loss_told(bootstrap, leader))

    cluster.start(leader)
    wait_until(lambda: leader_and_isr(admin)[1] == [1, 2, 3])
    growth = wait_for(bootstrap, "-t", "orders", "-k", "isr")[-1]
    assert (growth["before"], growth["after"]) == (election["after"]["isr"], [*election["after"]["isr"], leader])
    assert f"{leader} ends at 100, high watermark 100" in growth["cause"]
