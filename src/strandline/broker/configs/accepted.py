"""Topic properties of Kafka's that change nothing here. Clients and tools set them, so they are taken, kept and shown.

Each is checked as Kafka checks it, and the documentation says why it has no effect. What would be a broken promise is
refused: a topic that is told to keep its old segments in remote storage must not lose them to local retention.
"""

from __future__ import annotations

import re

from strandline.model.lazy_dataclass import dataclass
from strandline.model.settings import BadSetting, PropertySettings, setting

FORMAT_VERSION = re.compile(r"[0-9]+\.[0-9]+(\.[0-9]+)?(-IV[0-9]+)?(\.[0-9xX]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedTopicSettings(PropertySettings):
    preallocate: bool = setting(False, "log.preallocate")
    message_downconversion_enable: bool = setting(True, "log.message.downconversion.enable")
    message_format_version: str = setting("3.0-IV1", "log.message.format.version")
    compression_gzip_level: int = setting(-1, "compression.gzip.level", at_least=-1, at_most=9)
    compression_lz4_level: int = setting(9, "compression.lz4.level", at_least=1, at_most=17)
    compression_zstd_level: int = setting(3, "compression.zstd.level", at_least=-131_072, at_most=22)
    remote_storage_enable: bool = setting(False)
    remote_log_copy_disable: bool = setting(False)
    remote_log_delete_on_disable: bool = setting(False)
    local_retention_ms: int = setting(-2, "log.local.retention.ms", at_least=-2)
    local_retention_bytes: int = setting(-2, "log.local.retention.bytes", at_least=-2)

    def __post_init__(self) -> None:
        if self.remote_storage_enable:
            raise BadSetting("remote.storage.enable='true': there is no tiered storage here (docs/gaps.md)")
        if not FORMAT_VERSION.fullmatch(self.message_format_version):
            raise BadSetting(f"message.format.version={self.message_format_version!r}: expected a version like 3.0")
