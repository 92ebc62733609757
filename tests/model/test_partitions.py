"""SPEC L1: partitions and their folders."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import (
    DELETED_FOLDER,
    TopicPartition,
    check_topic_name,
    deleted_folder,
    parse_partition_folder,
)

TOKEN = "0123456789abcdef" * 2
TOPICS = st.from_regex(r"[a-zA-Z0-9._-]{1,249}", fullmatch=True).filter(lambda name: name not in (".", ".."))


@pytest.mark.parametrize("topic", ["a", "__consumer_offsets", "a.b-c_d", "-", "...", "0", "x" * 249])
def test_names_kafka_allows(topic: str) -> None:
    check_topic_name(topic)


@pytest.mark.parametrize(
    "topic", ["", ".", "..", "x" * 250, "a b", "a/b", "../x", "é", "a\n", "a\x00", "٣", "a:b", "a*"]
)
def test_names_that_would_leave_the_folder_or_are_no_names(topic: str) -> None:
    with pytest.raises(Refused) as refusal:
        check_topic_name(topic)
    assert refusal.value.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


@given(TOPICS, st.integers(0, 2**31 - 1))
def test_a_folder_leads_back_to_its_partition(topic: str, partition: int) -> None:
    named = TopicPartition(topic, partition)
    assert parse_partition_folder(str(named)) == named


def test_only_the_last_dash_separates() -> None:
    assert parse_partition_folder("a-1-2") == TopicPartition("a-1", 2)
    assert parse_partition_folder("a--2") == TopicPartition("a-", 2)


@pytest.mark.parametrize(
    "name",
    [
        "orders",
        "orders-",
        "-0",
        "orders-01",
        "orders-x",
        "orders--",
        "orders-2147483648",
        "orders-٣",
        "..-0",
        ".-0",
        "a b-0",
        "meta.properties",
        "recovery-point-offset-checkpoint",
        f"orders-0.{TOKEN}-delete",
        f"orders-0.{TOKEN}-future",
        "x" * 250 + "-0",
        "orders-0\n",
    ],
)
def test_other_names_are_not_partitions(name: str) -> None:
    assert parse_partition_folder(name) is None


def test_a_partition_being_deleted_keeps_its_name_for_people() -> None:
    assert deleted_folder(TopicPartition("orders", 3), TOKEN) == f"orders-3.{TOKEN}-delete"


@given(TOPICS, st.integers(0, 2**31 - 1))
def test_the_folder_of_a_deleted_partition_is_legal_and_no_partition(topic: str, partition: int) -> None:
    """A topic name of 249 characters leaves no room for the suffix; it is cut."""
    name = deleted_folder(TopicPartition(topic, partition), TOKEN)
    assert len(name) <= 255
    assert parse_partition_folder(name) is None
    match = DELETED_FOLDER.fullmatch(name)
    assert match is not None
    assert match["token"] == TOKEN
    assert match["partition"] == str(partition)
