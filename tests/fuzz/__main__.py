"""`make fuzz`: as many mutated frames as one has time for. Exits with 1 if the broker did something wrong."""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Sequence

from tests.amounts import some
from tests.assertions import demand_assertions
from tests.fuzz.run import fuzz
from tests.fuzz.verdict import faults

from strandline.cli.output import EXIT_INTERRUPTED


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    demand_assertions("fuzz")
    try:
        return _judged(options)
    except KeyboardInterrupt:
        print("fuzz: interrupted before the broker could be judged", file=sys.stderr)
        return EXIT_INTERRUPTED
    finally:
        print(f"the same frames again: python -m tests.fuzz --frames {options.frames} --seed {options.seed}")


def _judged(options: argparse.Namespace) -> int:
    report, said = fuzz(options.frames, options.seed)
    print(report)
    found = faults(report, said)
    for fault in found:
        print(f"FAULT: {fault}")
    return 1 if found else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description="Requests of every API and version, most of them damaged, against a broker process.",
    )
    parser.add_argument("--frames", type=some, default=200_000, help="how many requests (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="to send again what an earlier run sent (default: a fresh one)")
    options = parser.parse_args(arguments)
    if options.seed is None:
        options.seed = secrets.randbelow(2**32)
    return options


if __name__ == "__main__":
    sys.exit(main())
