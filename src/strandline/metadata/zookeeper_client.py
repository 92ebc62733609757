"""kazoo as one ZooKeeper session: requests to it, and what it has to say.

**Threads.** kazoo reads its connection on a thread of its own and would run watchers and completions on two more,
each with its queue, by which their order is lost. `DirectHandler` runs both on the connection's thread, where they
come in the order of the server's bytes; all that happens there is a `post` to the owner's thread, one for each, so
that the order is kept up to there. But an answer may come before kazoo has been told whom to call for it, and is then
posted by the owner's thread, once that gets on. An event must not overtake it, or it finds nobody who watches: it
waits for the lock that a request is made under.

**The end of a session.** kazoo answers an expired session by opening another, under which it would send what is asked
of it next: an ephemeral node of a session nobody knows of. So `_is_over` is set, under the lock that every request is
made under, by kazoo's own thread and before it drops the requests of the old session. A request is either among those,
or is not made at all; what kazoo says after that is not passed on.

**Lost requests.** kazoo ends each request in an error when the connection goes. Here they just get no answer: the
change of state settles all calls at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, KazooException, SessionExpiredError
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.states import EventType, KazooState, WatchedEvent
from kazoo.retry import KazooRetry

from strandline.metadata.errors import ConnectionLost, StoreError
from strandline.metadata.operations import Create, Delete, Operation, SetData
from strandline.metadata.store import Children, Created, EventKind, NodeData, SessionState, WatchEvent
from strandline.metadata.zookeeper_calls import Post, Settle
from strandline.metadata.zookeeper_settings import ZooKeeperSettings
from strandline.metadata.zookeeper_values import (
    Chroot,
    multi_outcome,
    operation_error,
    request_of,
    stat_of,
    store_error,
)

logger = logging.getLogger(__name__)

# ZooKeeper's own client waits up to a second between two rounds through the servers.
RECONNECT_DELAY_S, RECONNECT_DELAY_S_MAX = 0.1, 1.0
# How often a session can ask servers to go on with it before its time is up, and what is too little time to answer.
FIRST_ANSWERS_PER_SESSION, FIRST_ANSWER_TIMEOUT_S_MIN = 6, 0.5
UNANSWERED = (ConnectionLoss, SessionExpiredError)
EVENT_KINDS = {
    EventType.CREATED: EventKind.CREATED,
    EventType.CHANGED: EventKind.CHANGED,
    EventType.DELETED: EventKind.DELETED,
    EventType.CHILD: EventKind.CHILDREN,
}
STATES = {
    KazooState.CONNECTED: SessionState.CONNECTED,
    KazooState.SUSPENDED: SessionState.SUSPENDED,
    KazooState.LOST: SessionState.EXPIRED,
}
NO_SESSION = (0, b"")


class ClientOwner(Protocol):
    """Who is told, on the owner's thread."""

    def told_state(self, state: SessionState, session_id: int) -> None:
        """`EXPIRED` is the last word, also of a session that never came to be."""
        ...

    def told_event(self, event: WatchEvent) -> None: ...


class DirectHandler(SequentialThreadingHandler):  # type: ignore[misc]
    """Runs callbacks where they come from. It never counts as running, so that kazoo calls completions directly."""

    def __init__(self, connect_timeout_s: float, first_answer_timeout_s: float) -> None:
        super().__init__()
        self._connect_timeout_s = connect_timeout_s
        self._first_answer_timeout_s = first_answer_timeout_s
        self.is_connected: Callable[[], bool] = lambda: False

    def start(self) -> None:
        """There are no workers to start."""

    def stop(self) -> None:
        """And none to stop."""

    def dispatch_callback(self, callback: Any) -> None:
        callback.func(*callback.args)

    def create_connection(self, *arguments: Any, **options: Any) -> Any:
        """A host that swallows packets must not cost the time in which another could save the session."""
        options["timeout"] = self._connect_timeout_s
        return super().create_connection(*arguments, **options)

    def select(self, readable: Any, writable: Any, exceptional: Any, timeout_s: float | None = None) -> Any:
        """A server that begins to listen may never answer who asks it for a session just then (seen in 3.9.5)."""
        if timeout_s is not None and not self.is_connected():
            timeout_s = min(timeout_s, self._first_answer_timeout_s)
        return super().select(readable, writable, exceptional, timeout_s)


