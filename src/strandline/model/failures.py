"""What can go wrong has four forms, told apart by whose fault it is.

`Refused`        the caller asked for something we do not do; carries Kafka's error code for the wire.
`CorruptData`    bytes on our disk are not what we wrote.
`StorageFailed`  the disk did not do what it was told; the whole log directory is taken offline.
`check()`        our own bug; stops the operation and is never caught on the way.
"""

from __future__ import annotations

from enum import IntEnum


class ErrorCode(IntEnum):
    """The part of Kafka's error table that the log itself can answer with."""

    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    MESSAGE_TOO_LARGE = 10
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    TRANSACTION_COORDINATOR_FENCED = 52
    KAFKA_STORAGE_ERROR = 56
    UNSUPPORTED_COMPRESSION_TYPE = 76
    INVALID_RECORD = 87


class Refused(Exception):
    """A request that is answered with an error code and changes nothing."""

    def __init__(self, error_code: ErrorCode, reason: str) -> None:
        super().__init__(reason)
        self.error_code = error_code
        self.reason = reason


class CorruptData(Exception):
    """Stored or received bytes that break their format. The message is one plain sentence."""


class StorageFailed(Exception):
    """The file system failed under a log directory (SPEC L10). Never retried: see fsyncgate."""


class BrokenInvariant(AssertionError):
    """Raised by `check` only."""


def check(condition: bool, what: str) -> None:
    """Assert an invariant, in production too."""
    if not condition:
        raise BrokenInvariant(what)
