"""A metadata store for a cluster: ZooKeeper itself, through kazoo (SPEC M1).

    zookeeper_session    the contract's session: what may be asked when, watches, how it ends
    zookeeper_calls      its calls: how many in flight, in which order they are answered
    zookeeper_client     kazoo, its threads, and the one bridge from them to the owner's: `post`
    zookeeper_values     paths, stats, operations and errors, ours to kazoo's and back
    zookeeper_settings   Kafka's `zookeeper.*`

`post` is how another thread reaches the owner's: it may be called from any thread, returns at once, and has the
callable it was given run on the owner's thread, in the order of the calls. An event loop's `call_soon_threadsafe` is
one. A session has a thread of kazoo's, which does nothing but read, write and post.
"""

from __future__ import annotations

from strandline.metadata.answer import Answer
from strandline.metadata.errors import KazooMissing
from strandline.metadata.store import Session, SessionListener
from strandline.metadata.zookeeper_calls import CallQueue, Post
from strandline.metadata.zookeeper_session import ZooKeeperSession
from strandline.metadata.zookeeper_settings import ZooKeeperSettings

try:
    from strandline.metadata.zookeeper_client import ZooKeeperClient
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] != "kazoo":
        raise
    HAS_KAZOO = False
else:
    HAS_KAZOO = True


class ZooKeeperStore:
    def __init__(self, settings: ZooKeeperSettings, post: Post) -> None:
        """Raises `KazooMissing`. Nothing is connected before a session is opened."""
        if not HAS_KAZOO:
            raise KazooMissing
        self._settings = settings
        self._post = post

    def open_session(self, listener: SessionListener) -> Answer[Session]:
        """A connection of its own. `ConnectionLost` where none could be made in `zookeeper.connection.timeout.ms`."""
        settings = self._settings
        calls = CallQueue(
            self._post,
            in_flight_max=settings.zookeeper_max_in_flight_requests,
            waiting_max=settings.zookeeper_max_queued_requests,
        )
        unreachable = (
            f"no ZooKeeper at {settings.zookeeper_connect} has opened a session"
            f" within {settings.connection_timeout_ms} ms"
        )
        session = ZooKeeperSession(calls, listener, chroot_bytes=len(settings.chroot.encode()), unreachable=unreachable)
        return session.open(ZooKeeperClient(settings, self._post, session))
