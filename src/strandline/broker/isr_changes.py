"""What leaders want written about their ISR, as conditional writes of the partitions' states (SPEC R4).

The znode's version is the partition's epoch: a write that does not find the version it expects changes nothing, be it
that the controller was quicker or that an earlier try of ours came through after all. Both are *unknown* to the
leader, who has the state read before it goes on (KAFKA-14144).

A member that has been restarted since it fetched may have lost what it had: its broker epoch is compared with that
of its registration right before the write (KIP-903). What we know of registrations may be old, though, and so may be
the fetch: it is sent again for a process that has died once the network is whole. So whoever joins must be registered
at the moment of the write, as a condition of it.

The controller learns of changes by a notice, one for many partitions (`replication.isr_notices`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from strandline.broker.host import Host
from strandline.broker.partition import Partition
from strandline.broker.procedures import begin, follow
from strandline.metadata import paths
from strandline.metadata.answer import Answer, Unanswered
from strandline.metadata.errors import BadVersion, MultiFailed, NoNode, StoreError
from strandline.metadata.operations import Check, SetData
from strandline.metadata.store import Session, Stat
from strandline.metadata.values import PartitionState, decode_partition_state, encode_partition_state, encode_partitions
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.replication.effects import NO_BROKER_EPOCH, AlterIsr
from strandline.replication.events import IsrCommitted, IsrRefused, IsrUnknown, PartitionStateRead
from strandline.replication.isr_notices import CHECK_INTERVAL_MS, IsrChangeNotices

logger = logging.getLogger(__name__)

READ_AGAIN_MS = 500


class NotRegistered(Exception):
    """One that would join the ISR has gone. Nothing was written."""


class IsrChanges:
    def __init__(self, session: Session, live_brokers: Mapping[int, int], host: Host) -> None:
        self._session = session
        self._live_brokers = live_brokers
        self._host = host
        self._notices = IsrChangeNotices(host.elapsed_ms())
        self._is_checking_notices = False
        self._is_open = True
        self._under_way: dict[TopicPartition, Answer[None]] = {}  # a leader has one at a time

    def close(self) -> None:
        self._is_open = False

    def propose(self, partition: Partition, change: AlterIsr) -> None:
        self._under_way[partition.name] = ended = Answer[None]()
        follow(self._propose(partition, change), lambda outcome: self._ended(partition.name, ended, outcome))

    def _ended(self, partition: TopicPartition, ended: Answer[None], outcome: Exception | None) -> None:
        if self._under_way.get(partition) is ended:
            del self._under_way[partition]
        ended.deliver(None)
        if outcome is not None:
            logger.error("an ISR could not be proposed", exc_info=outcome)

    async def settled(self, partitions: Iterable[TopicPartition]) -> None:
        """What was written of these has arrived, or never will. Their topic may be deleted then: a write that came
        after it would go to a topic of the same name, whose first state has the same path, version and epoch."""
        for partition in partitions:
            ended = self._under_way.get(partition)
            if ended is not None:
                await ended

    async def _propose(self, partition: Partition, change: AlterIsr) -> None:
        for member, broker_epoch in zip(change.isr, change.broker_epochs, strict=True):
            if broker_epoch not in (NO_BROKER_EPOCH, self._live_brokers.get(member, NO_BROKER_EPOCH)):
                refused = IsrRefused(change, ErrorCode.INELIGIBLE_REPLICA)
                partition.heard_from_store(refused)
                return
        event: IsrCommitted | IsrRefused | IsrUnknown
        try:
            path = paths.partition_state_path(partition.name)
            stored = decode_partition_state(partition.name, (await self._session.get(path)).data)
            state = PartitionState(
                partition.broker_id, change.leader_epoch, change.isr, stored.controller_epoch, stored.is_recovering
            )
            if stored.leader_epoch != change.leader_epoch:
                event = IsrUnknown(change, f"the store has leader epoch {stored.leader_epoch}")
            else:
                version = await self._write(
                    SetData(path, encode_partition_state(state), change.partition_epoch), change
                )
                event = IsrCommitted(change, version)
        except NotRegistered:
            event = IsrRefused(change, ErrorCode.INELIGIBLE_REPLICA)
        except (BadVersion, NoNode) as mismatch:
            event = IsrUnknown(change, str(mismatch))
        except StoreError as failure:
            event = IsrUnknown(change, str(failure))
        partition.heard_from_store(event)

    async def _write(self, write: SetData, change: AlterIsr) -> int:
        """The version after it."""
        joining = [member for member in change.isr if member not in change.previous_isr]
        if not joining:
            return (await self._session.set(write.path, write.data, write.version)).version
        try:
            *_, stat = await self._session.multi([*map(_is_registered, joining), write])
        except MultiFailed as failed:
            if failed.index < len(joining):
                raise NotRegistered from failed
            raise
        assert isinstance(stat, Stat)
        return stat.version

    def read(self, partition: Partition) -> None:
        begin(self._read(partition))

    async def _read(self, partition: Partition) -> None:
        """However long it takes, unless the partition is gone."""
        try:
            node = await self._session.get(paths.partition_state_path(partition.name))
        except NoNode:
            return
        except Unanswered:
            if self._is_open:
                self._host.call_later(READ_AGAIN_MS, lambda: self.read(partition))
            return
        state = decode_partition_state(partition.name, node.data)
        read = PartitionStateRead(state.leader, state.leader_epoch, state.isr, node.stat.version)
        partition.heard_from_store(read)

    # Notices.

    def changed(self, partition: Partition) -> None:
        self._notice(partition.name)

    def _notice(self, *partitions: TopicPartition) -> None:
        for partition in partitions:
            self._notices.changed(partition, self._host.elapsed_ms())
        if not self._is_checking_notices:
            self._is_checking_notices = True
            self._host.call_later(CHECK_INTERVAL_MS, self._check_notices)

    def _check_notices(self) -> None:
        """As long as there is something to tell."""
        if not self._is_open:
            return
        due = self._notices.due(self._host.elapsed_ms())
        self._is_checking_notices = not due
        if due:
            self._notices.told(due, self._host.elapsed_ms())
            begin(self._tell_controller(due))
        else:
            self._host.call_later(CHECK_INTERVAL_MS, self._check_notices)

    async def _tell_controller(self, due: tuple[TopicPartition, ...]) -> None:
        try:
            await self._session.create(paths.ISR_CHANGE_PREFIX, encode_partitions(due), sequential=True)
        except StoreError as failure:
            logger.warning("the controller was not told of ISR changes: %s", failure)
            self._notice(*due)


def _is_registered(broker_id: int) -> Check:
    return Check(paths.broker_path(broker_id))
