"""Hypothesis without deadlines: two shared cores make any single example slow now and then. And a ZooKeeper."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from strandline.cluster.zookeeper_ensemble import ZooKeeperEnsemble
from strandline.cluster.zookeeper_installation import find_installation
from strandline.cluster.zookeeper_server import ZooKeeperTimes

settings.register_profile("strandline", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("strandline")


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperEnsemble]:
    """A ZooKeeper server for all tests of this process. Each has nodes of its own; one may restart it."""
    directory = tmp_path_factory.mktemp("zookeeper")
    ensemble = ZooKeeperEnsemble.create(str(directory), find_installation(), times=ZooKeeperTimes(tick_ms=100))
    ensemble.start()
    yield ensemble
    ensemble.close()
