"""What the metadata store of a cluster says: who is controller, who leads, who is in sync."""

from __future__ import annotations

from strandline.metadata import paths
from strandline.metadata.errors import NoNode
from strandline.metadata.values import PartitionState, decode_controller, decode_partition_state, decode_topic
from strandline.model.partitions import TopicPartition
from strandline.testing.failure import BrokerFailed
from strandline.testing.shared_store import StoreThread


class StoredCluster:
    def __init__(self, store: StoreThread) -> None:
        self._store = store

    def controller(self) -> int | None:
        node = self._read(paths.CONTROLLER)
        return None if node is None else decode_controller(node).broker_id

    def topics(self) -> list[str]:
        tree = self._store.store.tree
        return self._store.ask(lambda: sorted(tree.find(paths.TOPICS).children))

    def replicas(self, topic: str) -> dict[int, tuple[int, ...]]:
        node = self._read(paths.topic_path(topic))
        if node is None:
            raise BrokerFailed(f"there is no topic {topic!r}")
        return {index: each.replicas for index, each in decode_topic(topic, node).partitions.items()}

    def state(self, topic: str, partition: int) -> PartitionState:
        state = self._state(topic, partition)
        if state is None:
            raise BrokerFailed(f"there is no partition {topic}-{partition}")
        return state

    def is_in_sync(self, topic: str) -> bool:
        """Whether every partition has a leader and all its replicas in sync."""
        if self._read(paths.topic_path(topic)) is None:
            return False
        for index, replicas in self.replicas(topic).items():
            state = self._state(topic, index)
            if state is None or state.leader < 0 or set(state.isr) != set(replicas):
                return False
        return True

    def _state(self, topic: str, partition: int) -> PartitionState | None:
        name = TopicPartition(topic, partition)
        node = self._read(paths.partition_state_path(name))
        return None if node is None else decode_partition_state(name, node)

    def _read(self, path: str) -> bytes | None:
        tree = self._store.store.tree
        try:
            return self._store.ask(lambda: tree.find(path).data)
        except NoNode:
            return None
