"""Without Kafka or Spark these tests fail, and say in one sentence what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interop import kafka, spark
from tests.interop.kafka import RefereeMissing, fetch
from tests.interop.spark import fetch_spark

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


@pytest.mark.parametrize(
    ("present", "installed", "sentence"),
    [
        ({}, "4.2.0", "Interop needs Java 17 to run Apache Spark: there is no `java` on the path."),
        ({"java": ""}, None, "Interop needs PySpark 4.2 or later: here is none."),
        ({"java": ""}, "4.1.3", "Interop needs PySpark 4.2 or later: here is 4.1.3."),
        ({"java": ""}, "4.2.0", "Interop needs Maven to fetch Spark's connector .* there is no `mvn` on the path."),
    ],
)
def test_what_is_missing_of_spark(
    present: dict[str, str], installed: str | None, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark, "HOME", tmp_path / "store")
    monkeypatch.setattr(spark, "installed_version", lambda: installed)
    monkeypatch.setenv("PATH", programs(tmp_path, **present))
    with pytest.raises(RefereeMissing, match=sentence):
        fetch_spark()
