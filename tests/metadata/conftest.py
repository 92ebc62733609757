"""Every contract test runs against every store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
from tests.metadata.benches import StoreBench, embedded
from tests.metadata.zookeeper_bench import zookeeper_bench

# A further implementation passes the contract by adding itself here.
BENCHES: dict[str, Callable[[pytest.FixtureRequest], AbstractContextManager[StoreBench]]] = {
    "embedded": lambda _: embedded(),
    "zookeeper": lambda request: zookeeper_bench(request.getfixturevalue("zookeeper")),
}


@pytest.fixture(params=sorted(BENCHES))
def bench(request: pytest.FixtureRequest) -> Iterator[StoreBench]:
    with BENCHES[request.param](request) as made:
        yield made
