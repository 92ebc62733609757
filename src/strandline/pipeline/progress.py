"""Progress as people read it: one line for each batch."""

from __future__ import annotations

from typing import Any

from strandline.pipeline.batches import Tally
from strandline.pipeline.lag import Lag


def progress_line(progress: dict[str, Any], tally: Tally, lag: Lag | None) -> str:
    milliseconds = progress["durationMs"].get("triggerExecution", 0)
    rows = sum(int(source.get("numInputRows") or 0) for source in progress["sources"])
    parts = [
        f"batch {progress['batchId']}",
        f"{rows:,} rows",
        f"{progress.get('processedRowsPerSecond') or 0:,.0f} rows/s",
        f"{milliseconds / 1000:.1f} s",
        f"lag {lag_text(lag)}",
        f"{tally.dead_letters:,} dead letters",
    ]
    if tally.dropped:
        parts.append(f"{tally.dropped:,} dropped")
    parts += [f"{count:,} not {name!r}" for name, count in sorted(tally.warnings.items())]
    return "  ".join(parts)


def lag_text(lag: Lag | None) -> str:
    if lag is None:
        return "unknown"
    seconds = "" if lag.seconds is None else f", {lag.seconds:,.0f} s"
    return f"{lag.records:,} records{seconds}"
