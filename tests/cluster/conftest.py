"""Three broker processes and a real ZooKeeper, which soon notice that one of them is gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from strandline.cluster.process_cluster import ProcessCluster

SETTINGS = {
    "zookeeper.session.timeout.ms": "2000",
    "offsets.topic.num.partitions": "3",
    "replica.lag.time.max.ms": "2000",
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ProcessCluster]:
    with ProcessCluster.create(tmp_path / "cluster", settings=SETTINGS) as cluster:
        yield cluster
