"""The cluster in the simulator: the same seed is the same run, and no seed breaks a promise."""

from __future__ import annotations

import os
import pickle
import re
import secrets
import signal
import subprocess
import sys
from contextlib import closing
from itertools import count, islice

import pytest

from strandline.broker.broker import Broker
from strandline.broker.partition import Partition
from strandline.broker.replica_fetcher import ReplicaFetcher
from strandline.simulation.administrator import Administrator
from strandline.simulation.consumers import Consumer
from strandline.simulation.failure import Violation
from strandline.simulation.loads import LOADS, loads_of
from strandline.simulation.many_runs import AHEAD_PER_JOB, in_order, run_all
from strandline.simulation.observer import Observer
from strandline.simulation.options import BROKERS_MAX, Options
from strandline.simulation.runs import run
from strandline.simulation.world import World

FINGERPRINT = """
from strandline.simulation.loads import LOADS
from strandline.simulation.options import Options
from strandline.simulation.runs import run
for seed in (1, 2):
    print(run(Options(seed=seed, seconds=30, load=LOADS)).fingerprint)
"""

# Seeds that once failed. What was wrong is in docs/simulator.md, and which test keeps it in docs/proof.md. Whatever
# changes in the code makes other runs of them. Those whose failure is known in full are files (`test_kept_scenarios`).
KEPT = (2, 5, 12, 16, 27, 240126062)
A_BATCH = r"batch \d+ for \w+[- ][0-9a-f]+, crc [0-9a-f]{8},"
KEPT_WITH_LOAD = ((7016, 1_200, ("records", "lookups")),)


def fingerprints(hash_seed: str) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", FINGERPRINT], env=environment, capture_output=True, check=True)
    return done.stdout.decode().split()


def test_same_seed_same_run() -> None:
    """Whatever the order of sets and dictionaries by hash, and whatever lies where in memory."""
    first, second = fingerprints("1"), fingerprints("2")
    assert first == second
    assert len(set(first)) == 2


def test_runs_in_other_processes_are_the_same_and_in_order() -> None:
    wanted = [Options(seed=seed, seconds=10) for seed in (3, 1, 2)]
    alone, together = (list(run_all(wanted, jobs)) for jobs in (1, 2))
    assert [outcome.options.seed for outcome in together] == [3, 1, 2]
    assert [outcome.fingerprint for outcome in together] == [outcome.fingerprint for outcome in alone]


def blocked_signals(_: int) -> set[int]:
    return {int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, set())}


def test_those_that_work_do_not_hear_an_interrupt_not_even_while_they_are_born() -> None:
    """Of Ctrl-C their parent alone hears, and ends them."""
    assert all(signal.SIGINT in blocked for blocked in in_order(blocked_signals, range(3), 2))
    assert signal.SIGINT not in blocked_signals(0)


def test_no_more_is_looked_ahead_than_there_is_room_for() -> None:
    taken = count()
    with closing(in_order(blocked_signals, taken, 2)) as results:
        assert len([*islice(results, 3)]) == 3
    assert next(taken) <= 2 * AHEAD_PER_JOB + 3


def test_a_violation_is_told_between_processes() -> None:
    found = pickle.loads(pickle.dumps(Violation("StrongIsr", "2 lacks something", 17)))
    assert (found.invariant, found.sentence, found.step) == ("StrongIsr", "2 lacks something", 17)


