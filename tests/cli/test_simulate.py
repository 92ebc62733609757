"""`strandline simulate` as a process: what it prints where, and how it ends."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.cli.commands import ENVIRONMENT, ROOT
from tests.simulation.mutations import named

from strandline.cli.main import cli
from strandline.cli.output import EXIT_BROKEN_PIPE, EXIT_FAULT, EXIT_INTERRUPTED, EXIT_UNREADABLE, EXIT_VOID
from strandline.cli.simulated_runs import SimulatedRuns, Wishes
from strandline.cli.simulation_tellers import ABOVE, PLAINEST, PLAINEST_SO_FAR
from strandline.simulation.options import Options

WAIT_S = 60.0
# A shell starts what goes on in the background with SIGINT ignored, and so may whoever runs these tests.
MAIN = """
import signal
from strandline.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""
SIMULATE = (sys.executable, "-c", MAIN, "simulate", "--seed", "1", "--load", "records")
BRIEFLY = ("--seconds", "1", "--steps", "50")


def simulate(*arguments: str) -> subprocess.Popen[str]:
    """In a group of its own, as from a terminal."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*SIMULATE, *arguments], stdout=pipe, stderr=pipe, text=True, env=ENVIRONMENT, start_new_session=True
    )


def is_anybody_left(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until_nobody_is_left(group: int) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while is_anybody_left(group):
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def test_json_says_that_it_was_interrupted(capsys: pytest.CaptureFixture[str]) -> None:
    def nobody_waits() -> Iterator[Options]:
        yield Options(seed=1, seconds=2)
        raise KeyboardInterrupt

    wishes = Wishes(output_format="json", replay=False, seeds=3)
    assert SimulatedRuns(wishes).exit_code_of(nobody_waits()) == EXIT_INTERRUPTED
    total = json.loads(capsys.readouterr().out)["total"]
    assert (total["seeds"], total["interrupted"]) == (1, True)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_ends_all_of_it(jobs: str) -> None:
    with simulate("--seeds", "10", "--jobs", jobs, "--seconds", "900") as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("seed 1: ")
            os.killpg(process.pid, signal.SIGINT)
            printed, complaints = process.communicate(timeout=WAIT_S)
        finally:
            process.kill()
    assert process.returncode == EXIT_INTERRUPTED
    assert re.fullmatch(r"strandline: interrupted after [1-9] of 10 seeds\n", complaints)
    assert re.match(r"[1-9] seeds?, ", printed.splitlines()[-1])
    wait_until_nobody_is_left(process.pid)


def workers_of(parent: int) -> list[int]:
    """But for Python's own helper."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_a_worker_that_somebody_kills_is_a_sentence_with_the_total_of_what_had_ended(output_format: str) -> None:
    """As the kernel does for want of memory."""
    arguments = ("--seeds", "1000", "--jobs", "2", "--seconds", "20", "--format", output_format)
    with simulate(*arguments) as process:
        try:
            deadline_s = time.monotonic() + WAIT_S
            while not (workers := workers_of(process.pid)):
                assert time.monotonic() < deadline_s
                time.sleep(0.02)
            os.kill(workers[0], signal.SIGKILL)
            printed, complaints = process.communicate(timeout=WAIT_S)
        finally:
            process.kill()
    assert process.returncode == EXIT_UNREADABLE
    assert re.fullmatch(
        r"strandline: a worker process was ended, by whom is not known: perhaps for want of memory, of which fewer jobs"
        r" need less \(--jobs\)\. Not finished: seeds (\d+, )+all from \d+ on\n",
        complaints,
    )
    if output_format == "json":
        assert json.loads(printed)["total"]["broken_off"] is True
    else:
        assert re.match(r"\d+ seeds?, ", printed.splitlines()[-1])
    wait_until_nobody_is_left(process.pid)


def test_a_full_disk_behind_standard_output_is_told_in_a_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*SIMULATE, *BRIEFLY], stdout=full, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, timeout=WAIT_S
        )
    assert done.returncode == EXIT_UNREADABLE
    assert done.stderr == "strandline: the output cannot be written: No space left on device\n"


