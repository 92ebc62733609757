"""Histories as a test tells them: one call for each operation, in the order in which they happen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from strandline.history.checker import check
from strandline.history.expectations import Expectations
from strandline.history.lines import LineParser, line_of
from strandline.history.operations import Operation
from strandline.history.verdict import Kind, Verdict

TOPIC = "orders"
Line = tuple[str, dict[str, Any]]


def client(process: str, **fields: Any) -> Line:
    return "client", {"process": process, **fields}


def send(process: str, value: str, offset: int | None = None, partition: int | None = 0, **fields: Any) -> Line:
    told = {"process": process, "topic": TOPIC, "partition": partition, "value": value, "offset": offset, **fields}
    return "send", told


def poll(process: str, *records: tuple[int, str], partition: int = 0, **fields: Any) -> Line:
    listed = [[TOPIC, partition, offset, value] for offset, value in records]
    return "poll", {"process": process, "records": listed, **fields}


def assign(process: str, position: int | str | None = None, partition: int = 0, **fields: Any) -> Line:
    return "assign", {"process": process, "positions": [[TOPIC, partition, position]], **fields}


def revoke(process: str, **fields: Any) -> Line:
    return "revoke", {"process": process, **fields}


def commit(process: str, offset: int, group: str = "kitchen", partition: int = 0, **fields: Any) -> Line:
    return "commit", {"process": process, "group": group, "offsets": [[TOPIC, partition, offset]], **fields}


def begin(process: str, transaction: str, **fields: Any) -> Line:
    return "begin", {"process": process, "transaction": transaction, **fields}


def end(process: str, transaction: str, decision: str = "commit", **fields: Any) -> Line:
    return "end", {"process": process, "transaction": transaction, "decision": decision, **fields}


def trim(process: str, offset: int, partition: int = 0, **fields: Any) -> Line:
    return "trim", {"process": process, "offsets": [[TOPIC, partition, offset]], **fields}


def operations(*lines: Line) -> list[Operation]:
    """Through JSON and back, as from a file."""
    parser = LineParser()
    return [parser.operation(line_of(op, **fields), number) for number, (op, fields) in enumerate(lines, 1)]


def verdict(*lines: Line, **expectations: Any) -> Verdict:
    return check(operations(*lines), Expectations(**expectations))


def found(*lines: Line, **expectations: Any) -> dict[Kind, bool]:
    """Each kind that was found, and whether it is bad."""
    findings = verdict(*lines, **expectations).findings
    return {kind: finding.bad_count > 0 for kind, finding in findings.items()}


def transaction(process: str, name: str, *parts: Line, decision: str = "commit", **fields: Any) -> Iterable[Line]:
    """From its begin to its end, with these operations in between."""
    inside = [(op, {**told, "transaction": name}) for op, told in parts]
    return [begin(process, name), *inside, end(process, name, decision, **fields)]
