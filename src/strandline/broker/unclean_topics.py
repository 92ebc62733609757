"""Which topics allow unclean elections by a setting of their own, for the controller: now, and when that changes."""

from __future__ import annotations

from collections.abc import Callable

from strandline.broker.configuration import Configuration
from strandline.model.settings import ReplicationSettings

SETTING = "unclean.leader.election.enable"


class UncleanTopics:
    def __init__(self, configuration: Configuration) -> None:
        self.when_changed: Callable[[str, bool | None], object] = lambda *_: None
        self._configuration = configuration
        self._told: dict[str, bool] = {}
        configuration.when_topic_changed(self._topic_changed)

    def now(self) -> dict[str, bool]:
        found = {topic: self._of(topic) for topic in self._configuration.topics}
        self._told = {topic: is_enabled for topic, is_enabled in found.items() if is_enabled is not None}
        return dict(self._told)

    def _of(self, topic: str) -> bool | None:
        """None where the default of all decides."""
        if SETTING not in self._configuration.topics.get(topic, {}):
            return None
        return self._configuration.of_topic(ReplicationSettings, topic).unclean_leader_election_enable

    def _topic_changed(self, topic: str) -> None:
        is_enabled = self._of(topic)
        if is_enabled is self._told.get(topic):
            return
        if is_enabled is None:
            del self._told[topic]
        else:
            self._told[topic] = is_enabled
        self.when_changed(topic, is_enabled)
