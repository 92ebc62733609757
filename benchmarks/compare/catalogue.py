"""All loads in the order of the table, and those that a quick run is content with."""

from __future__ import annotations

from benchmarks.compare.load_kind import Load
from benchmarks.compare.loads import asking, consuming, growing, holding, java_client, producing, starting

QUICK = {
    "start",
    "produce-100b-16k-1p-acks1-none",
    "produce-1k-16k-1p-acks1-none",
    "produce-1k-16k-8p-acks1-none",
    "produce-1k-1m-1p-acks1-none",
    "produce-1k-16k-1p-acksall-none",
    "produce-1k-16k-1p-acks1-lz4",
    "java-producer",
    "ask",
    "flood-tiny",
    "flood-16k",
    "transactions-1",
    "catch-up-1",
    "catch-up-4",
    "end-to-end-1k",
    "far-behind",
    "partitions-1",
    "partitions-100",
    "idle-500",
    "topics-1000",
    "rebalance-classic",
    "memory-loaded",
    "rf3-produce-1k-16k-1p-acksall-none",
    "rf3-ask",
    "rf3-ask-among-300",
}


def all_loads() -> dict[str, Load]:
    """By name; the whole grid of producers among them."""
    listed = [
        *starting.LOADS,
        *producing.grid(is_whole=True),
        *java_client.LOADS,
        *asking.LOADS,
        *consuming.LOADS,
        *growing.LOADS,
        *holding.LOADS,
        *producing.replicated(),
        *asking.REPLICATED,
    ]
    return {load.name: load for load in listed}


def chosen(*, is_quick: bool, has_whole_grid: bool) -> list[str]:
    left_out = {load.name for load in producing.grid(is_whole=True)}
    left_out -= {load.name for load in producing.grid(is_whole=has_whole_grid)}
    return [name for name in all_loads() if name not in left_out and (not is_quick or name in QUICK)]
