"""What a broker may not do, whatever it is sent: fail, grow, keep connections."""

from __future__ import annotations

from tests.fuzz.run import CONNECTIONS_AT_ONCE, MIB, Report

GROWN_BYTES_MAX = 64 * MIB


def faults(report: Report, said: str) -> list[str]:
    found = []
    if "Traceback" in said:
        found.append(f"an exception that nobody foresaw:\n{said[:6000]}")
    if report.grown_bytes > GROWN_BYTES_MAX:
        found.append(f"the broker grew by {report.grown_bytes / MIB:.0f} MiB")
    if report.descriptors_left > CONNECTIONS_AT_ONCE:
        found.append(f"{report.descriptors_left} descriptors were left open")
    if report.good_round_trips < 2:
        found.append("the good client was not served meanwhile")
    return found
