"""How a broker leaves its cluster, by Kafka's names and with Kafka's defaults."""

from __future__ import annotations

from strandline.model.lazy_dataclass import dataclass
from strandline.model.settings import INT_MAX, PropertySettings, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutdownSettings(PropertySettings):
    controlled_shutdown_enable: bool = setting(True, "controlled.shutdown.enable")
    controlled_shutdown_max_retries: int = setting(3, "controlled.shutdown.max.retries", at_least=0, at_most=INT_MAX)
    controlled_shutdown_retry_backoff_ms: int = setting(
        5_000, "controlled.shutdown.retry.backoff.ms", at_least=0, at_most=INT_MAX
    )
    controller_socket_timeout_ms: int = setting(30_000, "controller.socket.timeout.ms", at_least=1, at_most=INT_MAX)
