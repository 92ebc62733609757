"""What must be true of the metadata store: who wrote what only a controller may write, and what a partition's state
says.

The store hears every write, with the session that it came from, so nothing that anybody wrote can be missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from strandline.metadata import paths
from strandline.metadata.operations import Check, Create, Delete, Operation, SetData
from strandline.metadata.transactions import Changed, Transaction
from strandline.metadata.values import PartitionState, decode_controller_epoch, decode_partition_state
from strandline.model.partitions import TopicPartition
from strandline.simulation.observed import PartitionTruth

Complain = Callable[[str, str], None]  # the invariant, and what is wrong
NO_SESSION = -1
STATE_DEPTH = 3  # partitions/<index>/state, below the node of its topic


class IsrIsAssigned:
    """Whoever joins the ISR is a replica.

    A move that is taken back is written before the ISR is, in Kafka too: until its controller has written that as well,
    a member may be one that was a replica, and its leader may take it in meanwhile, who has not heard of it. So a
    controller takes in none that is no replica, and a leader none that was never one. In the end the ISR is the
    replicas (`Progress`)."""

    name = "IsrIsAssigned"

    def __init__(self) -> None:
        self._replicas: dict[PartitionTruth, set[int]] = {}  # that it has ever had
        self._known: dict[PartitionTruth, PartitionState] = {}

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        ever, stored = self._replicas.setdefault(truth, set()), truth.stored
        ever.update(truth.assigned)
        if stored is None or stored is self._known.get(truth):
            return
        known, self._known[truth] = self._known.get(truth), stored
        is_of_leader = known is not None and (known.leader, known.leader_epoch) == (stored.leader, stored.leader_epoch)
        may_join = {*truth.assigned, *(() if known is None else known.isr), *(ever if is_of_leader else ())}
        strangers = [member for member in stored.isr if member not in may_join]
        if strangers:
            yield f"the isr {stored.isr} has {strangers}, and the replicas are {truth.assigned}"


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
