"""`make proof`: tries to break everything, and prints what came of it. Exits with 1 if something broke.

Each part can be run alone; what it came to is kept in `docs/proof`, and the scoreboard is put together from all that
is there. `python -m tests.proof scoreboard` runs nothing: it prints, and writes docs/proof.md anew.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Callable, Sequence

from tests.amounts import some, some_of_it
from tests.assertions import demand_assertions
from tests.proof.processes import prove_chaos, prove_frames, prove_kills
from tests.proof.results import Result
from tests.proof.scoreboard import PARTS, as_text, rows, write_document
from tests.proof.simulated import prove_mutations, prove_seeds
from tests.proof.stored import prove_crashes

from strandline.cli.output import EXIT_INTERRUPTED

AMOUNTS: tuple[tuple[str, float, str], ...] = (
    ("--seeds", 200, "seeds: in the simulator"),
    ("--mutation-seeds", 500, "mutations: seeds for each safeguard that is switched off, at most, from 1 on"),
    ("--crash-runs", 40, "crashes: random runs of a log, with power lost after every step"),
    ("--frames", 200_000, "frames: requests sent to a broker, most of them damaged"),
    ("--kill-cycles", 17, "kills: of leader, follower and controller, each so often"),
    ("--minutes", 5.0, "chaos: so long"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    demand_assertions("proof")
    proofs: dict[str, Callable[[], Result]] = {
        "seeds": lambda: prove_seeds(options.seeds, options.seed),
        "mutations": lambda: prove_mutations(options.mutation_seeds),
        "crashes": lambda: prove_crashes(options.crash_runs, options.seed),
        "frames": lambda: prove_frames(options.frames, options.seed),
        "kills": lambda: prove_kills(options.kill_cycles, options.seed),
        "chaos": lambda: prove_chaos(options.minutes, options.seed),
    }
    wanted = [part for part in options.parts or PARTS if part != "scoreboard"]
    ended: list[Result] = []
    try:
        for part in wanted:
            print(f"== {part}", flush=True)
            ended.append(proofs[part]())
            ended[-1].save()
    except KeyboardInterrupt:
        _tell_scoreboard()
        print(f"proof: interrupted amid {part}, of which nothing is kept", file=sys.stderr)
        return EXIT_INTERRUPTED
    _tell_scoreboard()
    return 0 if all(result.sound for result in ended) else 1


def _tell_scoreboard() -> None:
    found = rows()
    write_document(found)
    print(as_text(found))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.proof",
        description="Tries to break everything, and writes what came of it to docs/proof.md. Exit code 0: all that was"
        " run is sound. 1: something broke, or a part could not run here. 2: the command was misused. 130: Ctrl-C"
        " ended it.",
        epilog="example: python -m tests.proof seeds frames --seeds 2000 --frames 1000000",
    )
    parts_help = f"of {', '.join(PARTS)}, scoreboard, which runs nothing (default: all of them)"
    parser.add_argument("parts", nargs="*", metavar="PART", help=parts_help)
    parser.add_argument("--seed", type=int, help="the first of each part but the mutations (default: a fresh one)")
    for name, amount, what in AMOUNTS:
        kind = some if isinstance(amount, int) else some_of_it
        parser.add_argument(name, type=kind, default=amount, metavar="N", help=f"{what} (default: {amount})")
    options = parser.parse_args(arguments)
    if options.seed is None:
        options.seed = secrets.randbelow(2**31)
    unknown = [part for part in options.parts if part not in (*PARTS, "scoreboard")]
    if unknown:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)} and scoreboard")
    return options


if __name__ == "__main__":
    sys.exit(main())
