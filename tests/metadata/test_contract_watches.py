"""The contract of every metadata store: watches fire once, in order, before anything that shows the change."""

from __future__ import annotations

import pytest
from tests.metadata.benches import Heard, StoreBench

from strandline.metadata.errors import NoNode
from strandline.metadata.operations import Create, Delete, SetData
from strandline.metadata.store import Session


def _made(bench: StoreBench, session: Session, *names: str) -> list[str]:
    paths = [f"{bench.root}/{name}" for name in names]
    for path in paths:
        bench.result(session.create(path))
    return paths


def test_a_data_watch_fires_once(bench: StoreBench) -> None:
    watching, changing, heard = bench.session(), bench.session(), Heard()
    (path,) = _made(bench, changing, "node")
    bench.result(watching.get(path, heard.watcher()))
    for data in (b"1", b"2"):
        bench.result(changing.set(path, data))
    bench.settle()
    assert heard == [f"changed {path}"]
    bench.result(watching.get(path, heard.watcher()))
    bench.result(changing.delete(path))
    bench.settle()
    assert heard == [f"changed {path}", f"deleted {path}"]


def test_one_waits_for_a_node_that_is_not_there_yet(bench: StoreBench) -> None:
    watching, changing, heard = bench.session(), bench.session(), Heard()
    path = f"{bench.root}/controller"
    assert bench.result(watching.exists(path, heard.watcher())) is None
    bench.result(changing.create(path))
    bench.result(changing.set(path, b"1"))
    bench.settle()
    assert heard == [f"created {path}"]


def test_a_read_of_nothing_sets_no_watch(bench: StoreBench) -> None:
    session, heard = bench.session(), Heard()
    path = f"{bench.root}/missing"
    for answer in (session.get(path, heard.watcher()), session.children(path, heard.watcher())):
        bench.settle()
        assert isinstance(answer.error, NoNode)
    bench.result(session.create(path))
    bench.result(session.create(f"{path}/child"))
    bench.settle()
    assert heard == []


def test_a_children_watch_tells_of_children_alone(bench: StoreBench) -> None:
    watching, changing, heard = bench.session(), bench.session(), Heard()
    (parent,) = _made(bench, changing, "topics")
    bench.result(watching.children(parent, heard.watcher("first")))
    bench.result(changing.set(parent, b"data"))
    bench.settle()
    assert heard == []
    bench.result(changing.create(f"{parent}/a"))
    bench.result(changing.create(f"{parent}/b"))
    bench.settle()
    assert heard == [f"first children {parent}"]
    bench.result(watching.children(parent, heard.watcher("second")))
    bench.result(changing.set(f"{parent}/a", b"data"))
    bench.result(changing.create(f"{parent}/a/deeper"))
    bench.settle()
    assert len(heard) == 1
    bench.result(changing.delete(f"{parent}/b"))
    bench.settle()
    assert heard[1:] == [f"second children {parent}"]


def test_the_end_of_a_node_ends_all_its_watches(bench: StoreBench) -> None:
    watching, changing, heard = bench.session(), bench.session(), Heard()
    (path,) = _made(bench, changing, "topic")
    bench.result(watching.get(path, heard.watcher("data")))
    bench.result(watching.children(path, heard.watcher("children")))
    bench.result(changing.delete(path))
    bench.result(changing.create(path))
    bench.result(changing.create(f"{path}/child"))
    bench.settle()
    assert sorted(heard) == [f"children deleted {path}", f"data deleted {path}"]


def test_the_same_watcher_set_twice_fires_once(bench: StoreBench) -> None:
    session, heard = bench.session(), Heard()
    (path,) = _made(bench, session, "node")
    watcher = heard.watcher()
    bench.result(session.get(path, watcher))
    bench.result(session.exists(path, watcher))
    bench.result(session.set(path, b""))
    bench.settle()
    assert heard == [f"changed {path}"]


def test_every_session_has_its_own_watches(bench: StoreBench) -> None:
    first, second, heard = bench.session(), bench.session(), Heard()
    (path,) = _made(bench, first, "node")
    bench.result(first.get(path, heard.watcher("first")))
    bench.result(second.get(path, heard.watcher("second")))
    bench.result(first.set(path, b""))
    bench.settle()
    assert sorted(heard) == [f"first changed {path}", f"second changed {path}"]


