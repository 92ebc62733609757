"""The contract of every metadata store (SPEC M1, M2): nodes, versions, names, limits."""

from __future__ import annotations

from typing import Any

import pytest
from tests.metadata.benches import StoreBench

from strandline.metadata.answer import Answer
from strandline.metadata.errors import (
    BadVersion,
    IllegalPath,
    NodeExists,
    NoNode,
    NotEmpty,
    TooLarge,
)
from strandline.metadata.operations import REQUEST_BYTES_MAX
from strandline.metadata.store import NO_OWNER, Session


def test_what_is_created_can_be_read(bench: StoreBench) -> None:
    session, path = bench.session(), f"{bench.root}/orders"
    created = bench.result(session.create(path, b"first"))
    found = bench.result(session.get(path))
    assert created.path == path
    assert found.data == b"first"
    assert found.stat == created.stat == bench.result(session.exists(path))
    assert (found.stat.version, found.stat.children_version, found.stat.children_count) == (0, 0, 0)
    assert (found.stat.ephemeral_owner, found.stat.data_bytes) == (NO_OWNER, 5)
    assert found.stat.created_zxid == found.stat.modified_zxid == found.stat.children_zxid > 0
    assert found.stat.created_ms == found.stat.modified_ms > 0


def test_what_is_not_there_is_not_made_up(bench: StoreBench) -> None:
    session, path = bench.session(), f"{bench.root}/missing"
    assert bench.result(session.exists(path)) is None
    for answer in (session.get(path), session.children(path), session.set(path, b""), session.delete(path)):
        bench.settle()
        assert isinstance(answer.error, NoNode)
    with pytest.raises(NoNode):
        bench.result(session.create(f"{path}/child"))


def test_a_path_is_taken_once(bench: StoreBench) -> None:
    session, path = bench.session(), f"{bench.root}/controller"
    bench.result(session.create(path, b"mine"))
    with pytest.raises(NodeExists):
        bench.result(bench.session().create(path, b"theirs"))
    assert bench.result(session.get(path)).data == b"mine"


def test_each_set_counts_a_version_and_takes_a_zxid(bench: StoreBench) -> None:
    session, path = bench.session(), f"{bench.root}/state"
    before = bench.result(session.create(path, b"0")).stat
    for version in (1, 2, 3):
        after = bench.result(session.set(path, b"%d" % version))
        assert after.version == version
        assert after.modified_zxid > before.modified_zxid
        assert after.created_zxid == before.created_zxid
        before = after
    assert bench.result(session.get(path)) == (b"3", before)


def test_a_set_or_delete_for_another_version_does_nothing(bench: StoreBench) -> None:
    session, path = bench.session(), f"{bench.root}/state"
    bench.result(session.create(path, b"0"))
    bench.result(session.set(path, b"1", version=0))
    for wrong in (0, 2):
        with pytest.raises(BadVersion):
            bench.result(session.set(path, b"lost", version=wrong))
        with pytest.raises(BadVersion):
            bench.result(session.delete(path, version=wrong))
    assert bench.result(session.get(path)).data == b"1"
    bench.result(session.delete(path, version=1))
    assert bench.result(session.exists(path)) is None


def test_versions_begin_again_in_a_node_made_again(bench: StoreBench) -> None:
    session, path = bench.session(), f"{bench.root}/state"
    first = bench.result(session.create(path)).stat
    bench.result(session.set(path, b"1"))
    bench.result(session.delete(path))
    second = bench.result(session.create(path)).stat
    assert second.version == 0
    assert second.created_zxid > first.created_zxid


def test_only_empty_nodes_are_deleted(bench: StoreBench) -> None:
    session, parent = bench.session(), f"{bench.root}/topics"
    bench.result(session.create(parent))
    bench.result(session.create(f"{parent}/a"))
    with pytest.raises(NotEmpty):
        bench.result(session.delete(parent))
    bench.result(session.delete(f"{parent}/a"))
    bench.result(session.delete(parent))


def test_children_are_names_in_order(bench: StoreBench) -> None:
    session = bench.session()
    for name in ("b", "a", "a0", "ü"):
        bench.result(session.create(f"{bench.root}/{name}"))
    bench.result(session.create(f"{bench.root}/a/inner"))
    found = bench.result(session.children(bench.root))
    assert found.names == ("a", "a0", "b", "ü")
    assert found.stat.children_count == 4


def test_the_children_have_a_version_of_their_own(bench: StoreBench) -> None:
    """It counts children that came and children that went, and no change of data."""
    session, parent = bench.session(), f"{bench.root}/ids"
    bench.result(session.create(parent))
    bench.result(session.create(f"{parent}/1"))
    last = bench.result(session.create(f"{parent}/2")).stat
    bench.result(session.set(f"{parent}/1", b"data"))
    stat = bench.result(session.children(parent)).stat
    assert (stat.children_version, stat.children_zxid) == (2, last.created_zxid)
    bench.result(session.delete(f"{parent}/1"))
    stat = bench.result(session.children(parent)).stat
    assert (stat.children_version, stat.version, stat.children_count) == (3, 0, 1)
    assert stat.children_zxid > last.created_zxid


