"""Makes a changed setting take effect on what is open: logs, partitions, the listener.

Whoever reads its settings each time it uses them needs no entry here.
"""

from __future__ import annotations

from strandline.broker.configuration import Configuration
from strandline.broker.host import Host
from strandline.broker.network_settings import NetworkSettings
from strandline.broker.partitions import NO_PARTITIONS, Partitions
from strandline.broker.surroundings import Listener
from strandline.log.log_directories import LogDirectories
from strandline.model.settings import ProducerStateSettings
from strandline.replication.settings import ReplicationSettings


class SettingsInForce:
    def __init__(
        self,
        configuration: Configuration,
        partitions: Partitions,
        directories: LogDirectories,
        server: Listener,
        host: Host,
    ) -> None:
        self._configuration = configuration
        self._host = host
        self._partitions = partitions
        self._directories = directories
        self._server = server
        configuration.when_changed(self._broker_changed)
        configuration.when_topic_changed(self._topic_changed)

    def _broker_changed(self) -> None:
        self._server.change_settings(self._configuration.of_broker(NetworkSettings))
        for topic in list(self._partitions.by_name):
            self._topic_changed(topic)
        self._directories.remember_producers_for(
            self._configuration.of_broker(ProducerStateSettings).producer_id_expiration_ms
        )

    def _topic_changed(self, topic: str) -> None:
        partitions = self._partitions.by_name.get(topic, NO_PARTITIONS)
        if not partitions:
            return
        log_settings = self._configuration.log_settings(topic)
        replication_settings = self._configuration.of_topic(ReplicationSettings, topic)
        for partition in partitions.values():
            partition.log.change_settings(log_settings)
            partition.settings_changed(replication_settings)
