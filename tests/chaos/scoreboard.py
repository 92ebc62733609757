"""The verdict over a run, as text and as JSON.

A run is void, and proves nothing, if too little was acknowledged, if transactions, copies or groups came to nothing, if
nothing was read or no replicas were compared, if no fault was struck, or one of a kind never bit.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.availability import Acknowledgements, Percentiles, percentiles
from tests.chaos.limits import REPLACED_MAX
from tests.chaos.nemesis import Struck
from tests.chaos.spark_account import SparkAccount
from tests.chaos.work import Work

from strandline.history.verdict import Kind, Verdict

ORDER = (
    Kind.POLL_SKIP,
    Kind.NONMONOTONIC_POLL,
    Kind.INTERNAL_POLL_SKIP,
    Kind.INTERNAL_NONMONOTONIC_POLL,
    Kind.NONMONOTONIC_SEND,
)
LOST = (Kind.LOST_WRITE, Kind.UNSEEN)
SOUND, UNSOUND, VOID = 0, 1, 3


@dataclass
class Scoreboard:
    seconds: float
    struck: Sequence[Struck]
    acknowledgements: Acknowledgements
    work: Work
    verdict: Verdict
    replica_differences: Sequence[str]
    replica_bytes: int
    crashes: Sequence[str]
    failures: Sequence[str]
    at_least: int
    spark: SparkAccount | None = None
    replaced: Sequence[str] = ()  # clients that had locked themselves up
    seed: int | None = None  # of all that was left to chance
    command: str | None = None  # for the same faults in the same order, if not at the same moments
    silences_s: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Of each fault, that partition counts which was silent for longest."""
        for each in self.struck:
            silences = [
                self.acknowledgements.longest_silence_s(partition, each.began_us, each.ended_us)
                for partition in self.acknowledgements.partitions
            ]
            self.silences_s.setdefault(each.fault, []).append(max(silences, default=0.0))

    def silences_of(self, fault: str) -> Percentiles:
        return percentiles(self.silences_s[fault])

    @property
    def all_silences(self) -> Percentiles:
        return percentiles([silence for each in self.silences_s.values() for silence in each])

    @property
    def void_because(self) -> list[str]:
        reasons = []
        if self.acknowledgements.count < self.at_least:
            reasons.append(f"only {self.acknowledgements.count} records were acknowledged, and not {self.at_least}")
        reasons += self.work.missing(self.seconds, self.acknowledgements.count)
        if self.verdict.void_because is not None:
            reasons.append(self.verdict.void_because)
        if self.replica_bytes == 0:
            reasons.append("no replicas were compared")
        if not self.struck:
            reasons.append("nothing happened to the cluster")
        if self.spark is not None and self.spark.records < self.at_least:
            reasons.append(f"only {self.spark.records} records went through Spark, and not {self.at_least}")
        bitten = {each.fault for each in self.struck if each.has_bitten}
        reasons += [f"{name} was never noticed" for name in sorted({each.fault for each in self.struck} - bitten)]
        return reasons

    @property
    def is_sound(self) -> bool:
        is_exact = self.spark is None or self.spark.is_exact
        has_failed = self.replica_differences or self.crashes or self.failures or len(self.replaced) > REPLACED_MAX
        return self.verdict.bad_count == 0 and is_exact and not has_failed

    @property
    def exit_code(self) -> int:
        if not self.is_sound:
            return UNSOUND
        return VOID if self.void_because else SOUND

    def count_of(self, *kinds: Kind) -> int:
        return sum(self.verdict.findings[kind].bad_count for kind in kinds if kind in self.verdict.findings)

    def as_fields(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "command": self.command,
            "seconds": round(self.seconds, 1),
            "acknowledged": self.acknowledgements.count,
            "not_acknowledged": self.acknowledgements.missing,
            "transactions_committed": self.verdict.counts["transactions_committed"],
            "transactions_aborted": self.verdict.counts["transactions_aborted"],
            "work": self.work._asdict(),
            "checked_operations": self.verdict.operation_count,
            "lost": self.count_of(*LOST),
            "doubled": self.count_of(Kind.DUPLICATE),
            "out_of_order": self.count_of(*ORDER),
            "bad_anomalies": {
                kind.value: finding.bad_count for kind, finding in self.verdict.findings.items() if finding.bad_count
            },
            "faults": dict(Counter(each.fault for each in self.struck)),
            "unavailable_s": {name: self.silences_of(name)._asdict() for name in self.silences_s},
            "unavailable_s_all": self.all_silences._asdict(),
            "replica_bytes_compared": self.replica_bytes,
            "replica_differences": list(self.replica_differences),
            "crashes": list(self.crashes),
            "failures": list(self.failures),
            "replaced": list(self.replaced),
            "spark": None if self.spark is None else self.spark.as_fields(),
            "void_because": self.void_because,
            "sound": self.is_sound,
            "struck": [each.as_fields() for each in self.struck],
        }

    def as_json(self) -> str:
        return json.dumps(self.as_fields(), indent=2) + "\n"

    def __str__(self) -> str:
        acknowledged, missing = self.acknowledgements.count, self.acknowledgements.missing
        checked = self.verdict.operation_count
        counts = self.verdict.counts
        committed, aborted = counts["transactions_committed"], counts["transactions_aborted"]
        lost, doubled, out_of_order = self.count_of(*LOST), self.count_of(Kind.DUPLICATE), self.count_of(*ORDER)
        lines = [
            f"{self.seconds / 60:.1f} minutes, {len(self.struck)} faults",
            f"acknowledged {acknowledged:,}, not acknowledged {missing:,}, operations checked {checked:,}",
            f"transactions committed {committed:,}, aborted {aborted:,}",
            str(self.work),
            f"lost {lost}, doubled {doubled}, out of order {out_of_order}, bad anomalies {self.verdict.bad_count}",
            f"replicas: {self.replica_bytes:,} bytes compared, {len(self.replica_differences)} partitions differ",
            *([] if self.spark is None else [str(self.spark)]),
            "unavailable per fault, seconds       count    p50    p99  worst",
            *(_row(name, self.silences_of(name)) for name in self.silences_s),
            _row("all", self.all_silences),
            *(f"Spark's query ended: {each}" for each in (self.spark.fell if self.spark is not None else ())),
            *(f"DIFFERS: {each}" for each in self.replica_differences),
            *(f"CRASH: {each}" for each in self.crashes),
            *(f"client: {each}" for each in self.replaced),
            *(f"FAILED: {each}" for each in self.failures),
            *([] if self.verdict.bad_count == 0 else [f"ANOMALIES:\n{self.verdict}"]),
            *(f"VOID: {each}" for each in self.void_because),
            *(["sound: every promise was kept, and every fault was noticed"] if self.exit_code == SOUND else []),
            *([] if self.command is None else [f"the same faults again: {self.command}"]),
        ]
        return "\n".join(lines)


def _row(name: str, silences: Percentiles) -> str:
    return f"  {name:<34} {silences.faults:>5} {silences.p50:>6.2f} {silences.p99:>6.2f} {silences.worst:>6.2f}"
