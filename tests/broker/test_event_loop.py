"""The broker's event loop calls a socket's callback where it finds it ready, and is asyncio's in everything else."""

from __future__ import annotations

import asyncio
import os
import selectors
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from strandline.broker.event_loop import CallingSelector, SocketLoop, run

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pairs() -> Iterator[list[Pair]]:
    made = [socket.socketpair() for _ in range(3)]
    for pair in made:
        for end in pair:
            end.setblocking(False)
    yield made
    for pair in made:
        for end in pair:
            end.close()


async def turns(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def story(main: Coroutine[Any, Any, None]) -> None:
    async def within() -> None:
        assert isinstance(asyncio.get_running_loop(), SocketLoop)
        await asyncio.wait_for(main, 10)

    run(within())


def test_a_reader_is_called_while_there_is_something_to_read(pairs: list[Pair]) -> None:
    ours, theirs = pairs[0]
    heard: list[tuple[str, bytes]] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(ours, lambda name: heard.append((name, ours.recv(1))), "first")
        theirs.send(b"ab")
        await turns()
        assert loop.remove_reader(ours)
        assert not loop.remove_reader(ours)
        theirs.send(b"c")
        await turns()

    story(main())
    assert heard == [("first", b"a"), ("first", b"b")]


def test_a_writer_and_a_reader_of_one_socket(pairs: list[Pair]) -> None:
    ours, theirs = pairs[0]
    calls: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(ours, lambda: calls.append(f"read {ours.recv(9)!r}"))
        await turns()
        assert calls == []

        def write_once() -> None:
            calls.append("writable")
            loop.remove_writer(ours)

        loop.add_writer(ours, write_once)
        await turns()
        assert calls == ["writable"]
        theirs.send(b"x")
        await turns()
        loop.add_writer(ours, calls.append, "still there")
        loop.remove_reader(ours)
        theirs.send(b"y")
        await turns(1)
        loop.remove_writer(ours)

    story(main())
    assert calls[:3] == ["writable", "read b'x'", "still there"]
    assert "read b'y'" not in calls


def test_who_hangs_up_makes_both_callbacks_ready(pairs: list[Pair]) -> None:
    ours, theirs = pairs[0]
    calls: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(ours, calls.append, "reader")
        loop.add_writer(ours, calls.append, "writer")
        theirs.close()
        await turns(1)
        loop.remove_reader(ours)
        loop.remove_writer(ours)

    story(main())
    assert {"reader", "writer"} <= set(calls)


def test_one_closed_by_another_in_the_same_turn_is_not_called(pairs: list[Pair]) -> None:
    calls: list[int] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def close_the_others(mine: int) -> None:
            calls.append(mine)
            for ours, _ in pairs:
                loop.remove_reader(ours)
                ours.close()

        for number, (ours, theirs) in enumerate(pairs):
            loop.add_reader(ours, close_the_others, number)
            theirs.send(b"x")
        await turns()

    story(main())
    assert len(calls) == 1


def test_a_failing_callback_is_told_and_the_others_are_served(pairs: list[Pair]) -> None:
    told: list[dict[str, Any]] = []
    served: list[bytes] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: told.append(context))

        def fail(end: socket.socket) -> None:
            end.recv(1)
            raise asyncio.CancelledError if end is first else RuntimeError("a bug")

        (first, one), (second, two), (third, three) = pairs
        loop.add_reader(first, fail, first)
        loop.add_reader(second, lambda: served.append(second.recv(1)))
        loop.add_writer(third, fail, three)
        for end in (one, two, third):
            end.send(b"x")
        await turns()
        loop.remove_writer(third)

    story(main())
    assert served == [b"x"]
    assert {type(context["exception"]) for context in told} >= {RuntimeError, asyncio.CancelledError}


def test_what_asyncio_registers_itself_works_beside_it(pairs: list[Pair]) -> None:
    """Its self-pipe, by which threads wake it, and transports."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        raw: list[bytes] = []
        loop.add_reader(pairs[0][0], lambda: raw.append(pairs[0][0].recv(9)))
        woken = asyncio.Event()
        threading.Timer(0.01, loop.call_soon_threadsafe, (woken.set,)).start()
        await woken.wait()

        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.read(2**20))
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"hello")
        pairs[0][1].send(b"raw")
        assert await reader.read() == b"hello"
        writer.close()
        server.close()
        assert raw == [b"raw"]
        assert await asyncio.wait_for(loop.run_in_executor(None, os.getpid), 5) == os.getpid()

    story(main())


def test_asyncios_own_socket_calls_leave_nothing_behind() -> None:
    """They wait by a private door and stop waiting by the public one."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as peer:
            listener.setblocking(False)
            peer.setblocking(False)
            accepting = asyncio.ensure_future(loop.sock_accept(listener))
            await loop.sock_connect(peer, listener.getsockname())
            accepted, _ = await accepting
            receiving = asyncio.ensure_future(loop.sock_recv(peer, 9))
            await turns()
            accepted.send(b"late")
            assert await receiving == b"late"
            accepted.close()
            for each in (listener, peer):
                assert not loop.remove_reader(each)
                assert not loop.remove_writer(each)

    story(main())


def test_timers_go_on_beside_a_socket_that_is_always_ready(pairs: list[Pair]) -> None:
    ours, theirs = pairs[0]

    async def main() -> None:
        theirs.send(b"never read")
        asyncio.get_running_loop().add_reader(ours, lambda: None)
        await asyncio.sleep(0.01)
        asyncio.get_running_loop().remove_reader(ours)

    story(main())


def test_a_file_that_cannot_be_waited_for_is_refused_and_forgotten(tmp_path: Path) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        with open(tmp_path / "file", "w+b") as file:
            for _ in range(2):
                with pytest.raises(PermissionError):
                    loop.add_reader(file, lambda: None)
            assert not loop.remove_reader(file)

    story(main())


def test_a_descriptor_has_a_key_or_callbacks_never_both(pairs: list[Pair]) -> None:
    ours = pairs[0][0]
    with closing(CallingSelector(lambda _: None)) as selector:
        key = selector.register(ours, selectors.EVENT_READ, "data")
        assert selector.get_key(ours) == selector.get_map()[ours.fileno()] == key
        with pytest.raises(KeyError):
            selector.register(ours, selectors.EVENT_WRITE)
        assert selector.modify(ours, selectors.EVENT_WRITE).events == selectors.EVENT_WRITE
        assert selector.select(0) == [(selector.get_key(ours), selectors.EVENT_WRITE)]
        selector.unregister(ours)
        selector.call(selector.readers, ours.fileno(), lambda: None)
        with pytest.raises(KeyError):
            selector.register(ours, selectors.EVENT_READ)
        assert list(selector.get_map()) == []
