"""What can go wrong has five forms, told apart by whose fault it is.

`Refused`        the caller asked for something we do not do; carries Kafka's error code for the wire.
`ProtocolError`  the peer does not speak the protocol; its connection is closed, nothing can be answered.
`CorruptData`    bytes on our disk are not what we wrote. Where a reader of a log meets them it is a `CorruptLog`, which
                 is a `Refused` too: an answer for one partition, and no reason to leave the others without one.
`StorageFailed`  the disk did not do what it was told; the whole log directory is taken offline.
`check()`        our own bug; stops the operation and is never caught on the way.
"""

from __future__ import annotations

from strandline.model.error_codes import ErrorCode

__all__ = [
    "BrokenInvariant",
    "CorruptData",
    "CorruptLog",
    "ErrorCode",
    "ProtocolError",
    "Refused",
    "StorageFailed",
    "TooLargeDecompressed",
    "check",
]


class Refused(Exception):
    """A request that is answered with an error code and changes nothing."""

    def __init__(self, error_code: ErrorCode, reason: str) -> None:
        super().__init__(reason)
        self.error_code = error_code
        self.reason = reason


class ProtocolError(Exception):
    """Bytes from a peer that break Kafka's protocol. The message is one plain sentence."""


class CorruptData(Exception):
    """Stored or received bytes that break their format. The message is one plain sentence."""


class TooLargeDecompressed(CorruptData):
    """Compressed data that may be sound, and is more than anybody wants to hold."""


class CorruptLog(Refused, CorruptData):
    """What was asked for lies where the bytes of a log are damaged. All else in it can be had."""

    def __init__(self, reason: str) -> None:
        super().__init__(ErrorCode.CORRUPT_MESSAGE, reason)


class StorageFailed(Exception):
    """The file system failed under a log directory (SPEC L10). Never retried: see fsyncgate."""


class BrokenInvariant(AssertionError):
    """Raised by `check` only."""


def check(condition: bool, what: str) -> None:
    """Assert an invariant, in production too."""
    if not condition:
        raise BrokenInvariant(what)
