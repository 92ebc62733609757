"""`strandline` against a broker: in this process, or as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from strandline.cli.main import cli

ROOT = Path(__file__).parent.parent.parent
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("STRANDLINE_")},
    "PYTHONPATH": str(ROOT / "src"),
}
WAIT_S = 30.0


class Commands:
    """`strandline` with the address of a broker."""

    def __init__(self, address: str) -> None:
        self.address = address

    def __call__(self, *arguments: str, stdin: bytes = b"", exit_code: int = 0) -> str:
        return self.run(*arguments, stdin=stdin, exit_code=exit_code).stdout

    def run(self, *arguments: str, stdin: bytes = b"", exit_code: int = 0) -> Result:
        result = CliRunner().invoke(cli, [*arguments, "-b", self.address], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == exit_code, result.output
        return result

    def rows(self, *arguments: str, exit_code: int = 0) -> list[dict[str, Any]]:
        """What a command says in JSON."""
        printed = self(*arguments, "--format", "json", exit_code=exit_code)
        return [json.loads(line) for line in printed.splitlines()]

    def lines(self, *arguments: str, stdin: bytes = b"") -> list[str]:
        return self(*arguments, stdin=stdin).splitlines()

    def refused(self, *arguments: str, stdin: bytes = b"") -> str:
        """The one sentence that goes with exit code 1."""
        result = self.run(*arguments, stdin=stdin, exit_code=1)
        assert result.stderr.count("\n") == 1
        return result.stderr.removeprefix("strandline: ").rstrip("\n")

    @contextmanager
    def start(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """As a process of its own, with pipes. It is gone after the block, whatever happens."""
        command = [sys.executable, "-m", "strandline", *arguments, "-b", self.address]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=ENVIRONMENT) as process:
            try:
                yield process
            finally:
                process.kill()
