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


_ByPath = dict[str, dict[_Owned, None]]  # an ordered set for each


class Watches:
    def __init__(self) -> None:
        self._of_data: _ByPath = {}
        self._of_children: _ByPath = {}

    def __len__(self) -> int:
        return sum(len(watches) for by_path in (self._of_data, self._of_children) for watches in by_path.values())

    def add(self, kind: WatchKind, path: str, session_id: int, watcher: Watcher) -> None:
        self._of(kind).setdefault(path, {})[_Owned(session_id, watcher)] = None

    def _of(self, kind: WatchKind) -> _ByPath:
        return self._of_data if kind is WatchKind.DATA else self._of_children

    def fire(self, change: NodeChange) -> list[tuple[Watcher, WatchEvent]]:
        """Nearly every change is one that nobody watches."""
        kind, path = change.kind, change.path
        heard: list[tuple[Watcher, WatchEvent]] = []
        if path in self._of_data:
            heard += _told(self._of_data.pop(path), WatchEvent(kind, path))
        if kind is EventKind.DELETED and path in self._of_children:
            heard += _told(self._of_children.pop(path), WatchEvent(kind, path))
        if kind is not EventKind.CHANGED and (parent := parent_of(path)) in self._of_children:
            heard += _told(self._of_children.pop(parent), WatchEvent(EventKind.CHILDREN, parent))
        return heard

    def hear(self, event: WatchEvent) -> Iterator[Watcher]:
        """Whom an event is for, where a server tells each event by itself."""
        for kind in KINDS_TOLD[event.kind]:
            yield from (owned.watcher for owned in self._of(kind).pop(event.path, ()))

    def drop_session(self, session_id: int) -> None:
        for by_path in (self._of_data, self._of_children):
            for path, watches in list(by_path.items()):
                kept = {owned: None for owned in watches if owned.session_id != session_id}
                if kept:
                    by_path[path] = kept
                else:
                    del by_path[path]


def _told(watches: dict[_Owned, None], event: WatchEvent) -> list[tuple[Watcher, WatchEvent]]:
    return [(owned.watcher, event) for owned in watches]
