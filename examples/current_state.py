"""A compacted changelog topic into a table of the current state: `python examples/current_state.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from demo import Demo, demo


def main(directory: Path | None = None, session: Any = None) -> list[dict[str, str]]:
    """Gives user and city after each step."""
    with demo("current_state.yaml", directory, session) as stage:
        stage.broker.create_topic("profiles", 2, {"cleanup.policy": "compact"})
        stage.send("profiles", [profile("ann", "Oslo"), profile("bob", "Rome"), profile("ann", "Bergen")])
        stage.run()
        first = table(stage)
        stage.send("profiles", [("bob", None), profile("eve", "Lima")])
        stage.run()
        return [first, table(stage)]


def profile(user: str, city: str) -> tuple[str, object]:
    return user, {"name": user.title(), "city": city}


def table(stage: Demo) -> dict[str, str]:
    rows = DeltaTable(str(stage.directory / "profiles-table")).to_pyarrow_table().to_pylist()
    found = {row["user"]: row["city"] for row in rows}
    print(found)
    return found


if __name__ == "__main__":
    main()
