"""The dumps in tests/golden are what both Kafkas print, but for the differences that its README lists.

So a test that compares our dump with those texts, which needs no Java, compares it with Kafka.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden.dump_text import without_differences
from tests.golden.make import DUMP_FLAGS, DUMPED_BATCHES, GOLDEN, as_log, dumped_files
from tests.interop.kafka import Kafka

pytestmark = pytest.mark.interop

DUMPS = sorted(str(path.relative_to(GOLDEN)) for path in GOLDEN.glob("*/*.dump.txt"))


def test_there_are_dumps() -> None:
    assert len(DUMPS) == 8


@pytest.mark.parametrize("dump", DUMPS)
def test_partition(kafka: Kafka, dump: str) -> None:
    text = GOLDEN / dump
    partition = text.name.removesuffix(".dump.txt")
    printed = kafka.dump_log_segments(dumped_files(text.parent, partition), *DUMP_FLAGS, folder=text.parent)
    assert without_differences(printed.stdout) == without_differences(text.read_text())
    if text.parent.name.endswith(kafka.series):
        assert printed.stdout == text.read_text()


def test_batches(kafka: Kafka, tmp_path: Path) -> None:
    logs = [as_log(name, tmp_path) for name in DUMPED_BATCHES]
    printed = kafka.dump_log_segments(logs, *DUMP_FLAGS, folder=tmp_path).stdout
    assert printed == (GOLDEN / f"batches.dump-{kafka.series}.txt").read_text()
    assert without_differences(printed) == without_differences((GOLDEN / "batches.dump-3.9.txt").read_text())
