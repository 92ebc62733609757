"""A network on one machine: members in network namespaces with addresses of their own, and a hub that routes.

    hub          where the clients and the nemesis are; it forwards what members send each other
    member       10.77.<number>.1, in a namespace of its own, with a wire to the hub

A cut is a rule of the hub's routing: packets from one address to another go nowhere, silently, as on a broken wire.
Each direction is its own rule. Clients are never cut off.

All of it lives in namespaces of this process (network, mounts, processes; see `enter`), and ends with it, whatever
becomes of it: nothing is left on the machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import NoReturn

from strandline.cluster.place import Place

INSIDE = "STRANDLINE_CHAOS_INSIDE"
TOOLS = ("unshare", "nsenter", "ip", "mount", "env")
UNSHARE = ("--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
PRIORITY = "100"  # before the routes, after what is for the hub itself


class NotPermitted(Exception):
    """One sentence: what is missing to have namespaces."""


def enter(module: str, arguments: Sequence[str]) -> None:
    """Go on in namespaces of our own: this process is replaced by one that begins anew inside. Returns there."""
    if os.environ.get(INSIDE):
        return
    check_permitted()
    os.environ[INSIDE] = "1"
    _become(["unshare", *UNSHARE, sys.executable, "-m", module, *arguments])


def check_permitted() -> None:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise NotPermitted(f"Namespaces need {', '.join(missing)}, which this machine does not have.")
    tried = subprocess.run(["unshare", *UNSHARE, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        raise NotPermitted(f"Namespaces are not permitted here: {tried.stderr.strip() or 'unshare failed'}.")


def _become(command: list[str]) -> NoReturn:
    os.execvp(command[0], command)


class Network:
    def __init__(self, members: Iterable[str]) -> None:
        """Inside (`enter`). Names are short: they are those of the hub's wires too."""
        self._numbers = {name: number for number, name in enumerate(members, 1)}
        self._cuts: list[tuple[str, str]] = []
        _run("mount", "-t", "tmpfs", "tmpfs", "/run")
        _run("ip", "link", "set", "lo", "up")
        with open("/proc/sys/net/ipv4/ip_forward", "w", encoding="ascii") as file:
            file.write("1")
        for name in self._numbers:
            self._wire(name)

    def _wire(self, name: str) -> None:
        number = self._numbers[name]
        _run("ip", "netns", "add", name)
        _run("ip", "link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
        _run("ip", "address", "add", f"10.77.{number}.254/24", "dev", f"to-{name}")
        _run("ip", "link", "set", f"to-{name}", "up")
        for command in (
            ("link", "set", "lo", "up"),
            ("address", "add", f"{self.address(name)}/24", "dev", "eth0"),
            ("link", "set", "eth0", "up"),
            ("route", "add", "default", "via", f"10.77.{number}.254"),
        ):
            _run("ip", "-n", name, *command)

    def address(self, name: str) -> str:
        return f"10.77.{self._numbers[name]}.1"

    def place(self, name: str, *environment: str) -> Place:
        """For a process of the member's. `environment` are assignments."""
        nsenter, env = shutil.which("nsenter"), shutil.which("env")
        assert nsenter is not None
        assert env is not None
        return Place(self.address(name), (nsenter, f"--net=/run/netns/{name}", env, *environment))

    # Cuts.

    def cut(self, sender: str, receiver: str) -> None:
        """One way: what the sender sends does not arrive. A storm may cut what it has cut before."""
        if (sender, receiver) in self._cuts:
            return
        self._cuts.append((sender, receiver))
        _run("ip", "rule", "add", "priority", PRIORITY, *self._match(sender, receiver))

    def part(self, some: Iterable[str], others: Iterable[str]) -> None:
        """Both ways."""
        receivers = list(others)
        for one in some:
            for other in receivers:
                self.cut(one, other)
                self.cut(other, one)

    def mend(self) -> None:
        while self._cuts:
            _run("ip", "rule", "del", "priority", PRIORITY, *self._match(*self._cuts.pop()))

    def _match(self, sender: str, receiver: str) -> tuple[str, ...]:
        return "from", self.address(sender), "to", self.address(receiver), "blackhole"


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotPermitted(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
