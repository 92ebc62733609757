"""The pytest plugin: fixtures that give a test a broker of its own, or one that it shares.

    strandline              a broker for this test alone, empty, in a thread; it starts in some ten milliseconds
    strandline_broker       one broker for the whole session (with pytest-xdist, for each worker)
    strandline_cluster      three brokers for this test alone, in threads, with faults as calls
    strandline_settings     override it to give both of them settings by Kafka's names
    @pytest.mark.strandline(process=True, num_partitions=3)     arguments of `Broker` for one test

pytest loads this module in every run on a machine where Strandline is installed. So nothing of a broker is imported
before a fixture asks for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from strandline.testing import Broker, Cluster


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "strandline(**arguments): arguments of strandline.testing.Broker for this test")


@pytest.fixture(scope="session")
def strandline_settings() -> dict[str, Any]:
    """Settings of the brokers of this session, by Kafka's names. Override it in a conftest.py."""
    return {}


@pytest.fixture(scope="session")
def strandline_broker(strandline_settings: dict[str, Any]) -> Iterator[Broker]:
    """A running broker, shared by the tests of a session. Tests that use it name their topics apart."""
    from strandline.testing import Broker

    with Broker(strandline_settings) as broker:
        yield broker


@pytest.fixture
def strandline(request: pytest.FixtureRequest, strandline_settings: dict[str, Any]) -> Iterator[Broker]:
    """A running broker with nothing in it, for one test: `strandline.bootstrap` is its address."""
    from strandline.testing import Broker

    marker = request.node.get_closest_marker("strandline")
    arguments: dict[str, Any] = {} if marker is None else dict(marker.kwargs)
    settings = {**strandline_settings, **arguments.pop("settings", {})}
    with Broker(settings, **arguments) as broker:
        yield broker


@pytest.fixture
def strandline_cluster(request: pytest.FixtureRequest, strandline_settings: dict[str, Any]) -> Iterator[Cluster]:
    """A running cluster with nothing in it, for one test; `@pytest.mark.strandline(brokers=5)` gives its arguments."""
    from strandline.testing import Cluster

    marker = request.node.get_closest_marker("strandline")
    arguments: dict[str, Any] = {} if marker is None else dict(marker.kwargs)
    settings = {**strandline_settings, **arguments.pop("settings", {})}
    with Cluster(settings, **arguments) as cluster:
        yield cluster
