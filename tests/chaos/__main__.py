"""`python -m tests.chaos`, with one sentence where what a cluster needs was never installed."""

from __future__ import annotations

import sys

NOT_POSSIBLE = 2

try:
    from tests.chaos.program import main
except ModuleNotFoundError as missing:
    print(f"chaos: {missing.name} is not installed; `make chaos` fetches what it needs", file=sys.stderr)
    sys.exit(NOT_POSSIBLE)

sys.exit(main())
