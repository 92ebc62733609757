"""The examples of pipelines, as people run them but for the Spark, which is the tests' (SPEC D3)."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def run_example(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def run(name: str) -> Any:
        for module in ("demo", name):
            sys.modules.pop(module, None)
        return import_module(name).main(tmp_path, spark)

    return run


def test_clicks_become_sessions(run_example: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_example("clickstream") == [("ann", 1), ("ann", 2), ("bob", 1)], "bob's last one is still open"
    assert (
        '"user":"ann","began":"2026-11-15T10:00:00.000Z","ended":"2026-11-15T10:14:00.000Z"' in capsys.readouterr().out
    )


def test_bad_orders_are_dead_letters_that_can_be_sent_once_more(run_example: Any) -> None:
    assert run_example("orders") == [[1, 4], [1, 2, 4], [1, 2, 4]]


def test_a_changelog_becomes_the_current_state(run_example: Any) -> None:
    assert run_example("current_state") == [{"ann": "Bergen", "bob": "Rome"}, {"ann": "Bergen", "eve": "Lima"}]