def test_sequential_names_count_every_child_there_ever_was(bench: StoreBench) -> None:
    session, parent = bench.session(), f"{bench.root}/changes"
    bench.result(session.create(parent))
    assert _next(bench, session, f"{parent}/change_") == f"{parent}/change_0000000000"
    bench.result(session.create(f"{parent}/by-hand"))
    assert _next(bench, session, f"{parent}/change_") == f"{parent}/change_0000000002"
    for name in bench.result(session.children(parent)).names:
        bench.result(session.delete(f"{parent}/{name}"))
    assert _next(bench, session, f"{parent}/other_") == f"{parent}/other_0000000003"
    assert _next(bench, session, f"{parent}/") == f"{parent}/0000000004"


def test_sequential_names_go_on_after_a_restart(bench: StoreBench) -> None:
    session, prefix = bench.session(), f"{bench.root}/isr_change_"
    before = [_next(bench, session, prefix) for _ in range(3)]
    bench.restart()
    session = bench.session()
    after = _next(bench, session, prefix)
    assert before == [f"{prefix}{number:010}" for number in range(3)]
    assert after == f"{prefix}{3:010}"


def test_everything_answered_is_there_after_a_restart(bench: StoreBench) -> None:
    session, path = bench.session(), f"{bench.root}/orders"
    bench.result(session.create(path, b"0"))
    stat = bench.result(session.set(path, b"1"))
    bench.result(session.create(f"{bench.root}/gone"))
    bench.result(session.delete(f"{bench.root}/gone"))
    bench.restart()
    session = bench.session()
    assert bench.result(session.get(path)) == (b"1", stat)
    assert bench.result(session.children(bench.root)).names == ("orders",)
    newer = bench.result(session.create(f"{bench.root}/newer")).stat
    assert newer.created_zxid > stat.modified_zxid


def test_trees_are_deep(bench: StoreBench) -> None:
    session, path = bench.session(), bench.root
    for _ in range(100):
        path += "/level"
        session.create(path, path.encode())
    assert bench.result(session.get(path)).data == path.encode()
    while path != bench.root:
        session.delete(path)
        path = path.rpartition("/")[0]
    assert bench.result(session.children(bench.root)).names == ()


def test_data_may_be_large_and_not_larger(bench: StoreBench) -> None:
    session, path = bench.session(), f"{bench.root}/large"
    large = b"x" * (REQUEST_BYTES_MAX - 1024)
    bench.result(session.create(path, large))
    assert bench.result(session.get(path)).data == large
    for data in (b"y" * REQUEST_BYTES_MAX, b"y" * 1024 * 1024):
        with pytest.raises(TooLarge):
            bench.result(session.set(path, data))
        with pytest.raises(TooLarge):
            bench.result(session.create(f"{path}r", data))
    assert bench.result(session.get(path)).stat.version == 0


@pytest.mark.parametrize(
    "path",
    [
        "",
        "relative",
        "{root}/",
        "{root}//twice",
        "{root}/.",
        "{root}/..",
        "{root}/../up",
        "{root}/a\x00b",
        "{root}/line\nfeed",
        "{root}/\x7f",
        "{root}/\ud800",
        "{root}/\ue000",
        "{root}/\ufffe",
        "{root}/\U0001f30a",
    ],
)
def test_illegal_paths_are_declined_by_every_call(bench: StoreBench, path: str) -> None:
    session, path = bench.session(), path.format(root=bench.root)
    answers: list[Answer[Any]] = [
        session.get(path),
        session.exists(path),
        session.children(path),
        session.create(path),
        session.set(path, b""),
        session.delete(path),
    ]
    bench.settle()
    assert [type(answer.error) for answer in answers] == [IllegalPath] * 6
    assert bench.result(session.children(bench.root)).names == ()


@pytest.mark.parametrize("name", ["a.b", "..a", "...", "-", "<default>", "%20", "ü", "with space", "~"])
def test_odd_names_are_names(bench: StoreBench, name: str) -> None:
    session = bench.session()
    bench.result(session.create(f"{bench.root}/{name}", b"data"))
    assert bench.result(session.children(bench.root)).names == (name,)
    assert bench.result(session.get(f"{bench.root}/{name}")).data == b"data"


def test_the_root_is_always_there(bench: StoreBench) -> None:
    session = bench.session()
    assert bench.result(session.exists("/")) is not None
    with pytest.raises(NodeExists):
        bench.result(session.create("/"))
    with pytest.raises(IllegalPath):
        bench.result(session.delete("/"))


def _next(bench: StoreBench, session: Session, prefix: str) -> str:
    return bench.result(session.create(prefix, sequential=True)).path
