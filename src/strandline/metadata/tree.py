"""The tree itself: what each transaction does to it, and nothing else. No clock, no chance, no IO.

`apply` is the only way to change it, live and when a journal is played back. It does a whole transaction or, raising,
none of it: operations of a multi are done one after the other, each noting how it is undone. Paths and sizes were
checked before (operations.py).

Two rules of ZooKeeper's that are easy to get wrong. The number of a sequential node is the count of children ever
made under its parent, sequential or not. And the children's version that readers see counts removals too: it is that
count plus the children that are gone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from strandline.metadata.errors import (
    BadVersion,
    IllegalPath,
    MultiFailed,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    SessionExpired,
    StoreError,
)
from strandline.metadata.operations import (
    ANY_VERSION,
    Check,
    Create,
    Delete,
    Operation,
    SetData,
    name_of,
    parent_of,
)
from strandline.metadata.store import NO_OWNER, EventKind, OperationResult, Stat
from strandline.metadata.transactions import Changed, SessionEnded, SessionOpened, Transaction
from strandline.model.failures import check
from strandline.model.lazy_dataclass import dataclass

SEQUENCE_DIGITS = 10


@dataclass(slots=True)
class Znode:
    data: bytes
    created_zxid: int
    modified_zxid: int
    children_zxid: int
    created_ms: int
    modified_ms: int
    owner: int = NO_OWNER
    version: int = 0
    children_made: int = 0  # ever
    children: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class NodeChange:
    """`CREATED`, `CHANGED` or `DELETED`; a change of the parent's children goes without saying."""

    kind: EventKind
    path: str


@dataclass(frozen=True, slots=True)
class Applied:
    results: tuple[OperationResult, ...]
    changes: tuple[NodeChange, ...]


class Tree:
    def __init__(self) -> None:
        self.zxid = 0  # of the last transaction
        self.nodes: dict[str, Znode] = {"/": Znode(b"", 0, 0, 0, 0, 0)}
        self.sessions: dict[int, set[str]] = {}  # open ones, with the paths of their ephemerals

    def find(self, path: str) -> Znode:
        node = self.nodes.get(path)
        if node is None:
            raise NoNode(path)
        return node

    def stat(self, path: str) -> Stat:
        node = self.find(path)
        return Stat(
            node.created_zxid,
            node.modified_zxid,
            node.children_zxid,
            node.created_ms,
            node.modified_ms,
            node.version,
            2 * node.children_made - len(node.children),
            node.owner,
            len(node.data),
            len(node.children),
        )

    def apply(self, transaction: Transaction) -> Applied:
        """Raises `SessionExpired` without such a session, `MultiFailed` for an operation that cannot be done."""
        check(transaction.zxid == self.zxid + 1, f"transaction {transaction.zxid} after {self.zxid}")
        match transaction:
            case SessionOpened(zxid):
                self.sessions[zxid] = set()
                applied = Applied((), ())
            case SessionEnded():
                applied = self._end_session(transaction)
            case Changed():
                applied = self._change(transaction)
        self.zxid = transaction.zxid
        return applied

    def _end_session(self, transaction: SessionEnded) -> Applied:
        self._require_session(transaction.session_id)
        step = _Step(self, transaction.zxid, transaction.time_ms, transaction.session_id)
        for path in sorted(self.sessions[transaction.session_id]):
            step.delete(Delete(path))
        del self.sessions[transaction.session_id]
        return Applied((), tuple(step.changes))

    def _change(self, transaction: Changed) -> Applied:
        self._require_session(transaction.session_id)
        step = _Step(self, transaction.zxid, transaction.time_ms, transaction.session_id)
        results = step.run(transaction.operations)
        return Applied(results, tuple(step.changes))

    def _require_session(self, session_id: int) -> None:
        if session_id not in self.sessions:
            raise SessionExpired(f"session {session_id} is over")


