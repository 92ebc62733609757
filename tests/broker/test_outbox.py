"""What goes out together: real sockets, real files."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strandline.broker.outbox import COPIED_BYTES_MAX, Outbox, Sending
from strandline.log.filesystem import File, RealFileSystem
from strandline.log.log_slice import LogSlice

CONTENT = bytes(range(256)) * 256


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        yield ours, theirs


@pytest.fixture
def file(tmp_path: Path) -> Iterator[File]:
    (tmp_path / "log").write_bytes(CONTENT)
    opened = RealFileSystem().open(str(tmp_path / "log"))
    yield opened
    opened.close()


@pytest.mark.parametrize("length", [1, 300, COPIED_BYTES_MAX, COPIED_BYTES_MAX + 1, 3 * COPIED_BYTES_MAX])
def test_a_slice_follows_its_head_whatever_its_size(
    pair: tuple[socket.socket, socket.socket], file: File, length: int
) -> None:
    ours, theirs = pair
    outbox = Outbox(ours)
    outbox.add([b"head", LogSlice(file, 7, length), b"", LogSlice(file, 0, 0), b"next"])
    assert outbox.send() is Sending.DONE
    expected = b"head" + CONTENT[7 : 7 + length] + b"next"
    assert theirs.recv(2 * len(expected), socket.MSG_WAITALL | socket.MSG_DONTWAIT) == expected
    assert outbox.sent_bytes == len(expected)


def test_a_small_slice_that_is_in_memory_goes_out_in_one_call_with_its_head(
    pair: tuple[socket.socket, socket.socket], file: File
) -> None:
    outbox = Outbox(pair[0])
    outbox.add([b"head", LogSlice(file, 0, COPIED_BYTES_MAX), LogSlice(file, 0, COPIED_BYTES_MAX + 1)])
    assert [type(part) for part in outbox.parts] == [bytes, bytearray, LogSlice]


def test_a_small_slice_that_the_file_has_no_more_is_not_taken_for_sent(
    pair: tuple[socket.socket, socket.socket], file: File
) -> None:
    outbox = Outbox(pair[0])
    outbox.add([b"head", LogSlice(file, len(CONTENT) - 10, 11)])
    assert [type(part) for part in outbox.parts] == [bytes, LogSlice]


@given(
    sizes=st.lists(
        st.tuples(st.booleans(), st.sampled_from([0, 1, 9, 5_000, COPIED_BYTES_MAX + 1, 40_000])), max_size=9
    ),
    read_bytes=st.sampled_from([1_000, 20_000, 2**20]),
)
@settings(max_examples=60, deadline=None)
def test_whatever_the_socket_takes_at_a_time_all_of_it_comes_in_order(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[tuple[bool, int]], read_bytes: int
) -> None:
    path = tmp_path_factory.mktemp("outbox") / "log"
    path.write_bytes(CONTENT)
    ours, theirs = socket.socketpair()
    with ours, theirs, closing(RealFileSystem().open(str(path))) as file:
        ours.setblocking(False)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        outbox = Outbox(ours)
        outbox.add(LogSlice(file, size % 100, size) if is_slice else CONTENT[3 : 3 + size] for is_slice, size in sizes)
        expected = b"".join(
            CONTENT[size % 100 : size % 100 + size] if is_slice else CONTENT[3 : 3 + size] for is_slice, size in sizes
        )
        heard = b""
        while (sending := outbox.send()) is Sending.BLOCKED:
            heard += theirs.recv(read_bytes)
        assert sending is Sending.DONE
        assert outbox.sent_bytes == len(expected)
        ours.close()
        while more := theirs.recv(2**20):
            heard += more
        assert heard == expected
