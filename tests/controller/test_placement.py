"""Replicas are spread evenly over brokers and racks (SPEC T1, T2), as Kafka spreads them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.controller.placement import Place, alternating, place_added_partitions, place_replicas
from strandline.model.failures import ErrorCode, Refused

FIVE = [Place(broker_id) for broker_id in range(5)]
SIX_IN_RACKS = [
    Place(0, "rack1"),
    Place(1, "rack3"),
    Place(2, "rack3"),
    Place(3, "rack2"),
    Place(4, "rack2"),
    Place(5, "rack1"),
]


def test_kafkas_example_without_racks() -> None:
    """The table in the comment of Kafka's AdminUtils."""
    assert place_replicas(FIVE, 10, 3, start_index=0, shift=0) == {
        0: (0, 1, 2),
        1: (1, 2, 3),
        2: (2, 3, 4),
        3: (3, 4, 0),
        4: (4, 0, 1),
        5: (0, 2, 3),
        6: (1, 3, 4),
        7: (2, 4, 0),
        8: (3, 0, 1),
        9: (4, 1, 2),
    }


def test_kafkas_example_with_racks() -> None:
    """The list and the table in the same comment."""
    assert alternating({place.broker_id: place.rack or "" for place in SIX_IN_RACKS}) == [0, 3, 1, 5, 4, 2]
    assert place_replicas(SIX_IN_RACKS, 7, 3, start_index=0, shift=0) == {
        0: (0, 3, 1),
        1: (3, 1, 5),
        2: (1, 5, 4),
        3: (5, 4, 2),
        4: (4, 2, 0),
        5: (2, 0, 3),
        6: (0, 4, 2),
    }


def test_half_known_racks_do_not_count() -> None:
    half = [Place(0, "a"), Place(1, "a"), Place(2)]
    plain = [Place(0), Place(1), Place(2)]
    assert place_replicas(half, 6, 2, start_index=1, shift=2) == place_replicas(plain, 6, 2, start_index=1, shift=2)


def test_added_partitions_go_on_where_the_topic_began() -> None:
    whole = place_replicas(FIVE, 10, 3, start_index=2, shift=2)
    first = {index: whole[index] for index in range(4)}
    assert first | place_added_partitions(FIVE, first, 10) == whole


def test_added_partitions_when_the_first_leader_is_gone() -> None:
    assert place_added_partitions([Place(1), Place(2)], {0: (9, 1)}, 2) == {1: (2, 1)}


@pytest.mark.parametrize(
    ("partition_count", "replication_factor", "error_code"),
    [
        (0, 1, ErrorCode.INVALID_PARTITIONS),
        (-1, 1, ErrorCode.INVALID_PARTITIONS),
        (1, 0, ErrorCode.INVALID_REPLICATION_FACTOR),
        (1, 6, ErrorCode.INVALID_REPLICATION_FACTOR),
    ],
)
def test_what_cannot_be_placed(partition_count: int, replication_factor: int, error_code: ErrorCode) -> None:
    with pytest.raises(Refused) as refusal:
        place_replicas(FIVE, partition_count, replication_factor, start_index=0, shift=0)
    assert refusal.value.error_code is error_code


@st.composite
def orders(draw: st.DrawFn, racks: int | None) -> tuple[list[Place], int, int, int, int]:
    broker_ids = sorted(draw(st.sets(st.integers(0, 50), min_size=1, max_size=9)))
    rack_names = [f"rack{number}" for number in range(racks)] if racks else [None]
    places = [Place(broker_id, draw(st.sampled_from(rack_names))) for broker_id in broker_ids]
    count = len(places)
    lots = st.integers(0, count - 1)
    return places, draw(st.integers(1, 40)), draw(st.integers(1, count)), draw(lots), draw(lots)


@given(orders(racks=None))
def test_even_without_racks(order: tuple[list[Place], int, int, int, int]) -> None:
    places, partition_count, replication_factor, start_index, shift = order
    placement = place_replicas(places, partition_count, replication_factor, start_index=start_index, shift=shift)
    assert sorted(placement) == list(range(partition_count))
    check_replicas_are_apart(placement, replication_factor)
    check_leaders_are_even(places, placement)
    replicas = Counter(broker_id for brokers in placement.values() for broker_id in brokers)
    spread = max(replicas.values()) - min(replicas[place.broker_id] for place in places)
    assert spread <= (0 if partition_count % len(places) == 0 else replication_factor)


@given(orders(racks=4))
def test_over_racks(order: tuple[list[Place], int, int, int, int]) -> None:
    places, partition_count, replication_factor, start_index, shift = order
    placement = place_replicas(places, partition_count, replication_factor, start_index=start_index, shift=shift)
    check_replicas_are_apart(placement, replication_factor)
    check_leaders_are_even(places, placement)
    rack_of = {place.broker_id: place.rack for place in places}
    rack_count = len(set(rack_of.values()))
    for brokers in placement.values():
        racks = Counter(rack_of[broker_id] for broker_id in brokers)
        assert len(racks) == min(rack_count, replication_factor), "a rack is used twice only when each is used once"


def test_even_over_brokers_and_racks_where_racks_are_equal() -> None:
    places = [Place(broker_id, f"rack{broker_id % 3}") for broker_id in range(6)]
    placement = place_replicas(places, 24, 3, start_index=1, shift=4)
    replicas = Counter(broker_id for brokers in placement.values() for broker_id in brokers)
    assert set(replicas.values()) == {12}


def check_replicas_are_apart(placement: dict[int, tuple[int, ...]], replication_factor: int) -> None:
    for brokers in placement.values():
        assert len(brokers) == len(set(brokers)) == replication_factor


def check_leaders_are_even(places: list[Place], placement: dict[int, tuple[int, ...]]) -> None:
    leaders = Counter(brokers[0] for brokers in placement.values())
    counts = [leaders[place.broker_id] for place in places]
    assert max(counts) - min(counts) <= 1
