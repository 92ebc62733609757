"""What a broker may not do, whatever it is sent: fail, grow, keep connections."""

from __future__ import annotations

from tests.fuzz.footprint import MIB
from tests.fuzz.run import OWN_CONNECTIONS_MAX, Report

from strandline.cli.output import counted

GROWN_BYTES_MAX = 64 * MIB


def faults(report: Report, said: str) -> list[str]:
    found = [report.failure] if report.failure else []
    if "Traceback" in said:
        found.append(f"an exception that nobody foresaw:\n{said[:6000]}")
    if report.grown_bytes > GROWN_BYTES_MAX:
        found.append(f"the broker grew by {report.grown_bytes / MIB:.0f} MiB")
    if report.connections_left > OWN_CONNECTIONS_MAX:
        found.append(f"{counted(report.connections_left, 'connection')} left open")
    if report.good_round_trips < 2:
        found.append("the good client was not served meanwhile")
    return found
