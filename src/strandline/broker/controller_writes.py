"""A controller's `Write` as one multi of the store, beginning with the check that it still is the controller.

Nodes above a new one, and whatever a change does not mind, are found out by reading first; the multi then expects
what was read, so that a change in between makes it fail and not do something else.

Topics that come and go are nearly always as they were left, and reading costs more than writing. So their nodes are
first written without a question; if the store declines that, nothing has changed, and the careful way finds out why.
"""

from __future__ import annotations

from collections.abc import Sequence

from strandline.broker.controller_values import encode_assignment, encode_leadership
from strandline.controller.changes import (
    Change,
    CreateLeadership,
    CreateTopic,
    DropDeletionRequest,
    DropElectionRequest,
    DropNotifications,
    NotificationKind,
    RemoveTopic,
    RequestDeletion,
    SetLeadership,
    SetMoveRequests,
    SetTopic,
)
from strandline.controller.effects import Write
from strandline.controller.events import Outcome
from strandline.metadata import paths
from strandline.metadata.config_values import encode_config
from strandline.metadata.errors import Declined, MultiFailed, StoreError, TooLarge
from strandline.metadata.operations import Check, Create, Delete, Operation, SetData
from strandline.metadata.store import Session
from strandline.metadata.values import encode_reassignment
from strandline.model.partitions import TopicPartition

NODES_PER_WRITE = 500  # keeps a multi well below what a request may carry
NOTIFICATIONS = {
    NotificationKind.ISR_CHANGE: paths.ISR_CHANGE_NOTIFICATION,
    NotificationKind.LOG_DIR_EVENT: paths.LOG_DIR_EVENT_NOTIFICATION,
}


class ControllerWrites:
    def __init__(self, session: Session) -> None:
        self._session = session

    async def write(self, write: Write) -> Outcome:
        fence = Check(paths.CONTROLLER_EPOCH, write.controller_epoch_version)
        try:
            if not await self._written_unasked(write.changes, fence):
                await self._write_carefully(write.changes, fence)
        except MultiFailed as failed:
            return Outcome.FENCED if failed.index == 0 else Outcome.DECLINED
        except TooLarge:
            return Outcome.IMPOSSIBLE
        except Declined:
            return Outcome.DECLINED
        except StoreError:
            return Outcome.UNKNOWN
        return Outcome.COMMITTED

    async def _written_unasked(self, changes: Sequence[Change], fence: Check) -> bool:
        """Whole topics in one multi, as they should be found; False if that could not be done, and nothing was."""
        try:
            match changes:
                case [CreateTopic() as creation, *leaderships]:
                    operations = _whole_creation(creation, leaderships)
                case [RemoveTopic(), *_] if _partition_count(changes) <= NODES_PER_WRITE:
                    operations = [operation for removal in changes for operation in _whole_removal(removal)]
                case _:
                    return False
            await self._session.multi([fence, *operations])
        except MultiFailed as failed:
            if failed.index == 0:
                raise
            return False
        except (Declined, TooLarge):
            return False
        return True

    async def _write_carefully(self, changes: Sequence[Change], fence: Check) -> None:
        made: set[str] = set()
        operations = [operation for change in changes for operation in await self._operations(change, made, fence)]
        await self._session.multi([fence, *operations])

    async def _operations(self, change: Change, made: set[str], fence: Check) -> Sequence[Operation]:
        match change:
            case CreateTopic(topic, assignment, properties):
                config_path = _config_path(topic)
                config = encode_config(properties)
                has_config = await self._session.exists(config_path) is not None
                return [
                    SetData(config_path, config) if has_config else Create(config_path, config),
                    Create(paths.topic_path(topic), encode_assignment(assignment)),
                ]
            case SetTopic(topic, assignment, expected_version):
                return [SetData(paths.topic_path(topic), encode_assignment(assignment), expected_version)]
            case CreateLeadership(partition, state):
                return [
                    *await self._parents_of(partition, made),
                    Create(paths.partition_state_path(partition), encode_leadership(state)),
                ]
            case SetLeadership(partition, state, expected_version):
                return [SetData(paths.partition_state_path(partition), encode_leadership(state), expected_version)]
            case RemoveTopic(topic):
                return await self._remove_topic(topic, fence)
            case RequestDeletion(topic):
                return [Create(paths.delete_topic_path(topic))]
            case DropDeletionRequest(topic):
                return await self._deletes([paths.delete_topic_path(topic)])
            case SetMoveRequests(requests):
                return await self._set_move_requests(requests)
            case DropElectionRequest():
                return await self._deletes([paths.PREFERRED_REPLICA_ELECTION])
            case DropNotifications(kind, names):
                return await self._deletes([f"{NOTIFICATIONS[kind]}/{name}" for name in names])

    async def _parents_of(self, partition: TopicPartition, made: set[str]) -> list[Operation]:
        wanted = [paths.partitions_path(partition.topic), paths.partition_path(partition)]
        created: list[Operation] = []
        for path in wanted:
            if path not in made and await self._session.exists(path) is None:
                created.append(Create(path))
            made.add(path)
        return created

    async def _deletes(self, wanted: Sequence[str]) -> list[Operation]:
        """Of those that are there."""
        return [Delete(path) for path in wanted if await self._session.exists(path) is not None]

    async def _set_move_requests(self, requests: object) -> list[Operation]:
        path = paths.REASSIGN_PARTITIONS
        is_there = await self._session.exists(path) is not None
        if not requests:
            return [Delete(path)] if is_there else []
        data = encode_reassignment(requests)  # type: ignore[arg-type]
        return [SetData(path, data) if is_there else Create(path, data)]

    async def _remove_topic(self, topic: str, fence: Check) -> list[Operation]:
        """The leaves in multis of their own; what remains comes last, with the request for it."""
        if await self._session.exists(paths.partitions_path(topic)) is not None:
            names = (await self._session.children(paths.partitions_path(topic))).names
            for start in range(0, len(names), NODES_PER_WRITE):
                found = [f"{paths.partitions_path(topic)}/{name}" for name in names[start : start + NODES_PER_WRITE]]
                leaves = await self._deletes([f"{path}/state" for path in found])
                nodes = [Delete(path) for path in found]
                await self._session.multi([fence, *leaves, *nodes])
        return await self._deletes(_ends_of(topic))


