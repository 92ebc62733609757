"""Paths, stats, operations and errors: ours to kazoo's and back.

A chroot is a node that takes the place of the root, as Kafka allows one in `zookeeper.connect`. kazoo knows it too, but
would lose a slash at the end, which the name of a sequential node may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kazoo.exceptions import (
    BadVersionError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RequestTimeoutError,
    RolledBackError,
    SessionMovedError,
)
from kazoo.protocol import serialization
from kazoo.protocol.states import ZnodeStat
from kazoo.security import OPEN_ACL_UNSAFE

from strandline.metadata.errors import (
    BadVersion,
    ConnectionLost,
    Declined,
    MultiFailed,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    StoreError,
)
from strandline.metadata.operations import ANY_VERSION, Check, Create, Delete, Operation, SetData, parent_of
from strandline.metadata.store import OperationResult, Stat

EPHEMERAL, SEQUENTIAL = 1, 2  # flags of a create
LAST_SYSTEM_ERROR = -100  # codes below say what is wrong with the request, those above that something went wrong
NEITHER_YES_NOR_NO = (SessionMovedError, RequestTimeoutError)


class Chroot:
    __slots__ = ("_prefix",)

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def __bool__(self) -> bool:
        return bool(self._prefix)

    def absolute(self, path: str) -> str:
        return (self._prefix or "/") if path == "/" else self._prefix + path

    def relative(self, path: str) -> str:
        return path[len(self._prefix) :] or "/"


def stat_of(stat: ZnodeStat) -> Stat:
    return Stat(
        created_zxid=stat.czxid,
        modified_zxid=stat.mzxid,
        children_zxid=stat.pzxid,
        created_ms=stat.ctime,
        modified_ms=stat.mtime,
        version=stat.version,
        children_version=stat.cversion,
        ephemeral_owner=stat.ephemeralOwner,
        data_bytes=stat.dataLength,
        children_count=stat.numChildren,
    )


def request_of(operation: Operation, chroot: Chroot) -> Any:
    """An operation as a part of kazoo's transaction."""
    path = chroot.absolute(operation.path)
    match operation:
        case Create(_, data, is_ephemeral, is_sequential):
            flags = EPHEMERAL * is_ephemeral | SEQUENTIAL * is_sequential
            return serialization.Create(path, data, OPEN_ACL_UNSAFE, flags)
        case SetData(_, data, version):
            return serialization.SetData(path, data, version)
        case Delete(_, version):
            return serialization.Delete(path, version)
        case Check(_, version):
            return serialization.CheckVersion(path, version)


def multi_outcome(
    results: Sequence[Any], operations: Sequence[Operation], chroot: Chroot
) -> tuple[OperationResult, ...] | MultiFailed:
    """Of a multi that failed, those before the culprit are told as rolled back."""
    for index, (result, operation) in enumerate(zip(results, operations, strict=True)):
        if isinstance(result, Exception) and not isinstance(result, RolledBackError):
            return MultiFailed(index, operation_error(result, operation))
    return tuple(_operation_result(result, chroot) for result in results)


def _operation_result(result: Any, chroot: Chroot) -> OperationResult:
    if isinstance(result, str):
        return chroot.relative(result)
    return stat_of(result) if isinstance(result, ZnodeStat) else None


def operation_error(error: Exception, operation: Operation) -> StoreError:
    if isinstance(operation, Create):
        return store_error(error, operation.path, stands_in_the_way=parent_of(operation.path))
    return store_error(error, operation.path, operation.version)


def store_error(
    error: Exception, path: str, version: int = ANY_VERSION, *, stands_in_the_way: str | None = None
) -> StoreError:
    """What ZooKeeper answered for `path`; another node may be what is missing or has no room for children."""
    culprit = stands_in_the_way or path
    match error:
        case NoNodeError():
            return NoNode(culprit)
        case NoChildrenForEphemeralsError():
            return NoChildrenForEphemerals(culprit)
        case NodeExistsError():
            return NodeExists(path)
        case BadVersionError():
            return BadVersion(path, version)
        case NotEmptyError():
            return NotEmpty(path)
    name, code = type(error).__name__, getattr(error, "code", 0)
    if code < LAST_SYSTEM_ERROR and not isinstance(error, NEITHER_YES_NOR_NO):
        return Declined(path, f"ZooKeeper declines with {name}")
    return ConnectionLost(f"ZooKeeper answers neither yes nor no, but {name}")
