"""Random calls, restarts and kills: the embedded store says and keeps the same as a dict does (SPEC M2)."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.metadata.benches import DIRECTORY, Heard, ignore
from tests.metadata.dumb_store import DumbStore

from strandline.metadata.answer import Answer
from strandline.metadata.embedded import EmbeddedStore
from strandline.metadata.errors import MultiFailed, StoreError
from strandline.metadata.operations import Check, Create, Delete, Operation, SetData
from strandline.metadata.store import OperationResult, Session
from strandline.simulation.disk import SimulatedDisk

paths = st.sampled_from(["/a", "/b", "/a/a", "/a/b", "/b/a", "/a/a/a", "/a/a0000000000"])
versions = st.sampled_from([-1, -1, 0, 1, 2])
small = st.sampled_from([b"", b"1", b"22"])
operations: st.SearchStrategy[Operation] = st.one_of(
    st.builds(Create, paths, small, st.booleans(), st.booleans()),
    st.builds(Create, paths, small),
    st.builds(SetData, paths, small, versions),
    st.builds(Delete, paths, versions),
    st.builds(Check, paths, versions),
)
SESSIONS = 2


class EmbeddedAgainstDumb(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.disk = SimulatedDisk()
        self.disk.make_directories(DIRECTORY)
        self.dumb = DumbStore()
        self.heard = Heard()
        self.waiting: list[tuple[Answer[tuple[OperationResult, ...]], type[StoreError] | None]] = []
        self.zxid = 0
        self._open()

    def _open(self) -> None:
        self.store = EmbeddedStore.open(
            self.disk, DIRECTORY, clock_ms=lambda: 1, wake=lambda: None, journal_bytes_max=1_500
        )
        self.sessions = [self._session() for _ in range(SESSIONS)]

    def _session(self) -> Session:
        answer = self.store.open_session(ignore)
        self.store.settle()
        return answer.value()

    @rule(which=st.integers(0, SESSIONS - 1), changes=st.lists(operations, min_size=1, max_size=4))
    def change(self, which: int, changes: list[Operation]) -> None:
        session = self.sessions[which]
        expected = self.dumb.all_or_nothing(session.session_id, changes)
        self.waiting.append((session.multi(changes), expected))

    @rule(path=paths, kind=st.sampled_from(["data", "children"]))
    def watch(self, path: str, kind: str) -> None:
        session = self.sessions[0]
        if path in self.dumb.nodes and (kind, path) not in self.dumb.watched:
            self.dumb.watched.add((kind, path))
            read = session.get if kind == "data" else session.children
            read(path, self.heard.watcher(kind))

    @rule()
    def settle(self) -> None:
        self.store.settle()
        for answer, expected in self.waiting:
            error = answer.error
            assert (type(error.cause) if isinstance(error, MultiFailed) else error) == expected
        self.waiting.clear()

    @rule(ending=st.sampled_from(["close", "expire"]))
    def end_session(self, ending: str) -> None:
        """Never the first, which has the watches."""
        self.settle()
        session = self.sessions.pop()
        self.dumb.end_session(session.session_id)
        if ending == "close":
            session.close()
        else:
            self.store.expire(session.session_id)
        self.sessions.append(self._session())

    @precondition(lambda self: not self.waiting)
    @rule(ending=st.sampled_from(["close", "kill"]))
    def restart(self, ending: str) -> None:
        self.store.settle()
        self._end_all()
        if ending == "close":
            self.store.close()
        else:
            self.disk = self.disk.kill()
        self._open()

    def _end_all(self) -> None:
        self._compare_events()
        self.dumb.watched.clear()
        for session in self.sessions:
            self.dumb.end_session(session.session_id)

    def _compare_events(self) -> None:
        assert self.heard == self.dumb.events

    @invariant()
    def the_trees_are_the_same(self) -> None:
        tree = self.store.tree
        assert {
            path: (node.data, node.owner, node.version, node.children_made) for path, node in tree.nodes.items()
        } == {path: (node.data, node.owner, node.version, node.children_made) for path, node in self.dumb.nodes.items()}
        for path, node in tree.nodes.items():
            assert sorted(node.children) == self.dumb.children(path)
        for session_id, ephemerals in tree.sessions.items():
            assert ephemerals == {path for path, node in tree.nodes.items() if node.owner == session_id}
        assert tree.zxid >= self.zxid
        self.zxid = tree.zxid

    def teardown(self) -> None:
        self.settle()
        self._compare_events()


TestEmbeddedAgainstDumb = EmbeddedAgainstDumb.TestCase
TestEmbeddedAgainstDumb.settings = settings(max_examples=60, stateful_step_count=40)
