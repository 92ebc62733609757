"""A load of producers who write at their own pace: it gets on when each of them does, and ends with what it began."""

from __future__ import annotations

from collections.abc import Sequence

from strandline.simulation.load import Load
from strandline.simulation.producers import Producer


class WrittenLoad(Load):
    _producers: Sequence[Producer] = ()
    _healed_us = 0

    def heal(self) -> None:
        self._healed_us = self.world.now_us

    def has_got_on(self) -> bool:
        return all(producer.last_acknowledged_us > self._healed_us for producer in self._producers)

    def stop(self) -> None:
        for producer in self._producers:
            producer.is_stopping = True

    def is_done(self) -> bool:
        return all(producer.is_done for producer in self._producers)
