"""The transaction coordinator of a broker: which of its partitions of `__transaction_state` looks after a transactional
id (SPEC P3).

An id belongs to the partition that it hashes to, and so to the broker that leads that partition (`led`). While it does,
the partition's ids are here (`LedTransactions`). Everything is passed on to them: requests, deleted partitions,
settings.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from strandline.broker.asking import Asking, Stage
from strandline.broker.broker_settings import BrokerSettings
from strandline.broker.cluster_image import TRANSACTION_STATE, ClusterImage
from strandline.broker.configuration import Configuration
from strandline.broker.coordinator_loading import LoadingQueue, Replay
from strandline.broker.gathering import Gathering
from strandline.broker.group_coordinator import UNTROUBLED, partition_of_name
from strandline.broker.host import Host
from strandline.broker.led_partitions import LedPartitions
from strandline.broker.led_transactions import LedTransactions, SendMarkers
from strandline.broker.partition import Partition
from strandline.broker.producer_ids import ProducerIdBlocks
from strandline.broker.transaction_batches import replay
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import TopicPartition
from strandline.model.settings import BadSetting
from strandline.transactions.commands import DescribeTransactions, ListTransactions, PartitionsDeleted
from strandline.transactions.replies import DescribeTransactionsReply, ListTransactionsReply, Reply
from strandline.transactions.settings import TransactionSettings, TransactionStateTopicSettings
from strandline.transactions.states import BY_TITLE

logger = logging.getLogger(__name__)

R = TypeVar("R", bound=Reply)


class TransactionCoordinator:
    def __init__(
        self,
        image: ClusterImage,
        configuration: Configuration,
        host: Host,
        producer_ids: ProducerIdBlocks,
        send_markers: SendMarkers,
    ) -> None:
        self._image = image
        self._configuration = configuration
        self._host = host
        self._producer_ids = producer_ids
        self._send_markers = send_markers
        self.settings = configuration.of_broker(TransactionSettings)
        topic = configuration.of_broker(TransactionStateTopicSettings)
        queue = LoadingQueue(host, topic.transaction_state_log_load_buffer_size)
        self.led = LedPartitions(TRANSACTION_STATE, "transactions", queue, self._begin, self._loaded)
        self._reply_timeout_ms = configuration.of_broker(BrokerSettings).offsets_commit_timeout_ms
        configuration.when_changed(self._settings_changed)

    def _begin(self, partition: Partition) -> tuple[LedTransactions, Replay]:
        led = LedTransactions(
            partition, self.settings, self._producer_ids.ids, self._host, self._reply_timeout_ms, self._send_markers
        )
        self._producer_ids.replenish()
        return led, partial(replay, led.shard)

    def _loaded(self, led: LedTransactions) -> None:
        led.loaded(self.settings)

    # Requests.

    def partition_of(self, transactional_id: str) -> int:
        topic = self._image.topics.get(TRANSACTION_STATE)
        if topic is not None:
            count = len(topic.partitions)
        else:
            settings = self._configuration.of_broker(TransactionStateTopicSettings)
            count = settings.transaction_state_log_num_partitions
        return partition_of_name(transactional_id, count)

    def broker_of(self, transactional_id: str) -> int | None:
        """Who coordinates it, as far as we know."""
        topic = self._image.topics.get(TRANSACTION_STATE)
        partition = None if topic is None else topic.partitions.get(self.partition_of(transactional_id))
        return None if partition is None or partition.leader_id < 0 else partition.leader_id

    def ask(self, transactional_id: str, command: Asking[R], answer: Callable[[R], object]) -> None:
        """`answer` is called once, now or later: when what was decided is committed, or with an error."""
        led = self.led.get(self.partition_of(transactional_id))
        if not transactional_id:  # whoever is asked
            answer(command.refused(Refused(ErrorCode.INVALID_REQUEST, "a transactional id cannot be empty")))
        elif led is None:
            reason = f"this broker does not coordinate {transactional_id!r}"
            answer(command.refused(Refused(ErrorCode.NOT_COORDINATOR, reason)))
        else:
            led.ask(command, answer)
            self._producer_ids.replenish()

    def describe(
        self, transactional_ids: Sequence[str], answer: Callable[[Sequence[DescribeTransactionsReply]], object]
    ) -> None:
        """Each id belongs to its own partition; the replies are in this order."""
        gathering = Gathering(len(transactional_ids), answer)
        for place, transactional_id in enumerate(transactional_ids):
            command = DescribeTransactions(transactional_ids=(transactional_id,))
            self.ask(transactional_id, command, partial(gathering.put, place))

    def list_transactions(self, command: ListTransactions, answer: Callable[[ListTransactionsReply], object]) -> None:
        """Of all partitions that are led here; an error if they are not all there yet."""
        led = [each for each in self.led.all() if each.stage is not Stage.OVER]
        gathering: Gathering[ListTransactionsReply] = Gathering(
            len(led), lambda replies: answer(_joined(command, replies))
        )
        for place, each in enumerate(led):
            each.ask(command, partial(gathering.put, place))

    # News.

    def partitions_deleted(self, partitions: Sequence[TopicPartition]) -> None:
        for led in self.led.all():
            led.partitions_deleted(PartitionsDeleted(partitions=tuple(partitions)))

    def _settings_changed(self) -> None:
        try:
            settings = self._configuration.of_broker(TransactionSettings)
        except BadSetting as bad:
            logger.error("the settings of transactions stay as they were: %s", bad)
            return
        if settings != self.settings:
            self.settings = settings
            for led in self.led.all():
                led.settings_changed(settings)


def _joined(command: ListTransactions, replies: Sequence[ListTransactionsReply]) -> ListTransactionsReply:
    """Ids that went to another broker meanwhile are listed there."""
    failed = next((reply for reply in replies if reply.error_code not in UNTROUBLED), None)
    if failed is not None:
        return failed
    return ListTransactionsReply(
        unknown_states=tuple(state for state in command.states if state not in BY_TITLE),
        transactions=tuple(transaction for reply in replies for transaction in reply.transactions),
    )
