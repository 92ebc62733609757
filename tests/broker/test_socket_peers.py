"""What a broker asks of others ends with it: no question, and no connection, outlives `close`."""

from __future__ import annotations

import asyncio
import socket

from strandline.broker.peers import STOPS, PeerFailed, Purpose, SocketPeers
from strandline.client.settings import Address, ClientSettings
from strandline.metadata.answer import Answer
from strandline.wire.messages.metadata import MetadataRequest, MetadataResponse

ME, OTHER = 1, 2


def test_who_asks_again_when_the_broker_stops_is_told_so_and_begins_no_connection() -> None:
    failures: list[str] = []

    async def close_while_connecting(silent: Address) -> None:
        peers = SocketPeers(ME, lambda _: silent, {}, ClientSettings(client_id="broker"))

        def ask() -> None:
            asked = peers.ask(
                OTHER, MetadataRequest([]), MetadataResponse, version=9, purpose=Purpose.CONTROL, timeout_ms=10_000
            )
            asked.then(failed)

        def failed(answer: Answer[MetadataResponse]) -> None:
            assert isinstance(answer.error, PeerFailed)
            failures.append(str(answer.error))
            if len(failures) < 3:
                ask()

        ask()
        await asyncio.sleep(0.01)
        peers.close()
        async with asyncio.timeout(10):
            while len(failures) < 3 or asyncio.all_tasks() != {asyncio.current_task()}:
                await asyncio.sleep(0)

    with socket.create_server(("127.0.0.1", 0)) as nobody_answers:
        address = Address(*nobody_answers.getsockname())
        asyncio.run(close_while_connecting(address))
    assert failures == [STOPS] * 3
