"""The assignors of consumer groups (KIP-848): every partition to exactly one reader, evenly, and sticky."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from strandline.groups.assignment import Assignment, IdPartition, partitions_of
from strandline.groups.assignors import Assignee, assignor
from strandline.groups.assignors.range import assign_range
from strandline.groups.assignors.uniform import assign_uniformly

TOPICS = [UUID(int=number) for number in range(1, 6)]
Case = tuple[dict[str, Assignee], dict[UUID, int]]


@st.composite
def groups(draw: st.DrawFn, *, homogeneous: bool = False) -> Case:
    counts = draw(st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 12), min_size=1))
    names = draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True))
    owners = {name: dict[UUID, set[int]]() for name in names}
    for topic_id, count in counts.items():
        for partition in range(count + 2):  # some may be gone
            owner = draw(st.sampled_from([*names, ""]))
            if owner:
                owners[owner].setdefault(topic_id, set()).add(partition)
    members = {
        name: Assignee(
            topics=frozenset(counts) if homogeneous else draw(st.frozensets(st.sampled_from(sorted(counts)))),
            instance_id=draw(st.none() | st.just(f"i-{name}")),
            assigned={topic_id: frozenset(held) for topic_id, held in owners[name].items()},
        )
        for name in names
    }
    return members, counts


def assert_each_once(case: Case, result: dict[str, Assignment]) -> None:
    members, counts = case
    assert set(result) == set(members)
    given_out = [partition for assignment in result.values() for partition in partitions_of(assignment)]
    read = {topic_id for member in members.values() for topic_id in member.topics}
    assert sorted(given_out) == sorted((topic_id, number) for topic_id in read for number in range(counts[topic_id]))
    for name, assignment in result.items():
        assert set(assignment) <= members[name].topics
        assert all(assignment.values())


def loads(result: dict[str, Assignment]) -> dict[str, int]:
    return {name: len(partitions_of(assignment)) for name, assignment in result.items()}


def again(members: dict[str, Assignee], result: dict[str, Assignment]) -> dict[str, Assignee]:
    return {
        name: Assignee(topics=member.topics, instance_id=member.instance_id, assigned=result[name])
        for name, member in members.items()
    }


@given(groups())
@settings(max_examples=40)
def test_every_partition_has_one_reader(case: Case) -> None:
    assert_each_once(case, assign_uniformly(*case))
    assert_each_once(case, assign_range(*case))


@given(groups(homogeneous=True))
@settings(max_examples=40)
def test_uniform_is_even_among_equals(case: Case) -> None:
    sizes = loads(assign_uniformly(*case)).values()
    assert max(sizes) - min(sizes) <= 1


@given(groups(homogeneous=True))
@settings(max_examples=40)
def test_uniform_moves_no_more_than_it_must(case: Case) -> None:
    """A member gives up a kept partition only if it is above its share, and shares go to those that have most."""
    members, counts = case
    result = assign_uniformly(*case)
    total = sum(counts.values())
    kept_before = {name: _still_there(member, counts) for name, member in members.items()}
    kept_after = sum(len(kept_before[name] & partitions_of(result[name])) for name in members)
    share, extra = divmod(total, len(members))
    ranked = sorted((len(held) for held in kept_before.values()), reverse=True)
    best = sum(min(held, share + (place < extra)) for place, held in enumerate(ranked))
    assert kept_after == best


def _still_there(member: Assignee, counts: dict[UUID, int]) -> frozenset[IdPartition]:
    return frozenset(
        (topic_id, number) for topic_id, number in partitions_of(member.assigned) if number < counts[topic_id]
    )


@given(groups())
@settings(max_examples=40)
def test_no_single_move_makes_uniform_fairer(case: Case) -> None:
    members, _ = case
    result = assign_uniformly(*case)
    sizes = loads(result)
    for giver, assignment in result.items():
        for topic_id in assignment:
            readers = [name for name, member in members.items() if topic_id in member.topics]
            assert all(sizes[giver] - sizes[taker] <= 1 for taker in readers)


@given(groups())
@settings(max_examples=40)
def test_uniform_leaves_a_fair_group_alone(case: Case) -> None:
    members, counts = case
    result = assign_uniformly(members, counts)
    assert assign_uniformly(again(members, result), counts) == result


@given(groups(homogeneous=True))
@settings(max_examples=40)
def test_when_a_member_leaves_uniform_moves_only_its_partitions(case: Case) -> None:
    members, counts = case
    result = assign_uniformly(members, counts)
    left = again(members, result)
    left.pop(max(left))
    if left:
        after = assign_uniformly(left, counts)
        assert all(partitions_of(result[name]) <= partitions_of(after[name]) for name in left)


@given(groups(homogeneous=True))
@settings(max_examples=40)
def test_range_gives_runs_and_the_same_numbers_of_equal_topics(case: Case) -> None:
    members, counts = case
    result = assign_range(members, dict.fromkeys(counts, 7))
    for assignment in result.values():
        assert len(set(assignment.values())) <= 1
        for held in assignment.values():
            assert sorted(held) == list(range(min(held), max(held) + 1))


def test_range_puts_static_members_first_by_instance() -> None:
    topic_id = TOPICS[0]
    reads = frozenset({topic_id})
    members = {
        "a": Assignee(topics=reads),
        "z": Assignee(topics=reads, instance_id="1"),
        "b": Assignee(topics=reads, instance_id="2"),
    }
    assert assign_range(members, {topic_id: 4}) == {
        "z": {topic_id: frozenset({0, 1})},
        "b": {topic_id: frozenset({2})},
        "a": {topic_id: frozenset({3})},
    }


def test_a_large_group_takes_no_time() -> None:
    """Not timed: a quadratic assignor would be noticed."""
    topics = {UUID(int=number): 100 for number in range(1, 21)}
    reads = frozenset(topics)
    first = assign_uniformly({"m0": Assignee(topics=reads)}, topics)
    members = {f"m{number}": Assignee(topics=reads, assigned=first.get(f"m{number}", {})) for number in range(200)}
    result = assign_uniformly(members, topics)
    assert set(loads(result).values()) == {10}


def test_assignors_have_names() -> None:
    assert assignor("uniform") is assign_uniformly
    assert assignor("range") is assign_range
