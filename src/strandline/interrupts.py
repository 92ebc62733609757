"""Ctrl-C before a command has begun.

Python raises KeyboardInterrupt wherever it happens to be. Amid an import that may come out as another exception (a
RuntimeError of the class that is being made), or be lost. Nothing is there yet that would have to be put in order, so
until the command's modules are imported the process ends on the spot.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from types import FrameType
from typing import NoReturn

EXIT_INTERRUPTED = 130  # as a shell tells of SIGINT
INTERRUPTED = "strandline: interrupted"


def end_at_once_when_interrupted() -> None:
    """Unless Ctrl-C is ignored, as by what a shell starts in the background."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def raise_when_interrupted() -> None:
    """From now on, as Python does: there is something to put in order."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(_: int, __: FrameType | None) -> NoReturn:
    with suppress(OSError):
        os.write(2, f"{INTERRUPTED}\n".encode())
    os._exit(EXIT_INTERRUPTED)
