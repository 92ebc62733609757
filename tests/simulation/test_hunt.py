"""`python -m tests.simulation.hunt`: says what it is for, lists what there is to hunt, refuses what there is not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.simulation import hunt
from tests.simulation.load_mutations import ALL_MUTATIONS
from tests.simulation.mutations import Mutation

from strandline.cli.output import EXIT_INTERRUPTED
from strandline.simulation.failure import Violation
from strandline.simulation.many_runs import WorkerEnded


def test_its_help_says_what_it_does_and_gives_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        hunt.main(["--help"])
    assert ended.value.code == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Switches one safeguard of the brokers off at a time" in told
    assert "python -m tests.simulation.hunt --seeds 20 acks=all 'anybody may be elected'" in told


def test_it_lists_the_mutations_that_its_words_are_in(capsys: pytest.CaptureFixture[str]) -> None:
    assert hunt.main(["--list"]) == 0
    assert capsys.readouterr().out.splitlines() == [mutation.name for mutation in ALL_MUTATIONS]
    assert hunt.main(["--list", "acks=all"]) == 0
    assert capsys.readouterr().out == "acks=all is answered by the leader alone\n"


def test_a_word_that_is_in_no_mutation_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert hunt.main(["acks=all", "nosuchword", "norsuch"]) == 2
    printed, complaint = capsys.readouterr()
    assert printed == ""
    assert complaint == "hunt: no mutation has nosuchword or norsuch in its name: --list has all of them\n"


def test_seeds_and_jobs_are_at_least_one(capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--seeds", "--jobs"):
        with pytest.raises(SystemExit) as ended:
            hunt.main([option, "0"])
        assert ended.value.code == 2
        assert "0 is too few: at least 1" in capsys.readouterr().err


def test_what_it_found_is_a_row_and_a_count(capsys: pytest.CaptureFixture[str]) -> None:
    assert hunt.main(["--seeds", "1", "acks=all"]) == 0
    printed, counted = capsys.readouterr()
    assert printed == "| acks=all is answered by the leader alone | AcknowledgedStays | 1 |\n"
    assert counted == "1 of 1 noticed, within 1 seed\n"


@pytest.mark.parametrize(("declared", "exit_code"), [("AcknowledgedStays", 1), ("Unforeseen", 0)])
def test_an_exception_that_nobody_foresaw_counts_where_it_is_what_must_happen(
    declared: str, exit_code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it may be a fault of the patch."""
    mutation = Mutation("acks are awaited in vain", lambda _: None, (), declared)
    monkeypatch.setattr(hunt, "ALL_MUTATIONS", (mutation,))
    monkeypatch.setattr(hunt, "violation_with", lambda *_: Violation("Unforeseen", "KeyError", 1))
    assert hunt.main(["--seeds", "1"]) == exit_code


def test_an_interrupt_ends_it_with_what_was_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> Iterator[hunt.Caught]:
        yield hunt.Caught("acks are awaited in vain", "AcknowledgedStays", 3)
        yield hunt.Caught("nobody may vote", None, 500)
        raise KeyboardInterrupt

    monkeypatch.setattr(hunt, "hunt", interrupted)
    assert hunt.main([]) == EXIT_INTERRUPTED
    printed, complaint = capsys.readouterr()
    assert printed == "| acks are awaited in vain | AcknowledgedStays | 3 |\n| nobody may vote | nobody | 500 |\n"
    assert complaint == f"hunt: interrupted after 2 of {len(ALL_MUTATIONS)} mutations, 1 noticed\n"


def test_a_mutation_that_nobody_notices_is_an_exit_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hunt, "violation_with", lambda *_: None)
    assert hunt.main(["--seeds", "1", "acks=all"]) == 1
    printed, counted = capsys.readouterr()
    assert printed == "| acks=all is answered by the leader alone | nobody | 1 |\n"
    assert counted == "0 of 1 noticed, within 1 seed\n"


def test_a_process_that_somebody_ends_is_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_off(*_: object) -> Iterator[hunt.Caught]:
        yield hunt.Caught("acks are awaited in vain", "AcknowledgedStays", 3)
        raise WorkerEnded((), (), iter(()))

    monkeypatch.setattr(hunt, "hunt", broken_off)
    assert hunt.main([]) == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith("hunt: a worker process was ended, by whom is not known")
    assert complaint.endswith(f". Told of 1 of {len(ALL_MUTATIONS)} mutations, 1 noticed\n")
