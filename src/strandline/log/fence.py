"""What becomes of failures on the way out of a log.

The first `OSError` takes it offline, wherever it comes from (KAFKA-10778, SPEC L10). Damaged bytes do not: a look-up
that meets them is refused, and all others go on.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from strandline.model.failures import CorruptData


class Fence:
    """`with fence:` around whatever touches the disk. Not where every append passes: there a plain `try` is quicker."""

    __slots__ = ("_corrupt", "_failed")

    def __init__(
        self, failed: Callable[[OSError], Exception], corrupt: Callable[[CorruptData], Exception] | None = None
    ) -> None:
        self._failed = failed
        self._corrupt = corrupt

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, OSError):
            raise self._failed(error) from error
        if self._corrupt is not None and isinstance(error, CorruptData):
            raise self._corrupt(error) from error
