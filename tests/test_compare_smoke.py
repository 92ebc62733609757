"""The comparison with Apache Kafka: its clients and its loads work. Nothing here looks at a speed."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from strandline.testing import Broker

CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@pytest.fixture(autouse=True)
def _checkout_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [CHECKOUT, *sys.path])


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


@pytest.mark.parametrize(
    ("name", "clients", "passes"), [("catch-up-1", 1, 5), ("catch-up-4", 4, 5), ("segments-50", 1, 10)]
)
def test_a_turn_of_catching_up_is_as_many_passes_as_it_takes_to_compare(
    name: str, clients: int, passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks.compare.bench import Bench, Scale
    from benchmarks.compare.catalogue import all_loads
    from benchmarks.compare.loads.consuming import BACKLOG
    from benchmarks.compare.pool import Pool, Ran
    from benchmarks.compare.side import Side

    costs_s: list[float] = []

    def run(_: Bench, *tasks: dict[str, int]) -> Ran:
        costs_s.append(1.0 + len(costs_s))
        return Ran([{"records": task["records"], "requests": 1} for task in tasks], 1.0, costs_s[-1])

    monkeypatch.setattr(Bench, "run", run)
    bench = Bench(Side("strandline", "", "127.0.0.1:1", (), ()), Pool(), Scale(is_quick=False, rounds=1))
    bench.kept[BACKLOG] = "backlog"
    measured = all_loads()[name].turn(bench)
    assert len(costs_s) == passes
    assert measured["cpu_ms_per_1000_requests"] == pytest.approx(sum(costs_s) / passes / clients * 1e6)


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


def test_every_load_has_its_row_and_a_quick_run_takes_some() -> None:
    from benchmarks.compare.catalogue import QUICK, all_loads, chosen
    from benchmarks.compare.loads import producing

    every = set(all_loads())
    assert every >= QUICK
    assert set(chosen(is_quick=True, has_whole_grid=False)) == QUICK
    assert set(chosen(is_quick=False, has_whole_grid=True)) == every
    assert QUICK < set(chosen(is_quick=False, has_whole_grid=False)) < every
    assert [len(producing.grid(is_whole=is_whole)) for is_whole in (False, True)] == [28, 72]  # as the page says


@pytest.mark.parametrize(("is_quick", "title"), [(True, "200 topics"), (False, "1,000 topics")])
def test_a_title_says_as_many_topics_as_a_turn_creates(is_quick: bool, title: str) -> None:
    from benchmarks.compare.bench import Scale
    from benchmarks.compare.catalogue import all_loads

    assert all_loads()["topics-1000"].title_at(Scale(is_quick, rounds=1)) == f"{title} created and deleted"


def test_each_side_works_for_the_given_time_before_the_first_row() -> None:
    from benchmarks.compare.side import Side
    from benchmarks.compare.warming import ROUNDS_MIN, warm

    sides = [Side(name, "", "127.0.0.1:1", (), ()) for name in ("one", "other")]
    order: list[str] = []

    def work(side: Side) -> float:
        order.append(side.name)
        time.sleep(0.01)
        return 0.5

    told = warm(sides, 0.0, work)
    assert order == ["one", "other"] * ROUNDS_MIN
    assert told.startswith("one was loaded for 0 s in 4 pieces, the first at 0.50 CPU s, the last three at 0.50 0.50")
    order.clear()
    begun_s = time.perf_counter()
    warm(sides, 0.1, work)
    assert time.perf_counter() - begun_s >= 0.2  # of which each had its half


@pytest.mark.parametrize("bad", [["--warm-s", "soon"], ["--warm-s", "-1"], ["--rounds", "0"], ["--rounds", "many"]])
def test_a_number_that_cannot_be_meant_is_refused_with_what_can(
    bad: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks.compare.__main__ import main

    with pytest.raises(SystemExit) as ended:
        main(bad)
    assert ended.value.code == 2
    assert f"give a number from {'0 to 3600' if bad[0] == '--warm-s' else '1 to 100'}" in capsys.readouterr().err


def test_a_report_of_nothing_leaves_what_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks.compare import __main__ as compare

    monkeypatch.setattr(compare, "CHECKOUT", str(tmp_path))
    assert compare.main(["--report"]) == 2
    assert capsys.readouterr().err.startswith("Nothing has been measured here yet.")
    assert not (tmp_path / "docs").exists()
