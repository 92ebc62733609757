"""What a store answers when it does not do as asked.

`Declined` says no and has changed nothing. `SessionOver` is for calls on a session that can make no more. The third
kind says neither yes nor no: `outcome_unknown` is set, and the change may have been made or not, or may still be
made. Whoever gets it reads again before acting (SPEC M1). An expired session is of this kind too, for the calls that
were in flight.
"""

from __future__ import annotations

from typing import ClassVar

from strandline.metadata.answer import Unanswered
from strandline.model.extras import how_to_install


class StoreError(Unanswered):
    outcome_unknown: ClassVar[bool] = False


class Declined(StoreError):
    """`path` is the node that stands in the way."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path[:200]}: {why}")
        self.path = path


class NoNode(Declined):
    def __init__(self, path: str) -> None:
        super().__init__(path, "there is no such node")


class NodeExists(Declined):
    def __init__(self, path: str) -> None:
        super().__init__(path, "the node is there already")


class BadVersion(Declined):
    def __init__(self, path: str, expected: int) -> None:
        super().__init__(path, f"the node is not at version {expected}")


class NotEmpty(Declined):
    def __init__(self, path: str) -> None:
        super().__init__(path, "the node has children")


class NoChildrenForEphemerals(Declined):
    def __init__(self, path: str) -> None:
        super().__init__(path, "an ephemeral node has no children")


class IllegalPath(Declined):
    """Nothing a node can have for a path, or not a node to do this to (the root is never deleted)."""


class TooLarge(StoreError):
    """More than one request may carry."""

    def __init__(self, request_bytes: int, request_bytes_max: int) -> None:
        super().__init__(f"a request of {request_bytes} bytes is above the limit of {request_bytes_max}")


class TooManyCalls(StoreError):
    """More wait than there is room for; this one was never made. The only answer that comes ahead of others."""

    def __init__(self, waiting: int) -> None:
        super().__init__(f"{waiting} calls wait already")


class MultiFailed(StoreError):
    """None of the operations was done; `index` is the first that could not be, `cause` says why."""

    def __init__(self, index: int, cause: StoreError) -> None:
        super().__init__(f"operation {index} of a multi: {cause}")
        self.index = index
        self.cause = cause


class SessionOver(StoreError):
    """This session makes no more calls; open another."""


class SessionClosed(SessionOver):
    """Closed by its own owner before the call."""


class SessionExpired(SessionOver):
    """Declared dead by the store, and its ephemerals are gone or going."""

    outcome_unknown: ClassVar[bool] = True


class ConnectionLost(StoreError):
    """No answer came, and none will."""

    outcome_unknown: ClassVar[bool] = True


class KazooMissing(Exception):
    """One sentence that says what to install."""

    def __init__(self) -> None:
        super().__init__(f"ZooKeeper is spoken through kazoo, which is not installed: {how_to_install('cluster')}")
