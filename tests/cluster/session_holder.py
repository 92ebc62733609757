"""A process that holds a ZooKeeper session by an event loop, and says what it hears, a line each.

python session_holder.py CONNECT SESSION_TIMEOUT_MS EPHEMERAL
"""

from __future__ import annotations

import asyncio
import sys
from typing import TypeVar

from strandline.metadata.answer import Answer
from strandline.metadata.store import Session, SessionState
from strandline.metadata.zookeeper import ZooKeeperStore
from strandline.metadata.zookeeper_settings import ZooKeeperSettings

Value = TypeVar("Value")


def say(word: object) -> None:
    print(word, flush=True)


async def awaited(answer: Answer[Value]) -> Value:
    future: asyncio.Future[Answer[Value]] = asyncio.get_running_loop().create_future()
    answer.then(future.set_result)
    return (await future).value()


async def main(connect: str, session_timeout_ms: str, path: str) -> None:
    loop = asyncio.get_running_loop()
    expired = asyncio.Event()

    def hear(state: SessionState) -> None:
        say(state.value)
        if state is SessionState.EXPIRED:
            expired.set()

    settings = ZooKeeperSettings(zookeeper_connect=connect, zookeeper_session_timeout_ms=int(session_timeout_ms))
    store = ZooKeeperStore(settings, loop.call_soon_threadsafe)
    session: Session = await awaited(store.open_session(hear))
    await awaited(session.create(path, b"mine", ephemeral=True))
    say("holding")
    await expired.wait()
    late = session.create(path, b"of a dead session", ephemeral=True)
    while not late.is_ready:
        await asyncio.sleep(0)
    say(type(late.error).__name__)
    again = await awaited(store.open_session(hear))
    await awaited(again.create(path, b"mine again", ephemeral=True))
    say("holding again" if again.session_id != session.session_id else "the same session")
    await awaited(again.close())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
