"""Dead letters: what their headers say, and `strandline dlq` (SPEC D3)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.commands import Commands
from tests.spark.our_side import OurSide, Sent

from strandline.client.blocking import Blocking
from strandline.client.cluster import Cluster
from strandline.client.fetched import ConsumedRecord
from strandline.client.group_offsets import commit_offsets, committed_offsets
from strandline.client.settings import ClientSettings
from strandline.model.partitions import TopicPartition
from strandline.pipeline import redrive as redriving
from strandline.pipeline.dead_letter_headers import origin_of, without_errors
from strandline.pipeline.redriven import read_ranges, write_ranges
from strandline.records.record import Headers
from strandline.testing import Broker

MANY = 1200  # so many ranges are more than a note has room for


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture(scope="module")
def ours(broker: Broker) -> OurSide:
    return OurSide(broker)


@pytest.fixture(scope="module")
def commands(broker: Broker) -> Commands:
    return Commands(broker.bootstrap)


def errors(topic: str, offset: int, message: str = "field id is no bigint: x") -> Headers:
    said = {
        "topic": topic,
        "partition": "0",
        "offset": str(offset),
        "stage": "VALUE_CONVERTER",
        "exception.message": message,
    }
    return tuple((f"__connect.errors.{name}", value.encode()) for name, value in said.items())


def letter(topic: str, at: int, message: str = "field id is no bigint: x") -> Sent:
    return Sent(0, b"value %d" % at, b"key %d" % at, (("trace", b"t"), *errors(topic, at, message)))


def test_headers_of_connect_spring_and_others_are_understood() -> None:
    connect = origin_of(errors("orders", 7))
    assert (connect.topic, connect.partition, connect.offset) == ("orders", 0, 7)
    spring = origin_of(
        (
            ("kafka_dlt-original-topic", b"orders"),
            ("kafka_dlt-original-partition", (2).to_bytes(4, "big")),
            ("kafka_dlt-original-offset", (70_000_000_000).to_bytes(8, "big")),
            ("kafka_dlt-exception-message", b"boom"),
        )
    )
    assert (spring.topic, spring.partition, spring.offset, spring.message) == ("orders", 2, 70_000_000_000, "boom")
    assert origin_of((("x-original-topic", b"orders"),)).topic == "orders"
    nothing = origin_of((("__connect.errors.offset", b"many"), ("__connect.errors.topic", None)))
    assert (nothing.topic, nothing.offset) == (None, None)
    assert without_errors((("a", b"1"), *errors("orders", 7))) == (("a", b"1"),)


@given(st.sets(st.integers(0, 60)))
def test_what_was_sent_is_kept_as_ranges(offsets: set[int]) -> None:
    assert read_ranges(write_ranges(offsets)) == offsets


def test_letters_are_counted_shown_sent_back_once_and_purged(broker: Broker, ours: OurSide, commands: Commands) -> None:
    source, dead = broker.create_topic("letters.in", 1), broker.create_topic("letters.dead", 1)
    ours.write(dead, [letter(source, at) for at in range(3)] + [letter(source, 3, "positive: it is not true")])
    counts = commands.rows("dlq", "list", dead)
    assert [(row["count"], row["redriven"], row["message"]) for row in counts] == [
        (3, 0, "field id is no bigint: x"),
        (1, 0, "positive: it is not true"),
    ]
    [shown] = commands.rows("dlq", "show", dead, "--offset", "3")
    assert (shown["from"], shown["value"], shown["redriven"]) == (f"{source}-0@3", "value 3", False)
    assert shown["headers"] == [{"name": "trace", "value": "t"}]

    dry = commands.run("dlq", "redrive", dead, "--matching", "positive")
    assert "Nothing was sent" in dry.stderr
    assert ours.read(source) == []
    commands("dlq", "redrive", dead, "--matching", "positive", "--execute")
    [sent] = ours.read(source)
    mark = ("strandline.redriven.from", f"{dead}/0@3".encode())
    assert (sent.key, sent.value, sent.headers) == (b"key 3", b"value 3", (("trace", b"t"), mark))

    for _ in range(2):
        commands("dlq", "redrive", dead, "--execute")
        assert sorted(each.value or b"" for each in ours.read(source)) == [b"value %d" % at for at in range(4)]
    ours.write(dead, [letter(source, 9)])
    assert [row["offset"] for row in commands.rows("dlq", "redrive", dead)] == [4], "the new one alone"

    [row] = commands.rows("dlq", "purge", dead)
    assert (row["before"], row["letters"], row["lost"]) == (4, 4, 0), "up to the first that was not sent"
    assert len(ours.read(dead)) == 5, "a dry run"
    commands("dlq", "purge", dead, "--execute")
    assert [each.offset for each in ours.read(dead)] == [4]
    [row] = commands.rows("dlq", "purge", dead, "--before", "end")
    assert (row["letters"], row["lost"]) == (1, 1)


def test_a_redrive_that_was_cut_short_sends_nothing_twice(
    broker: Broker, ours: OurSide, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The letters are in the topic, and the group has not heard of it: they are known by their header."""
    source, dead = broker.create_topic("cut.in", 1), broker.create_topic("cut.dead", 1)
    ours.write(source, [Sent(0, b"of another")])
    ours.write(dead, [letter(source, at) for at in range(5)])
    send = redriving._send

    async def send_and_die(*arguments: object) -> None:
        await send(*arguments)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, Blocking(ClientSettings(bootstrap_servers=(broker.bootstrap,))) as client:
        patch.setattr(redriving, "PORTION", 3)
        patch.setattr(redriving, "_send", send_and_die)
        letters = client(lambda cluster: redriving.read_letters(cluster, dead))
        with pytest.raises(KeyboardInterrupt):
            client(partial(run_redrive, dead, letters))
        assert len(ours.read(source)) == 1 + 3
    commands("dlq", "redrive", dead, "--execute")
    values = sorted(each.value or b"" for each in ours.read(source))
    assert values == [b"of another", *(b"value %d" % at for at in range(5))]
    with Blocking(ClientSettings(bootstrap_servers=(broker.bootstrap,))) as client:
        noted = client(lambda cluster: committed_offsets(cluster, redriving.group_of(dead)))
    assert {str(each): at.offset for each, at in noted.items()} == {f"{dead}-0": 5, f"{source}-0": 6}


