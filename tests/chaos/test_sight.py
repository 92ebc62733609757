"""Whoever looks at a cluster through its ZooKeeper sees nothing while that does not answer, and looks again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from kazoo.exceptions import ConnectionLoss, SessionExpiredError
from kazoo.handlers.threading import KazooTimeoutError
from tests.chaos.sight import ClusterSight


@pytest.mark.parametrize("failure", [ConnectionLoss, SessionExpiredError, KazooTimeoutError, ConnectionRefusedError])
def test_nothing_is_seen_while_zookeeper_does_not_answer(
    failure: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it goes away amid the look: with a traceback a run of half an hour had no account."""

    class Client:
        def __getattr__(self, _: str) -> object:
            raise failure

    @contextmanager
    def session(_: ClusterSight) -> Iterator[Client]:
        yield Client()

    monkeypatch.setattr(ClusterSight, "_session", session)
    assert ClusterSight("nowhere:2181", ()).look() is None
