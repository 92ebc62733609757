"""`make proof`: tries to break everything, and prints what came of it. Exits with 1 if something broke.

Each part can be run alone; what it came to is kept in `docs/proof`, and the scoreboard is put together from all that
is there. `python -m tests.proof scoreboard` runs nothing: it prints, and writes docs/proof.md anew.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Callable

from tests.proof.processes import prove_chaos, prove_frames, prove_kills
from tests.proof.results import Result
from tests.proof.scoreboard import PARTS, as_text, rows, write_document
from tests.proof.simulated import prove_mutations, prove_seeds
from tests.proof.stored import prove_crashes


def main() -> int:
    options = _options()
    proofs: dict[str, Callable[[], Result]] = {
        "seeds": lambda: prove_seeds(options.seeds, options.seed),
        "mutations": lambda: prove_mutations(options.mutation_seeds),
        "crashes": lambda: prove_crashes(options.crash_runs, options.seed),
        "frames": lambda: prove_frames(options.frames, options.seed),
        "kills": lambda: prove_kills(options.kill_cycles, options.seed),
        "chaos": lambda: prove_chaos(options.minutes, options.seed),
    }
    wanted = [part for part in options.parts or PARTS if part != "scoreboard"]
    are_sound = True
    for part in wanted:
        print(f"== {part}", flush=True)
        result = proofs[part]()
        result.save()
        are_sound &= result.sound
    found = rows()
    write_document(found)
    print(as_text(found))
    return 0 if are_sound else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.proof", description="Tries to break everything.")
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}, scoreboard; all, if none is named"
    )
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**31), help="the first; fresh if not given")
    parser.add_argument("--seeds", type=int, default=200, help="in the simulator")
    parser.add_argument("--mutation-seeds", type=int, default=500, help="at most for each safeguard")
    parser.add_argument("--crash-runs", type=int, default=40, help="of the log, each with a crash after every step")
    parser.add_argument("--frames", type=int, default=200_000, help="mutated")
    parser.add_argument("--kill-cycles", type=int, default=17, help="of leader, follower and controller")
    parser.add_argument("--minutes", type=float, default=5.0, help="of chaos")
    options = parser.parse_args()
    unknown = [part for part in options.parts if part not in (*PARTS, "scoreboard")]
    if unknown:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)} and scoreboard")
    return options


if __name__ == "__main__":
    sys.exit(main())
