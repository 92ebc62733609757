"""Who wants to hear of what, and who hears of a change: each watch once, those of one path in the order set."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from strandline.metadata.operations import parent_of
from strandline.metadata.store import EventKind, Watcher, WatchEvent
from strandline.metadata.tree import NodeChange


class WatchKind(Enum):
    DATA = "data"
    CHILDREN = "children"


KINDS_TOLD = {
    EventKind.CREATED: (WatchKind.DATA,),
    EventKind.CHANGED: (WatchKind.DATA,),
    EventKind.DELETED: (WatchKind.DATA, WatchKind.CHILDREN),
    EventKind.CHILDREN: (WatchKind.CHILDREN,),
}


class _Owned(NamedTuple):
    session_id: int
    watcher: Watcher


class Watches:
    def __init__(self) -> None:
        self._watches: dict[tuple[WatchKind, str], dict[_Owned, None]] = {}  # an ordered set for each

    def __len__(self) -> int:
        return sum(map(len, self._watches.values()))

    def add(self, kind: WatchKind, path: str, session_id: int, watcher: Watcher) -> None:
        self._watches.setdefault((kind, path), {})[_Owned(session_id, watcher)] = None

    def fire(self, change: NodeChange) -> Iterator[tuple[Watcher, WatchEvent]]:
        yield from self._take(WatchKind.DATA, WatchEvent(change.kind, change.path))
        if change.kind is EventKind.CHANGED:
            return
        if change.kind is EventKind.DELETED:
            yield from self._take(WatchKind.CHILDREN, WatchEvent(EventKind.DELETED, change.path))
        yield from self._take(WatchKind.CHILDREN, WatchEvent(EventKind.CHILDREN, parent_of(change.path)))

    def hear(self, event: WatchEvent) -> Iterator[Watcher]:
        """Whom an event is for, where a server tells each event by itself."""
        for kind in KINDS_TOLD[event.kind]:
            yield from (watcher for watcher, _ in self._take(kind, event))

    def _take(self, kind: WatchKind, event: WatchEvent) -> Iterator[tuple[Watcher, WatchEvent]]:
        for owned in self._watches.pop((kind, event.path), ()):
            yield owned.watcher, event

    def drop_session(self, session_id: int) -> None:
        for key, watches in list(self._watches.items()):
            kept = {owned: None for owned in watches if owned.session_id != session_id}
            if kept:
                self._watches[key] = kept
            else:
                del self._watches[key]
