"""Where a group or a transactional id belongs."""

from __future__ import annotations

import pytest

from strandline.model.coordinators import coordinator_partition


@pytest.mark.parametrize(
    ("name", "hash_code"),
    [("", 0), ("a", 97), ("hello", 99162322), ("polygenelubricants", 0), ("😀", 1772899)],
)
def test_a_name_belongs_where_java_says(name: str, hash_code: int) -> None:
    """The last but one has the hash -2^31, of which Kafka makes 0."""
    assert coordinator_partition(name, 50) == hash_code % 50
    assert coordinator_partition(name, 2**31) == hash_code


def test_negative_hashes_count_as_positive() -> None:
    # "consumer-group-x" in Java: the value wraps around.
    assert 0 <= coordinator_partition("consumer-group-x" * 10, 7) < 7