def test_events_come_in_the_order_of_the_changes(bench: StoreBench) -> None:
    watching, changing, heard = bench.session(), bench.session(), Heard()
    paths = _made(bench, changing, *"abcdef")
    for path in reversed(paths):
        bench.result(watching.get(path, heard.watcher()))
    for path in paths:
        changing.set(path, b"")
    bench.settle()
    assert heard == [f"changed {path}" for path in paths]


def test_the_event_comes_before_any_answer_that_shows_the_change(bench: StoreBench) -> None:
    session, heard = bench.session(), Heard()
    (path,) = _made(bench, session, "node")
    session.get(path, heard.watcher()).then(lambda read: heard.append(f"read {read.value().data!r}"))
    session.set(path, b"new").then(lambda _: heard.append("set"))
    session.get(path).then(lambda read: heard.append(f"read {read.value().data!r}"))
    bench.settle()
    assert heard == ["read b''", f"changed {path}", "set", "read b'new'"]


def test_answers_and_events_keep_their_order_in_a_crowd(bench: StoreBench) -> None:
    session, heard = bench.session(), Heard()
    (path,) = _made(bench, session, "node")
    for _ in range(100):
        session.get(path, heard.watcher()).then(lambda _: heard.append("read"))
        session.set(path, b"").then(lambda _: heard.append("set"))
    bench.settle()
    assert heard == ["read", f"changed {path}", "set"] * 100


def test_a_watcher_may_call_and_watch_again(bench: StoreBench) -> None:
    """The way every listener works: told that something changed, it reads again and watches by that read."""
    watching, changing = bench.session(), bench.session()
    seen: list[bytes] = []
    (path,) = _made(bench, changing, "node")

    def look(_: object = None) -> None:
        watching.get(path, look).then(lambda read: seen.append(read.value().data))

    look()
    bench.settle()
    for data in (b"1", b"2", b"3"):
        bench.result(changing.set(path, data))
        bench.settle()
    assert seen == [b"", b"1", b"2", b"3"]


@pytest.mark.parametrize("ending", ["close", "expire"])
def test_the_end_of_a_session_is_seen_by_others_and_not_by_itself(bench: StoreBench, ending: str) -> None:
    owner, other, own, others = bench.session(), bench.session(), Heard(), Heard()
    path, parent = f"{bench.root}/ids/1", f"{bench.root}/ids"
    bench.result(other.create(parent))
    bench.result(owner.create(path, ephemeral=True))
    bench.result(owner.get(path, own.watcher()))
    bench.result(other.get(path, others.watcher("data")))
    bench.result(other.children(parent, others.watcher("children")))
    if ending == "close":
        bench.result(owner.close())
    else:
        bench.expire(owner)
    bench.settle()
    assert others == [f"data deleted {path}", f"children children {parent}"]
    bench.result(other.create(path))
    bench.settle()
    assert own == []


def test_a_multi_fires_what_each_of_its_operations_would(bench: StoreBench) -> None:
    watching, changing, heard = bench.session(), bench.session(), Heard()
    kept, gone = _made(bench, changing, "kept", "gone")
    bench.result(watching.get(kept, heard.watcher()))
    bench.result(watching.get(gone, heard.watcher()))
    bench.result(watching.children(bench.root, heard.watcher()))
    bench.result(watching.exists(f"{bench.root}/new", heard.watcher()))
    bench.result(changing.multi([SetData(kept, b""), Delete(gone), Create(f"{bench.root}/new"), SetData(kept, b"")]))
    bench.settle()
    assert heard == [f"changed {kept}", f"deleted {gone}", f"children {bench.root}", f"created {bench.root}/new"]


def test_what_fails_fires_nothing(bench: StoreBench) -> None:
    session, heard = bench.session(), Heard()
    (path,) = _made(bench, session, "node")
    bench.result(session.get(path, heard.watcher()))
    bench.result(session.children(bench.root, heard.watcher()))
    session.multi([SetData(path, b""), Create(f"{bench.root}/new"), Delete(path, version=7)])
    session.set(path, b"", version=7)
    session.create(path)
    bench.settle()
    assert heard == []
