"""Where a result comes from: the run, the commit, the machine and the versions, kept with each result."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from typing import Any

from confluent_kafka import libversion

from benchmarks.machine import Machine, current_commit, this_machine


@dataclass(frozen=True, slots=True)
class Provenance:
    run: str  # the minute in which it began
    commit: str
    machine: Machine
    java: str
    librdkafka: str
    warm_s: float  # how long each side was loaded before its first row


def of_this_run(folder: str, warm_s: float) -> Provenance:
    """`folder` is where the brokers keep their files."""
    machine, librdkafka = this_machine(folder), libversion()[0]
    return Provenance(time.strftime("%Y-%m-%d %H:%M"), current_commit(), machine, _java(), librdkafka, warm_s)


def from_json(kept: dict[str, Any]) -> Provenance:
    return Provenance(**kept | {"machine": Machine(**kept["machine"])})


def _java() -> str:
    """`java -version` has it in its second line: "OpenJDK Runtime Environment (build 17.0.15+6-…)"."""
    try:
        told = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return told[1] if len(told) > 1 else " ".join(told)
