"""A new cluster whose brokers start at the same moment: each finds nothing, and all must end in the same cluster."""

from __future__ import annotations

from tests.broker.manual_host import ManualHost
from tests.metadata.benches import EmbeddedBench

from strandline.broker.identity import cluster_id_of
from strandline.broker.procedures import all_of, begin
from strandline.metadata.store import Session


def test_the_first_cluster_id_counts_for_all() -> None:
    bench = EmbeddedBench()
    sessions = [bench.session() for _ in range(3)]
    agreed: list[str | Exception] = []

    async def start(session: Session, own: str) -> str:
        return await cluster_id_of(session, ManualHost(now_ms=0), adopted=own)

    async def start_all() -> None:
        starts = (start(session, f"cluster-{number}") for number, session in enumerate(sessions, 1))
        agreed.extend(await all_of(starts))

    begin(start_all())
    bench.settle()
    assert agreed == ["cluster-1"] * 3
    bench.store.close()
