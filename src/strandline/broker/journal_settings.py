"""The journal of a cluster: whether one is kept, and how long. Kafka has none, so the names are ours."""

from __future__ import annotations

from strandline.model.lazy_dataclass import dataclass
from strandline.model.settings import INT_MAX, PropertySettings, setting

WEEK_MS = 7 * 24 * 3600 * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalSettings(PropertySettings):
    journal_enable: bool = setting(True, "strandline.journal.enable")
    journal_replication_factor: int = setting(3, "strandline.journal.replication.factor", at_least=1, at_most=INT_MAX)
    journal_retention_ms: int = setting(WEEK_MS, "strandline.journal.retention.ms", at_least=-1)
    journal_queue_entries: int = setting(10_000, "strandline.journal.queue.entries", at_least=1, at_most=INT_MAX)