def _config_path(topic: str) -> str:
    return paths.config_path(paths.entity_path(paths.TOPIC_CONFIGS, topic))


def _ends_of(topic: str) -> list[str]:
    """What goes once the partitions are gone, in this order."""
    return [paths.partitions_path(topic), paths.topic_path(topic), _config_path(topic), paths.delete_topic_path(topic)]


def _whole_creation(creation: CreateTopic, leaderships: Sequence[Change]) -> list[Operation]:
    """Of a topic of which there is nothing yet; not even the settings that an interrupted deletion may have left."""
    topic = creation.topic
    operations: list[Operation] = [
        Create(_config_path(topic), encode_config(creation.properties)),
        Create(paths.topic_path(topic), encode_assignment(creation.assignment)),
    ]
    if leaderships:
        operations.append(Create(paths.partitions_path(topic)))
    for change in leaderships:
        assert isinstance(change, CreateLeadership)
        operations.append(Create(paths.partition_path(change.partition)))
        operations.append(Create(paths.partition_state_path(change.partition), encode_leadership(change.leadership)))
    return operations


def _partition_count(removals: Sequence[Change]) -> int:
    return sum(len(removal.partitions) for removal in removals if isinstance(removal, RemoveTopic))


def _whole_removal(removal: Change) -> list[Operation]:
    """Of a topic with just these partitions, where no node is missing."""
    assert isinstance(removal, RemoveTopic)
    operations: list[Operation] = []
    for index in removal.partitions:
        partition = TopicPartition(removal.topic, index)
        operations.append(Delete(paths.partition_state_path(partition)))
        operations.append(Delete(paths.partition_path(partition)))
    return [*operations, *map(Delete, _ends_of(removal.topic))]
