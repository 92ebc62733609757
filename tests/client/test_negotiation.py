"""Which version to speak with a broker that has told us what it knows."""

from __future__ import annotations

import pytest

from strandline.client.failures import ClientError
from strandline.client.negotiation import BrokerVersions
from strandline.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from strandline.wire.versions import ApiKey


def told(*ranges: tuple[int, int, int]) -> BrokerVersions:
    return BrokerVersions("b:1", ApiVersionsResponse(0, [ApiVersion(*each) for each in ranges]))


def test_the_highest_that_both_know() -> None:
    versions = told((ApiKey.METADATA, 0, 99), (ApiKey.HEARTBEAT, 0, 2))
    assert versions.pick(ApiKey.METADATA) == 13
    assert versions.pick(ApiKey.METADATA, version_max=9) == 9
    assert versions.pick(ApiKey.HEARTBEAT) == 2


def test_what_a_broker_does_not_tell_it_does_not_know() -> None:
    with pytest.raises(ClientError, match="the broker at b:1 does not know Fetch"):
        told().pick(ApiKey.FETCH)
    with pytest.raises(ClientError, match="speaks versions 90 to 99 of Fetch, this client 4 to 18"):
        told((ApiKey.FETCH, 90, 99)).pick(ApiKey.FETCH)
    assert not told().serves(ApiKey.FETCH)


def test_what_brokers_say_among_themselves_need_not_be_told() -> None:
    assert told().pick(ApiKey.LEADER_AND_ISR) == 7
    assert told().serves(ApiKey.CONTROLLED_SHUTDOWN)
    assert told((ApiKey.LEADER_AND_ISR, 0, 4)).pick(ApiKey.LEADER_AND_ISR) == 4  # as Kafka 2.8 does tell
