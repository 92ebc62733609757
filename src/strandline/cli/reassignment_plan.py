"""Where replicas should be: as many on each broker, with as few moves as that takes.

1. A replica on a broker that may keep it stays; the others go to the brokers that have least.
2. While one broker has two more than another, one replica moves.
3. The first of the replicas is the preferred leader: they are turned around until each broker leads as many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from strandline.model.partitions import TopicPartition

Assignment = dict[TopicPartition, tuple[int, ...]]


def planned(
    before: Mapping[TopicPartition, Sequence[int]], brokers: Sequence[int], replication_factor: int | None = None
) -> Assignment:
    """`replication_factor` is that of each partition unless given. There are as many brokers at least."""
    after: Assignment = {}
    load: Counter[int] = Counter(dict.fromkeys(brokers, 0))
    for name in sorted(before):
        kept = [broker for broker in before[name] if broker in load][: replication_factor or len(before[name])]
        after[name] = tuple(kept)
        load.update(kept)
    for name in sorted(before):
        wanted = replication_factor or len(before[name])
        while len(after[name]) < wanted:
            least = min((one for one in load if one not in after[name]), key=lambda one: (load[one], one))
            after[name] += (least,)
            load[least] += 1
    _even_out(before, after, load)
    _turn_around(after, brokers)
    return after


def _even_out(before: Mapping[TopicPartition, Sequence[int]], after: Assignment, load: Counter[int]) -> None:
    while True:
        move = next(_moves(before, after, load), None)
        if move is None:
            return
        name, source, target = move
        after[name] = tuple(target if broker == source else broker for broker in after[name])
        load[source] -= 1
        load[target] += 1


def _moves(
    before: Mapping[TopicPartition, Sequence[int]], after: Assignment, load: Counter[int]
) -> Iterator[tuple[TopicPartition, int, int]]:
    """From who has most to who has least, if that makes it more even; rather one that is to be copied anyway."""
    for source in sorted(load, key=lambda one: (-load[one], one)):
        for target in sorted(load, key=lambda one: (load[one], one)):
            if load[source] - load[target] < 2:
                break
            for name in sorted(after, key=lambda name, source=source: (source in before[name], name)):  # type: ignore[misc]
                if source in after[name] and target not in after[name]:
                    yield name, source, target


def _turn_around(after: Assignment, brokers: Sequence[int]) -> None:
    leads: Counter[int] = Counter(dict.fromkeys(brokers, 0))
    leads.update(replicas[0] for replicas in after.values())
    has_changed = True
    while has_changed:
        has_changed = False
        for name, replicas in after.items():
            first = replicas[0]
            least = min(replicas, key=lambda one: (leads[one], one))
            if leads[first] - leads[least] >= 2:
                after[name] = (least, *(broker for broker in replicas if broker != least))
                leads[first] -= 1
                leads[least] += 1
                has_changed = True