def test_a_full_disk_behind_a_replay_is_all_that_is_told() -> None:
    """And not what goes with the run: coroutines that were never begun."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*SIMULATE, "--seconds", "20", "--replay"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
            timeout=WAIT_S,
        )
    assert done.returncode == EXIT_UNREADABLE
    assert done.stderr == "strandline: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_reader_that_leaves_is_no_violation(jobs: str) -> None:
    with simulate("--seeds", "20", "--jobs", jobs, "--seconds", "60", "--replay") as process:  # more than a pipe holds
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == ""
            assert process.wait(WAIT_S) == EXIT_BROKEN_PIPE
        finally:
            process.kill()


def test_any_number_of_seeds_begins_at_once_and_whoever_is_killed_leaves_nobody() -> None:
    with simulate("--seeds", str(10**18), "--jobs", "2", "--replay", *BRIEFLY) as process:
        try:
            assert process.stdout is not None
            seeds = [line for line in (process.stdout.readline() for _ in range(100)) if line.startswith("seed ")]
        finally:
            process.kill()
    assert [line.partition(":")[0] for line in seeds[:2]] == ["seed 1", "seed 2"]
    wait_until_nobody_is_left(process.pid)


def test_json_is_one_document_of_all_runs_and_their_total() -> None:
    with simulate("--seeds", "2", "--jobs", "1", "--seconds", "30", "--format", "json") as process:
        printed, complaints = process.communicate(timeout=WAIT_S)
    assert (process.returncode, complaints) == (0, "")
    document = json.loads(printed)
    runs, total = document["runs"], document["total"]
    assert [run["seed"] for run in runs] == [1, 2]
    for run in runs:
        assert run.keys() == {
            "seed", "load", "steps", "is_cut", "simulated_seconds", "busy_seconds", "acknowledged", "read", "faults",
            "fingerprint", "violation",
        }  # fmt: skip
        assert (run["load"], run["violation"], run["is_cut"]) == (["records"], None, False)
        assert re.fullmatch("[0-9a-f]{16}", run["fingerprint"])
        assert run["busy_seconds"] == 30.0 < run["simulated_seconds"]
    assert total["busy_seconds"] == 60.0
    assert (total["seeds"], total["cut"], total["violations"], total["void"]) == (2, 0, 0, False)
    for name in ("steps", "acknowledged", "read"):
        assert total[name] == sum(run[name] for run in runs) > 0
    assert sum(total["faults"].values()) == sum(sum(run["faults"].values()) for run in runs) > 0


def simulated(*arguments: str, exit_code: int = 0) -> Result:
    """In this process, with the plainest load unless another is named."""
    load = () if "--load" in arguments else ("--load", "records")
    result = CliRunner().invoke(cli, ["simulate", "--seed", "1", *load, *arguments])
    assert result.exit_code == exit_code, result.output
    return result


def test_runs_in_which_nothing_was_acknowledged_are_void() -> None:
    """Nobody may take them for a proof: they were cut before a producer had its first answer."""
    result = simulated("--seeds", "12", "--jobs", "1", "--steps", "50", exit_code=EXIT_VOID)
    (total,) = result.stdout.splitlines()
    assert total.startswith("12 seeds (12 cut by --steps), ")
    assert total.endswith(", 0.00 of them busy, 0 writes acknowledged, 0 faults, 0 violations")
    assert result.stderr == "strandline: void: nothing was acknowledged in any run, so nothing is shown\n"


def test_void_runs_in_json() -> None:
    document = json.loads(simulated("--steps", "50", "--format", "json", exit_code=EXIT_VOID).stdout)
    assert [run["is_cut"] for run in document["runs"]] == [True]
    assert (document["total"]["cut"], document["total"]["void"]) == (1, True)


def test_a_run_that_is_cut_says_so_and_is_not_void_if_something_was_acknowledged() -> None:
    line, total = simulated("--steps", "2000").stdout.splitlines()
    assert line.startswith("seed 1: records; 2,000 steps (cut by --steps), ")
    assert total.startswith("1 seed (cut by --steps), ")


def test_a_run_that_is_cut_at_once_has_nothing_else_to_say() -> None:
    """Python complains of coroutines that were made and never begun."""
    with simulate("--steps", "1") as process:
        printed, complaints = process.communicate(timeout=WAIT_S)
    assert process.returncode == EXIT_VOID, printed
    assert complaints == "strandline: void: nothing was acknowledged in any run, so nothing is shown\n"


def test_the_help_says_what_a_run_that_is_cut_does_not_show() -> None:
    told = " ".join(simulated("--help").stdout.split())
    assert "Cut each run after so many steps: it never comes to where all is mended and progress is demanded." in told
    assert (
        "3 that nothing was acknowledged in any run, or that none of the faults that --faults, or the file of" in told
    )


def test_a_run_without_faults_may_be_asked_for() -> None:
    line, _ = simulated("--faults", "none", "--seconds", "20").stdout.splitlines()
    assert "; no faults; " in line


def test_no_faults_and_some_are_refused_and_blanks_do_not_matter() -> None:
    assert "none goes alone" in simulated("--faults", "kill,none", exit_code=2).stderr
    line, _ = simulated("--faults", " none", "--load", "records, lookups", "--seconds", "5").stdout.splitlines()
    assert line.startswith("seed 1: records,lookups; ")


def test_names_that_are_given_one_after_another_all_count() -> None:
    together = ("--faults", "kill,pause", "--load", "records,groups")
    apart = ("--faults", "kill", "--load", "records", "--faults", "pause", "--load", "groups")
    line, same = (simulated(*names, "--seconds", "20").stdout.splitlines()[0] for names in (together, apart))
    assert line == same


def test_runs_in_which_no_fault_that_was_named_struck_are_void() -> None:
    """Those are aimed at what nobody does under this load."""
    arguments = ("--load", "groups", "--seconds", "10", "--faults", "old_life,slow_client")
    sentence = "strandline: void: old_life and slow_client never struck in any run, so nothing is shown: try another"
    assert (
        simulated(*arguments, exit_code=EXIT_VOID).stderr
        == f"{sentence} --load, more --brokers, --seeds or --seconds\n"
    )
    total = json.loads(simulated(*arguments, "--format", "json", exit_code=EXIT_VOID).stdout)["total"]
    assert (total["void"], total["never_struck"]) == (True, ["old_life", "slow_client"])
    assert total["acknowledged"] > 0


def test_a_fault_that_was_named_and_never_struck_is_told_where_another_did() -> None:
    told = simulated("--load", "groups", "--seconds", "20", "--faults", "slow_client,slow_disk")
    assert " slow_disk; " in told.stdout
    assert told.stderr == (
        "strandline: slow_client never struck: try another --load, more --brokers, --seeds or --seconds\n"
    )


def test_a_line_says_what_the_load_was_how_long_it_worked_and_what_is_counted() -> None:
    line, total = simulated("--faults", "none", "--seconds", "20").stdout.splitlines()
    assert re.fullmatch(
        r"seed 1: records; [\d,]+ steps, \d+ s simulated \(20 of work and faults; the rest to start and to heal\),"
        r" \d+ writes acknowledged, \d+ batches read; no faults; [0-9a-f]{16}",
        line,
    )
    assert re.search(r", 0\.01 hours simulated \(.*\), 0\.01 of them busy, \d+ writes acknowledged, ", total)


def test_quiet_times_are_told_from_busy_ones() -> None:
    line, total = simulated("--faults", "none", "--seconds", "720").stdout.splitlines()
    assert " s simulated (720 of work and faults, 120 of them busy; the rest to start and to heal), " in line
    assert re.search(r", 0\.2\d hours simulated \(.*\), 0\.03 of them busy, ", total)


@pytest.mark.parametrize("option", ["--faults", "--load"])
def test_an_empty_list_of_names_is_refused(option: str) -> None:
    assert "name at least one of" in simulated(option, "", exit_code=EXIT_UNREADABLE).stderr


def on_a_terminal(*arguments: str) -> tuple[str, str]:
    """What is printed, and what the terminal behind stderr is sent."""
    ours, its_own = pty.openpty()
    with open(ours, "rb", buffering=0) as terminal:
        process = subprocess.Popen(
            [*SIMULATE, *arguments], stdout=subprocess.PIPE, stderr=its_own, text=True, env=ENVIRONMENT
        )
        os.close(its_own)
        with process:
            seen = b""
            with suppress(OSError):  # which is how a terminal ends
                while chunk := terminal.read(4096):
                    seen += chunk
            assert process.stdout is not None
            printed = process.stdout.read()
    assert process.returncode == 0, seen
    return printed, seen.decode()


def test_on_a_terminal_a_line_says_how_many_seeds_are_done() -> None:
    printed, seen = on_a_terminal("--seeds", "12", "--jobs", "2", "--seconds", "20")
    assert re.match("12 seeds, ", printed)
    assert re.search(r"\r\x1b\[K\d+ of 12 seeds, \d\.\d\d hours simulated, 0 violations, \d+ s", seen)
    assert seen.endswith("\r\x1b[K"), "it goes when all is done"


def test_on_a_terminal_a_single_run_says_how_far_its_clock_is() -> None:
    printed, seen = on_a_terminal("--seconds", "600", "--format", "json")
    assert len(json.loads(printed)["runs"]) == 1
    assert re.search(r"\r\x1b\[K0 of 1 seed, .*; seed 1 at [\d,]+ of 600 s", seen)


def test_a_replay_is_printed_while_the_run_goes() -> None:
    with simulate("--replay") as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() != ""
            os.killpg(process.pid, signal.SIGINT)
            printed, complaints = process.communicate(timeout=WAIT_S)
        finally:
            process.kill()
    assert (process.returncode, complaints) == (EXIT_INTERRUPTED, "strandline: interrupted after 0 of 1 seed\n")
    assert printed.splitlines()[-1].startswith("0 seeds, ")


def test_a_replay_while_it_goes_is_the_one_that_is_kept() -> None:
    arguments = ("--seconds", "10", "--replay")
    *lines, told, _ = simulated(*arguments).stdout.splitlines()
    (run,) = json.loads(simulated(*arguments, "--format", "json").stdout)["runs"]
    assert lines == run["transcript"]
    assert told.endswith(run["fingerprint"])


def violated(*arguments: str) -> Result:
    """With acks=all that is answered by the leader alone, and so little time that there are no faults to leave out."""
    with pytest.MonkeyPatch.context() as patch:
        named("acks=all is answered by the leader alone").switch_off(patch)
        return simulated("--seconds", "1", *arguments, exit_code=EXIT_FAULT)


def test_a_violation_is_told_with_what_clients_did_before() -> None:
    lines = violated().stdout.splitlines()
    (first, shortest, last) = (
        next(number for number, line in enumerate(lines) if line.startswith(beginning))
        for beginning in (
            "AcknowledgedStays: events-",
            f"{PLAINEST}: strandline simulate --seed 1 ",
            "1 seed",
        )
    )
    assert first < shortest < last == len(lines) - 1
    assert lines[last].endswith(" acknowledged, 0 faults, 1 violation")
    assert re.search(r" --faults none --steps \d+$", lines[shortest])
    found = re.search(r"(events-\d): crc ([0-9a-f]{8}) was acknowledged at offset (\d+)", lines[shortest + 1])
    assert found is not None
    partition, crc, offset = found.groups()
    told = [line for line in lines[shortest + 2 : last] if f" for {partition}, crc {crc}, " in line]
    assert re.search(r"is sent to b\d with acks=all, try 1$", told[0])
    assert re.search(rf"is acknowledged by b\d at offset {offset}$", told[-1])


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_replay_that_is_the_plainest_way_is_printed_once(jobs: str) -> None:
    lines = violated("--faults", "none", "--replay", "--jobs", jobs).stdout.splitlines()
    told = [line for line in lines if " is acknowledged by b" in line]
    assert len(told) == len(set(told)) > 0
    assert lines[-2] == ABOVE


def test_the_step_of_a_line_is_where_a_run_is_cut_that_has_it() -> None:
    line = simulated("--seconds", "5", "--replay").stdout.splitlines()[-3]
    step = int(line.split()[0])
    assert line in simulated("--seconds", "5", "--replay", "--steps", str(step)).stdout.splitlines()
    shorter = simulated("--seconds", "5", "--replay", "--steps", str(step - 1))
    assert line not in shorter.stdout.splitlines()


# With acks=all that is answered by the leader alone, and a search for something plainer that never ends.
FAILING = """
import pytest, signal
from tests.simulation.mutations import named
from strandline.simulation.plainest import Search
named("acks=all is answered by the leader alone").switch_off(pytest.MonkeyPatch())
def search(self, _, left_out):
    self._tell(f"without {left_out}")
    signal.pause()
