"""What one broker still has to be told, as few letters as its order allows.

A thousand topics are a thousand decisions, and a broker creates a thousand logs sooner in one go than one by one. So
what waits for a broker is joined: orders with orders, news with news. Orders may overtake news, which only tell what
clients shall know; a request to stop is overtaken by nothing but news of other partitions, for a topic that goes comes
with both. Nothing is said of a partition twice in one letter, and a full list of replicas stays what it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from strandline.controller.effects import LeaderAndIsr, Request, StopReplica, UpdateMetadata
from strandline.controller.values import LiveBroker

PARTITIONS_PER_LETTER = 2000
EffectT = TypeVar("EffectT", LeaderAndIsr, StopReplica, UpdateMetadata)


class Letter:
    """Requests of one kind to one life of a broker."""

    def __init__(self, broker_epoch: int, effect: Request) -> None:
        self.broker_epoch = broker_epoch
        self._effects = [effect]
        self._partitions = {each.partition for each in effect.partitions}

    def takes(self, broker_epoch: int, effect: Request) -> bool:
        first = self._effects[0]
        if broker_epoch != self.broker_epoch or type(effect) is not type(first) or _is_full(first) or _is_full(effect):
            return False
        is_small = len(self._partitions) + len(effect.partitions) <= PARTITIONS_PER_LETTER
        return is_small and self._partitions.isdisjoint(each.partition for each in effect.partitions)

    def add(self, effect: Request) -> None:
        self._effects.append(effect)
        self._partitions.update(each.partition for each in effect.partitions)

    def lets_pass(self, effect: Request) -> bool:
        match self._effects[0], effect:
            case UpdateMetadata(), LeaderAndIsr():
                return True
            case StopReplica(), UpdateMetadata():
                return self._partitions.isdisjoint(each.partition for each in effect.partitions)
        return False

    def effect(self) -> Request:
        """All in one."""
        last = self._effects[-1]
        match last:
            case LeaderAndIsr():
                orders = _of_kind(LeaderAndIsr, self._effects)
                leaders = _by_id(leader for each in orders for leader in each.leaders)
                return replace(
                    last, partitions=tuple(one for each in orders for one in each.partitions), leaders=leaders
                )
            case StopReplica():
                stops = _of_kind(StopReplica, self._effects)
                return replace(last, partitions=tuple(one for each in stops for one in each.partitions))
            case UpdateMetadata():
                news = _of_kind(UpdateMetadata, self._effects)
                return replace(last, partitions=tuple(one for each in news for one in each.partitions))


def put(letters: deque[Letter], broker_epoch: int, effect: Request) -> None:
    """Into a letter that waits already, if there is one that it may go with."""
    for letter in reversed(letters):
        if letter.takes(broker_epoch, effect):
            letter.add(effect)
            return
        if not letter.lets_pass(effect):
            break
    letters.append(Letter(broker_epoch, effect))


def _is_full(effect: Request) -> bool:
    return isinstance(effect, LeaderAndIsr) and effect.is_full


def _of_kind(kind: type[EffectT], effects: Sequence[Request]) -> list[EffectT]:
    return [effect for effect in effects if isinstance(effect, kind)]


def _by_id(brokers: Iterable[LiveBroker]) -> tuple[LiveBroker, ...]:
    """Each once, as it was named last."""
    return tuple({broker.broker_id: broker for broker in brokers}.values())
