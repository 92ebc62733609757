"""What the comparison says of its figures: every sentence follows from them, and every row says where it comes from."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from benchmarks.compare.provenance import Provenance
    from benchmarks.compare.ratios import Line
    from benchmarks.compare.results import Result

CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
Turns = dict[str, list[float]]  # by metric, round by round


@pytest.fixture(autouse=True)
def _checkout_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [CHECKOUT, *sys.path])


def result(name: str, ours: Turns, theirs: Turns, measured_at: str = "2026-11-15 20:28") -> Result:
    from benchmarks.compare.results import Result

    versions = {"strandline": "1", "kafka": "4.3.1"}
    turns = {"strandline": _by_round(ours), "kafka": _by_round(theirs)}
    return Result(name, name.title(), "one broker", versions, turns, measured_at=measured_at)


def _by_round(turns: Turns) -> list[dict[str, float]]:
    return [dict(zip(turns, values, strict=True)) for values in zip(*turns.values(), strict=True)]


def line(ours: list[float], theirs: list[float], name: str = "cpu_s_per_gb") -> Line:
    from benchmarks.compare.ratios import Line

    return Line("load", "Load", name, tuple(ours), tuple(theirs))


def provenance(run: str = "2026-11-20 10:00", commit: str = "0123456789", features: str = "AVX-512") -> Provenance:
    from benchmarks.compare.provenance import Provenance
    from benchmarks.machine import Machine

    machine = Machine("Some Processor", features, 2, 16, "6.18.1", "ext4 on a virtual disk", "3.11.7", True)
    return Provenance(run, commit, machine, "OpenJDK 17", "2.12.1", 60.0)


def findings_of(*results: Result) -> str:
    from benchmarks.compare.findings import findings

    return "\n".join(findings(results))


def failed(name: str, failure: str) -> Result:
    return replace(result(name, {}, {}), failure=failure)


class TestVerdicts:
    def test_a_ratio_says_by_how_much_we_are_better_whichever_way_is_better(self) -> None:
        assert line([1.0, 2.0], [4.0, 6.0]).better_by == 3.5
        assert line([50.0, 50.0], [100.0, 100.0], "mb_per_s").better_by == 0.5

    def test_a_row_is_lost_by_its_medians_though_the_median_of_its_rounds_is_won(self) -> None:
        from benchmarks.compare.ratios import Verdict

        found = line([9.0, 7.0, 3.0, 6.5], [5.3, 4.3, 5.4, 10.3])
        assert found.better_by > 1 > found.better_by_medians
        assert found.verdict is Verdict.LOST

    def test_what_only_its_medians_lose_says_so_beside_a_ratio_that_is_won(self) -> None:
        from benchmarks.compare.ratios import verdict_told

        assert verdict_told(line([9.0, 7.0, 3.0, 6.5], [5.3, 4.3, 5.4, 10.3]), "LOST") == "LOST by medians (×0.79)"
        assert verdict_told(line([1.0, 2.0, 9.0], [2.5, 1.5, 8.0]), "LOST") == "LOST"

    def test_a_row_is_lost_by_its_rounds_though_its_medians_are_won(self) -> None:
        from benchmarks.compare.ratios import Verdict

        found = line([1.0, 2.0, 9.0], [2.5, 1.5, 8.0])
        assert found.better_by < 1 < found.better_by_medians
        assert found.verdict is Verdict.LOST

    def test_a_row_whose_rounds_lie_on_both_sides_is_undecided_not_won(self) -> None:
        from benchmarks.compare.ratios import Verdict

        found = line([1.0, 1.0, 1.0, 1.0], [0.7, 0.9, 1.5, 2.0])
        assert found.quartiles == pytest.approx((0.85, 1.625))
        assert found.verdict is Verdict.UNDECIDED

    def test_within_three_per_cent_is_even_and_anything_else_is_won(self) -> None:
        from benchmarks.compare.ratios import Verdict

        assert line([1.0, 1.0, 1.0], [0.99, 1.0, 1.01]).verdict is Verdict.EVEN
        assert line([1.0, 1.0, 1.0], [1.2, 1.3, 1.4]).verdict is Verdict.WON


class TestTheClientsLimit:
    """A rate at which both brokers are idle for more than half of the time says how fast the clients are."""

    @staticmethod
    def rate(our_cost: float, their_cost: float) -> Result:
        """100 MB/s to 200, at so many CPU seconds a GB."""
        return result(
            "catch-up",
            {"cpu_s_per_gb": [our_cost], "mb_per_s": [100.0]},
            {"cpu_s_per_gb": [their_cost], "mb_per_s": [200.0]},
        )

    def test_it_decides_nothing_where_neither_broker_was_busy(self) -> None:
        from benchmarks.compare.ratios import Verdict, lines_of, verdict_told

        _, idle = lines_of([self.rate(0.8, 0.4)])
        assert idle.busy_shares == pytest.approx((0.08, 0.08))
        assert idle.verdict is Verdict.CLIENTS_LIMIT
        assert verdict_told(idle) == "the client's limit; brokers busy 0.08 and 0.08 of a core"
        cost, busy = lines_of([self.rate(0.8, 4.0)])
        assert verdict_told(busy) == "lost; brokers busy 0.08 and 0.80 of a core"
        assert verdict_told(cost) == ""

    def test_requests_a_second_are_a_rate_too(self) -> None:
        from benchmarks.compare.ratios import Verdict, lines_of

        ours: Turns = {"cpu_ms_per_1000_requests": [45.0], "requests_per_s": [10_000.0]}
        theirs: Turns = {"cpu_ms_per_1000_requests": [90.0], "requests_per_s": [15_000.0]}
        _, rate = lines_of([result("flood", ours, theirs)])
        assert rate.busy_shares == pytest.approx((0.45, 1.35))
        assert rate.verdict is Verdict.LOST

    def test_the_page_and_the_table_say_so_and_do_not_count_it_as_lost(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        from benchmarks.compare.page import write_page
        from benchmarks.compare.summary import print_summary

        results = [self.rate(0.3, 0.4)]
        write_page(results, str(tmp_path))
        text = (tmp_path / "performance.md").read_text()
        limited = text.partition("### The client's limit\n")[2].partition("###")[0]
        assert "Neither side's brokers were busy for half a core" in limited
        assert "- Catch-Up: throughput, 100 to 200 MB/s, ×0.50 by medians" in limited
        assert "In no row of this run." in text
        assert "| the client's limit; brokers busy 0.03 and 0.08 of a core |" in text
        print_summary(results)
        assert (
            "2 figures, 0 of them lost and 0 undecided. Neither lost nor won, for they are the client's limit: 1."
            in (capsys.readouterr().out)
        )


class TestOrder:
    def test_the_worst_comes_first_and_what_is_alike_by_name(self) -> None:
        from benchmarks.compare.ratios import Verdict, lines_of, with_verdict

        alike: Turns = {"cpu_ms_per_1000_requests": [4.0], "cpu_s_per_gb": [4.0]}
        theirs: Turns = {"cpu_ms_per_1000_requests": [1.0], "cpu_s_per_gb": [1.0]}
        worst = result("worst", {"p99_ms": [9.0]}, {"p99_ms": [1.0]})
        lines = lines_of([result("b", alike, theirs), result("a", alike, theirs), worst])
        assert [(line.load, line.name) for line in with_verdict(lines, Verdict.LOST)] == [
            ("worst", "p99_ms"),
            ("a", "cpu_ms_per_1000_requests"),
            ("a", "cpu_s_per_gb"),
            ("b", "cpu_ms_per_1000_requests"),
            ("b", "cpu_s_per_gb"),
        ]


class TestFindings:
    def test_every_row_is_claimed_only_where_every_row_is_won(self) -> None:
        won = result("won", {"cpu_s_per_gb": [1.0]}, {"cpu_s_per_gb": [2.0]})
        lost = result("lost", {"cpu_s_per_gb": [6.72]}, {"cpu_s_per_gb": [5.4]})
        assert "below Kafka's in every row (1 figure)." in findings_of(won)
        told = findings_of(won, lost)
        assert "every row" not in told
        assert "below Kafka's in 1 of 2 figures; lost in 1: Lost (broker CPU a GB 6.72 to 5.40 s)." in told

    def test_a_load_of_ours_that_failed_counts_and_nothing_is_claimed_of_every_row(self) -> None:
        won = result("won", {"cpu_s_per_gb": [1.0]}, {"cpu_s_per_gb": [2.0]})
        told = findings_of(won, failed("ask", "strandline: it has gone"), failed("flood", "kafka: it has gone"))
        first, second = told.splitlines()
        assert first == "- **Failed**, of 3 loads, and without figures: ours in 1: Ask. Kafka's in 1: Flood."
        assert second.endswith("below Kafka's in 1 of 1 figure; 1 of our loads failed and gave none.")
        assert "below Kafka's in every row (1 figure)." in findings_of(won, failed("flood", "kafka: it has gone"))

    def test_a_99th_percentile_that_is_worse_is_named(self) -> None:
        told = findings_of(result("ask", {"p99_ms": [2.0]}, {"p99_ms": [1.0]}))
        assert told == (
            "- **99th percentile of latency**: better than Kafka's in 0 of 1 figure; "
            "lost in 1: Ask (latency, p99 2.00 to 1.00 ms)."
        )

    def test_a_fifth_is_met_or_missed(self) -> None:
        small = result("start", {"seconds": [1.0], "resident_mb": [10.0]}, {"seconds": [4.0], "resident_mb": [100.0]})
        memory, start_up = findings_of(small).splitlines()
        assert memory.startswith(
            "- **Memory (RSS)**: 1/10.0 of Kafka's (10.0 to 100 MB); the aim, at most a fifth, is met."
        )
        assert " Kafka's heap is preset by its start script: 1 GB from the beginning (`-Xms`, `-Xmx`)" in memory
        assert start_up == "- **Start-up**: 1/4.00 of Kafka's (1.00 to 4.00 s); the aim, at most a fifth, is missed."

    def test_a_tail_that_moved_is_said_to_have_moved_also_without_the_third_tail(self) -> None:
        ours: Turns = {"p99_ms": [3.6, 3.5], "alone_p99_ms": [0.8, 0.8], "p99_moved": [4.5, 4.4]}
        theirs: Turns = {"p99_ms": [10.0, 10.2], "alone_p99_ms": [1.5, 1.5], "p99_moved": [6.7, 6.8]}
        told = findings_of(result("far-behind", ours, theirs))
        assert "It moved: from 0.80 ms without them to 3.55 ms, ×4.45 (rounds ×4.40 to ×4.50); " in told
        assert "Kafka's from 1.50 ms without them to 10.1 ms, ×6.75 (rounds ×6.70 to ×6.80). " in told
        assert told.endswith("this run did not measure.")

    def test_what_the_disk_alone_moved_is_told_where_it_was_measured(self) -> None:
        tail: Turns = {"p99_ms": [1.0], "alone_p99_ms": [1.0], "near_p99_ms": [0.8], "p99_moved": [1.0]}
        told = findings_of(
            result("far-behind", tail | {"p99_moved_by_disk": [1.25]}, tail | {"p99_moved_by_disk": [2.0]})
        )
        assert "It did not move by more than a tenth: from 1.00 ms" in told
        assert told.endswith(
            "Beside as many who read what is in memory it is 0.80 ms (Kafka's 0.80): the disk alone moves ours "
            "×1.25 (rounds ×1.25 to ×1.25) and Kafka's ×2.00 (rounds ×2.00 to ×2.00)."
        )


class TestGrowth:
    @staticmethod
    def told(points: dict[int, list[float]]) -> str:
        rows = [
            result(f"segments-{count}", {"cpu_us_per_record": rounds}, {"cpu_us_per_record": [1.0] * len(rounds)})
            for count, rounds in points.items()
        ]
        return findings_of(*rows)

    def test_growth_is_told_with_the_figures_of_both_sides(self) -> None:
        told = self.told({1: [0.19, 0.2, 0.21], 500: [0.3, 0.31, 0.32], 2_000: [0.27, 0.28, 0.29]})
        assert "at 1, 500, 2,000 segments" in told
        assert (
            "Ours: 0.20 (0.19–0.21), 0.31 (0.30–0.32), 0.28 (0.27–0.29): "
            "**not flat** (+55 % at 500, +40 % at 2,000)." in told
        )
        assert "Kafka's: 1.00 (1.00–1.00), 1.00 (1.00–1.00), 1.00 (1.00–1.00): flat within a tenth (+0 % at" in told

    def test_rounds_that_lie_on_both_sides_of_the_first_point_decide_nothing(self) -> None:
        told = self.told({1: [0.4, 0.42, 0.43], 200: [0.19, 0.19, 0.53]})
        assert "undecided (−55 % at 200; but the rounds at 200 lie on both sides of 0.42)" in told

    def test_points_of_different_runs_are_said_to_be(self) -> None:
        points = [
            result(f"segments-{count}", {"cpu_us_per_record": [1.0]}, {"cpu_us_per_record": [1.0]}, measured_at)
            for count, measured_at in ((1, "2026-11-15 20:28"), (200, "2026-11-16 09:00"))
        ]
        assert findings_of(*points).endswith(" The points are of runs 1 and 2: part of the difference may be theirs.")
        assert "The points are of runs" not in self.told({1: [1.0], 200: [1.0]})

    def test_one_point_is_no_growth(self) -> None:
        assert self.told({1: [0.4]}) == ""


class TestSources:
    def test_provenance_is_kept_with_each_result_and_comes_back_with_it(self, tmp_path: Path) -> None:
        from benchmarks.compare.page import write_page
        from benchmarks.compare.published import published
        from benchmarks.compare.results import Store

        store = Store(str(tmp_path / "results"))
        assert store.find("ask") is None
        measured = result("ask", {"p99_ms": [1.0]}, {"p99_ms": [2.0]})
        measured.provenance = provenance()
        store.save(measured)
        assert store.all(["ask", "flood"]) == [measured]
        write_page([measured], str(tmp_path / "docs"))
        assert published(str(tmp_path)) == [measured]

    def test_what_was_published_counts_until_it_is_measured_again(self, tmp_path: Path) -> None:
        from benchmarks.compare.page import write_page
        from benchmarks.compare.published import newest, published

        rows = [result(name, {"p99_ms": [1.0]}, {"p99_ms": [2.0]}) for name in ("ask", "flood")]
        write_page(rows, str(tmp_path / "docs"))
        again = result("ask", {"p99_ms": [1.5]}, {"p99_ms": [2.0]})
        assert newest(published(str(tmp_path)), [again]) == [again, rows[1]]
        assert newest(published(str(tmp_path)), [replace(again, measured_at="2026-11-14 00:00")]) == rows

    def test_this_run_knows_its_machine_its_commit_and_its_versions(self, tmp_path: Path) -> None:
        from benchmarks.compare.provenance import of_this_run

        found = of_this_run(str(tmp_path), warm_s=60.0)
        assert found.machine.cores == os.cpu_count()
        assert found.librdkafka[0].isdigit()
        assert all((found.run, found.commit, found.java, found.machine.processor, found.machine.disk))

    def test_rows_of_two_machines_are_told_apart(self) -> None:
        from benchmarks.compare.sources import Notes, run_numbers, told

        rows = [result(f"row-{number}", {"p99_ms": [1.0]}, {"p99_ms": [2.0]}) for number in range(3)]
        for row in rows:
            row.provenance = provenance()
        rows[1].provenance = provenance("2026-11-21 08:00", "abcdef0123+", "no AVX-512")
        rows[1].measured_at = "2026-11-21 08:05"
        first, second = told(rows, Notes())
        assert first.startswith(
            "- Run 1, **2026-11-15 20:28**, 2 rows: at `0123456789`, on 2 cores of Some Processor, AVX-512, Python 3.11"
        )
        assert "at `abcdef0123+`, on 2 cores of Some Processor, no AVX-512, Python 3.11" in second
        assert "OpenJDK 17, librdkafka 2.12.1; warmed for 60 s; Apache Kafka 4.3.1; up to 1 rounds" in second
        assert run_numbers(rows) == {"row-0": 1, "row-1": 2, "row-2": 1}

    def test_rows_that_kept_no_machine_are_given_none(self) -> None:
        from benchmarks.compare.sources import Notes, told

        times = ("2026-11-15 20:28", "2026-11-15 20:37", "2026-11-15 22:41")
        rows = [result(f"row-{at}", {"p99_ms": [1.0]}, {"p99_ms": [2.0]}, time) for at, time in enumerate(times)]
        early, late, note = told(rows, Notes({"2026-11-15": "as far as known.", "2026-11-16": "not this one."}))
        assert early.startswith("- Run 1, **2026-11-15 20:28 to 20:37**, 2 rows: machine of the run of 2026-11-15; it")
        assert late.startswith("- Run 2, **2026-11-15 22:41**, 1 row: ")
        assert note == "- The machine of 2026-11-15: as far as known."

    def test_a_row_is_older_than_a_change_by_its_commit_or_else_by_its_time(self) -> None:
        from benchmarks.compare.sources import Change
        from benchmarks.machine import git

        change = Change("30cb294", "2026-11-15 21:09", "buffers", ["*-1m-*"])
        before = result("produce-1m-1p", {"p99_ms": [1.0]}, {"p99_ms": [2.0]}, "2026-11-15 20:37")
        after = replace(before, measured_at="2026-11-15 21:16")
        assert change.is_newer_than(before)
        assert not change.is_newer_than(after)
        assert not change.is_newer_than(replace(before, name="produce-16k-1p"))
        if git("rev-parse", "--verify", "--quiet", "30cb294~1"):  # a copy without history cannot tell
            assert change.is_newer_than(replace(after, provenance=provenance(commit="30cb294~1")))
            assert not change.is_newer_than(replace(before, provenance=provenance(commit="30cb294")))


class TestPage:
    def test_the_page_tells_what_was_lost_and_what_is_undecided_and_keeps_what_a_person_wrote(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        from benchmarks.compare.page import BEGIN, END, SUMMARY, write_page
        from benchmarks.compare.summary import print_summary

        page = tmp_path / "performance.md"
        begin, end = BEGIN.format(SUMMARY), END.format(SUMMARY)
        page.write_text(f"By hand.\n{begin}\nold figures\n{end}\nAlso by hand.\n")
        results = [
            result("lost", {"p99_ms": [4.0]}, {"p99_ms": [1.0]}),
            result("won", {"p99_ms": [1.0]}, {"p99_ms": [2.0]}),
            result("open", {"p99_ms": [1.0] * 3}, {"p99_ms": [0.5, 1.2, 2.0]}),
        ]
        write_page(results, str(tmp_path))
        text = page.read_text()
        assert text.startswith("By hand.\n")
        assert "Also by hand.\n" in text
        assert "old figures" not in text
        lost, undecided = text.partition("### Where we lose")[2].split("### Undecided")
        assert (
            "- Lost: latency, p99, 4.00 to 1.00 ms, ×0.25 by medians; by rounds ×0.25, half of them ×0.25 to ×0.25"
            in lost
        )
        assert "- Open: latency, p99, 1.00 to 1.20 ms, ×1.20 by medians; by rounds ×1.20" in undecided
        assert "| 1 | Won | latency, p99 | 1.00 ms | 2.00 ms | ×2.00 | ×2.00 to ×2.00 |  |" in text
        assert "| ×0.25 to ×0.25 | **lost** |" in text
        print_summary(results)
        assert "3 figures, 1 of them lost and 1 undecided." in capsys.readouterr().out

    def test_a_second_report_writes_the_same_page(self, tmp_path: Path) -> None:
        from benchmarks.compare.page import write_page

        results = [result("won", {"p99_ms": [1.0]}, {"p99_ms": [2.0]})]
        write_page(results, str(tmp_path))
        once = (tmp_path / "performance.md").read_text()
        write_page(results, str(tmp_path))
        assert (tmp_path / "performance.md").read_text() == once
        assert json.loads((tmp_path / "performance" / "figures.json").read_text())[0]["name"] == "won"

    def test_what_must_be_said_of_a_load_stands_at_its_row(self, tmp_path: Path) -> None:
        from benchmarks.compare.page import write_page

        change = {"commit": "30cb294", "at": "2026-11-15 21:09", "what": "buffers", "rows": ["transactions-1"]}
        (tmp_path / "performance").mkdir()
        (tmp_path / "performance" / "notes.json").write_text(json.dumps({"machines": {}, "changes": [change]}))
        write_page([result("transactions-1", {"p50_ms": [0.7]}, {"p50_ms": [22.5]})], str(tmp_path))
        text = (tmp_path / "performance.md").read_text()
        assert "| 1 | Transactions-1 *(Kafka's latency is mostly its broker's back-off of 20 ms" in text
        assert "; older than `30cb294`)* | latency, median |" in text
        assert "Older than `30cb294` (2026-11-15 21:09: buffers), and so figures of other code than this" in text

    def test_a_load_that_failed_is_told_as_not_measured(self, tmp_path: Path) -> None:
        from benchmarks.compare.page import write_page

        failed = result("ask", {}, {})
        failed.failure = "kafka: it did not answer"
        write_page([failed], str(tmp_path))
        assert "- Ask: kafka: it did not answer" in (tmp_path / "performance.md").read_text()

    def test_a_load_that_failed_on_our_side_stands_where_we_lose(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        from benchmarks.compare.page import write_page
        from benchmarks.compare.summary import print_summary

        lost = result("lost", {"p99_ms": [4.0]}, {"p99_ms": [1.0]})
        results = [lost, failed("flood", "kafka: it has gone"), failed("ask", "strandline: it has gone")]
        write_page(results, str(tmp_path))
        where = (tmp_path / "performance.md").read_text().partition("### Where we lose\n\n")[2].splitlines()
        assert where[0] == "- Ask: **failed** on our side: it has gone"
        assert where[1] == "- Flood: failed on Kafka's side, and is neither lost nor won: it has gone"
        assert where[2].startswith("- Lost: latency")
        print_summary(results)
        assert "Without figures, for they failed: 1 of our loads and 1 of Kafka's." in capsys.readouterr().out

    def test_charts_are_drawn_where_there_is_something_to_draw(self, tmp_path: Path) -> None:
        from benchmarks.compare.charts import draw_charts

        points = [
            result(f"segments-{count}", {"cpu_us_per_record": [0.4, 0.5]}, {"cpu_us_per_record": [0.6, 0.7]})
            for count in (1, 200)
        ]
        drawn = draw_charts([*points, result("ask", {"p99_ms": [1.0]}, {"p99_ms": [2.0]})], str(tmp_path))
        assert [name for name, _ in drawn] == ["latency.png", "growth-segments.png"]
        assert sorted(os.listdir(tmp_path)) == ["growth-segments.png", "latency.png"]
