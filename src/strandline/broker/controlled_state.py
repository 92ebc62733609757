"""What the controller of a cluster of one works on: the store's truth, and what this broker makes of it."""

from __future__ import annotations

from strandline.broker.cluster_image import ClusterImage
from strandline.broker.configuration import Configuration
from strandline.broker.host import Host
from strandline.broker.partition import LeadershipListener
from strandline.broker.partitions import Partitions
from strandline.log.log_directories import LogDirectories
from strandline.metadata.store import Session
from strandline.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ControlledState:
    broker_id: int
    session: Session
    directories: LogDirectories
    partitions: Partitions
    image: ClusterImage
    configuration: Configuration
    host: Host
    leadership: LeadershipListener
