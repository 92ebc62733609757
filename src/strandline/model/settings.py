"""Settings by Kafka's names.

A field is a topic property with dots for underscores: `segment_bytes` is `segment.bytes`. Most have a broker
property that gives the default for all topics (`log.segment.bytes`); time settings have several, of which the
finest unit wins (`log.retention.ms` over `.minutes` over `.hours`, SPEC C2). Defaults are Kafka's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from typing import Any, Self

from strandline.model.lazy_dataclass import dataclass

LONG_MAX = 2**63 - 1
INT_MAX = 2**31 - 1
HOUR_MS = 3_600_000
MINUTE_MS = 60_000
DAY_MS = 24 * HOUR_MS
WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,19}")


class BadSetting(ValueError):
    """A property whose value cannot be used. The message names the property and says what would do."""


def setting(
    default: Any,
    *broker_names: tuple[str, int] | str,
    at_least: float | None = None,
    at_most: float | None = None,
    one_of: tuple[str, ...] = (),
) -> Any:
    """A dataclass field with its broker names, each with the factor to the field's unit (1 when bare)."""
    synonyms = tuple((name, 1) if isinstance(name, str) else name for name in broker_names)
    return field(
        default=default,
        metadata={"synonyms": synonyms, "at_least": at_least, "at_most": at_most, "one_of": one_of},
    )


def parse_integer(text: str) -> int:
    """What Java takes for a long, and no more: not 1_000."""
    if not WHOLE_NUMBER.fullmatch(text) or not -LONG_MAX - 1 <= int(text) <= LONG_MAX:
        raise ValueError("expected a whole number of at most 64 bits")
    return int(text)


def parse_number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):  # passes every comparison with a limit
        raise ValueError("expected a number")
    return number


def parse_boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("expected true or false")
    return text.lower() == "true"


def parse_list(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())


PARSERS: dict[str, Callable[[str], Any]] = {
    "int": parse_integer,
    "float": parse_number,
    "bool": parse_boolean,
    "str": str,
    "tuple[str, ...]": parse_list,
}


class PropertySettings:
    """A dataclass of settings that can be filled from Kafka properties."""

    @classmethod
    def from_properties(cls, topic: Mapping[str, str], broker: Mapping[str, str] | None = None) -> Self:
        """Topic properties win over broker properties, those over defaults. Unknown names are left alone."""
        values: dict[str, Any] = {}
        for entry in fields(cls):  # type: ignore[arg-type]
            found = _find(entry.name, entry.metadata["synonyms"], topic, broker or {})
            if found is not None:
                name, text, factor = found
                values[entry.name] = _parse(name, text, str(entry.type), factor, entry.metadata)
        return cls(**values)

    def with_properties(self, properties: Mapping[str, str]) -> Self:
        """These settings with some topic properties changed."""
        changed = type(self).from_properties(properties)
        names = {entry.name for entry in fields(self) if property_name(entry.name) in properties}  # type: ignore[arg-type]
        values = {
            entry.name: getattr(changed if entry.name in names else self, entry.name)
            for entry in fields(self)  # type: ignore[arg-type]
        }
        return type(self)(**values)


def property_name(field_name: str) -> str:
    return field_name.replace("_", ".")


def _find(
    field_name: str,
    synonyms: tuple[tuple[str, int], ...],
    topic: Mapping[str, str],
    broker: Mapping[str, str],
) -> tuple[str, str, int] | None:
    if property_name(field_name) in topic:
        return property_name(field_name), topic[property_name(field_name)], 1
    for name, factor in synonyms:
        if name in broker:
            return name, broker[name], factor
    return None


