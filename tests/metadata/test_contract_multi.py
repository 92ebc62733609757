"""The contract of every metadata store: a multi does all of it or nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.metadata.benches import StoreBench

from strandline.metadata.errors import (
    BadVersion,
    IllegalPath,
    MultiFailed,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    StoreError,
    TooLarge,
)
from strandline.metadata.operations import REQUEST_BYTES_MAX, Check, Create, Delete, Operation, SetData
from strandline.metadata.store import Stat


def test_each_operation_has_its_result(bench: StoreBench) -> None:
    session, root = bench.session(), bench.root
    bench.result(session.create(f"{root}/epoch", b"1"))
    bench.result(session.create(f"{root}/old"))
    results = bench.result(
        session.multi(
            [
                Check(f"{root}/epoch", 0),
                Create(f"{root}/new", b"data"),
                Create(f"{root}/change_", sequential=True),
                SetData(f"{root}/epoch", b"2", 0),
                Delete(f"{root}/old", 0),
            ]
        )
    )
    checked, created, numbered, was_set, deleted = results
    assert (checked, created, deleted) == (None, f"{root}/new", None)
    assert numbered == f"{root}/change_{3:010}"
    assert isinstance(was_set, Stat)
    assert was_set.version == 1
    assert bench.result(session.children(root)).names == ("change_0000000003", "epoch", "new")


def test_each_operation_sees_those_before_it(bench: StoreBench) -> None:
    """How Kafka registers a broker: create and set in one, because only the set tells the zxid (the broker's epoch)."""
    session, path = bench.session(), f"{bench.root}/1"
    operations: list[Operation] = [
        Create(path, ephemeral=True),
        SetData(path, b"broker", 0),
        Check(path, 1),
        Delete(path, 1),
        Create(path),
        Create(f"{path}/child"),
    ]
    results = bench.result(session.multi(operations))
    assert isinstance(results[1], Stat)
    assert results[1].ephemeral_owner == session.session_id
    after = bench.result(session.exists(path))
    assert after is not None
    assert after.created_zxid == results[1].created_zxid  # one transaction, one zxid
    assert (after.version, after.children_count) == (0, 1)


def test_numbers_go_on_within_a_multi(bench: StoreBench) -> None:
    session, prefix = bench.session(), f"{bench.root}/n"
    results = bench.result(session.multi([Create(prefix, sequential=True)] * 3))
    assert results == tuple(f"{prefix}{number:010}" for number in range(3))


FAILURES: list[tuple[str, Operation, type[StoreError]]] = [
    ("check of another version", Check("{root}/node", 7), BadVersion),
    ("check of nothing", Check("{root}/missing"), NoNode),
    ("set of another version", SetData("{root}/node", b"", 7), BadVersion),
    ("set of nothing", SetData("{root}/missing", b""), NoNode),
    ("delete of another version", Delete("{root}/node", 7), BadVersion),
    ("delete of nothing", Delete("{root}/missing"), NoNode),
    ("delete of a parent", Delete("{root}/parent"), NotEmpty),
    ("create of what is there", Create("{root}/node"), NodeExists),
    ("create of what an operation before made", Create("{root}/made"), NodeExists),
    ("create below nothing", Create("{root}/missing/child"), NoNode),
    ("create below an ephemeral", Create("{root}/mine/child"), NoChildrenForEphemerals),
    ("set of what an operation before deleted", SetData("{root}/gone", b""), NoNode),
    ("illegal path", Create("{root}//"), IllegalPath),
]


@pytest.mark.parametrize(("operation", "error"), [(failure[1], failure[2]) for failure in FAILURES])
def test_one_that_fails_undoes_all(bench: StoreBench, operation: Operation, error: type[StoreError]) -> None:
    """Every kind of change stands before the one that fails; afterwards even the versions and zxids are as before."""
    session, root = bench.session(), bench.root
    for path in ("node", "gone", "parent", "parent/child"):
        bench.result(session.create(f"{root}/{path}", b"as it was"))
    for path in ("mine", "lent"):
        bench.result(session.create(f"{root}/{path}", ephemeral=True))
    paths = [root, *(f"{root}/{path}" for path in ("node", "gone", "parent", "parent/child", "mine", "lent"))]
    before = [bench.result(session.get(path)) for path in paths]
    failing = replace(operation, path=operation.path.format(root=root))
    with pytest.raises(MultiFailed) as failed:
        bench.result(
            session.multi(
                [
                    Create(f"{root}/made", ephemeral=True),
                    Create(f"{root}/change_", sequential=True),
                    SetData(f"{root}/node", b"changed"),
                    SetData(f"{root}/node", b"again"),
                    Delete(f"{root}/gone"),
                    Delete(f"{root}/lent"),
                    Create(f"{root}/parent/more"),
                    Delete(f"{root}/parent/child"),
                    failing,
                    Create(f"{root}/never"),
                ]
            )
        )
    assert (failed.value.index, type(failed.value.cause)) == (8, error)
    assert [bench.result(session.get(path)) for path in paths] == before
    assert bench.result(session.children(root)).names == ("gone", "lent", "mine", "node", "parent")
    assert bench.result(session.create(f"{root}/change_", sequential=True)).path == f"{root}/change_{5:010}"
    bench.result(session.close())
    assert not {"mine", "lent"} & {*bench.result(bench.session().children(root)).names}


def test_an_old_controller_writes_nothing(bench: StoreBench) -> None:
    """KAFKA-6082: every write of a controller checks the epoch it was elected at."""
    old, new, root = bench.session(), bench.session(), bench.root
    bench.result(old.create(f"{root}/controller_epoch", b"1"))
    bench.result(old.create(f"{root}/state", b"leader 1"))
    bench.result(new.set(f"{root}/controller_epoch", b"2", 0))
    with pytest.raises(MultiFailed) as failed:
        bench.result(old.multi([Check(f"{root}/controller_epoch", 0), SetData(f"{root}/state", b"leader 2")]))
    assert isinstance(failed.value.cause, BadVersion)
    assert bench.result(new.get(f"{root}/state")).data == b"leader 1"


def test_a_multi_of_nothing_does_nothing(bench: StoreBench) -> None:
    assert bench.result(bench.session().multi([])) == ()


def test_a_multi_is_one_request_with_one_limit(bench: StoreBench) -> None:
    session, root = bench.session(), bench.root
    half = b"x" * (REQUEST_BYTES_MAX // 2)
    with pytest.raises(TooLarge):
        bench.result(session.multi([Create(f"{root}/a", half), Create(f"{root}/b", half)]))
    assert bench.result(session.children(root)).names == ()
