"""What a partition's leader remembers of transactions that are about to begin, over changes of its leadership."""

from __future__ import annotations

from typing import cast
from uuid import UUID

import pytest
from tests.broker.manual_host import ManualHost
from tests.broker.partition_alone import BROKER_ID, PartitionAlone

from strandline.broker.cluster_image import ClusterImage
from strandline.broker.configuration import Configuration
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.broker.partitions import Partitions
from strandline.broker.transaction_services import TransactionServices
from strandline.log.recovery import open_log
from strandline.metadata.store import Session
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.simulation.disk import SimulatedDisk
from strandline.transactions.verification import TransactionalBatch
from strandline.transactions.verification_requests import ProducerSupport

NAME = TopicPartition("orders", 0)
BATCH = TransactionalBatch(producer_id=7, producer_epoch=0, base_sequence=0)


@pytest.fixture
def partition() -> PartitionAlone:
    log = open_log(SimulatedDisk(), f"/{NAME}", NAME, LogSettings(segment_index_bytes=12_000), now_ms=0)
    return PartitionAlone(NAME, UUID(int=9).bytes, log)


@pytest.fixture
def services() -> TransactionServices:
    image, configuration, host = ClusterImage("cluster"), Configuration({}), ManualHost(0)
    groups = GroupCoordinator(image, configuration, host)
    return TransactionServices(BROKER_ID, image, configuration, Partitions(), groups, cast("Session", None), host)


def test_a_leader_that_goes_on_in_another_epoch_goes_on_with_what_it_has_asked(
    partition: PartitionAlone, services: TransactionServices
) -> None:
    """A reassignment begins a new epoch under the same leader. Kafka keeps what was verified: to forget it would fail
    the transactions of whoever is just beginning one."""
    partition.lead(1)
    services.became_leader(partition)
    token = services.gate.begin(partition, BATCH, ProducerSupport.ABORTABLE_ERROR)
    assert token is not None
    partition.lead(2)
    services.became_leader(partition)
    services.gate.verified(partition, BATCH.producer_id, token)
    services.gate.check(partition, BATCH)


def test_whoever_has_resigned_has_forgotten_all(partition: PartitionAlone, services: TransactionServices) -> None:
    """In between there were others, who may have ended the transaction."""
    partition.lead(1)
    services.became_leader(partition)
    token = services.gate.begin(partition, BATCH, ProducerSupport.ABORTABLE_ERROR)
    assert token is not None
    services.resigned(partition)
    partition.lead(3)
    services.became_leader(partition)
    services.gate.verified(partition, BATCH.producer_id, token)
    with pytest.raises(Refused) as refused:
        services.gate.check(partition, BATCH)
    assert refused.value.error_code is ErrorCode.INVALID_TXN_STATE
