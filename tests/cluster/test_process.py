"""Processes that are found again by their directory, and never mistaken for another."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from strandline.cluster.process import ProcessFailed, ServerProcess

SLEEPER = [sys.executable, "-c", "import time; print('awake', flush=True); time.sleep(600)"]
DEAF = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)",
]

HEADLESS = [
    sys.executable,
    "-c",
    (
        "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(600,)).start();"
        " print('headless', flush=True); ctypes.CDLL(None).pthread_exit(0)"
    ),
]


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[ServerProcess]:
    process = ServerProcess("sleeper", str(tmp_path), SLEEPER)
    process.start()
    yield process
    process.kill()


def says(process: ServerProcess, word: str) -> None:
    process.wait_until(lambda: word in Path(process.log_path).read_text(), timeout_s=10)


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_it_runs_on_its_own_and_is_found_again(sleeper: ServerProcess, tmp_path: Path) -> None:
    says(sleeper, "awake")
    pid = sleeper.pid
    assert pid is not None
    assert os.getsid(pid) == pid  # an interrupt at our terminal is not for it
    found = ServerProcess("sleeper", str(tmp_path), SLEEPER)
    assert found.pid == pid
    found.stop()
    assert sleeper.pid is None


def test_it_is_started_once(sleeper: ServerProcess) -> None:
    with pytest.raises(ProcessFailed, match=f"sleeper runs already, as process {sleeper.pid}"):
        sleeper.start()


def test_killed_it_can_be_started_again(sleeper: ServerProcess) -> None:
    first = sleeper.pid
    sleeper.kill()
    assert sleeper.pid is None
    sleeper.start()
    assert sleeper.pid not in (None, first)


def test_a_paused_process_runs_on_when_it_is_resumed(sleeper: ServerProcess) -> None:
    says(sleeper, "awake")
    pid = sleeper.pid
    assert pid is not None
    sleeper.pause()
    assert state_of(pid) == "T"
    sleeper.resume()
    sleeper.wait_until(lambda: state_of(pid) == "S", timeout_s=10)


def test_a_paused_process_can_be_stopped(sleeper: ServerProcess) -> None:
    sleeper.pause()
    sleeper.stop()
    assert sleeper.pid is None


def test_what_does_not_listen_is_killed(tmp_path: Path) -> None:
    process = ServerProcess("deaf", str(tmp_path), DEAF)
    process.start()
    says(process, "deaf")
    process.stop(timeout_s=0.05)
    assert process.pid is None


def test_a_pid_that_another_process_has_by_now_is_not_ours(tmp_path: Path) -> None:
    """A stop would be for a stranger: here, for the test itself."""
    (tmp_path / "server.pid").write_text(f"{os.getpid()} 1")
    process = ServerProcess("server", str(tmp_path), SLEEPER)
    assert process.pid is None
    process.stop()
    process.kill()


@pytest.mark.parametrize("content", ["", "12", "no pid", "1 2 3"])
def test_a_torn_pid_file_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "server.pid").write_text(content)
    assert ServerProcess("server", str(tmp_path), SLEEPER).pid is None


def test_the_end_of_a_process_that_starts_is_told_with_its_last_words(tmp_path: Path) -> None:
    process = ServerProcess("server", str(tmp_path), [sys.executable, "-c", "raise SystemExit('no room left')"])
    process.start()
    with pytest.raises(
        ProcessFailed, match=r"server has ended while it was waited for; the last line of .*: no room left"
    ):
        process.wait_until(lambda: False, timeout_s=10)


def test_a_process_that_is_never_ready_is_not_waited_for_for_ever(sleeper: ServerProcess) -> None:
    with pytest.raises(ProcessFailed, match=r"sleeper was not ready within 0\.05 s"):
        sleeper.wait_until(lambda: False, timeout_s=0.05)


def test_a_program_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ProcessFailed, match=r"server cannot be started: .*No such file"):
        ServerProcess("server", str(tmp_path), [str(tmp_path / "missing")]).start()


def test_a_process_is_there_until_its_last_thread_is(tmp_path: Path) -> None:
    """The first thread may be gone while others still hold the files and ports: whoever starts another would not get
    the port."""
    process = ServerProcess("headless", str(tmp_path), HEADLESS)
    process.start()
    says(process, "headless")
    pid = process.pid
    assert pid is not None
    process.wait_until(lambda: state_of(pid) == "Z", timeout_s=10)
    assert process.pid == pid
    process.kill()
    assert process.pid is None
