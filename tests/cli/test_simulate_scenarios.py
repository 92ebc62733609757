"""`strandline simulate --save` and `--scenario`: a failure becomes a file, and the file says whether it still fails."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.simulation.mutations import named

from strandline.cli.main import cli
from strandline.cli.output import EXIT_FAULT, EXIT_UNREADABLE, EXIT_VOID
from strandline.cli.simulation_tellers import PLAINEST
from strandline.simulation.failure import Violation
from strandline.simulation.options import Options
from strandline.simulation.scenario import Scenario

WORLD = ("--seed", "1", "--load", "records", "--seconds", "5")


def simulate(*arguments: str, exit_code: int = 0) -> Result:
    result = CliRunner().invoke(cli, ["simulate", *arguments])
    assert result.exit_code == exit_code, result.output
    return result


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kept.json"


def saved_failure(path: Path, *arguments: str) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        answer_alone(patch)
        told = simulate(*WORLD, *arguments, "--save", str(path), exit_code=EXIT_FAULT).stderr
    assert f"strandline: {path} has it: strandline simulate --scenario {path} runs it again\n" in told
    scenario: dict[str, Any] = json.loads(path.read_text())
    return scenario


def answer_alone(patch: pytest.MonkeyPatch) -> None:
    named("acks=all is answered by the leader alone").switch_off(patch)


def test_a_failure_is_saved_as_the_plainest_run_that_shows_it_and_goes_to_its_end(path: Path) -> None:
    """Not cut where it failed: once it is mended the rest is looked at, too."""
    scenario = saved_failure(path)
    assert scenario["version"] == 1
    assert scenario["options"] == {
        "seed": 1, "brokers": 3, "seconds": 5, "faults": [], "load": ["records"], "steps": None,
    }  # fmt: skip
    assert scenario["violation"]["invariant"] == "AcknowledgedStays"
    assert len(scenario["fingerprint"]) == 16


def test_of_several_seeds_the_first_that_fails_is_saved(path: Path) -> None:
    assert saved_failure(path, "--seeds", "2", "--jobs", "1")["options"]["seed"] == 1


def test_what_still_fails_in_the_same_way_is_the_same_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fingerprint = saved_failure(path)["fingerprint"]
    answer_alone(monkeypatch)
    told = simulate("--scenario", str(path), exit_code=EXIT_FAULT).stdout
    sentence = f"{path}: it still fails, as AcknowledgedStays; the same run, step for step ({fingerprint})"
    assert sentence in told.splitlines()
    assert "is acknowledged by b" in told, "what happened before is told"
    assert PLAINEST not in told


def test_what_is_mended_is_sound_now_and_another_run(path: Path) -> None:
    fingerprint = saved_failure(path)["fingerprint"]
    told = simulate("--scenario", str(path)).stdout
    assert f"{path}: it is sound now, and failed as AcknowledgedStays; another run than the saved one (" in told
    assert f", then {fingerprint})" in told


def test_what_it_was_kept_for_is_told_with_when_it_was_found(path: Path) -> None:
    scenario = saved_failure(path)
    sentence = scenario["violation"]["sentence"]
    assert f"{path} once failed with AcknowledgedStays: {sentence}" in simulate("--scenario", str(path)).stdout
    path.write_text(json.dumps({**scenario, "about": "One alone.", "found": "2026-11-15 at 7067839"}))
    told = simulate("--scenario", str(path)).stdout
    assert f"{path} once failed (2026-11-15 at 7067839) with AcknowledgedStays: {sentence}" in told
    assert f"{path} (One alone.): it is sound now, and failed as AcknowledgedStays" in told
    (run,) = json.loads(simulate("--scenario", str(path), "--format", "json").stdout)["runs"]
    assert run["scenario"]["found"] == "2026-11-15 at 7067839"


def test_what_fails_as_something_else_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = saved_failure(path)
    scenario["violation"]["invariant"] = "OneLeader"
    path.write_text(json.dumps(scenario))
    answer_alone(monkeypatch)
    told = simulate("--scenario", str(path), exit_code=EXIT_FAULT).stdout
    assert f"{path}: it still fails, as AcknowledgedStays, and no longer as OneLeader; the same run" in told


def test_a_sound_run_is_saved_too_and_found_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(*WORLD, "--save", str(path))
    assert json.loads(path.read_text())["violation"] is None
    assert f"{path}: it is sound, as it was; the same run, step for step (" in simulate("--scenario", str(path)).stdout
    answer_alone(monkeypatch)
    told = simulate("--scenario", str(path), exit_code=EXIT_FAULT).stdout
    assert f"{path}: it fails now, as AcknowledgedStays, and was sound; another run" in told


def test_a_scenario_in_json_and_all_that_happens_in_it(path: Path) -> None:
    fingerprint = saved_failure(path)["fingerprint"]
    document = json.loads(simulate("--scenario", str(path), "--replay", "--format", "json").stdout)
    (run,) = document["runs"]
    assert run["scenario"]["violation"]["invariant"] == "AcknowledgedStays"
    assert (run["scenario"]["fingerprint"], run["scenario"]["is_same_run"]) == (fingerprint, False)
    assert run["violation"] is None
    assert len(run["transcript"]) > 10
    lines = simulate("--scenario", str(path), "--replay").stdout.splitlines()
    assert lines[: len(run["transcript"])] == run["transcript"]


def test_what_happens_in_a_scenario_that_fails_is_told_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved_failure(path)
    answer_alone(monkeypatch)
    for replay in ((), ("--replay",)):
        lines = simulate("--scenario", str(path), *replay, exit_code=EXIT_FAULT).stdout.splitlines()
        told = [line for line in lines if " is acknowledged by b" in line]
        assert len(told) == len(set(told)) > 0


def test_of_several_sound_seeds_none_is_saved(path: Path) -> None:
    told = simulate(*WORLD, "--seeds", "2", "--jobs", "1", "--save", str(path)).stderr
    assert told == f"strandline: no run failed, so {path} is not written: to save a sound one, ask for its seed alone\n"
    assert not path.exists()


@pytest.mark.parametrize("seeds", ["1", "2"])
def test_void_runs_are_not_saved_and_that_is_told(path: Path, seeds: str) -> None:
    arguments = (*WORLD, "--seeds", seeds, "--jobs", "1", "--steps", "10", "--save", str(path))
    told = simulate(*arguments, exit_code=EXIT_VOID).stderr
    assert told == (
        "strandline: void: nothing was acknowledged in any run, so nothing is shown\n"
        f"strandline: void runs are not kept, so {path} is not written\n"
    )
    assert not path.exists()


@contextmanager
def full_disk(free_bytes: int) -> Iterator[None]:
    """No file of this process may grow beyond that; the write that would fills it up first, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (free_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_what_cannot_be_saved_is_told_with_all_seeds_and_leaves_no_file(
    path: Path, monkeypatch: pytest.MonkeyPatch, output_format: str
) -> None:
    """A violation is worse than a file that is not there, and the exit code is that of the violation. What is left of a
    file would refuse the next try."""
    answer_alone(monkeypatch)
    arguments = (*WORLD, "--seeds", "3", "--jobs", "1", "--save", str(path), "--format", output_format)
    with full_disk(100):
        result = simulate(*arguments, exit_code=EXIT_FAULT)
    complaints = [line for line in result.stderr.splitlines() if line.startswith("strandline: ")]
    assert complaints == [f"strandline: {path} cannot be written: {os.strerror(27)}: the run of seed 1 is not saved"]
    if output_format == "json":
        document = json.loads(result.stdout)
        assert ([run["seed"] for run in document["runs"]], document["total"]["violations"]) == ([1, 2, 3], 3)
    else:
        assert result.stdout.splitlines()[-1].endswith(", 3 violations")
    assert list(path.parent.iterdir()) == []
    assert f"{path} has it" in simulate(*arguments, exit_code=EXIT_FAULT).stderr


def test_a_sound_run_that_cannot_be_saved_is_no_success(path: Path) -> None:
    with full_disk(100):
        result = simulate(*WORLD, "--save", str(path), exit_code=EXIT_UNREADABLE)
    assert result.stdout.splitlines()[-1].endswith(", 0 violations")
    assert result.stderr.startswith(f"strandline: {path} cannot be written: ")
    assert result.stderr.count("\n") == 1


def test_a_file_that_somebody_else_made_meanwhile_is_not_written_over(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_json = Scenario.as_json

    def made_meanwhile(scenario: Scenario) -> str:
        path.write_text("a failure of somebody else")
        return as_json(scenario)

    monkeypatch.setattr(Scenario, "as_json", made_meanwhile)
    told = simulate(*WORLD, "--save", str(path), exit_code=EXIT_UNREADABLE).stderr
    assert told == f"strandline: {path} cannot be written: {os.strerror(17)}: the run of seed 1 is not saved\n"
    assert path.read_text() == "a failure of somebody else"


def unmatched(path: Path, **options: Any) -> None:
    """The file of a run that was found by another Strandline, whose runs were others."""
    violation = Violation("StrongIsr", "it was not", 5)
    path.write_text(Scenario(Options(seed=1, seconds=10, **options), violation, "0" * 16).as_json())


def test_a_scenario_none_of_whose_faults_struck_is_void(path: Path) -> None:
    unmatched(path, load=("groups",), faults=("old_life", "slow_client"))
    result = simulate("--scenario", str(path), exit_code=EXIT_VOID)
    assert result.stderr == (
        "strandline: void: old_life and slow_client never struck in any run, so nothing is shown: try another load or"
        " seed in its file, more brokers or seconds\n"
    )
    assert f"{path}: it shows nothing (void), and failed as StrongIsr; another run than" in result.stdout
    assert "sound" not in result.stdout
    total = json.loads(simulate("--scenario", str(path), "--format", "json", exit_code=EXIT_VOID).stdout)["total"]
    assert (total["void"], total["never_struck"]) == (True, ["old_life", "slow_client"])


def test_a_fault_of_a_scenario_that_never_struck_is_told_where_another_did(path: Path) -> None:
    unmatched(path, load=("groups",), faults=("slow_client", "slow_disk"))
    result = simulate("--scenario", str(path))
    assert f"{path}: it is sound now, and failed as StrongIsr; " in result.stdout
    assert result.stderr == (
        "strandline: slow_client never struck: try another load or seed in its file, more brokers or seconds\n"
    )


@pytest.mark.parametrize("faults", [None, ()])
def test_of_a_scenario_that_names_no_fault_none_is_missed(path: Path, faults: tuple[str, ...] | None) -> None:
    unmatched(path, load=("records",), faults=faults)
    assert simulate("--scenario", str(path)).stderr == ""


def test_a_scenario_in_which_nothing_was_acknowledged_is_not_called_sound(path: Path) -> None:
    path.write_text(broken(steps=10))
    result = simulate("--scenario", str(path), exit_code=EXIT_VOID)
    assert f"{path}: it shows nothing (void), and was sound; another run than" in result.stdout
    assert "it is sound" not in result.stdout
    assert result.stderr == "strandline: void: nothing was acknowledged in any run, so nothing is shown\n"


def test_a_place_that_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    kept.write_text("a failure of last week")
    astray = tmp_path / "astray.json"
    astray.symlink_to(tmp_path / "nowhere" / "kept.json")
    for place, why in (
        (kept, f"{kept} is there already"),
        (tmp_path / "nowhere" / "kept.json", f"there is no folder {tmp_path / 'nowhere'}: make it first"),
        (tmp_path, f"{tmp_path} is a folder: name a file"),
        (astray, f"{astray} is a link to what is not there: name another file"),
        ("/dev/null", "/dev/null keeps nothing: name a file"),
        ("", "it is empty: name a file"),
    ):
        result = simulate(*WORLD, "--save", str(place), exit_code=EXIT_UNREADABLE)
        assert result.stdout == ""
        assert why in result.stderr


@pytest.mark.parametrize("option", [("--seed", "2"), ("--faults", "kill"), ("--steps", "5"), ("--save", "other.json")])
def test_a_scenario_says_all_of_it_itself(path: Path, option: tuple[str, str]) -> None:
    result = simulate("--scenario", str(path), *option, exit_code=EXIT_UNREADABLE)
    assert f"{option[0]} cannot go with --scenario, which runs the one of its file as it was" in result.stderr


def broken(**changes: Any) -> str:
    options = {"seed": 1, "brokers": 3, "seconds": 5, "faults": None, "load": ["records"], "steps": None}
    scenario = {"version": 1, "options": options, "violation": None, "fingerprint": "0" * 16}
    for name, value in changes.items():
        (options if name in options or name == "colour" else scenario)[name] = value
    return json.dumps(scenario)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is not JSON"),
        ("{", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("\udcff", "it is not JSON"),
        ("[1]", "it is not an object"),
        ("{}", "version is missing"),
        (broken(version=2), "version is 2, and this Strandline knows version 1"),
        (broken(options=[]), "options is not an object"),
        (broken(seed="x"), "seed is not a whole number"),
        (broken(seed=True), "seed is not a whole number"),
        (broken(brokers=0), "brokers is 0, and must be 1 to 9"),
        (broken(brokers=10), "brokers is 10, and must be 1 to 9"),
        (broken(seconds=0), "seconds is 0, and must be at least 1"),
        (broken(steps=0), "steps is 0, and must be at least 1"),
        (broken(faults="kill"), "faults is not a list of names"),
        (broken(faults=["flood"]), "faults has flood, which is not known"),
        (broken(load=[]), "load is empty"),
        (broken(load=["records", "records"]), "load has records twice"),
        (broken(load=[["records"]]), "load is not a list of names"),
        ('{"version": 1, "options": {"seed": 1, "seed": 2}}', "it has the field 'seed' twice: nobody knows"),
        (broken()[:-1] + ', "version": 1}', "it has the field 'version' twice: nobody knows which counts;"),
        (broken(colour="red"), "options has colour, which is not known"),
        (broken(surprise=1), "it has surprise, which is not known"),
        (broken(about=1), "about is not text"),
        (broken(found=1), "found is not text"),
        (broken(fingerprint=None), "fingerprint is not text"),
        (broken(violation="OneLeader"), "violation is not an object"),
        (broken(violation={}), "invariant is missing"),
        (broken(violation={"invariant": "OneLeader", "sentence": "two", "step": -1}), "step is -1, and must be at"),
    ],
)
def test_a_file_that_is_no_scenario_is_one_plain_sentence(path: Path, text: str, why: str) -> None:
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    result = simulate("--scenario", str(path), exit_code=EXIT_UNREADABLE)
    assert result.stdout == ""
    assert result.stderr.startswith(f"strandline: {path} is not a scenario: {why}")
    assert result.stderr.endswith("; strandline simulate --save FILE writes one\n")
    assert result.stderr.count("\n") == 1


def test_a_file_that_cannot_be_read_is_one_plain_sentence(tmp_path: Path) -> None:
    gone = simulate("--scenario", str(tmp_path / "gone.json"), exit_code=EXIT_UNREADABLE).stderr
    assert gone == f"strandline: {tmp_path / 'gone.json'} is not a scenario: there is no such file\n"
    folder = simulate("--scenario", str(tmp_path), exit_code=EXIT_UNREADABLE).stderr
    assert folder == f"strandline: {tmp_path} is not a scenario: {os.strerror(21)}\n"
    empty = simulate("--scenario", "", exit_code=EXIT_UNREADABLE).stderr
    assert "Invalid value for '--scenario': it is empty: name a file" in empty
