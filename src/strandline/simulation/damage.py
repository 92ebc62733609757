"""What one fault has broken of the network: it mends that and nothing else. What others have cut stays cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strandline.simulation.network import Network

Link = tuple[str, str]  # from the first to the second, in this direction alone


class Damage:
    def __init__(self, network: Network) -> None:
        self._network = network
        self.cuts: dict[Link, None] = {}
        self.delays_us: dict[Link, int] = {}

    def __bool__(self) -> bool:
        return bool(self.cuts or self.delays_us)

    def cut(self, source: str, target: str) -> None:
        """In this direction alone."""
        if (source, target) not in self.cuts:
            self.cuts[source, target] = None
            self._network.broken(self)

    def cut_apart(self, one: str, other: str) -> None:
        self.cut(one, other)
        self.cut(other, one)

    def slow_down(self, source: str, target: str, up_to_us: int) -> None:
        self.delays_us[source, target] = up_to_us
        self._network.broken(self)

    def mend(self) -> bool:
        """Whether there was anything left to mend."""
        was_broken = bool(self)
        self.cuts, self.delays_us = {}, {}
        if was_broken:
            self._network.mended(self)
        return was_broken

    def __str__(self) -> str:
        cuts = [f"{source} -> {target}" for source, target in self.cuts if (target, source) not in self.cuts]
        apart = [f"{one} <-> {other}" for one, other in self.cuts if (other, one) in self.cuts and one < other]
        slow = [f"{link[0]} -> {link[1]} by up to {delay_us // 1000} ms" for link, delay_us in self.delays_us.items()]
        return ", ".join(apart + cuts + slow)
