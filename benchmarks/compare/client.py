"""A client process: takes a task as a line of JSON, gets ready, waits for the word, works, and tells what it saw.

    {"do": "produce", …}  →  ready     ←  go      →  done     →  {"requests": 1201, …}

Tasks are generators: what comes before the first `yield` is preparation, what comes before the second is measured.
The same processes serve all sides one after another, so they are as warm for the one as for the other.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator
from typing import Any

from benchmarks.compare import consuming, grouping, producing, raw

Task = dict[str, Any]
Work = Generator[None, None, dict[str, Any]]

TASKS: dict[str, Callable[[Task], Work]] = {
    "produce": producing.produce,
    "produce at a rate": producing.produce_at_a_rate,
    "ask": raw.ask,
    "flood": raw.flood,
    "transact": raw.transact,
    "consume": consuming.consume,
    "tail": consuming.tail,
    "join": grouping.join,
}


def main() -> None:
    for line in sys.stdin:
        task = json.loads(line)
        try:
            answer = _carry_out(TASKS[task["do"]](task))
        except Exception as problem:  # the one who asked decides what becomes of the run
            answer = {"error": f"{type(problem).__name__}: {problem}"}
        _say(json.dumps(answer))


def _carry_out(work: Work) -> dict[str, Any]:
    next(work)
    _say("ready")
    sys.stdin.readline()
    next(work)
    _say("done")
    try:
        next(work)
    except StopIteration as end:
        found: dict[str, Any] = end.value
        return found
    raise RuntimeError("a task yields twice")


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
