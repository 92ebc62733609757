"""How long a consumer has polled in vain.

Polls that bring nothing are not worth a line each: most only came too early. But one who has looked for seconds, had
its partitions all the while and heard of no error was at their end, and the history says so.
"""

from __future__ import annotations

TOLD_FROM_US = 5_000_000


class Silence:
    def __init__(self) -> None:
        self._since_us: int | None = None

    def ends(self) -> None:
        """Something came, or the consumer reads elsewhere from now on."""
        self._since_us = None

    def goes_on(self, began_us: int, now_us: int) -> int | None:
        """Another poll in vain. Since when, if that is worth telling; then it counts from anew."""
        since_us = began_us if self._since_us is None else self._since_us
        is_long = now_us - since_us >= TOLD_FROM_US
        self._since_us = None if is_long else since_us
        return since_us if is_long else None
