"""Whose data this is: the cluster's id in the store, the broker's and the cluster's in each data directory (SPEC L8).

A directory of another broker or another cluster is not touched: two brokers that take each other's data for their own
lose both.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from strandline.broker.host import Host
from strandline.log.filesystem import FileSystem, read_whole, replace_durably
from strandline.log.log_directories import LogDirectories
from strandline.log.meta_properties import (
    META_PROPERTIES,
    MetaProperties,
    decode_meta_properties,
    encode_meta_properties,
)
from strandline.metadata import paths
from strandline.metadata.errors import NodeExists
from strandline.metadata.store import Session
from strandline.metadata.values import decode_cluster_id, encode_cluster_id
from strandline.model.failures import CorruptData
from strandline.model.ids import encode_id


class ForeignDirectory(Exception):
    """A data directory belongs to another broker or cluster. The message says which and what to do."""


async def cluster_id_of(session: Session, host: Host, adopted: str | None = None) -> str:
    """The store's, or a new one; `adopted` is the one that the data directories know."""
    if await session.exists(paths.CLUSTER_ID) is None:
        proposed = encode_cluster_id(adopted or encode_id(host.unique_id()))
        for path, data in (("/cluster", b""), (paths.CLUSTER_ID, proposed)):
            with suppress(NodeExists):  # brokers of a new cluster start together: the first one's counts
                await session.create(path, data)
    return decode_cluster_id((await session.get(paths.CLUSTER_ID)).data)


def stored_meta_properties(filesystem: FileSystem, directory: str) -> MetaProperties | None:
    path = f"{directory}/{META_PROPERTIES}"
    if not filesystem.exists(path):
        return None
    try:
        return decode_meta_properties(read_whole(filesystem, path))
    except OSError:
        return None  # the directory will be found to have failed when it is opened
    except CorruptData as damage:
        raise ForeignDirectory(f"{path}: {damage}. Mend it, or remove it if the data is this broker's.") from None


def stored_identity(filesystem: FileSystem, paths: Sequence[str]) -> MetaProperties:
    """What the data directories say of their owner, the first that says it; nothing if all are new."""
    known = MetaProperties()
    for path in paths:
        stored = stored_meta_properties(filesystem, path)
        if stored is not None:
            node_id = stored.node_id if known.node_id is None else known.node_id
            known = MetaProperties(node_id=node_id, cluster_id=known.cluster_id or stored.cluster_id)
    return known


def check_directories(
    filesystem: FileSystem, paths: Sequence[str], broker_id: int, cluster_id: str | None = None
) -> None:
    """Before anything in them is touched. What cluster we are of is known only when the store is open."""
    for path in paths:
        _check_ours(path, stored_meta_properties(filesystem, path), broker_id, cluster_id)


def claim_directories(directories: LogDirectories, broker_id: int, cluster_id: str) -> None:
    """Write our name into those that have none."""
    for directory in directories.online():
        stored = stored_meta_properties(directory.filesystem, directory.path)
        ours = replace(stored or MetaProperties(), node_id=broker_id, cluster_id=cluster_id)
        if ours != stored:
            replace_durably(directory.filesystem, f"{directory.path}/{META_PROPERTIES}", encode_meta_properties(ours))


def _check_ours(path: str, stored: MetaProperties | None, broker_id: int, cluster_id: str | None) -> None:
    if stored is None:
        return
    if stored.node_id not in (None, broker_id):
        raise ForeignDirectory(
            f"{path} is the data of broker {stored.node_id}, and this is broker {broker_id}:"
            f" set broker.id={stored.node_id}, or choose another directory"
        )
    if cluster_id is not None and stored.cluster_id not in (None, cluster_id):
        raise ForeignDirectory(
            f"{path} is of the cluster {stored.cluster_id}, and this one is {cluster_id}: choose another directory"
        )