Search._tried_without = search
"""


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_a_failure_that_is_being_made_plainer_is_not_lost_with_an_interrupt(output_format: str, tmp_path: Path) -> None:
    kept, pipe = tmp_path / "kept.json", subprocess.PIPE
    world = ("--seed", "1", "--seeds", "3", "--jobs", "1", "--load", "records", "--seconds", "5")
    command = [sys.executable, "-c", FAILING + MAIN, "simulate", *world, "--save", str(kept)]
    command += ["--format", output_format]
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=ENVIRONMENT, cwd=ROOT) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline() == "  without any fault\n"
            process.send_signal(signal.SIGINT)
            printed, complaints = process.communicate(timeout=WAIT_S)
        finally:
            process.kill()
    assert process.returncode == EXIT_INTERRUPTED
    assert json.loads(kept.read_text())["violation"]["invariant"] == "AcknowledgedStays"
    saved, interrupted = complaints.splitlines()
    assert saved == f"strandline: {kept} has it: strandline simulate --scenario {kept} runs it again"
    assert interrupted == "strandline: interrupted after 1 of 3 seeds"
    if output_format == "json":
        (run,) = json.loads(printed)["runs"]
        assert run["shortest"]["transcript"]
    else:
        _, _, plainest = printed.partition(f"\n{PLAINEST_SO_FAR}: strandline simulate --seed 1 ")
        assert " is acknowledged by b" in plainest


def test_a_violation_in_json() -> None:
    document = json.loads(violated("--format", "json").stdout)
    assert document["total"]["violations"] == 1
    (run,) = document["runs"]
    assert run["violation"].keys() == {"invariant", "sentence", "step"}
    assert run["violation"]["invariant"] == run["shortest"]["violation"]["invariant"] == "AcknowledgedStays"
    assert run["shortest"]["command"].startswith("strandline simulate --seed 1 ")
    assert run["shortest"]["transcript"]
