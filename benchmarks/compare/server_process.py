"""A server as a child process, whoever wrote it: started, ready when it answers a client, and always ended."""

from __future__ import annotations

import struct
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tests.interop.process import die_with_parent

from benchmarks import load
from benchmarks.compare import processes
from benchmarks.compare.side import CompareFailed
from benchmarks.served import installed_environment
from strandline.wire.codec import decode
from strandline.wire.header import response_body
from strandline.wire.messages.metadata import MetadataRequest, MetadataResponse

START_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 60.0
POLL_S = 0.005
METADATA_VERSION = 9


@dataclass(frozen=True, slots=True)
class Started:
    pid: int
    port: int
    ready_s: float  # from the command to the first answer that names the broker
    ready_cpu_s: float


@contextmanager
def started(command: Sequence[str], port: int, log_path: str) -> Iterator[Started]:
    begun_s = time.perf_counter()
    with open(log_path, "ab") as log, _ended(_spawn(command, log.fileno())) as process:
        while not _answers(port):
            if process.poll() is not None or time.perf_counter() - begun_s > START_TIMEOUT_S:
                raise CompareFailed(f"A broker did not start; its log ends with: {_tail(log_path)}")
            time.sleep(POLL_S)
        ready_s = time.perf_counter() - begun_s
        yield Started(process.pid, port, ready_s, processes.cpu_s([process.pid]))


def _spawn(command: Sequence[str], log: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env=installed_environment(),
        preexec_fn=die_with_parent,
    )


@contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(port: int) -> bool:
    """Whether it gives metadata with a broker in it, as a client that starts would wait for."""
    request = load.framed(MetadataRequest([]), METADATA_VERSION)
    try:
        with load.connect(port) as connected:
            connected.settimeout(5)
            body = response_body(MetadataRequest.api_key, METADATA_VERSION, memoryview(load.ask(connected, request)))
    except (OSError, struct.error):
        return False
    return bool(decode(MetadataResponse, METADATA_VERSION, body).brokers)


def _tail(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return " | ".join(file.read().splitlines()[-3:])
