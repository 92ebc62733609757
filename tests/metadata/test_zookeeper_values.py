"""kazoo's errors as ours; and a machine without kazoo."""

from __future__ import annotations

import subprocess
import sys

import pytest
from kazoo.exceptions import (
    APIError,
    BadVersionError,
    NoAuthError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    OperationTimeoutError,
    QuotaExceededError,
    RequestTimeoutError,
    RolledBackError,
    RuntimeInconsistency,
    SessionMovedError,
)

from strandline.metadata.errors import (
    BadVersion,
    MultiFailed,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
)
from strandline.metadata.operations import Check, Create, Delete, Operation, SetData
from strandline.metadata.zookeeper_values import Chroot, multi_outcome, operation_error


@pytest.mark.parametrize(
    ("error", "operation", "ours", "path"),
    [
        (NoNodeError(), Create("/a/b"), NoNode, "/a"),
        (NoNodeError(), SetData("/a/b", b""), NoNode, "/a/b"),
        (NoChildrenForEphemeralsError(), Create("/a/b"), NoChildrenForEphemerals, "/a"),
        (NodeExistsError(), Create("/a/b"), NodeExists, "/a/b"),
        (BadVersionError(), Check("/a/b", 3), BadVersion, "/a/b"),
        (NotEmptyError(), Delete("/a/b"), NotEmpty, "/a/b"),
    ],
)
def test_no_names_the_node_in_the_way(error: Exception, operation: Operation, ours: type[Exception], path: str) -> None:
    got = operation_error(error, operation)
    assert type(got) is ours
    assert getattr(got, "path", None) == path


@pytest.mark.parametrize("error", [NoAuthError(), QuotaExceededError()])
def test_another_no_is_a_no(error: Exception) -> None:
    got = operation_error(error, Create("/a"))
    assert not got.outcome_unknown
    assert str(got) == f"/a: ZooKeeper declines with {type(error).__name__}"


@pytest.mark.parametrize(
    "error", [SessionMovedError(), RequestTimeoutError(), OperationTimeoutError(), APIError(), ValueError("odd bytes")]
)
def test_what_is_no_answer_leaves_the_outcome_unknown(error: Exception) -> None:
    assert operation_error(error, Create("/a")).outcome_unknown


def test_of_a_multi_the_first_that_failed_is_named() -> None:
    operations: list[Operation] = [Create("/a"), Check("/b", 1), Delete("/c")]
    failed = multi_outcome([RolledBackError(), BadVersionError(), RuntimeInconsistency()], operations, Chroot("/x"))
    assert isinstance(failed, MultiFailed)
    assert (failed.index, type(failed.cause)) == (1, BadVersion)


def test_without_kazoo_one_sentence_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['kazoo'] = None\n"
        "from strandline.metadata.zookeeper import KazooMissing, ZooKeeperSettings, ZooKeeperStore\n"
        "try: ZooKeeperStore(ZooKeeperSettings(zookeeper_connect='a:1'), print)\n"
        "except KazooMissing as missing: print(missing)"
    )
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert said.strip() == (
        "ZooKeeper is spoken through kazoo, which is not installed:"
        " in Strandline's checkout run `pip install -e '.[cluster]'`"
    )
