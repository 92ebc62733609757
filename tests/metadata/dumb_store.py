"""A metadata store so dumb that one sees at a glance it is right: a dict that is copied before every change."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field

from strandline.metadata.errors import (
    BadVersion,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    StoreError,
)
from strandline.metadata.operations import Check, Create, Delete, Operation, SetData


@dataclass
class DumbNode:
    data: bytes
    owner: int = 0
    version: int = 0
    children_made: int = 0


@dataclass
class DumbStore:
    nodes: dict[str, DumbNode] = field(default_factory=lambda: {"/": DumbNode(b"")})
    watched: set[tuple[str, str]] = field(default_factory=set)  # kind and path
    events: list[str] = field(default_factory=list)

    def children(self, path: str) -> list[str]:
        start = "/" if path == "/" else path + "/"
        return sorted(
            other[len(start) :]
            for other in self.nodes
            if other != "/" and other.startswith(start) and "/" not in other[len(start) :]
        )

    def all_or_nothing(self, session_id: int, operations: list[Operation]) -> type[StoreError] | None:
        """None when done; otherwise the class of the error, the events being as if nothing had been tried."""
        before = deepcopy((self.nodes, self.watched, self.events))
        for operation in operations:
            error = self._do(session_id, operation)
            if error is not None:
                self.nodes, self.watched, self.events = before
                return error
        return None

    def _do(self, session_id: int, operation: Operation) -> type[StoreError] | None:
        path = operation.path
        parent = path.rpartition("/")[0] or "/"
        if isinstance(operation, Create):
            return self._create(session_id, operation, parent)
        node = self.nodes.get(path)
        if node is None:
            return NoNode
        if operation.version not in (-1, node.version):
            return BadVersion
        if isinstance(operation, SetData):
            self.nodes[path] = DumbNode(operation.data, node.owner, node.version + 1, node.children_made)
            self._tell("data", path, "changed")
        elif isinstance(operation, Delete):
            if self.children(path):
                return NotEmpty
            self._delete(path)
        else:
            assert isinstance(operation, Check)
        return None

    def _create(self, session_id: int, operation: Create, parent: str) -> type[StoreError] | None:
        if parent not in self.nodes:
            return NoNode
        path = operation.path + (f"{self.nodes[parent].children_made:010}" if operation.sequential else "")
        if path in self.nodes:
            return NodeExists
        if self.nodes[parent].owner:
            return NoChildrenForEphemerals
        self.nodes[parent].children_made += 1
        self.nodes[path] = DumbNode(operation.data, session_id if operation.ephemeral else 0)
        self._tell("data", path, "created")
        self._tell("children", parent, "children")
        return None

    def _delete(self, path: str) -> None:
        del self.nodes[path]
        self._tell("data", path, "deleted")
        self._tell("children", path, "deleted")
        self._tell("children", path.rpartition("/")[0] or "/", "children")

    def end_session(self, session_id: int) -> None:
        for path in sorted(path for path, node in self.nodes.items() if node.owner == session_id):
            self._delete(path)

    def _tell(self, kind: str, path: str, what: str) -> None:
        if (kind, path) in self.watched:
            self.watched.remove((kind, path))
            self.events.append(f"{kind} {what} {path}")
