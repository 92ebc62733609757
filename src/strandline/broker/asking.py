"""What coordinators are asked: commands, who waits for the reply, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeVar

from strandline.model.coordinators import client_error
from strandline.model.failures import Refused

R_co = TypeVar("R_co", covariant=True)


class Asking(Protocol[R_co]):
    """A command, by the kind of reply it gets."""

    def refused(self, refusal: Refused) -> R_co: ...


class Stage(Enum):
    """Of a partition with a shard."""

    LOADING = "loading"
    ACTIVE = "active"
    OVER = "over"  # resigned, or could not be loaded


class Asked(NamedTuple):
    """Somebody who waits for a reply."""

    command: Asking[Any]
    answer: Callable[[Any], object]

    def refuse(self, refusal: Refused) -> None:
        self.answer(self.command.refused(refusal))

    def give_up(self, refused: Refused) -> None:
        """What the log says of its own records is not what a client may take for its own topic's error."""
        self.refuse(Refused(client_error(refused.error_code), refused.reason))
