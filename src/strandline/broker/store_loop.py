"""Keeps the embedded store going: commits what waits, in a thread, one commit after another."""

from __future__ import annotations

from concurrent.futures import Future

from strandline.broker.host import Host
from strandline.metadata.commits import Commit
from strandline.metadata.embedded import EmbeddedStore


class StoreLoop:
    """Give `wake` to the store, then the store to `runs`."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._store: EmbeddedStore | None = None

    def runs(self, store: EmbeddedStore) -> None:
        self._store = store

    def wake(self) -> None:
        self._host.call_soon(self._begin)

    def _begin(self) -> None:
        assert self._store is not None
        commit = self._store.begin_commit()
        if commit.has_changes:
            self._host.run_in_thread(commit.run, lambda done: self._end(commit, done))
        else:
            self._store.end_commit(commit)  # reads alone wait for nobody

    def _end(self, commit: Commit, done: Future[None]) -> None:
        done.result()
        assert self._store is not None
        self._store.end_commit(commit)
