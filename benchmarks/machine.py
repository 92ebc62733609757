"""The machine and the code that a figure was measured on, kept with the figure: figures of two machines do not mix.

Two processors of one name may differ in what decides: the compiled CRC-32C has a faster way where there is AVX-512 with
VPCLMULQDQ. So what the code asks of a processor is told beside its name.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from benchmarks.scratch import CHECKOUT, file_system_of
from strandline.broker.pacing import control_of_this_machine
from strandline.records.alike import IS_COMPILED

UNKNOWN = "unknown"  # a checkout without git has no commit
MEASURED_CODE = ("src", "benchmarks", "setup.py", "pyproject.toml")
# Those that `records/_native_crc.c` asks for, the best first.
FEATURES = {
    "AVX-512": {"avx512f", "avx512vl", "vpclmulqdq"},
    "no AVX-512": {"sse4_2", "pclmulqdq"},
}


@dataclass(frozen=True, slots=True)
class Machine:
    processor: str
    features: str  # by the names of `FEATURES`
    cores: int
    memory_gb: int
    kernel: str
    disk: str
    python: str
    has_compiled_module: bool

    @property
    def likeness(self) -> str:
        """Machines of which this is the same may be compared by ratios of CPU time.

        How they control congestion does not count: the broker and its twins begin without a pace on any machine
        (`bare_loop.listening`), and BBR and Reno made no difference to their ratios that runs of one of them did not.
        """
        series = ".".join(self.python.split(".")[:2])
        compiled = "" if self.has_compiled_module else ", without the compiled module"
        return f"{self.cores} cores of {self.processor}, {self.features}, Python {series}{compiled}"

    def __str__(self) -> str:
        return f"{self.likeness} ({self.python}), {self.memory_gb} GB, Linux {self.kernel}, {self.disk}"


def this_machine(folder: str = CHECKOUT) -> Machine:
    """`folder` is where the files of the run lie."""
    return Machine(
        _of_processor("model name") or platform.machine(),
        features_among(set(_of_processor("flags").split())),
        os.cpu_count() or 1,
        round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9),
        f"{platform.release()}, TCP with {control_of_this_machine().decode() or UNKNOWN}",
        f"{file_system_of(folder)} on {_disk_of(folder)}",
        platform.python_version(),
        IS_COMPILED,
    )


def features_among(flags: AbstractSet[str]) -> str:
    return next(
        (name for name, wanted in FEATURES.items() if wanted <= flags), "neither AVX-512 nor a crc32 instruction"
    )


def current_commit() -> str:
    """With a plus where code is measured that is not committed. Figures and docs do not count: a run writes them."""
    commit = git("rev-parse", "--short=10", "HEAD")
    if not commit:
        return UNKNOWN
    return commit + ("+" if git("status", "--porcelain", "--", *MEASURED_CODE) else "")


def git(*arguments: str) -> str:
    """What it prints; nothing where there is no git, no repository, or no such commit."""
    try:
        done = subprocess.run(["git", *arguments], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def _of_processor(field: str) -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next((line.partition(":")[2].strip() for line in file if line.startswith(field)), "")
    except OSError:
        return ""


def _disk_of(folder: str) -> str:
    """What the kernel says of the device. A virtual one does not say what is under it, so neither do we."""
    number = os.stat(folder).st_dev
    device = os.path.realpath(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    name = os.path.basename(device)
    if not os.path.exists(device):
        return "no disk of its own"
    if name.startswith(("vd", "xvd")):
        return "a virtual disk"
    queue = next((path for path in (device, os.path.dirname(device)) if os.path.exists(f"{path}/queue")), "")
    try:
        with open(f"{queue}/queue/rotational", encoding="ascii") as file:
            return "a disk that turns" if file.read().strip() == "1" else "a solid-state disk"
    except OSError:
        return "an unknown disk"