async def run_redrive(topic: str, letters: object, cluster: object) -> int:
    return await redriving.redrive(cluster, topic, letters)  # type: ignore[arg-type]


def test_letters_without_an_origin_need_a_topic(broker: Broker, ours: OurSide, commands: Commands) -> None:
    dead, other = broker.create_topic("lost.dead", 1), broker.create_topic("lost.in", 1)
    ours.write(dead, [Sent(0, b"who am I")])
    told = commands.refused("dlq", "redrive", dead, "--execute")
    assert told.endswith("letters that do not say where they came from: name a topic with --to")
    commands("dlq", "redrive", dead, "--to", other, "--execute")
    assert [each.value for each in ours.read(other)] == [b"who am I"]
    assert "topic nope: it does not exist" in commands.refused("dlq", "list", "nope")


def test_letters_are_not_sent_into_their_own_topic(broker: Broker, ours: OurSide, commands: Commands) -> None:
    """They would be letters again, without an origin, and the next redrive would double them."""
    dead = broker.create_topic("circle.dead", 1)
    ours.write(dead, [letter(dead, 0)])
    told = "circle.dead is the topic of the dead letters itself: name another with --to"
    assert commands.refused("dlq", "redrive", dead, "--execute") == told
    assert commands.refused("dlq", "redrive", dead, "--to", dead, "--execute") == told
    assert len(ours.read(dead)) == 1


def test_what_cannot_be_kept_track_of_is_not_begun(broker: Broker, ours: OurSide, commands: Commands) -> None:
    source, dead = broker.create_topic("scattered.in", 1), broker.create_topic("scattered.dead", 1)
    ours.write(dead, [letter(source, at, "odd" if at % 2 else "even") for at in range(2 * MANY)])
    told = commands.refused("dlq", "redrive", dead, "--matching", "even", "--execute")
    assert "too scattered to be kept track of: choose them by offset, or send all of them" in told
    assert ours.read(source) == []
    commands("dlq", "redrive", dead, "--execute")
    assert len(ours.read(source)) == 2 * MANY


def test_a_scattered_redrive_that_was_cut_short_is_no_dead_end(
    broker: Broker, ours: OurSide, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What arrived is known by its header, though no note has room for it; all of them together have room."""
    source, dead = broker.create_topic("halves.in", 1), broker.create_topic("halves.dead", 1)
    ours.write(dead, [letter(source, at) for at in range(2 * MANY)])
    send = redriving._send

    async def send_every_other_and_die(cluster: Cluster, letters: list[ConsumedRecord], to: str | None) -> None:
        await send(cluster, letters[::2], to)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, Blocking(ClientSettings(bootstrap_servers=(broker.bootstrap,))) as client:
        patch.setattr(redriving, "PORTION", 2 * MANY)
        patch.setattr(redriving, "_send", send_every_other_and_die)
        letters = client(lambda cluster: redriving.read_letters(cluster, dead))
        with pytest.raises(KeyboardInterrupt):
            client(partial(run_redrive, dead, letters))
    assert len(ours.read(source)) == MANY
    commands("dlq", "redrive", dead, "--execute")
    assert len({each.value for each in ours.read(source)}) == len(ours.read(source)) == 2 * MANY


@pytest.mark.parametrize("note", ["1 x-y", "1 5-2", "1 0-999999999999", "2 1", "junk"])
def test_notes_of_another_program_are_told_of(broker: Broker, ours: OurSide, commands: Commands, note: str) -> None:
    dead = broker.create_topic(f"noted.{sum(note.encode())}", 1)
    ours.write(dead, [letter("anything", 0)])
    partition = TopicPartition(dead, 0)
    with Blocking(ClientSettings(bootstrap_servers=(broker.bootstrap,))) as client:
        group_id = redriving.group_of(dead)
        client(lambda cluster: commit_offsets(cluster, group_id, {partition: 0}, metadata={partition: note}))
    told = commands.refused("dlq", "list", dead)
    assert told == (
        f"the group strandline-redrive-{dead} keeps what was redriven, and another program has committed to it:"
        f" `strandline group delete strandline-redrive-{dead}` forgets all of it"
    )


def test_what_is_no_text_is_shown_as_such_and_a_terminal_obeys_nobody(
    broker: Broker, ours: OurSide, commands: Commands
) -> None:
    dead = broker.create_topic("odd.dead", 1)
    ours.write(dead, [Sent(0, b"\xff", None, errors("a", 0, "\x1b[2J\u009bgone")), Sent(0, None, b"k")])
    [_, _, first, second] = commands.lines("dlq", "show", dead, "--format", "wide")
    assert r"\x1b[2J\x9bgone" in first
    assert "/w== (base64)" in first
    assert "base64" not in second
    [row, _] = commands.rows("dlq", "show", dead)
    assert (row["value_base64"], row["message"]) == ("/w==", "\x1b[2J\u009bgone")
