"""Latencies of many, as the three figures that people ask for."""

from __future__ import annotations

from collections.abc import Sequence


def percentiles_ms(took_s: Sequence[float]) -> dict[str, float]:
    ordered = sorted(took_s)
    return {
        "p50_ms": _at(ordered, 0.5) * 1e3,
        "p99_ms": _at(ordered, 0.99) * 1e3,
        "p99_9_ms": _at(ordered, 0.999) * 1e3,
    }


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