class _Step:
    """One transaction at work on the tree."""

    __slots__ = ("_session_id", "_time_ms", "_tree", "_undo", "_zxid", "changes")

    def __init__(self, tree: Tree, zxid: int, time_ms: int, session_id: int) -> None:
        self._tree = tree
        self._zxid = zxid
        self._time_ms = time_ms
        self._session_id = session_id
        self._undo: list[Callable[[], None]] = []
        self.changes: list[NodeChange] = []

    def run(self, operations: tuple[Operation, ...]) -> tuple[OperationResult, ...]:
        results: list[OperationResult] = []
        for index, operation in enumerate(operations):
            try:
                results.append(self._operate(operation))
            except StoreError as cause:
                for restore in reversed(self._undo):
                    restore()
                raise MultiFailed(index, cause) from None
        return tuple(results)

    def _operate(self, operation: Operation) -> OperationResult:
        match operation:
            case Create():
                return self.create(operation)
            case SetData():
                return self.set(operation)
            case Delete():
                self.delete(operation)
            case Check(path, version):
                self._find(path, version)
        return None

    def create(self, operation: Create) -> str:
        nodes, zxid, parent_path = self._tree.nodes, self._zxid, parent_of(operation.path)
        parent = self._tree.find(parent_path)
        path = operation.path
        if operation.sequential:
            path += f"{parent.children_made:0{SEQUENCE_DIGITS}}"
        if path in nodes:
            raise NodeExists(path)
        if parent.owner != NO_OWNER:
            raise NoChildrenForEphemerals(parent_path)
        owner = self._session_id if operation.ephemeral else NO_OWNER
        nodes[path] = Znode(operation.data, zxid, zxid, zxid, self._time_ms, self._time_ms, owner)
        if owner != NO_OWNER:
            self._tree.sessions[owner].add(path)
        children_zxid, parent.children_zxid = parent.children_zxid, zxid
        parent.children_made += 1
        parent.children.add(name_of(path))
        self._undo.append(lambda: self._uncreate(path, parent, children_zxid))
        self.changes.append(NodeChange(EventKind.CREATED, path))
        return path

    def _uncreate(self, path: str, parent: Znode, children_zxid: int) -> None:
        self._remove(path, parent, children_zxid)
        parent.children_made -= 1

    def set(self, operation: SetData) -> Stat:
        node = self._find(operation.path, operation.version)
        before = (node.data, node.version, node.modified_zxid, node.modified_ms)
        node.data, node.version = operation.data, node.version + 1
        node.modified_zxid, node.modified_ms = self._zxid, self._time_ms
        self._undo.append(lambda: self._unset(node, before))
        self.changes.append(NodeChange(EventKind.CHANGED, operation.path))
        return self._tree.stat(operation.path)

    def _unset(self, node: Znode, before: tuple[bytes, int, int, int]) -> None:
        node.data, node.version, node.modified_zxid, node.modified_ms = before

    def delete(self, operation: Delete) -> None:
        path = operation.path
        if path == "/":
            raise IllegalPath(path, "the root is never deleted")
        node = self._find(path, operation.version)
        if node.children:
            raise NotEmpty(path)
        parent = self._tree.nodes[parent_of(path)]
        children_zxid = parent.children_zxid
        self._remove(path, parent, self._zxid)
        self._undo.append(lambda: self._undelete(path, node, parent, children_zxid))
        self.changes.append(NodeChange(EventKind.DELETED, path))

    def _undelete(self, path: str, node: Znode, parent: Znode, children_zxid: int) -> None:
        self._tree.nodes[path] = node
        if node.owner != NO_OWNER:
            self._tree.sessions[node.owner].add(path)
        parent.children.add(name_of(path))
        parent.children_zxid = children_zxid

    def _remove(self, path: str, parent: Znode, children_zxid: int) -> None:
        node = self._tree.nodes.pop(path)
        if node.owner != NO_OWNER:
            self._tree.sessions[node.owner].discard(path)
        parent.children.discard(name_of(path))
        parent.children_zxid = children_zxid

    def _find(self, path: str, version: int) -> Znode:
        node = self._tree.find(path)
        if version not in (ANY_VERSION, node.version):
            raise BadVersion(path, version)
        return node
