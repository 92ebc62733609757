"""The first `OSError` takes a log offline, wherever it comes from (KAFKA-10778, SPEC L10)."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType


class Fence:
    """`with fence:` around whatever touches the disk. Not where every append passes: there a plain `try` is quicker."""

    __slots__ = ("_failed",)

    def __init__(self, failed: Callable[[OSError], Exception]) -> None:
        self._failed = failed

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, OSError):
            raise self._failed(error) from error
