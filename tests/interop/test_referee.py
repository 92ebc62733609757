"""Without Kafka these tests fail, and say in one sentence what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interop import kafka
from tests.interop.kafka import RefereeMissing, fetch

pytestmark = pytest.mark.interop


def programs(folder: Path, **scripts: str) -> str:
    """A search path with these programs alone."""
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("present", "sentence"),
    [
        ({}, "Interop needs Java 17 to run Apache Kafka: there is no `java` on the path."),
        ({"java": ""}, "Interop needs a JDK, not only a Java runtime, .* there is no `javac` on the path."),
        ({"java": "", "javac": ""}, "Interop needs Maven to fetch Apache Kafka: there is no `mvn` on the path."),
        (
            {"java": "", "javac": "", "mvn": "echo '[ERROR] Could not transfer artifact'; exit 1"},
            "Maven could not fetch Apache Kafka: .ERROR. Could not transfer artifact",
        ),
    ],
)
def test_what_is_missing(
    present: dict[str, str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka, "STORE", tmp_path / "store")
    monkeypatch.setenv("PATH", programs(tmp_path, **present))
    with pytest.raises(RefereeMissing, match=sentence):
        fetch("3.9")
