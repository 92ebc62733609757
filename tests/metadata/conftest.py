"""Every contract test runs against every store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.metadata.benches import BENCHES, StoreBench


@pytest.fixture(params=sorted(BENCHES))
def bench(request: pytest.FixtureRequest) -> Iterator[StoreBench]:
    with BENCHES[request.param]() as made:
        yield made
