"""`python -m tests.fuzz`: how many frames it takes, and how it ends when nobody wants the rest."""

from __future__ import annotations

import pytest
from tests.fuzz import __main__ as program

from strandline.cli.output import EXIT_INTERRUPTED


@pytest.mark.parametrize("nothing", ["0", "-1", "none"])
def test_no_frames_are_no_fault_of_the_broker(nothing: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        program.main([f"--frames={nothing}"])
    assert ended.value.code == 2
    assert f"argument --frames: {nothing} is " in capsys.readouterr().err


def test_an_interrupt_is_a_sentence_and_the_command_that_sends_them_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "fuzz", interrupted)
    assert program.main(["--frames", "9", "--seed", "7"]) == EXIT_INTERRUPTED
    printed, complaint = capsys.readouterr()
    assert printed == "the same frames again: python -m tests.fuzz --frames 9 --seed 7\n"
    assert complaint == "fuzz: interrupted before the broker could be judged\n"
