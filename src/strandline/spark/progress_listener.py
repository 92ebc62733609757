"""Progress of streaming queries in ordinary consumer groups, so that every tool that shows lag shows theirs.

    commit_progress(spark, "localhost:9092")

After each batch, the end of what it read from topics is committed to the group `spark-<name of the query>`, or its id
where it has no name. A query can also name a group itself (`kafka.group.id`), and then needs no listener. Spark tells a
source neither its query's name nor its id, which is why this has to be asked for. The group is for looking at: a query
resumes from its checkpoint and nothing else.
"""

from __future__ import annotations

import json
import logging
from functools import partial
from threading import Lock
from typing import Any

from pyspark.sql.streaming import StreamingQueryListener

from strandline.client.blocking import Blocking
from strandline.client.cluster import Cluster
from strandline.client.failures import ClientError
from strandline.client.group_offsets import commit_offsets
from strandline.client.settings import ClientSettings
from strandline.spark.offsets_json import PartitionOffsets, from_topics

logger = logging.getLogger("strandline.spark")


class ProgressListener(StreamingQueryListener):
    def __init__(self, bootstrap_servers: str, group_prefix: str = "spark-") -> None:
        self._client = Blocking(ClientSettings.of({"bootstrap.servers": bootstrap_servers}))
        self._prefix = group_prefix
        self._lock = Lock()  # Spark calls from threads of its own

    def onQueryStarted(self, event: Any) -> None:
        pass

    def onQueryProgress(self, event: Any) -> None:
        offsets: PartitionOffsets = {}
        for source in event.progress.sources:
            offsets |= offsets_in(source.endOffset)
        group_id = f"{self._prefix}{event.progress.name or event.progress.id}"
        with self._lock:
            try:
                self._client(partial(_commit, group_id, offsets))
            except ClientError as error:
                logger.warning("progress is not committed to group %s: %s", group_id, error)

    def onQueryIdle(self, event: Any) -> None:
        pass

    def onQueryTerminated(self, event: Any) -> None:
        pass

    def close(self) -> None:
        with self._lock:
            self._client.__exit__()


async def _commit(group_id: str, offsets: PartitionOffsets, cluster: Cluster) -> None:
    await commit_offsets(cluster, group_id, offsets)


def offsets_in(end_offset: str | None) -> PartitionOffsets:
    """Nothing, where it is that of a source without topics."""
    try:
        return from_topics(json.loads(end_offset or "{}"))
    except (AttributeError, TypeError, ValueError):
        return {}


def commit_progress(spark: Any, bootstrap_servers: str, group_prefix: str = "spark-") -> ProgressListener:
    """Of every streaming query of this session from now on."""
    listener = ProgressListener(bootstrap_servers, group_prefix)
    spark.streams.addListener(listener)
    return listener
