"""Orders with bad ones among them, into Delta and a dead-letter topic, and redriven: `python examples/orders.py`.

The bad orders stay bad when they are sent again, unless something has changed: here the rule about amounts is dropped,
as one would edit the file. A letter that was sent is not sent again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from deltalake import DeltaTable
from demo import Demo, demo

from strandline.cli.main import cli

ORDERS = [
    ("1", {"order_id": 1, "customer": "ann", "amount": 12.5}),
    ("2", {"order_id": 2, "customer": "bob", "amount": -3}),
    ("3", "this is no JSON"),
    ("4", {"order_id": 4, "amount": 7}),
]


def main(directory: Path | None = None, session: Any = None) -> list[list[int]]:
    """Gives the orders in the table after each step."""
    with demo("orders.yaml", directory, session) as stage:
        stage.topics("orders", "orders.dead")
        stage.send("orders", ORDERS)
        stage.run()
        seen = [table(stage)]
        strandline(stage, "dlq", "list", "orders.dead")

        stage.pipeline = replace(stage.pipeline, expect=stage.pipeline.expect[1:])
        for _ in range(2):
            strandline(stage, "dlq", "redrive", "orders.dead", "--matching", "above zero", "--execute")
            stage.run()
            seen.append(table(stage))
        return seen


def table(stage: Demo) -> list[int]:
    rows = DeltaTable(str(stage.directory / "orders-table")).to_pyarrow_table().to_pylist()
    for row in rows:
        print(row)
    return sorted(row["order_id"] for row in rows)


def strandline(stage: Demo, *arguments: str) -> None:
    """As on the command line."""
    result = CliRunner().invoke(cli, [*arguments, "-b", stage.broker.bootstrap], catch_exceptions=False)
    print(result.output)


if __name__ == "__main__":
    main()
