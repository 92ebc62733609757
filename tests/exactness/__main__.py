"""`make spark-kills`: every record in exactly one place, though 20 processes are killed. Exits with 1 if one is not."""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
from pathlib import Path

from tests.assertions import demand_assertions
from tests.exactness.account import as_text
from tests.exactness.brokers import ThreeBrokers
from tests.exactness.run import Outcome, Run

PROVES_LITTLE = 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.exactness", description="Kills while Spark copies topics.")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="of who is killed when")
    parser.add_argument("--minutes", type=float, default=90, help="to give up after")
    parser.add_argument("--directory", help="for everything that is written")
    options = parser.parse_args()
    demand_assertions("exactness")
    directory = Path(options.directory or tempfile.mkdtemp(prefix="strandline-exactness-")).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    print(f"seed {options.seed}, in {directory}", flush=True)
    with ThreeBrokers(directory / "cluster") as brokers:
        run = Run(
            directory,
            brokers,
            records=options.records,
            kills=options.kills,
            seed=options.seed,
            tell=lambda event: print(event, flush=True),
        )
        outcome = run.run(options.minutes * 60)
    report(outcome, options.records)
    if not outcome.is_exact:
        return 1
    return 0 if outcome.kills.total() >= options.kills else PROVES_LITTLE


def report(outcome: Outcome, records: int) -> None:
    killed = ", ".join(f"{count} of a {kind}" for kind, count in outcome.kills.items())
    print(f"\n{records:,} records, {outcome.batches} batches in {outcome.seconds:,.0f} s; kills: {killed}\n")
    print(as_text(outcome.verdicts))
    for partition in outcome.held_up:
        print(f"a transaction is open in {partition}, and holds up readers")
    if outcome.fell:
        print(f"\nthe driver fell by itself {len(outcome.fell)} times, and was started again:")
        print("\n".join(f"- {each}" for each in outcome.fell))


if __name__ == "__main__":
    sys.exit(main())
