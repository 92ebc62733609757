"""Who comes and goes in a cluster that runs, whoever starts and ends it: a line for each."""

from __future__ import annotations

import time
from collections.abc import Iterator

from strandline.cluster.process_cluster import ProcessCluster

POLL_S = 0.1


def comings_and_goings(cluster: ProcessCluster) -> Iterator[str]:
    """Until nothing of it runs."""
    known = {process.title: process.pid for process in cluster.processes}
    while any(known.values()):
        time.sleep(POLL_S)
        for process in cluster.processes:
            before, now = known[process.title], process.pid
            if now == before:
                continue
            known[process.title] = now
            yield f"{process.title} is gone" if now is None else f"{process.title} runs again, as process {now}"