def violation_where(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> Violation:
    """What does not hold where this is raised."""

    def fail(*_: object, **__: object) -> None:
        raise ValueError("no batch at position 0")

    monkeypatch.setattr(owner, name, fail)
    violation = run(Options(seed=1, seconds=10)).violation
    assert violation is not None
    assert "no batch at position 0" in violation.sentence
    return violation


def test_what_breaks_the_onlooker_is_a_violation_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Say, a log that cannot be read. It ended two thousand runs, and did not say by which seed."""
    violation = violation_where(monkeypatch, Observer, "look")
    assert violation.invariant == "Simulator"
    assert violation.sentence.startswith("the simulation itself failed, not a broker (whoever looks on): Traceback")


@pytest.mark.parametrize(("owner", "name"), [(Consumer, "_heard"), (Administrator, "known_topic")])
def test_what_a_simulated_client_raises_is_no_fault_of_a_broker(
    owner: type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    violation = violation_where(monkeypatch, owner, name)
    assert violation.invariant == "Simulator"
    assert re.match(r"the simulation itself failed, not a broker \((reader-\d|administrator)\): ", violation.sentence)


@pytest.mark.parametrize(("owner", "name"), [(Broker, "open"), (Partition, "append"), (ReplicaFetcher, "follow")])
def test_what_a_broker_raises_is_unforeseen_and_says_which(
    owner: type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    violation = violation_where(monkeypatch, owner, name)
    assert violation.invariant == "Unforeseen"
    assert re.match(r"b\d: ", violation.sentence)


def test_a_run_that_ends_with_an_exception_is_the_same_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told of it has the name of a coroutine, and not where in memory it was."""
    violation_where(monkeypatch, Broker, "open")
    outcomes = [run(Options(seed=1, seconds=10)) for _ in range(2)]
    assert " failed" in outcomes[0].transcript[-1]
    assert [*outcomes[0].transcript] == [*outcomes[1].transcript]
    assert outcomes[0].fingerprint == outcomes[1].fingerprint


def test_a_line_of_a_brokers_log_says_whose_it_is() -> None:
    transcript = run(Options(seed=1, seconds=10), whole_transcript=True).transcript
    logged = [line for line in transcript if re.match(r" *\d+ +[\d.]+   ", line)]
    assert {found[1] for line in logged if (found := re.match(r" *\d+ +[\d.]+   (b\d) [a-z_.]+: ", line))} == {
        "b1",
        "b2",
        "b3",
    }
    assert all(re.match(r" *\d+ +[\d.]+   b\d [a-z_.]+: ", line) for line in logged)


def test_a_fingerprint_is_of_what_is_told_and_of_every_byte_that_arrives() -> None:
    def fingerprint(line: str, *arrived: bytes) -> str:
        world = World(1)
        world.tell(line)
        for data in arrived:
            world.arrived(data)
        return world.fingerprint

    assert fingerprint("heal", b"one", b"two") == fingerprint("heal", b"one", b"two")
    others = {
        fingerprint("heal!", b"one", b"two"),
        fingerprint("heal", b"one", b"twO"),
        fingerprint("heal", b"two", b"one"),
        fingerprint("heal", b"one"),
    }
    assert len(others - {fingerprint("heal", b"one", b"two")}) == 4


def test_a_transcript_tells_what_clients_send_and_what_becomes_of_it() -> None:
    """A violation names a partition, an offset, a CRC: whoever looks for them finds who sent it and who read it."""
    options = Options(seed=1, seconds=60)
    outcome = run(options, whole_transcript=True)
    sent, acknowledged, counted, read = set[str](), 0, 0, 0
    for line in outcome.transcript:
        found = re.search(r"careful-(\d): batch \d+ for events-\1, crc ([0-9a-f]{8}), (.*)", line)
        if found is None:
            read += bool(re.search(r"reader-(\d) asks b\d for events-\1 from \d+ on and gets \d+-\d+ of epoch ", line))
        elif found[3].startswith("is sent to b"):
            assert "acks=all" in found[3]
            sent.add(found[2])
        else:
            assert found[2] in sent
            acknowledged += bool(re.fullmatch(r"is acknowledged by b\d at offset -?\d+", found[3]))
            counted += found[3].startswith("counts as acknowledged with batch ")
    assert acknowledged + counted == outcome.acknowledged > 0
    assert read == outcome.read > 0
    assert run(options).fingerprint == outcome.fingerprint


@pytest.mark.parametrize(
    ("load", "line"),
    [
        ("transactions", rf"\S+: {A_BATCH} (is|counts as) acknowledged .*"),
        ("deletions", rf"writer: {A_BATCH} is acknowledged by b\d at offset \d+"),
        ("compaction", rf"clerk-\d: {A_BATCH} (is|counts as) acknowledged .*"),
        ("groups", r"(workers-\d|double of workers): \d+ for tasks-\d in generation \d+ is committed by b\d"),
        (
            "copying",
            rf".*copiers.*: ({A_BATCH} (is|counts as) acknowledged .*|\d+ for \S+ in generation \d+ is committed .*)",
        ),
        ("lookups", rf"\S+: {A_BATCH} (is|counts as) acknowledged .*"),
    ],
)
def test_a_transcript_has_all_that_is_acknowledged_and_read_whatever_the_load(load: str, line: str) -> None:
    outcome = run(Options(seed=4, seconds=20, faults=(), load=(load,)), whole_transcript=True)
    told = [each.split(maxsplit=2)[2] for each in outcome.transcript]
    assert sum(re.fullmatch(line, each) is not None for each in told) == outcome.acknowledged > 0
    assert sum(" on and gets " in each for each in told) == outcome.read
    assert (outcome.read > 0) == (load != "groups"), "whose members read nothing"


def test_what_is_noted_is_for_readers_and_not_for_the_fingerprint() -> None:
    """So that a run that is told in more words is the same run."""
    world, other, heard = World(1), World(1), list[str]()
    world.listener = heard.append
    world.note("a commit is sent")
    assert world.fingerprint == other.fingerprint
    assert [*world.transcript] == heard == ["       0        0.000 a commit is sent"]


@pytest.mark.parametrize(
    "client", [r"careful-0: batch \d+ for events-0, crc [0-9a-f]{8},", "reader-0 asks b\\d .* on and"]
)
def test_a_transcript_tells_what_clients_are_refused_and_what_nobody_answers(client: str) -> None:
    lines = "\n".join(run(Options(seed=3, seconds=120), whole_transcript=True).transcript)
    assert re.search(rf"{client} is refused.*: [A-Z_]+$", lines, re.MULTILINE)
    assert re.search(rf"{client} (is not answered|hears nothing).*: .", lines)


@pytest.mark.parametrize("seed", KEPT)
def test_seeds_that_once_failed(seed: int) -> None:
    outcome = run(Options(seed=seed, seconds=60))
    assert outcome.violation is None, outcome.command


@pytest.mark.parametrize(("seed", "seconds", "load"), KEPT_WITH_LOAD)
def test_seeds_that_once_failed_with_a_load(seed: int, seconds: int, load: tuple[str, ...]) -> None:
    outcome = run(Options(seed=seed, seconds=seconds, load=load))
    assert outcome.violation is None, outcome.command


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("seed", range(200, 202))
def test_each_load_alone(load: str, seed: int) -> None:
    outcome = run(Options(seed=seed, seconds=30, load=(load,)))
    assert outcome.violation is None, f"{outcome.command}: {outcome.violation}"
    assert outcome.acknowledged > 0, outcome.command


def test_all_loads_at_once() -> None:
    outcome = run(Options(seed=210, seconds=30, load=LOADS))
    assert outcome.violation is None, f"{outcome.command}: {outcome.violation}"


@pytest.mark.parametrize(
    ("brokers", "load"),
    [*((brokers, load) for brokers in (1, 2, 4) for load in (LOADS[:4], LOADS[4:])), (BROKERS_MAX, ("transactions",))],
)
def test_any_number_of_brokers(brokers: int, load: tuple[str, ...]) -> None:
    """Topics have as many replicas as there are brokers for, and no more must be in sync than there are."""
    outcome = run(Options(seed=1, brokers=brokers, seconds=15, load=load, faults=()))
    assert outcome.violation is None, f"{outcome.command}: {outcome.violation}"
    assert outcome.acknowledged > 0, outcome.command


@pytest.mark.parametrize("seed", range(100, 104))
def test_seeds_like_any_other(seed: int) -> None:
    """`make simulate` has fresh ones."""
    outcome = run(Options(seed=seed, seconds=60))
    assert outcome.violation is None, f"{outcome.command}: {outcome.violation}"
    assert outcome.acknowledged > 0, f"{outcome.command}: a run in which nothing was written shows nothing"


def test_fresh_seeds() -> None:
    """Others each time, with the loads that each draws; what fails says by which command it fails again."""
    first = secrets.randbelow(2**31)
    for seed in range(first, first + 3):
        outcome = run(Options(seed=seed, seconds=30, load=loads_of(seed)))
        assert outcome.violation is None, f"{outcome.command}: {outcome.violation}"
