"""How followers fetch, by Kafka's names and with Kafka's defaults."""

from __future__ import annotations

from strandline.model.lazy_dataclass import dataclass
from strandline.model.settings import INT_MAX, PropertySettings, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class FetcherSettings(PropertySettings):
    replica_fetch_wait_max_ms: int = setting(500, "replica.fetch.wait.max.ms", at_least=0, at_most=INT_MAX)
    replica_fetch_min_bytes: int = setting(1, "replica.fetch.min.bytes", at_least=0, at_most=INT_MAX)
    replica_fetch_max_bytes: int = setting(2**20, "replica.fetch.max.bytes", at_least=0, at_most=INT_MAX)
    replica_fetch_response_max_bytes: int = setting(
        10 * 2**20, "replica.fetch.response.max.bytes", at_least=0, at_most=INT_MAX
    )
    replica_socket_timeout_ms: int = setting(30_000, "replica.socket.timeout.ms", at_least=1, at_most=INT_MAX)
    replica_fetch_backoff_ms: int = setting(1_000, "replica.fetch.backoff.ms", at_least=0, at_most=INT_MAX)
