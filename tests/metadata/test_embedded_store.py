"""What is the embedded store's own (SPEC M2): commits, failures of the disk, the lock, the end of sessions."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
from tests.metadata.benches import DIRECTORY, Heard, ignore

from strandline.log.filesystem import RealFileSystem
from strandline.metadata.answer import Answer
from strandline.metadata.embedded import EmbeddedStore, StoreInUse
from strandline.metadata.errors import ConnectionLost, StoreError
from strandline.metadata.operations import Create
from strandline.metadata.store import Session, SessionState
from strandline.model.failures import BrokenInvariant, CorruptData, StorageFailed
from strandline.simulation.disk import SimulatedDisk

JOURNAL = f"{DIRECTORY}/metadata.journal"


class Owner:
    """The thread that owns a store: it notes when it is woken, and commits when the test says so."""

    def __init__(self, disk: SimulatedDisk | None = None, **options: int) -> None:
        self.disk = disk or SimulatedDisk()
        self.disk.make_directories(DIRECTORY)
        self.wakes = 0
        self.store = EmbeddedStore.open(self.disk, DIRECTORY, clock_ms=lambda: 17, wake=self._woken, **options)

    def _woken(self) -> None:
        self.wakes += 1

    def session(self, listener: Any = ignore) -> Session:
        answer = self.store.open_session(listener)
        self.store.settle()
        return answer.value()

    def syncs(self) -> int:
        return sum(line == f"sync {JOURNAL}" or line == f"sync {JOURNAL}.tmp" for line in self.disk.trace)


def test_nothing_is_answered_before_it_is_on_the_disk() -> None:
    owner, heard = Owner(), Heard()
    session = owner.session()
    syncs = owner.syncs()
    session.exists("/a", heard.watcher()).then(lambda _: heard.append("read"))
    session.create("/a").then(lambda _: heard.append("created"))
    session.get("/a").then(lambda _: heard.append("read again"))
    commit = owner.store.begin_commit()
    assert (owner.syncs(), heard) == (syncs, [])
    commit.run()
    assert (owner.syncs(), heard) == (syncs + 1, [])
    owner.store.end_commit(commit)
    assert heard == ["read", "created /a", "created", "read again"]


def test_all_that_waits_shares_one_sync() -> None:
    owner = Owner()
    sessions = [owner.session() for _ in range(3)]
    syncs = owner.syncs()
    answers = [session.create(f"/{number}-", sequential=True) for session in sessions for number in range(20)]
    owner.store.settle()
    assert all(answer.value() for answer in answers)
    assert owner.syncs() == syncs + 1


def test_reads_alone_cost_no_sync() -> None:
    owner = Owner()
    session = owner.session()
    operations = owner.disk.operations
    answer = session.children("/")
    owner.store.settle()
    assert answer.value().names == ()
    assert owner.disk.operations == operations


def test_calls_made_while_a_commit_runs_wait_for_the_next() -> None:
    owner = Owner()
    session = owner.session()
    first = session.create("/a")
    commit = owner.store.begin_commit()
    second, third = session.create("/b"), session.get("/a")
    commit.run()
    owner.store.end_commit(commit)
    assert (first.is_ready, second.is_ready, third.is_ready) == (True, False, False)
    owner.store.settle()
    assert second.value().path == "/b"
    assert third.is_ready


def test_the_owner_is_woken_once_for_each_commit() -> None:
    owner = Owner()
    session = owner.session()
    wakes = owner.wakes
    session.create("/a").then(lambda _: session.create("/c"))
    session.create("/b")
    assert owner.wakes == wakes + 1
    commit = owner.store.begin_commit()
    session.get("/a")
    commit.run()
    assert owner.wakes == wakes + 1
    owner.store.end_commit(commit)  # the read, and what the callback asked for, wait
    assert owner.wakes == wakes + 2
    owner.store.settle()
    assert owner.wakes == wakes + 2


def test_one_commit_at_a_time() -> None:
    owner = Owner()
    commit = owner.store.begin_commit()
    with pytest.raises(BrokenInvariant):
        owner.store.begin_commit()
    owner.store.end_commit(commit)
    with pytest.raises(BrokenInvariant):
        owner.store.end_commit(commit)


def test_a_callback_that_fails_takes_no_other_answer_with_it() -> None:
    owner, heard = Owner(), Heard()
    session = owner.session()
    session.create("/a").then(lambda answer: int(answer.value().path))
    session.create("/b").then(lambda _: heard.append("created"))
    with pytest.raises(ValueError, match="/a"):
        owner.store.settle()
    owner.store.settle()
    assert heard == ["created"]


@pytest.mark.parametrize(
    ("operation", "journal_bytes_max"),
    [
        ("append", 4_096),
        ("sync", 4_096),
        *((operation, 1) for operation in ("open", "truncate", "append", "sync", "rename", "sync_directory")),
    ],
)
def test_after_a_failed_write_the_outcome_is_unknown_and_nothing_more_is_done(
    operation: str, journal_bytes_max: int
) -> None:
    """SPEC L10: no second try. The calls in flight may be on the disk or not, and so say neither yes nor no.

    With no room in the journal, what fails is the making of a new one.
    """
    owner, heard, states = Owner(journal_bytes_max=journal_bytes_max), Heard(), list[SessionState]()
    session = owner.session(states.append)
    session.set("/", b"x" * 1_000)
    owner.store.settle()
    owner.disk.fail_next(operation, errno.EIO)
    if journal_bytes_max == 1:
        session.set("/", b"y" * 10_000)  # more than twice the snapshot
    answers: list[Answer[Any]] = [session.exists("/a", heard.watcher()), session.create("/a"), session.get("/missing")]
    owner.store.settle()
    answers += [session.get("/a"), session.create("/b"), owner.store.open_session(ignore), session.close()]
    owner.store.settle()
    assert [type(answer.error) for answer in answers] == [ConnectionLost] * 7
    assert all(isinstance(answer.error, StoreError) and answer.error.outcome_unknown for answer in answers)
    assert (heard, states) == ([], [SessionState.SUSPENDED])
    assert isinstance(owner.store.failure, StorageFailed)
    operations = owner.disk.operations
    session.create("/c")
    owner.store.expire(session.session_id)
    owner.store.settle()
    assert owner.disk.operations == operations
    owner.store.close()
    names = _names(Owner(owner.disk))
    assert names in ((), ("a",))


def test_a_full_disk_is_told_and_harms_nothing_before_it() -> None:
    disk = SimulatedDisk(space_bytes_max=8_000)
    owner = Owner(disk)
    session = owner.session()
    done = 0
    while owner.store.failure is None:
        answer = session.create(f"/{done:04}", b"x" * 500)
        owner.store.settle()
        done += answer.error is None
    owner.store.close()
    disk.space_bytes_max = None
    assert _names(Owner(disk)) == tuple(f"{number:04}" for number in range(done))


def test_one_process_at_a_time() -> None:
    owner = Owner()
    with pytest.raises(StoreInUse, match=DIRECTORY):
        Owner(owner.disk)
    owner.store.close()
    Owner(owner.disk)


def test_a_failed_opening_lets_the_lock_go() -> None:
    disk = SimulatedDisk()
    disk.fail_next("rename")
    with pytest.raises(StorageFailed):
        Owner(disk)
    Owner(disk)


def test_sessions_and_ephemerals_end_with_the_process() -> None:
    owner = Owner()
    session = owner.session()
    for path in ("/ids", "/ids/1", "/ids/2", "/kept"):
        session.create(path, ephemeral=path.startswith("/ids/"))
    owner.store.settle()
    zxid = owner.store.tree.zxid
    killed = owner.disk.kill()
    after = Owner(killed)
    assert (_names(after), sorted(after.store.tree.nodes)) == (("ids", "kept"), ["/", "/ids", "/kept"])
    assert after.store.tree.zxid > zxid
    parent = after.store.tree.stat("/ids")
    assert (parent.children_version, parent.children_count) == (4, 0)
    answer = after.session().create("/ids/n", sequential=True)
    after.store.settle()
    assert answer.value().path == "/ids/n0000000002"


def test_the_journal_does_not_grow_for_ever() -> None:
    owner = Owner(journal_bytes_max=4_096)
    session = owner.session()
    session.create("/state")
    largest = 0
    for number in range(300):
        session.set("/state", b"x" * 100 + b"%d" % number)
        owner.store.settle()
        largest = max(largest, owner.disk.size(JOURNAL))
    assert 3_000 < largest <= 4_096
    assert owner.syncs() >= 300
    owner.store.close()
    answer = Owner(owner.disk).store.tree.find("/state")
    assert (answer.data[-3:], answer.version) == (b"299", 300)


def test_a_journal_that_is_mostly_snapshot_is_not_rewritten_all_the_time() -> None:
    owner = Owner(journal_bytes_max=4_096)
    session = owner.session()
    for number in range(20):
        session.create(f"/{number}", b"x" * 1_000)
    owner.store.settle()
    renames = sum(line.startswith("rename") for line in owner.disk.trace)
    for _ in range(100):
        session.set("/0", b"")
        owner.store.settle()
    assert sum(line.startswith("rename") for line in owner.disk.trace) <= renames + 1


def test_a_multi_is_there_after_a_restart_as_a_whole() -> None:
    owner = Owner()
    owner.session().multi([Create("/a"), Create("/a/b", b"inner"), Create("/n", sequential=True)])
    owner.store.close()
    store = Owner(owner.disk).store
    assert sorted(store.tree.nodes) == ["/", "/a", "/a/b", "/n0000000001"]
    assert store.tree.stat("/a").created_zxid == store.tree.stat("/a/b").created_zxid


def test_times_are_those_of_the_changes() -> None:
    disk = SimulatedDisk()
    disk.make_directories(DIRECTORY)
    now_ms = 1_000
    store = EmbeddedStore.open(disk, DIRECTORY, clock_ms=lambda: now_ms, wake=lambda: None)
    opened = store.open_session(ignore)
    store.settle()
    opened.value().create("/a")
    now_ms = 2_000
    opened.value().set("/a", b"")
    store.close()
    now_ms = 3_000
    store = EmbeddedStore.open(disk, DIRECTORY, clock_ms=lambda: now_ms, wake=lambda: None)
    assert (store.tree.stat("/a").created_ms, store.tree.stat("/a").modified_ms) == (1_000, 2_000)


def test_it_works_on_a_real_disk(tmp_path: Path) -> None:
    filesystem = RealFileSystem()
    store = EmbeddedStore.open(
        filesystem, str(tmp_path), clock_ms=lambda: 1, wake=lambda: None, journal_bytes_max=2_000
    )
    session = store.open_session(ignore)
    store.settle()
    for number in range(50):
        session.value().create(f"/{number}", b"x" * 100, ephemeral=number % 2 == 0)
        store.settle()
    with pytest.raises(StoreInUse):
        EmbeddedStore.open(filesystem, str(tmp_path), clock_ms=lambda: 1, wake=lambda: None)
    store.close()
    store = EmbeddedStore.open(filesystem, str(tmp_path), clock_ms=lambda: 1, wake=lambda: None)
    assert len(store.tree.nodes) == 26
    store.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["metadata.journal", "metadata.lock"]


def test_without_its_directory_it_does_not_open() -> None:
    with pytest.raises(StorageFailed):
        EmbeddedStore.open(SimulatedDisk(), "/nowhere", clock_ms=lambda: 1, wake=lambda: None)


def test_rot_in_the_snapshot_is_refused() -> None:
    owner = Owner()
    owner.session().create("/a", b"data")
    owner.store.close()
    Owner(owner.disk).store.close()
    owner.disk.flip_bit(JOURNAL, 40, 3)
    with pytest.raises(CorruptData):
        Owner(owner.disk)


def _names(owner: Owner) -> tuple[str, ...]:
    answer = owner.session().children("/")
    owner.store.settle()
    return answer.value().names
