"""The group coordinator of a broker: which of its partitions of `__consumer_offsets` looks after a group (SPEC P4).

A group belongs to the partition that its id hashes to, and so to the broker that leads that partition (`led`). While it
does, the partition's groups are here (`LedGroups`). Everything is passed on to them: requests, what topics there are,
settings.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import TypeVar

from strandline.broker.asking import Asking, Stage
from strandline.broker.broker_settings import BrokerSettings
from strandline.broker.cluster_image import CONSUMER_OFFSETS, ClusterImage
from strandline.broker.configuration import Configuration
from strandline.broker.coordinator_loading import LoadingQueue, Replay
from strandline.broker.gathering import Gathering
from strandline.broker.group_batches import replay
from strandline.broker.host import Host
from strandline.broker.led_groups import LedGroups
from strandline.broker.led_partitions import LedPartitions
from strandline.broker.partition import Partition
from strandline.groups.commands import ListGroups, PartitionsDeleted
from strandline.groups.draft import Topic
from strandline.groups.replies import ListGroupsReply, Reply
from strandline.groups.settings import GroupSettings, OffsetsTopicSettings
from strandline.model.coordinators import STORED_STRING_BYTES_MAX, coordinator_partition
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import TopicPartition
from strandline.model.settings import BadSetting

logger = logging.getLogger(__name__)

R = TypeVar("R", bound=Reply)
UNTROUBLED = (ErrorCode.NONE, ErrorCode.NOT_COORDINATOR)
GROUPS_PER_TURN = 500  # of one request for many: other clients have their turn in between
GROUPS_REMEMBERED = 10_000  # whose partition need not be computed again
NAME_REMEMBERED_MAX = 256

remembered_partition = lru_cache(GROUPS_REMEMBERED)(coordinator_partition)


def partition_of_name(name: str, count: int) -> int:
    """The partition, out of so many, that a group or a transactional id belongs to."""
    if len(name) <= NAME_REMEMBERED_MAX:
        return remembered_partition(name, count)
    if len(name) <= STORED_STRING_BYTES_MAX:
        return coordinator_partition(name, count)
    return 0  # there is none with such a name, and any partition will say so


class GroupCoordinator:
    def __init__(self, image: ClusterImage, configuration: Configuration, host: Host) -> None:
        settings = configuration.of_broker(BrokerSettings)
        self._image = image
        self._configuration = configuration
        self._host = host
        self._settings = configuration.of_broker(GroupSettings)
        self._commit_timeout_ms = settings.offsets_commit_timeout_ms
        queue = LoadingQueue(host, settings.offsets_load_buffer_size)
        self.led = LedPartitions(CONSUMER_OFFSETS, "groups", queue, self._begin, self._loaded)
        self._topics: dict[str, Topic] = {}  # one for all shards, and never theirs to change
        for name in image.topics:
            self._topic_changed(name)
        image.when_changed(self._topic_changed)
        configuration.when_changed(self._settings_changed)

    def _begin(self, partition: Partition) -> tuple[LedGroups, Replay]:
        led = LedGroups(partition, self._settings, self._host, self._commit_timeout_ms)
        return led, partial(replay, led.shard)

    def _loaded(self, led: LedGroups) -> None:
        led.loaded(self._settings, self._topics)

    # Requests.

    def partition_of(self, group: str) -> int:
        topic = self._image.topics.get(CONSUMER_OFFSETS)
        if topic is not None:
            count = len(topic.partitions)
        else:
            count = self._configuration.of_broker(OffsetsTopicSettings).offsets_topic_num_partitions
        return partition_of_name(group, count)

    def led_groups(self, group: str) -> LedGroups | None:
        """The partition that it belongs to, if this broker leads that."""
        return self.led.get(self.partition_of(group))

    def ready(self, partition: Partition) -> LedGroups:
        """The groups of a partition of `__consumer_offsets`, once they are loaded: a marker that came before would be
        missed."""
        led = self.led.get(partition.name.partition)
        if led is None or led.stage is not Stage.ACTIVE:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"the groups of {partition.name} are not loaded")
        return led

    def ask(self, group: str, command: Asking[R], answer: Callable[[R], object]) -> None:
        """`answer` is called once, now or later: when what was decided is committed, or with an error."""
        led = self.led_groups(group)
        if led is None:
            reason = f"this broker does not look after the group {group!r}"
            answer(command.refused(Refused(ErrorCode.NOT_COORDINATOR, reason)))
        else:
            led.ask(command, answer)

    def ask_each(self, commands: Sequence[tuple[str, Asking[R]]], answer: Callable[[Sequence[R]], object]) -> None:
        """Of several groups, each of which belongs to its own partition; the replies are in this order."""
        gathering = Gathering(len(commands), answer)
        self._ask_some(commands, 0, gathering)

    def _ask_some(self, commands: Sequence[tuple[str, Asking[R]]], start: int, gathering: Gathering[R]) -> None:
        following = start + GROUPS_PER_TURN
        for place, (group, command) in enumerate(commands[start:following], start):
            self.ask(group, command, partial(gathering.put, place))
        if following < len(commands):
            self._host.call_soon(lambda: self._ask_some(commands, following, gathering))

    def list_groups(self, command: ListGroups, answer: Callable[[ListGroupsReply], object]) -> None:
        """Of all partitions that are led here; an error if they are not all there yet."""
        led = [each for each in self.led.all() if each.stage is not Stage.OVER]
        gathering: Gathering[ListGroupsReply] = Gathering(len(led), lambda replies: answer(_joined(replies)))
        for place, each in enumerate(led):
            each.ask(command, partial(gathering.put, place))

    # News.

    def _topic_changed(self, name: str) -> None:
        topic, before = self._image.topics.get(name), self._topics.pop(name, None)
        if topic is not None:
            self._topics[name] = Topic(topic.topic_id, len(topic.partitions))
        for led in self.led.all():
            led.topics_changed(self._topics)
        if before is not None and (topic is None or topic.topic_id != before.topic_id):
            self._forget(name, before.partitions)

    def _forget(self, topic: str, partition_count: int) -> None:
        """Its offsets mean nothing any more, least of all to a new topic of the same name."""
        deleted = PartitionsDeleted(partitions=tuple(TopicPartition(topic, index) for index in range(partition_count)))
        for led in self.led.all():
            led.partitions_deleted(deleted)

    def _settings_changed(self) -> None:
        try:
            settings = self._configuration.of_broker(GroupSettings)
        except BadSetting as bad:
            logger.error("the settings of groups stay as they were: %s", bad)
            return
        if settings != self._settings:
            self._settings = settings
            for led in self.led.all():
                led.settings_changed(settings)


def _joined(replies: Sequence[ListGroupsReply]) -> ListGroupsReply:
    """Groups that went to another broker meanwhile are listed there."""
    failed = next((reply for reply in replies if reply.error_code not in UNTROUBLED), None)
    return failed or ListGroupsReply(groups=tuple(group for reply in replies for group in reply.groups))
