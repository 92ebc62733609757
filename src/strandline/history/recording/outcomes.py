"""Which errors say that something did not happen. All others leave it open.

An error is the answer to the last attempt. Of those before it nobody knows, unless the error has to do with the records
themselves: then each attempt met it. Even what was purged from the client's queue may have waited there for its second.
"""

from __future__ import annotations

from strandline.history.operations import Outcome

TOPIC_EXCEPTION, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE, INVALID_TIMESTAMP, INVALID_RECORD = 17, 10, 18, 32, 87

NO_OFFSET = -168  # librdkafka's own: there was nothing to commit, and it sent nothing

NEVER_WRITTEN = frozenset(
    {
        TOPIC_EXCEPTION,
        MESSAGE_TOO_LARGE,
        RECORD_LIST_TOO_LARGE,
        INVALID_TIMESTAMP,
        INVALID_RECORD,
    }
)


def outcome_of_send(error_code: int | None) -> Outcome:
    if error_code is None:
        return Outcome.OK
    return Outcome.FAIL if error_code in NEVER_WRITTEN else Outcome.UNKNOWN


def outcome_of_refused_commit(error_code: int) -> Outcome:
    return Outcome.FAIL if error_code == NO_OFFSET else Outcome.UNKNOWN


def outcome_of_end(requires_abort: bool) -> Outcome:
    """Of a commit or abort that was refused: one that must be aborted now was not committed."""
    return Outcome.FAIL if requires_abort else Outcome.UNKNOWN
