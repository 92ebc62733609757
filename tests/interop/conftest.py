from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.interop.home import Home, copy_home, make_home
from tests.interop.kafka import SERIES, Kafka, RefereeMissing, fetch
from tests.interop.lives import Life, live_twice
from tests.interop.ours import COMPACTED, TOPICS
from tests.interop.spark import Spark, fetch_spark


def referee(series: str) -> Kafka:
    try:
        return fetch(series)
    except RefereeMissing as missing:
        sentence = str(missing)
    pytest.fail(sentence, pytrace=False)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """With `format("kafka")` and ours, in one session."""
    with _fetched_spark().session(tmp_path_factory.mktemp("spark")) as session:
        yield session


def _fetched_spark() -> Spark:
    try:
        return fetch_spark()
    except RefereeMissing as missing:
        sentence = str(missing)
    pytest.fail(sentence, pytrace=False)


@pytest.fixture(scope="session", params=SERIES)
def kafka(request: pytest.FixtureRequest) -> Kafka:
    """Each Kafka in turn."""
    return referee(request.param)


@pytest.fixture(scope="session")
def both_kafkas() -> list[Kafka]:
    return [referee(series) for series in SERIES]


@pytest.fixture(scope="session")
def lived() -> dict[str, dict[str, Life]]:
    return {}


@pytest.fixture
def lives(kafka: Kafka, lived: dict[str, dict[str, Life]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Life]:
    """Lived once for each Kafka, in whatever order the tests come."""
    if kafka.series not in lived:
        lived[kafka.series] = live_twice(kafka, tmp_path_factory.mktemp(f"lives-{kafka.series}"))
    return lived[kafka.series]


@pytest.fixture(params=["stopped", "killed"])
def life(request: pytest.FixtureRequest, lives: dict[str, Life]) -> Life:
    """What a broker left, by each of its two ends."""
    return lives[request.param]


@pytest.fixture(scope="session")
def homes() -> dict[str, Home]:
    return {}


@pytest.fixture
def home(kafka: Kafka, homes: dict[str, Home], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Of each Kafka, a data directory for us to fill."""
    if kafka.series not in homes:
        homes[kafka.series] = make_home(kafka, tmp_path_factory.mktemp(f"home-{kafka.series}"), (*TOPICS, *COMPACTED))
    return copy_home(homes[kafka.series], tmp_path / "data")
