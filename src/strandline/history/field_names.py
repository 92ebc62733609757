"""The fields of each operation, and names that look like one of them.

A recorder may note more than is checked, so a field that nobody knows is left alone. But where one of ours is not there
and a name much like it is, somebody meant ours: reading on without it could call a history sound of which nothing was
understood.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache

LIKENESS_MIN = 0.8  # of 1: one letter that is wrong, missing or in the wrong place, in a word of five
LENGTH_DIFFERENCE_MAX = 2  # `transactional_id` says more than `transaction`, and is none

_TIMED = frozenset({"op", "process", "outcome", "began_us", "ended_us"})
FIELDS: dict[str, frozenset[str]] = {
    "client": frozenset({"op", "process", "acks", "idempotent", "isolation", "group", "auto_commit", "clock"}),
    "send": _TIMED | {"topic", "partition", "value", "offset", "transaction"},
    "poll": _TIMED | {"records", "transaction"},
    "assign": _TIMED | {"positions", "how"},
    "revoke": _TIMED | {"partitions"},
    "commit": _TIMED | {"group", "offsets", "transaction"},
    "begin": _TIMED | {"transaction"},
    "end": _TIMED | {"transaction", "decision"},
    "trim": _TIMED | {"offsets"},
}


@lru_cache(maxsize=1000)  # lines of one recorder have the same few sets of names
def misspelt(op: str, names: tuple[str, ...]) -> tuple[str, str] | None:
    """A name that was written, and the one that was meant."""
    missing = sorted(FIELDS[op].difference(names))
    for name in names:
        if name not in FIELDS[op]:
            near = get_close_matches(name.lower().replace("-", "_"), missing, 1, LIKENESS_MIN)
            if near and abs(len(near[0]) - len(name)) <= LENGTH_DIFFERENCE_MAX:
                return name, near[0]
    return None
