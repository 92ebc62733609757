"""Plans of where replicas should be, and the file in which Kafka's tools keep one."""

from __future__ import annotations

from collections import Counter

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.cli.reassignment_file import assignment_text, parse_assignment
from strandline.cli.reassignment_plan import Assignment, planned
from strandline.model.partitions import TopicPartition


def partitions(*replicas: tuple[int, ...]) -> Assignment:
    return {TopicPartition("orders", index): each for index, each in enumerate(replicas)}


def test_what_is_even_stays() -> None:
    before = partitions((1, 2), (2, 3), (3, 1))
    assert planned(before, (1, 2, 3)) == before


def test_a_broker_is_retired_and_only_its_replicas_move() -> None:
    before = partitions((1, 2), (2, 3), (3, 1))
    after = planned(before, (1, 2, 4))
    assert after == partitions((1, 2), (2, 4), (4, 1))


def test_a_new_broker_gets_its_share() -> None:
    after = planned(partitions((1, 2), (2, 1), (1, 2), (2, 1)), (1, 2, 3, 4))
    assert Counter(broker for replicas in after.values() for broker in replicas) == {1: 2, 2: 2, 3: 2, 4: 2}
    assert Counter(replicas[0] for replicas in after.values()) == {1: 1, 2: 1, 3: 1, 4: 1}


def test_more_and_fewer_replicas() -> None:
    before = partitions((1,), (2,), (3,))
    assert all(set(before[name]) < set(after) for name, after in planned(before, (1, 2, 3), 2).items())
    assert all(len(after) == 1 for after in planned(partitions((1, 2, 3), (2, 3, 1)), (1, 2, 3), 1).values())


BROKERS = st.lists(st.integers(1, 6), min_size=1, max_size=6, unique=True)


@given(st.data())
def test_every_plan_is_even_and_names_nobody_twice(data: st.DataObject) -> None:
    brokers = data.draw(BROKERS)
    replicas = BROKERS.filter(lambda ids: len(ids) <= len(brokers)).map(tuple)
    before = partitions(*data.draw(st.lists(replicas, min_size=1, max_size=12)))
    after = planned(before, brokers)
    load: Counter[int] = Counter(dict.fromkeys(brokers, 0))
    for name, target in after.items():
        assert len(target) == len(set(target)) == len(before[name])
        assert set(target) <= set(brokers)
        load.update(target)
    assert max(load.values()) - min(load.values()) <= 1


def test_the_file_is_kafkas() -> None:
    text = assignment_text(partitions((3, 1)))
    assert text == (
        '{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[3,1],"log_dirs":["any","any"]}]}\n'
    )
    assert parse_assignment(text, "plan.json") == partitions((3, 1))
    shorter = '{"partitions":[{"topic":"orders","partition":0,"replicas":[3,1]}]}'
    assert parse_assignment(shorter, "plan.json") == partitions((3, 1))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is no reassignment"),
        ("[]", "is no reassignment"),
        ('{"version":2,"partitions":[]}', "of version 2"),
        ('{"version":1,"partitions":[{"topic":"orders","partition":"0","replicas":[1]}]}', "is no reassignment"),
        ('{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[true]}]}', "is no reassignment"),
        ('{"version":1,"partitions":[{"topic":"orders","partition":0}]}', "is no reassignment"),
        (assignment_text(partitions((1,))).replace('"any"', '"/data"'), "log directory cannot be chosen"),
        (
            '{"partitions":[{"topic":"o","partition":0,"replicas":[1]},{"topic":"o","partition":0,"replicas":[2]}]}',
            "names a partition twice",
        ),
    ],
)
def test_a_file_that_is_none(text: str, sentence: str) -> None:
    with pytest.raises(click.UsageError, match=sentence):
        parse_assignment(text, "plan.json")