def _parse(name: str, text: str, type_name: str, factor: int, rules: Mapping[str, Any]) -> Any:
    try:
        value = PARSERS[type_name](text.strip())
    except ValueError as error:
        raise BadSetting(f"{name}={text!r}: {error}") from None
    items = value if isinstance(value, tuple) else (value,)
    if rules["one_of"] and not set(items) <= set(rules["one_of"]):
        raise BadSetting(f"{name}={text!r}: choose from {', '.join(rules['one_of'])}")
    if rules["at_least"] is not None and value < rules["at_least"]:
        raise BadSetting(f"{name}={text!r}: must be at least {rules['at_least']}")
    if rules["at_most"] is not None and value > rules["at_most"]:
        raise BadSetting(f"{name}={text!r}: must be at most {rules['at_most']}")
    # A negative time means "no limit" in every unit.
    return value * factor if factor != 1 and value > 0 else value


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings(PropertySettings):
    """How one partition's log behaves; topic properties, with the broker's as defaults."""

    segment_bytes: int = setting(2**30, "log.segment.bytes", at_least=14, at_most=INT_MAX)
    segment_ms: int = setting(7 * DAY_MS, "log.roll.ms", ("log.roll.hours", HOUR_MS), at_least=1)
    segment_jitter_ms: int = setting(0, "log.roll.jitter.ms", ("log.roll.jitter.hours", HOUR_MS), at_least=0)
    segment_index_bytes: int = setting(10 * 2**20, "log.index.size.max.bytes", at_least=4, at_most=INT_MAX)
    index_interval_bytes: int = setting(4096, "log.index.interval.bytes", at_least=0, at_most=INT_MAX)
    max_message_bytes: int = setting(2**20 + 12, "message.max.bytes", at_least=0, at_most=INT_MAX)
    flush_messages: int = setting(LONG_MAX, "log.flush.interval.messages", at_least=1)
    flush_ms: int = setting(LONG_MAX, "log.flush.interval.ms", "log.flush.scheduler.interval.ms", at_least=0)
    cleanup_policy: tuple[str, ...] = setting(("delete",), "log.cleanup.policy", one_of=("delete", "compact"))
    retention_ms: int = setting(
        7 * DAY_MS,
        "log.retention.ms",
        ("log.retention.minutes", MINUTE_MS),
        ("log.retention.hours", HOUR_MS),
        at_least=-1,
    )
    retention_bytes: int = setting(-1, "log.retention.bytes")
    file_delete_delay_ms: int = setting(60_000, "log.segment.delete.delay.ms", at_least=0)
    delete_retention_ms: int = setting(DAY_MS, "log.cleaner.delete.retention.ms", at_least=0)
    min_compaction_lag_ms: int = setting(0, "log.cleaner.min.compaction.lag.ms", at_least=0)
    max_compaction_lag_ms: int = setting(LONG_MAX, "log.cleaner.max.compaction.lag.ms", at_least=1)
    min_cleanable_dirty_ratio: float = setting(0.5, "log.cleaner.min.cleanable.ratio", at_least=0, at_most=1)
    message_timestamp_type: str = setting(
        "CreateTime", "log.message.timestamp.type", one_of=("CreateTime", "LogAppendTime")
    )
    message_timestamp_before_max_ms: int = setting(LONG_MAX, "log.message.timestamp.before.max.ms", at_least=0)
    message_timestamp_after_max_ms: int = setting(HOUR_MS, "log.message.timestamp.after.max.ms", at_least=0)
    compression_type: str = setting(
        "producer",
        "compression.type",
        one_of=("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"),
    )

    def __post_init__(self) -> None:
        if self.min_compaction_lag_ms > self.max_compaction_lag_ms:
            raise BadSetting(
                f"min.compaction.lag.ms={self.min_compaction_lag_ms} is above"
                f" max.compaction.lag.ms={self.max_compaction_lag_ms}"
            )

    @property
    def compacts(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def deletes(self) -> bool:
        return "delete" in self.cleanup_policy


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationSettings(PropertySettings):
    """What a topic promises about its replicas; topic properties, with the broker's as defaults."""

    min_insync_replicas: int = setting(1, "min.insync.replicas", at_least=1, at_most=INT_MAX)
    unclean_leader_election_enable: bool = setting(False, "unclean.leader.election.enable")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanerSettings(PropertySettings):
    """How the broker's log cleaner spends memory, threads and disk bandwidth (SPEC C6)."""

    enable: bool = setting(True, "log.cleaner.enable")
    threads: int = setting(1, "log.cleaner.threads", at_least=1)
    dedupe_buffer_size: int = setting(128 * 2**20, "log.cleaner.dedupe.buffer.size", at_least=1)
    io_buffer_size: int = setting(512 * 1024, "log.cleaner.io.buffer.size", at_least=1)
    io_buffer_load_factor: float = setting(0.9, "log.cleaner.io.buffer.load.factor", at_least=0.01, at_most=1)
    io_max_bytes_per_second: float = setting(float("inf"), "log.cleaner.io.max.bytes.per.second", at_least=1)
    backoff_ms: int = setting(15_000, "log.cleaner.backoff.ms", at_least=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerStateSettings(PropertySettings):
    """How long, and how much, a partition remembers of its idempotent producers."""

    producer_id_expiration_ms: int = setting(DAY_MS, "producer.id.expiration.ms", at_least=1)
    producer_id_expiration_check_interval_ms: int = setting(
        10 * MINUTE_MS, "producer.id.expiration.check.interval.ms", at_least=1
    )
    transaction_max_timeout_ms: int = setting(15 * MINUTE_MS, "transaction.max.timeout.ms", at_least=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirectorySettings(PropertySettings):
    """Where the logs of a broker lie and how often their checkpoints are written (SPEC L8, L10, C1)."""

    log_dirs: tuple[str, ...] = setting(("data",), ("log.dirs", 1), ("log.dir", 1))
    initial_task_delay_ms: int = setting(30_000, "log.initial.task.delay.ms", at_least=0)
    retention_check_interval_ms: int = setting(300_000, "log.retention.check.interval.ms", at_least=1)
    flush_scheduler_interval_ms: int = setting(LONG_MAX, "log.flush.scheduler.interval.ms", at_least=1)
    flush_offset_checkpoint_interval_ms: int = setting(60_000, "log.flush.offset.checkpoint.interval.ms", at_least=0)
    flush_start_offset_checkpoint_interval_ms: int = setting(
        60_000, "log.flush.start.offset.checkpoint.interval.ms", at_least=0
    )
    high_watermark_checkpoint_interval_ms: int = setting(
        5_000, "replica.high.watermark.checkpoint.interval.ms", at_least=1
    )
