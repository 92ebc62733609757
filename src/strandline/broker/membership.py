"""A broker's place in its cluster: registered, told by the controller what to lead and what to follow, and perhaps the
controller itself (SPEC R4, R7).

A broker alone is a cluster of one: it registers, elects itself, and tells itself what to do, by the same path.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from strandline.broker.adoption import adopt_folders
from strandline.broker.cluster_image import BrokerAddress
from strandline.broker.coming_up import ComingUp
from strandline.broker.config_notices import ConfigNotices
from strandline.broker.controller_fence import ControllerFence
from strandline.broker.controller_loop import ControllerLoop
from strandline.broker.directory_notices import DirectoryNotices
from strandline.broker.early_topics import EarlyTopics
from strandline.broker.fetcher_settings import FetcherSettings
from strandline.broker.handing_over import HandingOver
from strandline.broker.isr_changes import IsrChanges
from strandline.broker.journal import JournalQueue, JournalWriter
from strandline.broker.journal_settings import JournalSettings
from strandline.broker.metadata_updates import MetadataUpdates
from strandline.broker.peers import LocalHandler
from strandline.broker.procedures import begin, pause
from strandline.broker.registration import IdInUse, LiveBrokers, Registration
from strandline.broker.replica_fetchers import ReplicaFetchers
from strandline.broker.replicas import Replicas
from strandline.broker.replication_quotas import ReplicationQuotas
from strandline.broker.shutdown_requests import ShutdownRequests
from strandline.broker.shutdown_settings import ShutdownSettings
from strandline.broker.topic_administration import TopicAdministration
from strandline.broker.unclean_topics import UncleanTopics
from strandline.client.settings import Address
from strandline.controller.settings import ControllerSettings
from strandline.log.log_directory import LogDirectory
from strandline.metadata import paths
from strandline.metadata.broker_values import PLAINTEXT, BrokerRegistration, Endpoint
from strandline.metadata.errors import SessionOver, StoreError
from strandline.metadata.zookeeper_settings import ZooKeeperSettings
from strandline.replication.settings import ReplicationSettings
from strandline.wire.layout import Message
from strandline.wire.messages.controlled_shutdown import ControlledShutdownRequest
from strandline.wire.messages.leader_and_isr import LeaderAndIsrRequest
from strandline.wire.messages.stop_replica import StopReplicaRequest
from strandline.wire.messages.update_metadata import UpdateMetadataRequest
from strandline.wire.versions import ApiKey

if TYPE_CHECKING:
    from strandline.broker.broker import Broker

logger = logging.getLogger(__name__)

REGISTER_AGAIN_MS = 200
LAST_ORDERS_MS = 1_000
LOOK_MS = 10
MARGIN_MS = 2_000  # until a session that is over is seen to be over


class Membership:
    def __init__(self, broker: Broker) -> None:
        self._broker, self._host = broker, broker.host
        session, host, broker_id = broker.session, broker.host, broker.settings.broker_id
        self.live_brokers = LiveBrokers(session, host)
        self.registration = Registration(session, host)
        self.fence = ControllerFence(lambda: self.registration.broker_epoch)
        self.updates = MetadataUpdates(broker.image, self.fence)
        self.peers = broker.surroundings.peers(broker_id, self._address_of, self._local_handlers())
        journal_settings = broker.configuration.of_broker(JournalSettings)
        self.journal = JournalQueue(broker_id, journal_settings, host, is_kept=broker.own_store is None)
        self._set_up_replicas(broker)
        self._set_up_control(broker)
        self.journal_writer = JournalWriter(
            broker_id, self.journal, self.topics, broker.image, broker.partitions, self.peers, journal_settings, host
        )
        self.notices = ConfigNotices(session, broker.configuration, broker_id, host)
        self._coming_up = ComingUp(broker_id, broker.image, host)
        self._is_member = True
        self._addresses: Sequence[tuple[str, int]] = ()
        broker.session_keeper.when_expired = self._session_expired
        broker.session_keeper.when_replaced = self._session_replaced
        broker.session_keeper.when_connected_again = self._connected_again

    def _set_up_replicas(self, broker: Broker) -> None:
        session, host, broker_id = broker.session, broker.host, broker.settings.broker_id
        self.isr_changes = IsrChanges(session, self.live_brokers, host)
        self.quotas = ReplicationQuotas(broker_id, broker.configuration, host)
        self.fetchers = ReplicaFetchers(
            broker_id,
            lambda: self.registration.broker_epoch,
            self.peers,
            broker.configuration.of_broker(FetcherSettings),
            self.quotas,
            host,
        )
        self.replicas = Replicas(
            broker_id,
            broker.partitions,
            broker.directories,
            broker.configuration,
            self.live_brokers,
            self.fence,
            self.isr_changes,
            self.fetchers,
            broker.transactions,
            session,
            self.journal,
            host,
        )

    def _set_up_control(self, broker: Broker) -> None:
        session, host, broker_id = broker.session, broker.host, broker.settings.broker_id
        unclean_topics = UncleanTopics(broker.configuration)
        self.loop = ControllerLoop(
            broker_id,
            session,
            self.peers,
            broker.configuration.of_broker(ControllerSettings),
            unclean_topics.now,
            host,
            tell=self.journal.tell,
        )
        unclean_topics.when_changed = self.loop.unclean_election_changed
        self.shutdowns = ShutdownRequests(self.loop, self.live_brokers)
        self._handing_over = HandingOver(
            broker_id,
            lambda: self.registration.broker_epoch,
            broker.image,
            self.live_brokers,
            lambda: broker.session_keeper.is_connected,
            self.peers,
            host,
        )
        self.topics = TopicAdministration(self.loop, self.peers, broker.image, broker.configuration, host)
        self.early_topics = EarlyTopics(self.loop, self.topics, broker.image, host)
        self._directory_notices = DirectoryNotices(broker_id, session, host)
        broker.directory_failures.when_failed = self._directory_failed

    async def join(self, addresses: Sequence[tuple[str, int]]) -> None:
        """Returns when every replica of ours is what it should be, or the controller has had its time."""
        broker = self._broker
        if not await self._has_had_topics():
            await adopt_folders(broker.controlled)
        await self.live_brokers.read()
        self._addresses = addresses
        await self._register(self._host.elapsed_ms() + self._patience_ms())
        topics = (await broker.session.children(paths.TOPICS)).names
        self._coming_up.expect(topics, going=(await broker.session.children(paths.DELETE_TOPICS)).names)
        self.notices.start()
        self.loop.start()
        await self._coming_up.over()
        self.journal_writer.start()
        if broker.settings.internal_topics_early:
            self.early_topics.start()
        self._check_followers()

    # The session with the store.

    def _session_expired(self) -> None:
        self.loop.session_expired()

    def _session_replaced(self) -> None:
        if self._is_member:
            begin(self._join_again())

    async def _join_again(self) -> None:
        """The others have seen us go. We come with a new epoch, and are told anew what to lead and what to follow."""
        try:
            await self._register(None)
        except SessionOver:
            return  # it is replaced again
        self._look_again()
        self.loop.start()

    async def _register(self, deadline_ms: int | None) -> None:
        """An earlier life of ours may still be registered, until its session is over; and the store may be silent."""
        while self._is_member:
            try:
                await self.registration.register(self._registration(self._addresses))
                return
            except SessionOver:
                raise
            except (StoreError, IdInUse) as failure:
                if deadline_ms is not None and self._host.elapsed_ms() > deadline_ms:
                    raise
                logger.info("not registered yet: %s", failure)
                await pause(self._host, REGISTER_AGAIN_MS)

    def _patience_ms(self) -> int:
        """Nobody else can be registered in a store that is ours alone."""
        if self._broker.own_store is not None:
            return 0
        return self._broker.configuration.of_broker(ZooKeeperSettings).zookeeper_session_timeout_ms + MARGIN_MS

    def _connected_again(self) -> None:
        if self._is_member:
            self._look_again()
            self.loop.connected_again()

    def _look_again(self) -> None:
        begin(self.live_brokers.read())
        self.notices.start()

    async def hand_over(self) -> None:
        """Before a clean stop: others lead what we led."""
        self.early_topics.close()
        self.replicas.prepare_to_leave()
        await self._handing_over.hand_over(self._broker.configuration.of_broker(ShutdownSettings))
        until_ms = self._host.elapsed_ms() + LAST_ORDERS_MS
        while not self.loop.is_idle and self._host.elapsed_ms() < until_ms:
            await pause(self._host, LOOK_MS)  # if we are the controller, the others hear of it from us
        await self.journal_writer.last_words()

    def leave(self) -> None:
        self._is_member = False
        self.early_topics.close()
        self.journal_writer.close()
        self.loop.close()
        self.fetchers.close()
        self.isr_changes.close()
        self._directory_notices.close()
        self.peers.close()

    def _directory_failed(self, directory: LogDirectory) -> None:
        """It may have failed in the middle of anything."""
        names = list(directory.logs)
        self._host.call_soon(lambda: self.replicas.directory_failed(names))
        self._directory_notices.tell()

    @property
    def is_idle(self) -> bool:
        return self.loop.is_idle and self.topics.is_idle and not self.peers.is_asking_ourselves

    async def _has_had_topics(self) -> bool:
        return (await self._broker.session.children(paths.TOPICS)).stat.children_version > 0

    def _registration(self, addresses: Sequence[tuple[str, int]]) -> BrokerRegistration:
        settings = self._broker.settings
        listener, advertised = settings.listener(), settings.advertised_listener()
        host = listener.host if listener.host not in ("", "0.0.0.0", "::") else socket.gethostname()
        host, port = advertised or (host, addresses[0][1])
        if advertised is None:
            self.updates.own_address = BrokerAddress(settings.broker_id, "", 0, settings.broker_rack or None)
        endpoint = Endpoint(PLAINTEXT, PLAINTEXT, host, port)
        return BrokerRegistration(
            settings.broker_id, (endpoint,), settings.broker_rack or None, timestamp_ms=self._host.now_ms()
        )

    def _address_of(self, broker_id: int) -> Address | None:
        known = self._broker.image.brokers.get(broker_id)
        return None if known is None or not known.host else Address(known.host, known.port)

    # What the controller says, to us as to others.

    def _local_handlers(self) -> dict[int, LocalHandler]:
        return {
            ApiKey.LEADER_AND_ISR: self.leader_and_isr,
            ApiKey.STOP_REPLICA: self.stop_replica,
            ApiKey.UPDATE_METADATA: self.update_metadata,
            ApiKey.CONTROLLED_SHUTDOWN: self.controlled_shutdown,
            ApiKey.WRITE_TXN_MARKERS: self._broker.transactions.marker_writer.write,
        }

    async def leader_and_isr(self, request: Message) -> Message:
        asked = cast("LeaderAndIsrRequest", request)
        response = await self.replicas.apply_leader_and_isr(asked)
        self._coming_up.was_ordered(asked, response)
        return response

    async def stop_replica(self, request: Message) -> Message:
        return await self.replicas.stop_replicas(cast("StopReplicaRequest", request))

    async def update_metadata(self, request: Message) -> Message:
        response = self.updates.apply(cast("UpdateMetadataRequest", request))
        self._coming_up.look()
        return response

    async def controlled_shutdown(self, request: Message) -> Message:
        return await self.shutdowns.answer(cast("ControlledShutdownRequest", request))

    def _check_followers(self) -> None:
        if self._is_member:
            self.replicas.check_followers()
            settings = self._broker.configuration.of_broker(ReplicationSettings)
            self._host.call_later(settings.isr_check_interval_ms, self._check_followers)
