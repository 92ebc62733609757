"""The contract of every metadata store: a tree of znodes as ZooKeeper defines it (SPEC M1, M2).

**Nodes.** Each has data, a version that counts its `set`s, and the zxids of the transactions that made it, last set
it and last changed its children. zxids only grow, over restarts too: the zxid of a broker's registration is its
epoch. `set`, `delete` and `Check` may name the version they expect. Names of sequential nodes never come back while
the parent lives.

**Sessions.** All calls are made by a session. An ephemeral node belongs to one, has no children, and goes when its
session is closed or expires. A session that is over never comes back: open another, register again, read again.

**Order.** Answers come in the order of the calls. A watch event comes after the answer that set the watch, and before
any answer that shows the change, be it the answer to the very call that made it. A session sees all changes in the
order of their zxids, and its own as soon as they are answered; those of others it may see late (a ZooKeeper server
may be behind).

**Watches** fire once. `get` and `exists` watch the node (`exists` also one that is not there yet), `children` its
list of children; each tells of the node's end too. `get` and `children` of a missing node set none. The same callable
set twice for one path and kind fires once. A watch says that something changed, never what: read again, and set it
again by that read. Watches end with their session, and when it is suspended.

**Durability.** What was answered survives. What was not may have happened or not: `outcome_unknown` (errors.py).
After `SUSPENDED` the session may still live; its calls in flight end in `ConnectionLost`, and its watches are gone. New
calls end so too: wait for `CONNECTED`, which says that it went on and that everything must be read again, or for
`EXPIRED`, which says that it did not.

**Threads.** A store is used from one thread, the owner's. No call blocks, none raises: every outcome is in the answer
(answer.py), and nothing is delivered inside a call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from strandline.metadata.answer import Answer
from strandline.metadata.operations import ANY_VERSION, Operation

NO_OWNER = 0


class Stat(NamedTuple):
    created_zxid: int
    modified_zxid: int
    children_zxid: int
    created_ms: int
    modified_ms: int
    version: int
    children_version: int
    ephemeral_owner: int  # a session id, or NO_OWNER
    data_bytes: int
    children_count: int


class NodeData(NamedTuple):
    data: bytes
    stat: Stat


class Children(NamedTuple):
    names: tuple[str, ...]  # sorted; names, not paths
    stat: Stat


class Created(NamedTuple):
    path: str  # with the number of a sequential node
    stat: Stat


class EventKind(Enum):
    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    CHILDREN = "children"


class WatchEvent(NamedTuple):
    kind: EventKind
    path: str

    def __str__(self) -> str:
        return f"{self.kind.value} {self.path}"


class SessionState(Enum):
    SUSPENDED = "suspended"
    CONNECTED = "connected"
    EXPIRED = "expired"


Watcher = Callable[[WatchEvent], object]
SessionListener = Callable[[SessionState], object]
# The path of what was created, the stat of what was set, None for what was deleted or checked.
OperationResult = str | Stat | None


class Session(Protocol):
    @property
    def session_id(self) -> int: ...

    def get(self, path: str, watcher: Watcher | None = None) -> Answer[NodeData]: ...
    def exists(self, path: str, watcher: Watcher | None = None) -> Answer[Stat | None]: ...
    def children(self, path: str, watcher: Watcher | None = None) -> Answer[Children]: ...

    def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> Answer[Created]: ...
    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Answer[Stat]: ...
    def delete(self, path: str, version: int = ANY_VERSION) -> Answer[None]: ...
    def multi(self, operations: Sequence[Operation]) -> Answer[tuple[OperationResult, ...]]:
        """All of it or nothing, each operation seeing those before it. The error is `MultiFailed`, or the session's."""
        ...

    def close(self) -> Answer[None]:
        """Its ephemerals go at once, its watches and its listener hear no more. A second time changes nothing."""
        ...


class MetadataStore(Protocol):
    def open_session(self, listener: SessionListener) -> Answer[Session]: ...
