from __future__ import annotations

import pytest
from tests.interop.kafka import SERIES, Kafka, RefereeMissing, fetch


def referee(series: str) -> Kafka:
    try:
        return fetch(series)
    except RefereeMissing as missing:
        pytest.fail(str(missing), pytrace=False)


@pytest.fixture(scope="session", params=SERIES)
def kafka(request: pytest.FixtureRequest) -> Kafka:
    """Each Kafka in turn."""
    return referee(request.param)


@pytest.fixture(scope="session")
def kafka_3() -> Kafka:
    return referee("3.9")


@pytest.fixture(scope="session")
def kafka_4() -> Kafka:
    return referee("4.3")
