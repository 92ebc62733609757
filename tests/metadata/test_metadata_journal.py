"""The journal as bytes: whole, torn, rotten."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strandline.metadata.errors import MultiFailed
from strandline.metadata.fields import FieldReader, FieldWriter
from strandline.metadata.journal import MAGIC, encode_frame, replay, snapshot_frame, transactions_frame
from strandline.metadata.operations import Check, Create, Delete, Operation, SetData
from strandline.metadata.transactions import (
    Changed,
    SessionEnded,
    SessionOpened,
    Transaction,
    read_transaction,
    write_transaction,
)
from strandline.metadata.tree import Tree
from strandline.model.failures import CorruptData

GROUPS: list[list[Transaction]] = [
    [SessionOpened(1, 10)],
    [Changed(2, 20, 1, (Create("/a", b"first"), Create("/a/e", ephemeral=True)))],
    [
        Changed(3, 30, 1, (SetData("/a", b"second", 0), Check("/a", 1))),
        Changed(4, 40, 1, (Create("/a/n", MAGIC * 3, sequential=True),)),
    ],
    [SessionEnded(5, 50, 1), SessionOpened(6, 60)],
    [Changed(7, 70, 6, (Delete("/a/n0000000001"), Create("/ü", bytes(range(256)))))],
]


def played(groups: list[list[Transaction]]) -> Tree:
    tree = Tree()
    for group in groups:
        for transaction in group:
            tree.apply(transaction)
    return tree


FRAMES = [snapshot_frame(Tree()), *map(transactions_frame, GROUPS)]
CONTENT = b"".join(FRAMES)


def same(left: Tree, right: Tree) -> bool:
    return (left.zxid, left.nodes, left.sessions) == (right.zxid, right.nodes, right.sessions)


def test_a_journal_gives_the_tree_it_tells_of() -> None:
    assert same(replay(CONTENT), played(GROUPS))


def test_a_snapshot_gives_the_tree_it_was_taken_of_and_goes_on_like_it() -> None:
    for count in range(len(GROUPS) + 1):
        content = snapshot_frame(played(GROUPS[:count])) + b"".join(map(transactions_frame, GROUPS[count:]))
        assert same(replay(content), played(GROUPS))


def test_what_is_torn_off_the_end_takes_its_group_and_no_more() -> None:
    ends = [sum(map(len, FRAMES[:count])) for count in range(1, len(FRAMES) + 1)]
    for length in range(ends[0], len(CONTENT)):
        for tail in (b"", bytes(len(CONTENT) - length), b"\xff" * 5):
            content = CONTENT[:length] + tail
            whole = sum(content[:end] == CONTENT[:end] for end in ends) - 1  # what was torn off may have been zeros
            assert same(replay(content), played(GROUPS[:whole]))


def test_rot_before_the_last_group_is_refused() -> None:
    """Everything but the last group was answered for: to leave it out would lose it silently."""
    before_last = sum(map(len, FRAMES[:-1]))
    for position in range(before_last):
        rotten = bytearray(CONTENT)
        rotten[position] ^= 0x10
        with pytest.raises(CorruptData):
            replay(bytes(rotten))


def test_a_journal_without_its_snapshot_is_refused() -> None:
    for content in (b"", b"\x00" * 100, CONTENT[:20], FRAMES[1], b"".join(FRAMES[1:])):
        with pytest.raises(CorruptData):
            replay(content)


def test_a_hole_in_the_story_is_refused() -> None:
    with pytest.raises(CorruptData, match="from transaction 1 to 3"):
        replay(b"".join([*FRAMES[:2], *FRAMES[3:]]))


def test_a_transaction_that_cannot_be_is_refused() -> None:
    impossible = transactions_frame([Changed(2, 20, 1, (Delete("/missing"),))])
    with pytest.raises(CorruptData, match="transaction 2"):
        replay(FRAMES[0] + FRAMES[1] + impossible)


def test_a_later_format_is_not_guessed_at() -> None:
    payload = FieldWriter().int8(1).int8(2).written()
    with pytest.raises(CorruptData, match="format 2"):
        replay(encode_frame(payload))


def test_a_snapshot_that_cannot_be_is_refused() -> None:
    tree = played(GROUPS[:2])
    del tree.nodes["/a"]
    with pytest.raises(CorruptData, match="out of place"):
        replay(snapshot_frame(tree))
    tree = played(GROUPS[:2])
    tree.sessions.clear()
    with pytest.raises(CorruptData, match="not open"):
        replay(snapshot_frame(tree))


paths = st.sampled_from(["/", "/a", "/a/b", "/ü"])
versions = st.integers(-1, 2**40)
operations: st.SearchStrategy[Operation] = st.one_of(
    st.builds(Create, paths, st.binary(max_size=20), st.booleans(), st.booleans()),
    st.builds(SetData, paths, st.binary(max_size=20), versions),
    st.builds(Delete, paths, versions),
    st.builds(Check, paths, versions),
)
numbers = st.integers(0, 2**63 - 1)
transactions: st.SearchStrategy[Transaction] = st.one_of(
    st.builds(SessionOpened, numbers, numbers),
    st.builds(SessionEnded, numbers, numbers, numbers),
    st.builds(Changed, numbers, numbers, numbers, st.lists(operations, max_size=3).map(tuple)),
)


@given(transactions)
def test_transactions_come_back(transaction: Transaction) -> None:
    writer = FieldWriter()
    write_transaction(writer, transaction)
    reader = FieldReader(writer.written())
    assert read_transaction(reader) == transaction
    assert reader.is_at_end


@settings(max_examples=200)
@given(st.binary(max_size=60), st.integers(0, 60))
def test_fields_that_are_none_are_corrupt_data(payload: bytes, position: int) -> None:
    """With a right checksum, as a program with another idea of the format would write them."""
    writer = FieldWriter().int8(2).int32(1)
    write_transaction(writer, GROUPS[2][0])
    whole = bytearray(writer.written())
    whole[position : position + len(payload)] = payload
    before = FRAMES[0] + FRAMES[1] + FRAMES[2]
    try:
        tree = replay(before + encode_frame(bytes(whole)))
    except CorruptData:
        return
    assert tree.zxid in (2, 3)


def test_a_failed_transaction_leaves_no_trace_in_the_tree() -> None:
    tree, twin = played(GROUPS), played(GROUPS)
    operations = (SetData("/a", b"x"), Create("/a/x", ephemeral=True), Delete("/ü"), Delete("/a"))
    with pytest.raises(MultiFailed):
        tree.apply(Changed(8, 80, 6, operations))
    assert same(tree, twin)
