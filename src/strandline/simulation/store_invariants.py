"""What must be true of the metadata store: who wrote what only a controller may write, and what a partition's state
says.

The store hears every write, with the session that it came from, so nothing that anybody wrote can be missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from strandline.metadata import paths
from strandline.metadata.operations import Check, Create, Delete, Operation, SetData
from strandline.metadata.transactions import Changed, Transaction
from strandline.metadata.values import decode_controller_epoch, decode_partition_state
from strandline.model.partitions import TopicPartition
from strandline.simulation.observed import PartitionTruth

Complain = Callable[[str, str], None]  # the invariant, and what is wrong
NO_SESSION = -1
STATE_DEPTH = 3  # partitions/<index>/state, below the node of its topic


class IsrIsAssigned:
    """Whoever is in the ISR is a replica."""

    name = "IsrIsAssigned"

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        if truth.stored is not None and not truth.is_deleted:
            strangers = [member for member in truth.stored.isr if member not in truth.assigned]
            if strangers:
                yield f"the isr {truth.stored.isr} has {strangers}, and the replicas are {truth.assigned}"


class OneController:
    """An epoch of controllers is begun once, together with the node of whoever begins it, and is one more than the
    last. From then on topics, and who leads a partition, are written by that session alone, and with that epoch:
    whoever was the controller before may have writes on their way, which the store has to refuse (KAFKA-6082)."""

    name = "OneController"

    def __init__(self, complain: Complain) -> None:
        self._complain = complain
        self._epoch = 0
        self._session_id = NO_SESSION  # that has won this epoch
        self._leaders: dict[str, tuple[int, int]] = {}  # by the path of a partition's state: the leader and its epoch

    def written(self, transaction: Transaction) -> None:
        if isinstance(transaction, Changed):
            for sentence in self._complaints(transaction):
                self._complain(self.name, sentence)

    def _complaints(self, changed: Changed) -> Iterator[str]:
        for operation in changed.operations:
            if isinstance(operation, SetData) and operation.path == paths.CONTROLLER_EPOCH:
                yield from self._begins(operation, changed)
            elif not isinstance(operation, Check) and operation.path.startswith(f"{paths.TOPICS}/"):
                yield from self._topic_written(operation, changed.session_id)

    def _begins(self, raising: SetData, changed: Changed) -> Iterator[str]:
        epoch = decode_controller_epoch(raising.data)
        if epoch != self._epoch + 1:
            yield f"the epoch of the controller goes from {self._epoch} to {epoch}"
        if not any(isinstance(each, Create) and each.path == paths.CONTROLLER for each in changed.operations):
            yield f"epoch {epoch} is begun by nobody"
        self._epoch, self._session_id = epoch, changed.session_id

    def _topic_written(self, operation: Create | SetData | Delete, session_id: int) -> Iterator[str]:
        epoch = self._epoch_of_controller(operation)
        if epoch is not None and (session_id != self._session_id or epoch != self._epoch):
            yield (
                f"{type(operation).__name__} of {operation.path} with epoch {epoch}, by session {session_id}; the"
                f" controller has epoch {self._epoch} and session {self._session_id}"
            )

    def _epoch_of_controller(self, operation: Operation) -> int | None:
        """With which it writes; the newest where nothing says it; None where it is a leader that writes its ISR."""
        path = operation.path
        topic, *within = path.removeprefix(f"{paths.TOPICS}/").split("/")
        if isinstance(operation, Delete):
            self._leaders.pop(path, None)
        elif len(within) == STATE_DEPTH and isinstance(operation, Create | SetData):
            state = decode_partition_state(TopicPartition(topic, int(within[1])), operation.data)
            known, now = self._leaders.get(path), (state.leader, state.leader_epoch)
            self._leaders[path] = now
            return None if known == now else state.controller_epoch
        return self._epoch
