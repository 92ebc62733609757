"""Clickstream JSON into sessions, in Parquet and in a topic: `python examples/clickstream.py`.

Stateful, with a watermark: Spark remembers open sessions between batches, and lets go of those that are over.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from demo import demo


def main(directory: Path | None = None, session: Any = None) -> list[tuple[str, int]]:
    with demo("clickstream.yaml", directory, session) as stage:
        stage.topics("clicks", "sessions", "clicks.dead")
        stage.send(
            "clicks", [click("ann", "10:00"), click("ann", "10:04"), click("bob", "10:05"), click("ann", "11:00")]
        )
        stage.run()
        stage.send("clicks", [click("bob", "12:00"), ("ann", "not JSON")])
        stage.run()
        table = stage.session.read.parquet(str(stage.directory / "sessions"))
        table.orderBy("began", "user").show(truncate=False)
        for topic in ("sessions", "clicks.dead"):
            print(topic, *stage.values(topic), sep="\n  ")
        return sorted((row.user, row.clicks) for row in table.collect())


def click(user: str, time: str) -> tuple[str, object]:
    return user, {"user": user, "page": "/", "at": f"2026-11-15T{time}:00Z"}


if __name__ == "__main__":
    main()
