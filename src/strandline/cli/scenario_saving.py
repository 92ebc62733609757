"""`--save` of `strandline simulate`: a place where nothing is yet, and a file that is whole or not there at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

import click

from strandline.simulation.runs import Outcome
from strandline.simulation.scenario import Scenario


def named_file(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value == "":
        raise click.BadParameter("it is empty: name a file")
    return value


def place_to_save(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Nobody waits for a failure that then cannot be kept."""
    value = named_file(context, parameter, value)
    if value is None:
        return None
    _refuse_what_is_there(value)
    folder = os.path.dirname(value) or "."
    if not os.path.isdir(folder):
        raise click.BadParameter(f"there is no folder {folder}: make it first")
    if not os.access(folder, os.W_OK):
        raise click.BadParameter(f"{value} may not be written: name another file")
    return value


def _refuse_what_is_there(path: str) -> None:
    if os.path.isdir(path):
        raise click.BadParameter(f"{path} is a folder: name a file")
    if os.path.isfile(path):
        raise click.BadParameter(f"{path} is there already, and may be a failure that somebody kept: name another file")
    if os.path.exists(path):  # a device, or a pipe
        raise click.BadParameter(f"{path} keeps nothing: name a file")
    if os.path.islink(path):
        raise click.BadParameter(f"{path} is a link to what is not there: name another file")


class Saving:
    """Of one run. What goes wrong is told and not raised: there are other runs, and results, that are worth as much."""

    def __init__(self, path: str | None, note: Callable[[str], object]) -> None:
        self.path = path
        self.has_failed = False
        self._note = note
        self._is_done = path is None

    @property
    def is_due(self) -> bool:
        return not self._is_done

    def save(self, outcome: Outcome) -> None:
        """Tried once: a disk that was full for the first run is full for the next one, too."""
        if self.path is None or self._is_done:
            return
        self._is_done = True
        try:
            _write_new(self.path, Scenario.of(outcome).as_json())
        except OSError as error:
            self.has_failed = True
            self._note(
                f"strandline: {self.path} cannot be written: {error.strerror or error}: the run of seed"
                f" {outcome.options.seed} is not saved"
            )
        else:
            self._note(f"strandline: {self.path} has it: strandline simulate --scenario {self.path} runs it again")


def _write_new(path: str, text: str) -> None:
    """What is there is never written over, not even what came a moment ago. A file that is not whole would refuse the
    next try, so it goes."""
    data = text.encode("utf-8", "backslashreplace")  # JSON has lone surrogates so, too
    file = open(path, "xb")  # noqa: SIM115 (whoever is refused here must not remove what is another's)
    try:
        with file:
            file.write(data)
    except BaseException:
        with suppress(OSError):
            os.unlink(path)
        raise
