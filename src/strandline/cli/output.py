"""What every command shares: where lines go, how failures are told, how times and bytes look.

Exit codes: 0 fine; 1 a fault was found in what was read; 2 it could not be read at all, or the command was misused; 3
void, no fault was found and nothing was shown (`simulate`); 130 Ctrl-C ended it; 141 the reader of a pipe went away
(what a shell reports of any tool that a closed pipe ends).
"""

from __future__ import annotations

import json
import os
import sys
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import IO, Any, NoReturn

import click

from strandline.interrupts import EXIT_INTERRUPTED as EXIT_INTERRUPTED
from strandline.interrupts import INTERRUPTED
from strandline.log.inspection_fault import why_unreadable
from strandline.model.failures import CorruptData, StorageFailed

EXIT_FAULT = 1
EXIT_UNREADABLE = 2
EXIT_VOID = 3
EXIT_BROKEN_PIPE = 141
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class CannotRead(click.ClickException):
    """One plain sentence on stderr, exit 2."""

    exit_code = EXIT_UNREADABLE

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"strandline: {self.message}", file=file or sys.stderr)


class FoundDamage(CannotRead):
    """One plain sentence on stderr, exit 1."""

    exit_code = EXIT_FAULT


class Interrupted(click.ClickException):
    """By Ctrl-C, of a command that has no more to say of it. Exit 130: 1 would be a fault that was found."""

    exit_code = EXIT_INTERRUPTED

    def __init__(self) -> None:
        super().__init__(INTERRUPTED)

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(self.message, file=file or sys.stderr)


class CannotWrite(CannotRead):
    """What is printed goes nowhere. Not an OSError, or whoever reads a file would take it for the file's."""


class ToolCommand(click.Command):
    """Turns what can go wrong with files into sentences; a traceback would only ever show our own bug."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            answer = super().invoke(ctx)
            with printing():
                sys.stdout.buffer.flush()
            return answer
        except BrokenPipeError:
            let_stdout_go()
            ctx.exit(EXIT_BROKEN_PIPE)
        except (CorruptData, StorageFailed) as error:
            raise CannotRead(str(error)) from error
        except OSError as error:
            raise CannotRead(sentence_of(error)) from error


@contextmanager
def printing() -> Iterator[None]:
    """For whatever writes to standard output."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _cannot_write(error) from error


def cannot_print(error: OSError) -> NoReturn:
    """Where no command is there to tell of it."""
    failure = _cannot_write(error)
    failure.show()
    sys.exit(failure.exit_code)


def _cannot_write(error: OSError) -> CannotWrite:
    let_stdout_go()
    return CannotWrite(f"the output cannot be written: {error.strerror or error}")


def let_stdout_go() -> None:
    """Or Python would try to flush it once more on the way out, and complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def sentence_of(error: OSError) -> str:
    path = error.filename or "the file"
    if isinstance(error, FileNotFoundError):
        return f"{path}: there is no such file or folder (any more: a running broker removes old files)"
    return f"{path} {why_unreadable(error)}"


format_option = click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json prints one object on each line.",
)


class Output:
    """Standard output as a stream of lines; nothing is kept, so that a file of any size can pass through."""

    def __init__(self, output_format: str) -> None:
        self.is_json = output_format == "json"
        self._stream = sys.stdout.buffer

    def line(self, text: str) -> None:
        try:
            self._stream.write(text.encode("utf-8", "backslashreplace") + b"\n")
        except OSError:
            with printing():  # only here, because there are millions of lines
                raise

    def object(self, values: Mapping[str, Any]) -> None:
        self.line(json.dumps(values, ensure_ascii=False))

    def flush(self) -> None:
        with printing():
            self._stream.flush()

    def note(self, text: str) -> None:
        """To stderr, after everything that was printed before it."""
        self.flush()
        click.echo(text, err=True)

    def table(self, title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
        """Columns whose name begins with `#` are numbers and stand to the right."""
        from strandline.cli.tables import table_lines

        is_terminal = sys.stdout.isatty()
        width = terminal_width()
        for line in (
            click.style(title, bold=True) if is_terminal else title,
            "",
            *table_lines(list(columns), [list(row) for row in rows], width),
            "",
        ):
            self.line(line)


def terminal_width() -> int | None:
    """None where no terminal sets a limit."""
    if not sys.stdout.isatty():
        return None
    import shutil  # takes its time, and most output goes to programs

    return shutil.get_terminal_size().columns


def with_bytes(name: str, data: bytes | None) -> dict[str, str | None]:
    """As text where it is text; else under another name, so that nobody takes one for the other."""
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": b64encode(data).decode()}


def iso_time(timestamp_ms: int) -> str:
    """ISO 8601 in UTC; what no calendar has is given as the bare number."""
    if timestamp_ms == -1:
        return "none"
    try:
        moment = EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return str(timestamp_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def time_and_ms(timestamp_ms: int) -> str:
    return f"{iso_time(timestamp_ms)} ({timestamp_ms})" if timestamp_ms != -1 else "none"


def size_text(size_bytes: int) -> str:
    amount, unit = float(size_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.1f} {unit}" if unit != "B" else f"{size_bytes} B"


def counted(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
