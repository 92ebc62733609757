"""The four operations that change or test a tree, alone or together in a multi, and what every one must keep to.

Legal paths and the size of a request are ZooKeeper's, checked before anything is sent: it answers a request above its
limit by cutting the connection, which would look like an unknown outcome for ever.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from strandline.metadata.errors import IllegalPath, MultiFailed, TooLarge
from strandline.model.lazy_dataclass import dataclass

ANY_VERSION = -1
REQUEST_BYTES_MAX = 1024 * 1024 - 1  # ZooKeeper's jute.maxbuffer
REQUEST_OVERHEAD_BYTES = 64  # of a request, and of each operation, beside paths and data; ZooKeeper's is less
ILLEGAL_CHARACTER = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Create:
    """With `sequential` the name is followed by a number of ten digits, the count of children ever made there."""

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequential: bool = False


@dataclass(frozen=True, slots=True)
class SetData:
    path: str
    data: bytes
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Delete:
    path: str
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Check:
    """Changes nothing, and fails its multi when the node is gone or at another version."""

    path: str
    version: int = ANY_VERSION


Operation = Create | SetData | Delete | Check


def check_request(operations: Sequence[Operation], *, prefix_bytes: int = 0) -> None:
    """`prefix_bytes` is what each path will have in front of it on its way."""
    request_bytes = REQUEST_OVERHEAD_BYTES
    for index, operation in enumerate(operations):
        try:
            check_path(operation.path, is_sequential=isinstance(operation, Create) and operation.sequential)
        except IllegalPath as cause:
            raise MultiFailed(index, cause) from None
        data = operation.data if isinstance(operation, Create | SetData) else b""
        request_bytes += REQUEST_OVERHEAD_BYTES + prefix_bytes + len(operation.path.encode()) + len(data)
    if request_bytes > REQUEST_BYTES_MAX:
        raise TooLarge(request_bytes, REQUEST_BYTES_MAX)


def check_path(path: str, *, is_sequential: bool = False) -> None:
    whole = path + "0" if is_sequential else path  # so that a sequential name may be the number alone
    if not whole.startswith("/"):
        raise IllegalPath(path, "a path begins with /")
    names = whole[1:].split("/")
    if whole != "/" and not all(names):
        raise IllegalPath(path, "a path has no empty names and does not end with /")
    if "." in names or ".." in names:
        raise IllegalPath(path, "paths are absolute: no . and no ..")
    if ILLEGAL_CHARACTER.search(path):
        raise IllegalPath(path, "control, private and surrogate characters are not allowed")


def parent_of(path: str) -> str:
    return path.rpartition("/")[0] or "/"


def name_of(path: str) -> str:
    return path.rpartition("/")[2]