class ZooKeeperClient:
    def __init__(self, settings: ZooKeeperSettings, post: Post, owner: ClientOwner) -> None:
        self._connection_timeout_s = settings.connection_timeout_ms / 1000
        self._post = post
        self._owner = owner
        self._chroot = Chroot(settings.chroot)
        hosts = [f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in settings.addresses()]
        session_timeout_s = settings.zookeeper_session_timeout_ms / 1000
        self._handler = DirectHandler(
            connect_timeout_s=session_timeout_s / len(hosts),
            first_answer_timeout_s=max(FIRST_ANSWER_TIMEOUT_S_MIN, session_timeout_s / FIRST_ANSWERS_PER_SESSION),
        )
        reconnecting = KazooRetry(
            max_tries=-1,
            delay=RECONNECT_DELAY_S,
            max_delay=RECONNECT_DELAY_S_MAX,
            sleep_func=self._handler.sleep_func,
        )
        self._kazoo = KazooClient(
            ",".join(hosts), timeout=session_timeout_s, handler=self._handler, connection_retry=reconnecting
        )
        self._kazoo.add_listener(self._on_state)
        self._handler.is_connected = lambda: bool(self._kazoo.connected)
        self._lock = self._handler.lock_object()  # for the four below, and the order of answers and events
        self._state = KazooState.LOST
        self._is_over = False
        self._is_shut_down = False
        self._is_close_confirmed = False

    def start(self) -> None:
        """Returns at once. The owner is told `CONNECTED`, or `EXPIRED` where that takes too long."""
        live = self._kazoo.start_async()
        self._handler.spawn(self._give_up_without, live)

    def _give_up_without(self, live: Any) -> None:
        if not live.wait(self._connection_timeout_s) and self._end():
            self._tell(lambda: self._owner.told_state(SessionState.EXPIRED, 0))
            self._shut_down()

    def stop(self, settle: Settle) -> None:
        """Close the session; nothing else is told any more."""
        self._end()
        self._handler.spawn(self._stop, settle)

    def _stop(self, settle: Settle) -> None:
        self._shut_down()
        outcome = None if self._is_close_confirmed else ConnectionLost("ZooKeeper has not confirmed the close")
        self._tell(lambda: settle(outcome))

    def _end(self) -> bool:
        """Whether it was not over before."""
        with self._lock:
            was_over, self._is_over = self._is_over, True
        return not was_over

    def _shut_down(self) -> None:
        with self._lock:
            was_shut_down, self._is_shut_down = self._is_shut_down, True
        if was_shut_down:
            return
        try:
            self._kazoo.stop()
            self._kazoo.close()
        except KazooException as error:  # it hangs in a system call, and will find out when that returns
            logger.warning("a connection to ZooKeeper is left behind: %s", error)

    # On kazoo's thread

    def _on_state(self, state: str) -> None:
        with self._lock:
            # A connection that breaks is first suspended; one that is closed by both sides is not.
            self._is_close_confirmed = state == KazooState.LOST and self._state == KazooState.CONNECTED
            self._state = state
            if self._is_over:
                return
            self._is_over = state == KazooState.LOST
        session_id = (self._kazoo.client_id or NO_SESSION)[0]
        self._tell(lambda: self._owner.told_state(STATES[state], session_id))
        if state == KazooState.LOST:
            self._handler.spawn(self._shut_down)

    def _on_event(self, event: WatchedEvent) -> None:
        kind = EVENT_KINDS.get(event.type)
        if kind is not None:  # as it is when kazoo drops its watches, which the change of state says too
            told = WatchEvent(kind, self._chroot.relative(event.path))
            with self._lock:
                self._tell(lambda: self._owner.told_event(told))

    def _tell(self, what: Callable[[], object]) -> None:
        try:
            self._post(what)
        except RuntimeError:
            logger.debug("the owner's event loop is closed: nobody is left to be told")

    # Requests, on the owner's thread

    def make_chroot(self, settle: Settle) -> None:
        """The node that is our root, with its parents, unless it is there."""
        if not self._chroot:
            self._tell(lambda: settle(None))
            return
        root = self._chroot.absolute("/")
        self._send(
            lambda: self._kazoo.ensure_path_async(root), lambda _: None, lambda error: store_error(error, root), settle
        )

    def get(self, path: str, is_watched: bool, settle: Settle) -> None:
        self._read(
            self._kazoo.get_async,
            path,
            is_watched,
            lambda found: NodeData(found[0] or b"", stat_of(found[1])),
            settle,
        )

    def exists(self, path: str, is_watched: bool, settle: Settle) -> None:
        self._read(
            self._kazoo.exists_async,
            path,
            is_watched,
            lambda stat: None if stat is None else stat_of(stat),
            settle,
        )

    def children(self, path: str, is_watched: bool, settle: Settle) -> None:
        self._read(
            lambda path, watch: self._kazoo.get_children_async(path, watch, include_data=True),
            path,
            is_watched,
            lambda found: Children(tuple(sorted(found[0])), stat_of(found[1])),
            settle,
        )

    def create(self, operation: Create, settle: Settle) -> None:
        self._change(
            lambda path: self._kazoo.create_async(
                path,
                operation.data,
                ephemeral=operation.ephemeral,
                sequence=operation.sequential,
                include_data=True,
            ),
            operation,
            lambda made: Created(self._chroot.relative(made[0]), stat_of(made[1])),
            settle,
        )

    def set(self, operation: SetData, settle: Settle) -> None:
        self._change(
            lambda path: self._kazoo.set_async(path, operation.data, operation.version), operation, stat_of, settle
        )

    def delete(self, operation: Delete, settle: Settle) -> None:
        self._change(lambda path: self._kazoo.delete_async(path, operation.version), operation, lambda _: None, settle)

    def multi(self, operations: Sequence[Operation], settle: Settle) -> None:
        transaction = self._kazoo.transaction()
        transaction.operations.extend(request_of(operation, self._chroot) for operation in operations)
        self._send(
            transaction.commit_async,
            lambda results: multi_outcome(results, operations, self._chroot),
            lambda error: store_error(error, "/"),
            settle,
        )

    def _read(
        self,
        read: Callable[[str, Any], Any],
        path: str,
        is_watched: bool,
        value_of: Callable[[Any], object],
        settle: Settle,
    ) -> None:
        watch = self._on_event if is_watched else None
        absolute = self._chroot.absolute(path)
        self._send(lambda: read(absolute, watch), value_of, lambda error: store_error(error, path), settle)

    def _change(
        self,
        change: Callable[[str], Any],
        operation: Create | SetData | Delete,
        value_of: Callable[[Any], object],
        settle: Settle,
    ) -> None:
        absolute = self._chroot.absolute(operation.path)
        self._send(lambda: change(absolute), value_of, lambda error: operation_error(error, operation), settle)

    def _send(
        self,
        begin: Callable[[], Any],
        value_of: Callable[[Any], object],
        error_of: Callable[[Exception], StoreError],
        settle: Settle,
    ) -> None:
        def answered(ready: Any) -> None:
            error = ready.exception
            if not isinstance(error, UNANSWERED):
                outcome = value_of(ready.value) if error is None else error_of(error)
                self._tell(lambda: settle(outcome))

        with self._lock:
            if not self._is_over:  # or the end of the session settles it
                begin().rawlink(answered)
