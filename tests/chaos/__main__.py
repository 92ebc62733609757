"""`python -m tests.chaos`, with one sentence where what a cluster needs was never installed."""

from __future__ import annotations

import sys

NOT_POSSIBLE = 2
OURS = ("tests", "strandline")  # of which nothing is missing, but by a mistake

try:
    from tests.chaos.program import main
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] in OURS:
        raise
    print(f"chaos: {missing.name} is not installed; `make chaos` fetches what it needs", file=sys.stderr)
    sys.exit(NOT_POSSIBLE)

sys.exit(main())
