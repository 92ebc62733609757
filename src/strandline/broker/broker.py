"""One broker, from its settings to its last checkpoint: what it opens, in which order, and how it closes (SPEC M2).

    settings → metadata store → session, cluster id → data directories and their logs → topics → sockets → housekeeping

Everything here runs in one thread, which owns all state. A stop goes the other way: others lead what we led, no new
requests, no background work, then the logs are closed and marked clean, then the store.

`open` and `close` are procedures over given `Surroundings`; `start` and `stop` run them on an event loop with sockets.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress

from strandline.broker.api_handlers import api_handlers
from strandline.broker.bridges import completed
from strandline.broker.broker_settings import BrokerSettings
from strandline.broker.cluster_image import ClusterImage
from strandline.broker.configs.application import SettingsInForce
from strandline.broker.configuration import Configuration
from strandline.broker.controlled_state import ControlledState
from strandline.broker.directory_failures import DirectoryFailures
from strandline.broker.dispatch import Dispatch
from strandline.broker.fetch_sessions import FetchSessions
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.broker.handlers.produce import ProduceHandler
from strandline.broker.housekeeping.closing import flush_before_close
from strandline.broker.housekeeping.housekeeping import Housekeeping
from strandline.broker.identity import check_directories, claim_directories, cluster_id_of, stored_identity
from strandline.broker.membership import Membership
from strandline.broker.network_settings import NetworkSettings
from strandline.broker.partitions import Partitions
from strandline.broker.procedures import pause
from strandline.broker.session_keeper import SessionKeeper
from strandline.broker.store_loop import StoreLoop
from strandline.broker.surroundings import LoopSurroundings, Surroundings
from strandline.broker.transaction_services import TransactionServices
from strandline.log.filesystem import make_directories_durably
from strandline.log.log_directories import LogDirectories
from strandline.log.meta_properties import MetaProperties
from strandline.metadata import paths
from strandline.metadata.answer import Answer
from strandline.metadata.embedded import EmbeddedStore
from strandline.metadata.errors import NodeExists, StoreError
from strandline.metadata.store import MetadataStore
from strandline.metadata.zookeeper_settings import ZooKeeperSettings
from strandline.model.settings import INT_MAX, CleanerSettings, LogDirectorySettings, ProducerStateSettings

logger = logging.getLogger(__name__)

IDLE_CHECK_MS = 2
LAST_WORK_MS = 30_000  # what has begun may take so long before it is given up


class Broker:
    """`start` it in a running event loop, then `stop` it there; or `open` and `close` it elsewhere. One life only."""

    def __init__(self, properties: Mapping[str, str], store: MetadataStore | None = None) -> None:
        """Raises `BadSetting` for settings that cannot be used. A store that is given is somebody else's to close."""
        self._given_store = store
        self.own_store: EmbeddedStore | None = None
        self.configuration = Configuration(properties)
        self.settings = self.configuration.of_broker(BrokerSettings)
        self.directory_settings = self.configuration.of_broker(LogDirectorySettings)
        self.partitions = Partitions()
        self.addresses: list[tuple[str, int]] = []  # where it listens
        self.failure: str | None = None  # why it cannot go on
        self.when_failed: Callable[[], object] = lambda: None  # whoever runs it should stop it

    async def start(self, progress: Callable[[str], None] | None = None) -> None:
        cleaner = self.configuration.of_broker(CleanerSettings)
        await completed(self.open(LoopSurroundings(self.settings.background_threads + cleaner.threads), progress))

    async def open(self, surroundings: Surroundings, progress: Callable[[str], None] | None = None) -> None:
        """A procedure. When it ends, requests are served."""
        self.surroundings = surroundings
        self.host = surroundings.host
        self.filesystem = surroundings.filesystem
        try:
            make_directories_durably(self.filesystem, self.directory_settings.log_dirs[0])
            known = stored_identity(self.filesystem, self.directory_settings.log_dirs)
            self._take_identity(known)
            check_directories(self.filesystem, self.directory_settings.log_dirs, self.settings.broker_id)
            self._open_store()
            try:
                await self._open(known.cluster_id, progress)
            except BaseException:
                self._close_store()
                raise
        except BaseException:
            self.host.close()
            raise

    def _take_identity(self, known: MetaProperties) -> None:
        """Where no setting says who we are, the data does."""
        if known.node_id is not None and not self.configuration.static.keys() & {"broker.id", "node.id"}:
            self.configuration.set_static("broker.id", str(known.node_id))
            self.settings = self.configuration.of_broker(BrokerSettings)

    def _open_store(self) -> None:
        """In the first data directory, as files of their own, which a Kafka that opens it leaves alone."""
        if self._given_store is not None:
            self._store: MetadataStore = self._given_store
            return
        zookeeper = self.configuration.of_broker(ZooKeeperSettings)
        if zookeeper.zookeeper_connect:
            from strandline.metadata.zookeeper import ZooKeeperStore  # kazoo takes time to import

            self._store = ZooKeeperStore(zookeeper, self.host.post)
            return
        loop = StoreLoop(self.host)
        self._store = self.own_store = EmbeddedStore.open(
            self.filesystem, self.directory_settings.log_dirs[0], clock_ms=self.host.now_ms, wake=loop.wake
        )
        loop.runs(self.own_store)

    def _close_store(self) -> None:
        if self.own_store is not None:
            self.own_store.close()

    async def _open(self, known_cluster_id: str | None, progress: Callable[[str], None] | None) -> None:
        self.session_keeper = SessionKeeper(self._store, self.host)
        self.session = await self.session_keeper.open()
        await self._make_sure_of_paths()
        cluster_id = await cluster_id_of(self.session, self.host, known_cluster_id)
        await self._load_configuration()
        paths = self.directory_settings.log_dirs
        check_directories(self.filesystem, paths, self.settings.broker_id, cluster_id)
        self.directories = LogDirectories.open(
            self.filesystem,
            paths,
            self.configuration.log_settings,
            now_ms=self.host.now_ms(),
            progress=progress,
            producer_id_expiration_ms=self.configuration.of_broker(ProducerStateSettings).producer_id_expiration_ms,
        )
        self.image = ClusterImage(cluster_id)
        self.image.when_changed(self._forget_settings)
        self.groups = GroupCoordinator(self.image, self.configuration, self.host)
        self.transactions = TransactionServices(
            self.settings.broker_id,
            self.image,
            self.configuration,
            self.partitions,
            self.groups,
            self.session,
            self.host,
        )
        try:
            await self._bring_up(cluster_id)
        except BaseException:
            self._close_coordinators()  # what they are loading would read closed logs
            self.directories.close(now_ms=self.host.now_ms())
            raise

    async def _bring_up(self, cluster_id: str) -> None:
        claim_directories(self.directories, self.settings.broker_id, cluster_id)
        self.directory_failures = DirectoryFailures(
            self.settings.broker_id, self.directories, self.partitions, self.image, self._all_directories_failed
        )
        self.controlled = ControlledState(
            self.settings.broker_id,
            self.session,
            self.directories,
            self.partitions,
            self.image,
            self.configuration,
            self.host,
            self.transactions,
        )
        self.membership = Membership(self)
        self.transactions.connect(self.membership.peers)
        self.controller = self.membership.topics
        self.fetch_sessions = FetchSessions(
            self.settings.max_incremental_fetch_session_cache_slots, lambda: self.host.random_below(INT_MAX) + 1
        )
        produce = ProduceHandler(self.partitions, self.host, self.transactions.produce)
        self.dispatch = Dispatch(
            api_handlers(self, produce), produce.settle, entries_max=self.settings.max_entries_per_request
        )
        self.housekeeping = Housekeeping(self.host, self.configuration, self.directories, self.partitions)
        self._bind()
        if self.own_store is None:
            self.server.begin_accepting()  # the controller is another broker, who has to reach us
        await self.membership.join(self.addresses)
        if self.own_store is not None:
            self.server.begin_accepting()
        self.housekeeping.start()

    def _forget_settings(self, topic: str) -> None:
        if topic not in self.image.topics:
            self.configuration.set_topic(topic, None)

    def _bind(self) -> None:
        self.server = self.surroundings.listener(self.configuration.of_broker(NetworkSettings), self.dispatch)
        SettingsInForce(self.configuration, self.partitions, self.directories, self.server, self.host)
        listener = self.settings.listener()
        self.addresses = self.server.bind(listener.host, listener.port)

    async def stop(self) -> None:
        """A clean stop: what was acknowledged is on the disk, and the next start need not look for it."""
        await completed(self.membership.hand_over())
        self._close_coordinators()
        await self.server.stop()
        await completed(self.close())

    async def close(self) -> None:
        """A procedure, once nobody is served any more."""
        await self._stop_housekeeping()
        await self._end_of_procedures()
        self.membership.leave()
        self.directories.close(now_ms=self.host.now_ms())
        if self.own_store is None:
            self.session_keeper.close()
            with suppress(StoreError):
                await self.session.close()
        self._close_store()
        self.host.close()

    def _close_coordinators(self) -> None:
        self.groups.led.close()
        self.transactions.close()

    async def _stop_housekeeping(self) -> None:
        stopped: Answer[None] = Answer()
        self.housekeeping.stop(lambda: stopped.deliver(None))
        await stopped
        flushed: Answer[None] = Answer()
        flush_before_close(self.host, self.directories, lambda: flushed.deliver(None))
        await flushed
        self.housekeeping.write_last_high_watermarks()

    async def _end_of_procedures(self) -> None:
        """A topic that is being created is created: what procedures wait for comes by itself, unless it has to come
        from other brokers."""
        deadline = self.host.elapsed_ms() + LAST_WORK_MS
        while not (self._is_store_idle() and self.host.is_idle and self._is_membership_idle()):
            if self.host.elapsed_ms() > deadline:
                logger.warning("something that was asked for is not done, and this broker stops")
                return
            await pause(self.host, IDLE_CHECK_MS)

    def _is_membership_idle(self) -> bool:
        return self.own_store is None or self.membership.is_idle

    def _is_store_idle(self) -> bool:
        return self.own_store is None or self.own_store.is_idle

    def _all_directories_failed(self, reason: str) -> None:
        self.failure = reason
        self.when_failed()

    async def _make_sure_of_paths(self) -> None:
        for path in paths.PERSISTENT_PATHS:
            parts = path.split("/")[1:]
            for depth in range(1, len(parts) + 1):
                node = "/" + "/".join(parts[:depth])
                if await self.session.exists(node) is None:
                    with suppress(NodeExists):  # brokers of a new cluster start together
                        await self.session.create(node)

    async def _load_configuration(self) -> None:
        """Dynamic settings and those of topics, before any log is opened with them."""
        ignored = self.configuration.names_without_effect()
        if ignored:
            logger.warning("settings that have no effect here: %s", ", ".join(ignored))
        await self.configuration.load(self.session, self.settings.broker_id)
