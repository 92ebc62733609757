"""What the checker found: each anomaly with the least that shows it, and how much was looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from heapq import heappush, heapreplace
from typing import Any, NamedTuple

from strandline.model.partitions import TopicPartition

EVIDENCE_MAX = 8  # anomalies of a kind that are kept to be shown; all are counted
PARTS_MAX = 12  # operations, offsets, values and processes that are named of an anomaly
SENTENCE_CHARACTERS_MAX = 2000  # values are as long as whoever wrote the history likes

NOTHING_READ = "no record was read, so nothing can be said: give the files of the readers too"
NOTHING_KNOWN = (
    "none of the records that were read is known to be one that was sent, so nothing can be said: give the files of the"
    " producers too, of the same run, and values that are unique in their topic"
)


class Kind(StrEnum):
    """The anomalies, with Jepsen's names where it has one."""

    INCONSISTENT_OFFSETS = "inconsistent-offsets"
    LOST_WRITE = "lost-write"
    TORN_TRANSACTION = "torn-transaction"
    UNSEEN = "unseen"
    DUPLICATE = "duplicate"
    MISPLACED = "misplaced"
    PHANTOM = "phantom"
    ABORTED_READ = "G1a"
    INTERMEDIATE_READ = "G1b"
    PRECOMMITTED_READ = "precommitted-read"
    UNCOMMITTED_READ = "uncommitted-read"
    POLL_SKIP = "poll-skip"
    NONMONOTONIC_POLL = "nonmonotonic-poll"
    INTERNAL_POLL_SKIP = "int-poll-skip"
    INTERNAL_NONMONOTONIC_POLL = "int-nonmonotonic-poll"
    NONMONOTONIC_SEND = "nonmonotonic-send"
    INTERNAL_NONMONOTONIC_SEND = "int-nonmonotonic-send"
    INTERNAL_SEND_SKIP = "int-send-skip"
    LOST_COMMIT = "lost-commit"
    PHANTOM_COMMIT = "phantom-commit"
    CONSUMED_TWICE = "consumed-twice"
    WRITE_CYCLE = "G0"
    WRITE_CYCLE_PROCESS = "G0-process"
    WRITE_CYCLE_REALTIME = "G0-realtime"
    READ_CYCLE = "G1c"
    READ_CYCLE_PROCESS = "G1c-process"
    READ_CYCLE_REALTIME = "G1c-realtime"
    MIXED_CYCLE = "G1c-ww"


def printable(text: str) -> str:
    """Names come from whoever wrote the history: on a terminal they must neither move the cursor nor add lines."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


class Anomaly(NamedTuple):
    kind: Kind
    is_bad: bool  # what Kafka promises was broken; otherwise it is only worth knowing
    sentence: str
    partition: TopicPartition | None = None
    offsets: tuple[int, ...] = ()
    values: tuple[str, ...] = ()
    processes: tuple[str, ...] = ()
    operations: tuple[int, ...] = ()  # numbers of lines

    def bounded(self) -> Anomaly:
        left_out = len(self.sentence) - SENTENCE_CHARACTERS_MAX
        rest = f" … and {left_out} more characters" if left_out > 0 else ""
        return self._replace(
            sentence=printable(self.sentence[:SENTENCE_CHARACTERS_MAX]) + rest,
            offsets=self.offsets[:PARTS_MAX],
            values=self.values[:PARTS_MAX],
            processes=self.processes[:PARTS_MAX],
            operations=self.operations[:PARTS_MAX],
        )

    def as_fields(self) -> dict[str, Any]:
        fields = self._asdict()
        return {**fields, "kind": self.kind.value, "partition": None if self.partition is None else str(self.partition)}


class Finding:
    """All anomalies of one kind: their number, and the smallest of them."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.bad_count = 0
        self.allowed_count = 0
        self._kept: list[tuple[tuple[bool, int, int], Anomaly]] = []

    def add(self, anomaly: Anomaly) -> None:
        """Bad ones are kept before others, short ones before long ones, then early ones."""
        self.bad_count += anomaly.is_bad
        self.allowed_count += not anomaly.is_bad
        arrival = self.bad_count + self.allowed_count
        entry = ((anomaly.is_bad, -len(anomaly.operations), -arrival), anomaly)
        if len(self._kept) < EVIDENCE_MAX:
            heappush(self._kept, entry)
        elif entry[0] > self._kept[0][0]:
            heapreplace(self._kept, entry)

    @property
    def evidence(self) -> list[Anomaly]:
        ordered = sorted(self._kept, key=lambda entry: entry[0], reverse=True)
        return [anomaly.bounded() for _, anomaly in ordered]


class Verdict(NamedTuple):
    findings: Mapping[Kind, Finding]  # only of what was found
    operations: Counter[tuple[str, str]]  # by op and outcome
    counts: Mapping[str, int]  # processes, partitions, records_read, …
    topics: frozenset[str] = frozenset()  # that were written or read

    @property
    def is_sound(self) -> bool:
        return self.bad_count == 0 and self.void_because is None

    @property
    def void_because(self) -> str | None:
        """Why nothing can be said of the history. None if something can, and of one that is bad."""
        if self.bad_count:
            return None
        if self.counts["records_read"] == 0:
            return NOTHING_READ
        return NOTHING_KNOWN if self.counts["records_recognised"] == 0 else None

    @property
    def bad_count(self) -> int:
        return sum(finding.bad_count for finding in self.findings.values())

    @property
    def allowed_count(self) -> int:
        return sum(finding.allowed_count for finding in self.findings.values())

    @property
    def operation_count(self) -> int:
        return sum(self.operations.values())

    @property
    def kinds(self) -> set[Kind]:
        return set(self.findings)

    @property
    def bad_kinds(self) -> set[Kind]:
        return {kind for kind, finding in self.findings.items() if finding.bad_count}

    def anomalies(self) -> list[Anomaly]:
        """The evidence that was kept, bad kinds first."""
        ordered = sorted(self.findings.values(), key=lambda finding: not finding.bad_count)
        return [anomaly for finding in ordered for anomaly in finding.evidence]

    def __str__(self) -> str:
        """For an assertion that failed."""
        lines = [f"{each.kind}{'' if each.is_bad else ' (allowed)'}: {each.sentence}" for each in self.anomalies()]
        return "\n".join(lines) or "no anomalies"


def listed(parts: Sequence[str]) -> str:
    """As many of them as are told."""
    told = ", ".join(parts[:PARTS_MAX])
    return told if len(parts) <= PARTS_MAX else f"{told} and {len(parts) - PARTS_MAX} more"


def collect(anomalies: Iterable[Anomaly]) -> dict[Kind, Finding]:
    findings = {kind: Finding(kind) for kind in Kind}
    for anomaly in anomalies:
        findings[anomaly.kind].add(anomaly)
    return {kind: finding for kind, finding in findings.items() if finding.bad_count or finding.allowed_count}
