"""The comparison with Apache Kafka: its clients, its loads and its table work. Nothing here looks at a speed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from strandline.testing import Broker

if TYPE_CHECKING:
    from benchmarks.compare.load_kind import Measured
    from benchmarks.compare.results import Result

CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@pytest.fixture(autouse=True)
def _checkout_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [CHECKOUT, *sys.path])


def result(name: str, ours: list[Measured], theirs: list[Measured]) -> Result:
    from benchmarks.compare.results import Result

    versions = {"strandline": "1", "kafka": "4.3.1"}
    return Result(name, name.title(), "one broker", versions, {"strandline": ours, "kafka": theirs})


@pytest.mark.parametrize("name", ["ask", "flood-tiny", "transactions-1", "catch-up-1", "end-to-end-1k"])
def test_the_clients_of_the_comparison_drive_a_broker(name: str) -> None:
    from benchmarks.compare.bench import Bench, Scale
    from benchmarks.compare.catalogue import all_loads
    from benchmarks.compare.pool import client_pool
    from benchmarks.compare.side import Side

    load = all_loads()[name]
    with Broker(process=True) as broker, client_pool() as pool:
        side = Side("strandline", "", broker.bootstrap, (broker.pid,), (broker.data,))
        bench = Bench(side, pool, Scale(is_quick=True, rounds=1))
        load.prepare(bench)
        measured = load.turn(bench)
        bench.close()
    assert max(measured.get(f"cpu_ms_per_1000_{what}", 0) for what in ("requests", "transactions")) > 0
    assert all(value >= 0 for value in measured.values())


def test_a_record_that_was_acknowledged_and_is_not_there_ends_the_load() -> None:
    from benchmarks.compare.bench import Bench, Scale
    from benchmarks.compare.pool import client_pool
    from benchmarks.compare.side import CompareFailed, Side

    with Broker(process=True) as broker, client_pool() as pool:
        bench = Bench(Side("strandline", "", broker.bootstrap, (broker.pid,), ()), pool, Scale(True, 1))
        with bench.topic() as topic:
            task = {"do": "produce", "topic": topic, "partitions": [0], "records": 500, "record_bytes": 100}
            assert bench.run(task).total("records") == 500
            bench.check_records(topic, 1, 500)
            with pytest.raises(CompareFailed, match="has 500 of 501 records"):
                bench.check_records(topic, 1, 501)


def test_a_client_that_fails_says_why() -> None:
    from benchmarks.compare.pool import client_pool
    from benchmarks.compare.side import CompareFailed, Side

    nobody = Side("nobody", "", "127.0.0.1:1", (os.getpid(),), ())
    with client_pool() as pool, pytest.raises(CompareFailed, match="ConnectionRefusedError"):
        pool.run(nobody, [{"do": "ask", "topic": "any", "port": nobody.port, "requests": 1}])


def test_a_ratio_says_by_how_much_we_are_better_whichever_way_is_better() -> None:
    from benchmarks.compare.ratios import lines_of

    ours: list[Measured] = [{"cpu_s_per_gb": 1.0, "mb_per_s": 50.0}, {"cpu_s_per_gb": 2.0, "mb_per_s": 50.0}]
    theirs: list[Measured] = [{"cpu_s_per_gb": 4.0, "mb_per_s": 100.0}, {"cpu_s_per_gb": 6.0, "mb_per_s": 100.0}]
    cost, rate = lines_of([result("produce", ours, theirs)])
    assert (cost.name, cost.better_by, cost.is_lost) == ("cpu_s_per_gb", 3.5, False)
    assert (rate.name, rate.better_by, rate.is_lost) == ("mb_per_s", 0.5, True)


def test_the_page_tells_what_was_lost_and_keeps_what_a_person_wrote(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks.compare.page import BEGIN, END, write_page
    from benchmarks.compare.summary import print_summary

    page = tmp_path / "performance.md"
    page.write_text(f"By hand.\n{BEGIN}\nold figures\n{END}\nAlso by hand.\n")
    results = [
        result("lost", [{"p99_ms": 4.0}], [{"p99_ms": 1.0}]),
        result("won", [{"p99_ms": 1.0}], [{"p99_ms": 2.0}]),
    ]
    write_page(results, str(tmp_path))
    text = page.read_text()
    assert text.startswith("By hand.\n")
    assert text.endswith("Also by hand.\n")
    assert "old figures" not in text
    assert "- Lost: latency, p99, 4.00 to 1.00 ms (×0.25 ±0%)" in text
    assert "| Won | latency, p99 | 1.00 ms | 2.00 ms | ×2.00 | ±0% |" in text
    assert [kept["name"] for kept in json.loads((tmp_path / "performance" / "figures.json").read_text())] == [
        "lost",
        "won",
    ]
    print_summary(results)
    assert "2 figures, 1 of them lost." in capsys.readouterr().out


def test_results_are_kept_load_by_load(tmp_path: Path) -> None:
    from benchmarks.compare.results import Store

    store = Store(str(tmp_path / "results"))
    assert store.find("ask") is None
    measured = result("ask", [{"p99_ms": 1.0}], [{"p99_ms": 2.0}])
    store.save(measured)
    assert store.all(["ask", "flood"]) == [measured]


def test_what_was_published_counts_until_it_is_measured_again(tmp_path: Path) -> None:
    from benchmarks.compare.page import write_page
    from benchmarks.compare.results import Store

    published = [result(name, [{"p99_ms": 1.0}], [{"p99_ms": 2.0}]) for name in ("ask", "flood")]
    write_page(published, str(tmp_path))
    store = Store(str(tmp_path / "results"))
    again = result("ask", [{"p99_ms": 1.5}], [{"p99_ms": 2.0}])
    store.save(again)
    store.take_over(str(tmp_path / "performance" / "figures.json"))
    assert store.all(["ask", "flood"]) == [again, published[1]]


def test_every_load_has_its_row_and_a_quick_run_takes_some() -> None:
    from benchmarks.compare.catalogue import QUICK, all_loads, chosen

    every = set(all_loads())
    assert every >= QUICK
    assert set(chosen(is_quick=True, has_whole_grid=False)) == QUICK
    assert set(chosen(is_quick=False, has_whole_grid=True)) == every
    assert QUICK < set(chosen(is_quick=False, has_whole_grid=False)) < every
