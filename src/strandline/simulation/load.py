"""What clients do in a run, one kind of load each: what it needs of the cluster, its clients, and what must hold.

A run has any of them (`loads`). Each draws from streams of its own, so that what one does is not another for what the
others draw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from strandline.simulation.invariants import Invariant

if TYPE_CHECKING:
    from strandline.simulation.simulation import Simulation

COMPACTION = "compaction"
FLUSHES = "flushes"
FLUSH_MESSAGES = "log.flush.interval.messages"
COMPACTED = {"cleanup.policy": "compact", "segment.bytes": "1024", "min.cleanable.dirty.ratio": "0.1"}


class WantedTopic(NamedTuple):
    name: str
    partitions: int
    configs: dict[str, str]
    replicas: int = 0  # all brokers


class Load:
    """The methods from `has_got_on` on are asked in turn in the heal phase, each until it is true."""

    name: str
    topics: tuple[WantedTopic, ...] = ()
    properties: ClassVar[dict[str, str]] = {}

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.world = simulation.world
        self.complaints: list[str] = []
        self.invariants: list[Invariant] = []

    def complain(self, invariant: str, sentence: str) -> None:
        """Of what a client itself noticed."""
        self.complaints.append(sentence)
        self.simulation.complain(invariant, sentence)

    def start(self) -> None:
        """Clients begin to work, with so long between two things that they do."""

    def heal(self) -> None:
        """Everything is mended from now on."""

    def has_got_on(self) -> bool:
        """Since then."""
        return True

    def stop(self) -> None:
        """What is begun is brought to its end."""

    def is_done(self) -> bool:
        return True

    def is_settled(self) -> bool:
        """Everything has come to the end that was promised."""
        return True
