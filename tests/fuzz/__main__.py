"""`make fuzz`: as many mutated frames as one has time for. Exits with 1 if the broker did something wrong."""

from __future__ import annotations

import argparse
import secrets
import sys

from tests.fuzz.run import fuzz
from tests.fuzz.verdict import faults


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutated frames against a broker process.")
    parser.add_argument("--frames", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=None, help="to do again what an earlier run did")
    options = parser.parse_args()
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    report, said = fuzz(options.frames, seed)
    print(report)
    found = faults(report, said)
    for fault in found:
        print(f"FAULT: {fault}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
