"""Whatever comes over the wire, a broker goes on and serves the others (reliability S7). `make fuzz` sends more."""

from __future__ import annotations

import secrets

from tests.fuzz.run import fuzz
from tests.fuzz.verdict import faults

FRAMES = 20_000


def test_mutated_frames_of_every_api_and_version() -> None:
    """With a new seed each time; a failure tells which."""
    report, said = fuzz(FRAMES, secrets.randbelow(2**32))
    assert faults(report, said) == [], str(report)
    assert report.answers > 0
    assert report.closed_by_broker > 0
