"""Pipelines that people run: from a topic through Spark to topics and tables (SPEC D3, docs/pipelines.md).

A file says it all (`validation` reads it into `spec.Pipeline`), or Python does, with the functions below: each takes
and gives an ordinary DataFrame, so that they can be used in Spark Declarative Pipelines, too.

    from strandline.pipeline import dead_letters, expect_or_dead_letter, good_rows, parse_json, topic

    orders = parse_json(topic("orders", start="earliest"), "order_id BIGINT NOT NULL, amount DOUBLE")
    orders = expect_or_dead_letter(orders, "the amount is above zero", "amount > 0")
    good_rows(orders), dead_letters(orders, "orders")

PySpark is imported when one of them is asked for: commands that need no Spark must not wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strandline.pipeline.judging import (
        dead_letters as dead_letters,
    )
    from strandline.pipeline.judging import (
        expect as expect,
    )
    from strandline.pipeline.judging import (
        expect_or_dead_letter as expect_or_dead_letter,
    )
    from strandline.pipeline.judging import (
        expect_or_drop as expect_or_drop,
    )
    from strandline.pipeline.judging import (
        expect_or_fail as expect_or_fail,
    )
    from strandline.pipeline.judging import (
        good_rows as good_rows,
    )
    from strandline.pipeline.parsing import parse_avro as parse_avro
    from strandline.pipeline.parsing import parse_csv as parse_csv
    from strandline.pipeline.parsing import parse_json as parse_json
    from strandline.pipeline.parsing import parse_text as parse_text
    from strandline.pipeline.topics import topic as topic

_MODULES = {
    "topic": "topics",
    **dict.fromkeys(("parse_avro", "parse_csv", "parse_json", "parse_text"), "parsing"),
    **dict.fromkeys(
        ("dead_letters", "expect", "expect_or_dead_letter", "expect_or_drop", "expect_or_fail", "good_rows"), "judging"
    ),
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _MODULES:
        raise AttributeError(name)
    return getattr(import_module(f"strandline.pipeline.{_MODULES[name]}"), name)
