"""The file that a process writes its history to, and the clock it tells the time by.

The clock is the machine's monotonic one: nobody can set it, and all processes of a machine share it, in containers
and network namespaces too. Its name is that of the machine's boot, so that times of different machines are not
compared.
"""

from __future__ import annotations

import os
import threading
import time
from types import TracebackType
from typing import Any, BinaryIO, Self

from strandline.history.json_object import NotJson, json_object
from strandline.history.lines import line_of
from strandline.model.failures import CorruptData

BUFFER_BYTES = 64 * 1024
LINE_BEGIN = b'{"op":"'  # as `line_of` begins each
BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Journal:
    """Appends to a file that is there already, in place of a line that its last writer did not finish.

    Safe to use from several threads: clients call back on any of theirs.
    """

    def __init__(self, path: str | os.PathLike[str], process: str, *, buffer_bytes: int = BUFFER_BYTES) -> None:
        if type(process) is not str or not process:  # no line of it could be read
            raise ValueError(f"a process is called by a text, and not {process!r}")
        self.process = process
        if os.path.isfile(path):
            _end_last_line(path)
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115 (closed by close)
        self._buffer = bytearray()
        self._buffer_bytes = buffer_bytes
        self._lock = threading.Lock()
        self._last_us = 0

    def now_us(self) -> int:
        """Never the same twice, so that operations of the process are in order."""
        with self._lock:
            self._last_us = max(time.monotonic_ns() // 1000, self._last_us + 1)
            return self._last_us

    def write(self, op: str, *, is_urgent: bool = False, **fields: Any) -> None:
        """What is urgent is given to the operating system at once, with all before it."""
        line = line_of(op, process=self.process, **fields)
        with self._lock:
            self._buffer += line
            if is_urgent or len(self._buffer) >= self._buffer_bytes:
                self._flush()

    def flush(self) -> None:
        with self._lock:
            self._flush()

    def close(self) -> None:
        with self._lock:
            if not self._file.closed:
                self._flush()
                self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _flush(self) -> None:
        while self._buffer:
            del self._buffer[: self._file.write(self._buffer)]


def _end_last_line(path: str | os.PathLike[str]) -> None:
    """Or what is appended would be a part of it, and nobody could read either. Whole is what `check-history` counts."""
    with open(path, "rb+") as file:
        ended, last = _last_lines(file)
        line = last.rstrip(b"\0")  # a loss of power leaves zeros where a file had grown and nothing was written yet
        begin = file.tell() - len(last)
        if ended.strip() and not _is_whole(ended, path):
            raise _not_ours(path, "is not JSON")
        end = begin + len(line) if _is_whole(line, path) else begin
        if end == begin and not _is_begun(line):
            raise _not_ours(path, "is no beginning of an operation")
        file.truncate(end)
        file.seek(end)
        if end > begin:
            file.write(b"\n")


def _is_whole(line: bytes, path: str | os.PathLike[str]) -> bool:
    try:
        json_object(line)
    except NotJson:
        return False
    except CorruptData as error:
        raise _not_ours(path, str(error)) from None
    return True


def _is_begun(line: bytes) -> bool:
    """Whether a journal that was killed may have left it."""
    return line[: len(LINE_BEGIN)] == LINE_BEGIN[: len(line)]


def _not_ours(path: str | os.PathLike[str], complaint: str) -> CorruptData:
    """No journal leaves that: it may be somebody else's file."""
    return CorruptData(f"the last line of {os.fspath(path)} {complaint}; mend it, or give the journal another file")


def _last_lines(file: BinaryIO) -> tuple[bytes, bytes]:
    """The last that ends with a line feed, and what follows it. Leaves the file at its end."""
    end = position = file.seek(0, os.SEEK_END)
    rest = b""
    while position and rest.count(b"\n") < 2:
        position = max(0, end - 2 * (end - position) - BUFFER_BYTES)
        file.seek(position)
        rest = file.read(end - position)
    ended, last = [b"", *rest.split(b"\n")][-2:]
    return ended, last


def clock_name() -> str | None:
    """None where the machine does not say which boot this is: then its times are compared with nobody's."""
    try:
        with open(BOOT_ID, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return None
