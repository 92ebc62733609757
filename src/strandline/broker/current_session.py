"""The session with the metadata store that stands now, for everybody who needs one.

A session that has expired never comes back; the broker opens another and puts it here. Whoever has only questions need
not notice. Who depends on ephemeral nodes or watches registers with `when_replaced`.
"""

from __future__ import annotations

from collections.abc import Sequence

from strandline.metadata.answer import Answer
from strandline.metadata.operations import ANY_VERSION, Operation
from strandline.metadata.store import Children, Created, NodeData, OperationResult, Session, Stat, Watcher


class CurrentSession:
    def __init__(self, session: Session) -> None:
        self._session = session

    def replace(self, session: Session) -> None:
        self._session = session

    @property
    def now(self) -> Session:
        """For what must not go on in another one."""
        return self._session

    @property
    def session_id(self) -> int:
        return self._session.session_id

    def get(self, path: str, watcher: Watcher | None = None) -> Answer[NodeData]:
        return self._session.get(path, watcher)

    def exists(self, path: str, watcher: Watcher | None = None) -> Answer[Stat | None]:
        return self._session.exists(path, watcher)

    def children(self, path: str, watcher: Watcher | None = None) -> Answer[Children]:
        return self._session.children(path, watcher)

    def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> Answer[Created]:
        return self._session.create(path, data, ephemeral=ephemeral, sequential=sequential)

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Answer[Stat]:
        return self._session.set(path, data, version)

    def delete(self, path: str, version: int = ANY_VERSION) -> Answer[None]:
        return self._session.delete(path, version)

    def multi(self, operations: Sequence[Operation]) -> Answer[tuple[OperationResult, ...]]:
        return self._session.multi(operations)

    def close(self) -> Answer[None]:
        return self._session.close()
