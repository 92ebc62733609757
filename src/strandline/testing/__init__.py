"""A broker for tests: `with Broker() as broker: ...`, and a pytest plugin with a fixture. See docs/testing.md."""

from __future__ import annotations

from strandline.testing.broker import Broker
from strandline.testing.cluster import Cluster
from strandline.testing.failure import BrokerFailed

__all__ = ["Broker", "BrokerFailed", "Cluster"]
