"""Data directories of ours that a real broker is started on; docs/interop.md says how it comes to know the topics."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

from tests.interop.broker import (
    CLUSTER_ID,
    NODE_ID,
    Broker,
    format_directory,
    kraft_broker,
    zookeeper,
    zookeeper_broker,
)
from tests.interop.client import Client
from tests.interop.kafka import Kafka
from tests.interop.znodes import register_directory

from strandline.log.meta_properties import META_PROPERTIES, MetaProperties, encode_meta_properties

CLEANER = {"log.cleaner.backoff.ms": "100", "log.cleaner.min.cleanable.ratio": "1.0"}  # quick, and idle until told


@dataclass(frozen=True)
class Home:
    """An empty data directory, and the ids that our topics must have in it."""

    kafka: Kafka
    data: Path
    topic_ids: dict[str, UUID]

    @contextmanager
    def broker(self, work: Path) -> Iterator[Broker]:
        if self.kafka.series != "3.9":
            with kraft_broker(self.kafka, self.data, work, CLEANER) as broker:
                yield broker
            return
        with zookeeper(self.kafka, work / "zookeeper", work) as address:
            register_directory(self.kafka, address, self.data)
            with zookeeper_broker(self.kafka, self.data, work, address, CLEANER) as broker:
                yield broker


def make_home(kafka: Kafka, work: Path, topics: tuple[str, ...]) -> Home:
    data = work / "data"
    if kafka.series == "3.9":
        data.mkdir()
        identity = MetaProperties(version=0, node_id=NODE_ID, cluster_id=CLUSTER_ID)
        (data / META_PROPERTIES).write_bytes(encode_meta_properties(identity))
        return Home(kafka, data, {topic: uuid4() for topic in topics})
    format_directory(kafka, data, work)
    with kraft_broker(kafka, data, work) as broker:
        topic_ids = Client(kafka, broker).create(*topics)
    for topic in topics:
        shutil.rmtree(data / f"{topic}-0")
    return Home(kafka, data, topic_ids)


def copy_home(home: Home, to: Path) -> Home:
    return Home(home.kafka, Path(shutil.copytree(home.data, to)), home.topic_ids)
