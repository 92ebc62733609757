"""`make fuzz`: as many mutated frames as one has time for. Exits with 1 if the broker did something wrong."""

from __future__ import annotations

import argparse
import secrets
import sys

from tests.assertions import demand_assertions
from tests.fuzz.run import fuzz
from tests.fuzz.verdict import faults


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description="Requests of every API and version, most of them damaged, against a broker process.",
    )
    parser.add_argument("--frames", type=int, default=200_000, help="how many requests (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="to send again what an earlier run sent (default: a fresh one)")
    options = parser.parse_args()
    demand_assertions("fuzz")
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    report, said = fuzz(options.frames, seed)
    print(report)
    found = faults(report, said)
    for fault in found:
        print(f"FAULT: {fault}")
    print(f"the same frames again: python -m tests.fuzz --frames {options.frames} --seed {seed}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
