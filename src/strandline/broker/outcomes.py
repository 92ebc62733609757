"""How the end of a procedure is told to a client: an error code, and a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, ParamSpec, TypeVar

from strandline.metadata.errors import StoreError, TooLarge
from strandline.model.failures import ErrorCode, Refused, StorageFailed

Value = TypeVar("Value")
Parameters = ParamSpec("Parameters")


class Told(NamedTuple):
    error_code: int
    error_message: str | None


SUCCESS = Told(ErrorCode.NONE, None)


def error_of(outcome: object) -> Told:
    """Anything but an exception is a success. One that nobody foresaw is raised, for the caller to fail with."""
    if not isinstance(outcome, Exception):
        return SUCCESS
    if isinstance(outcome, Refused):
        return Told(outcome.error_code, outcome.reason)
    if isinstance(outcome, StorageFailed):
        return Told(ErrorCode.KAFKA_STORAGE_ERROR, str(outcome))
    if isinstance(outcome, TooLarge):
        return Told(ErrorCode.INVALID_REQUEST, f"The metadata store takes no more at a time: {outcome}.")
    if isinstance(outcome, StoreError):
        # It may have happened or not: the client has to look.
        return Told(ErrorCode.REQUEST_TIMED_OUT, f"The metadata store did not answer: {outcome}.")
    raise outcome


def tried(
    function: Callable[Parameters, Value], *arguments: Parameters.args, **keywords: Parameters.kwargs
) -> Value | Refused:
    """For one of many in a request: its value, or why there is none."""
    try:
        return function(*arguments, **keywords)
    except Refused as refused:
        return refused
