"""One broker, from its settings to its last checkpoint: what it opens, in which order, and how it closes (SPEC M2).

    settings → metadata store → session, cluster id → data directories and their logs → topics → sockets → housekeeping

Everything here runs on one event loop's thread, which owns all state. A stop goes the other way: no new requests, no
background work, then the logs are closed and marked clean, then the store.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from strandline.broker.api_handlers import api_handlers
from strandline.broker.broker_settings import BrokerSettings
from strandline.broker.cluster_image import BrokerAddress, ClusterImage
from strandline.broker.configs.application import SettingsInForce
from strandline.broker.configuration import Configuration
from strandline.broker.controlled_state import ControlledState
from strandline.broker.directory_failures import DirectoryFailures
from strandline.broker.dispatch import Dispatch
from strandline.broker.fetch_sessions import FetchSessions
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.broker.handlers.produce import ProduceHandler
from strandline.broker.host import LoopHost
from strandline.broker.housekeeping.closing import flush_before_close
from strandline.broker.housekeeping.housekeeping import Housekeeping
from strandline.broker.identity import check_directories, claim_directories, cluster_id_of, stored_identity
from strandline.broker.network_settings import NetworkSettings
from strandline.broker.partitions import Partitions
from strandline.broker.procedures import begin
from strandline.broker.producer_ids import ProducerIds
from strandline.broker.server import Server
from strandline.broker.sole_controller import SoleController
from strandline.broker.store_loop import StoreLoop
from strandline.log.filesystem import RealFileSystem, make_directories_durably
from strandline.log.log_directories import LogDirectories
from strandline.log.meta_properties import MetaProperties
from strandline.metadata import paths
from strandline.metadata.answer import Answer
from strandline.metadata.embedded import EmbeddedStore
from strandline.metadata.store import SessionState
from strandline.model.settings import INT_MAX, CleanerSettings, LogDirectorySettings, ProducerStateSettings

logger = logging.getLogger(__name__)

Value = TypeVar("Value")
IDLE_CHECK_S = 0.002


class Broker:
    """`start` it in a running event loop, then `stop` it there. One life only."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Raises `BadSetting` for settings that cannot be used."""
        self.configuration = Configuration(properties)
        self.settings = self.configuration.of_broker(BrokerSettings)
        self.directory_settings = self.configuration.of_broker(LogDirectorySettings)
        self.partitions = Partitions()
        self.addresses: list[tuple[str, int]] = []  # where it listens
        self.failure: str | None = None  # why it cannot go on
        self.when_failed: Callable[[], object] = lambda: None  # whoever runs it should stop it

    async def start(self, progress: Callable[[str], None] | None = None) -> None:
        cleaner = self.configuration.of_broker(CleanerSettings)
        self.host = LoopHost(self.settings.background_threads + cleaner.threads)
        try:
            self.filesystem = RealFileSystem()
            make_directories_durably(self.filesystem, self.directory_settings.log_dirs[0])
            known = stored_identity(self.filesystem, self.directory_settings.log_dirs)
            self._take_identity(known)
            check_directories(self.filesystem, self.directory_settings.log_dirs, self.settings.broker_id)
            self._open_store()
            try:
                await self._open(known.cluster_id, progress)
            except BaseException:
                self._store.close()
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
        loop = StoreLoop(self.host)
        self._store = EmbeddedStore.open(
            self.filesystem, self.directory_settings.log_dirs[0], clock_ms=self.host.now_ms, wake=loop.wake
        )
        loop.runs(self._store)

    async def _open(self, known_cluster_id: str | None, progress: Callable[[str], None] | None) -> None:
        self.session = await _awaited(self._store.open_session(self._session_changed))
        await _completed(self._make_sure_of_paths())
        cluster_id = await _completed(cluster_id_of(self.session, self.host, known_cluster_id))
        await _completed(self._load_configuration())
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
        self.groups = GroupCoordinator(self.image, self.configuration, self.host)
        try:
            await self._bring_up(cluster_id)
        except BaseException:
            self.groups.close()  # what they are loading would read closed logs
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
            self.groups,
        )
        self.controller = SoleController(self.controlled)
        await _completed(self.controller.start())
        self.producer_ids = ProducerIds(self.session, self.settings.broker_id)
        self.fetch_sessions = FetchSessions(
            self.settings.max_incremental_fetch_session_cache_slots, lambda: secrets.randbelow(INT_MAX) + 1
        )
        produce = ProduceHandler(self.partitions, self.host)
        self.dispatch = Dispatch(
            api_handlers(self, produce), produce.settle, entries_max=self.settings.max_entries_per_request
        )
        self.housekeeping = Housekeeping(self.host, self.configuration, self.directories, self.partitions)
        self._listen()
        self.housekeeping.start()

    def _listen(self) -> None:
        self.server = Server(self.configuration.of_broker(NetworkSettings), self.dispatch)
        SettingsInForce(self.configuration, self.partitions, self.directories, self.server)
        listener, advertised = self.settings.listener(), self.settings.advertised_listener()
        self.addresses = self.server.listen(listener.host, listener.port)
        host, port = advertised or ("", 0)
        self.image.controller_id = self.settings.broker_id
        self.image.brokers[self.settings.broker_id] = BrokerAddress(
            self.settings.broker_id, host, port, self.settings.broker_rack or None
        )

    async def stop(self) -> None:
        """A clean stop: what was acknowledged is on the disk, and the next start need not look for it."""
        self.groups.close()
        await self.server.stop()
        await self._stop_housekeeping()
        await self._end_of_procedures()
        self.directories.close(now_ms=self.host.now_ms())
        self._store.close()
        self.host.close()

    async def _stop_housekeeping(self) -> None:
        stopped = asyncio.Event()
        self.housekeeping.stop(stopped.set)
        await stopped.wait()
        flushed = asyncio.Event()
        flush_before_close(self.host, self.directories, flushed.set)
        await flushed.wait()
        self.housekeeping.write_last_high_watermarks()

    async def _end_of_procedures(self) -> None:
        """A topic that is being created is created: what procedures wait for comes by itself."""
        while not (self._store.is_idle and self.host.is_idle):
            await asyncio.sleep(IDLE_CHECK_S)

    def _all_directories_failed(self, reason: str) -> None:
        self.failure = reason
        self.when_failed()

    def _session_changed(self, state: SessionState) -> None:
        logger.error("the metadata store is %s", state.value)

    async def _make_sure_of_paths(self) -> None:
        for path in paths.PERSISTENT_PATHS:
            parts = path.split("/")[1:]
            for depth in range(1, len(parts) + 1):
                node = "/" + "/".join(parts[:depth])
                if await self.session.exists(node) is None:
                    await self.session.create(node)

    async def _load_configuration(self) -> None:
        """Dynamic settings and those of topics, before any log is opened with them."""
        ignored = self.configuration.names_without_effect()
        if ignored:
            logger.warning("settings that have no effect here: %s", ", ".join(ignored))
        await self.configuration.load(self.session, self.settings.broker_id)


async def _awaited(answer: Answer[Value]) -> Value:
    """The bridge from answers to asyncio, for the start alone."""
    future: asyncio.Future[Answer[Value]] = asyncio.get_running_loop().create_future()
    answer.then(future.set_result)
    return (await future).value()


async def _completed(procedure: Coroutine[Any, None, Value]) -> Value:
    future: asyncio.Future[Value] = asyncio.get_running_loop().create_future()

    async def run() -> None:
        try:
            value = await procedure
        except Exception as failure:
            future.set_exception(failure)
        else:
            future.set_result(value)

    begin(run())
    return await future
