"""The four formats of a report, from the same rows; and the lines of Kafka's own performance tools."""

from __future__ import annotations

import json

import pytest

from strandline.cli.latencies import Latencies, percentiles
from strandline.cli.reports import Column, Report, cell
from strandline.cli.yaml_text import yaml_lines

COLUMNS = (Column("topic"), Column("partitions", is_number=True), Column("topic_id", "id", is_wide=True))
ROWS = [
    {"topic": "orders", "partitions": 12, "topic_id": None},
    {"topic": "a", "partitions": 3, "topic_id": "xyz"},
]


def printed(output_format: str, capsys: pytest.CaptureFixture[str]) -> str:
    report = Report(output_format)
    report.rows(COLUMNS, ROWS)
    report.flush()
    return capsys.readouterr().out


def test_text_shows_what_matters_and_wide_shows_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed("text", capsys).splitlines() == [
        "topic   partitions",
        "──────────────────",
        "orders          12",
        "a                3",
    ]
    assert printed("wide", capsys).splitlines()[2:] == ["orders          12  -", "a                3  xyz"]


def test_json_is_one_object_on_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert [json.loads(line) for line in printed("json", capsys).splitlines()] == ROWS


def test_yaml_is_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed("yaml", capsys) == (
        "- topic: orders\n  partitions: 12\n  topic_id: null\n- topic: a\n  partitions: 3\n  topic_id: xyz\n"
    )


def test_facts_stand_below_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report("text")
    report.facts({"topic": "orders", "topic_id": None, "in_sync": [1, 2], "is_internal": False})
    report.flush()
    assert capsys.readouterr().out.splitlines() == [
        "topic        orders",
        "topic id     -",
        "in sync      1,2",
        "is internal  no",
    ]


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ({}, ["{}"]),
        ([], ["[]"]),
        (None, ["null"]),
        ("plain.text-1", ["plain.text-1"]),
        ("yes", ['"yes"']),
        ("12", ['"12"']),
        ("a: b", ['"a: b"']),
        ("", ['""']),
        ("ä\n", ['"ä\\n"']),
        (True, ["true"]),
        (1.5, ["1.5"]),
        ({"a": [{"b": 1, "c": []}, [2, 3]]}, ["a:", "  - b: 1", "    c: []", "  - - 2", "    - 3"]),
        ({"two words": {"x": None}}, ['"two words":', "  x: null"]),
    ],
)
def test_yaml_of_anything_plain(value: object, lines: list[str]) -> None:
    assert list(yaml_lines(value)) == lines


def test_cells() -> None:
    values: list[object] = [None, True, False, [], (1, 2), 0, "x"]
    assert [cell(value) for value in values] == [
        "-",
        "yes",
        "no",
        "-",
        "1,2",
        "0",
        "x",
    ]


def test_the_summary_is_kafkas_line() -> None:
    """ProducerPerformance: `%d records sent, %.1f records/sec (%.2f MB/sec), %.2f ms avg latency, …`."""
    latencies = Latencies(1000, start_s=10.0)
    for number in range(1000):
        latencies.add(number / 10, 1024)
    assert str(latencies.end_window(12.0)) == (
        "1000 records sent, 500.0 records/sec (0.49 MB/sec), 50.0 ms avg latency, 99.9 ms max latency."
    )
    latencies.add(0.0, 1024)
    assert latencies.end_window(13.0).record_count == 1
    summary = latencies.summary(14.0)
    assert str(summary) == (
        "1001 records sent, 250.2 records/sec (0.24 MB/sec), 49.90 ms avg latency, 99.90 ms max latency,"
        " 49 ms 50th, 94 ms 95th, 98 ms 99th, 99 ms 99.9th."
    )
    assert summary.as_values()["latency_ms"] == {
        "average": 49.9, "maximum": 99.9, "p50": 49.9, "p95": 94.9, "p99": 98.9, "p99.9": 99.8,
    }  # fmt: skip


def test_latencies_are_sampled_not_hoarded() -> None:
    latencies = Latencies(5_000_000, start_s=0.0)
    for _ in range(100):
        latencies.add(1.0, 1)
    assert len(latencies._samples) == 10
    assert percentiles([]) == (0.0, 0.0, 0.0, 0.0)
