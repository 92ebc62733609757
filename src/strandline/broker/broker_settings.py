"""Who a broker is and how it serves, by Kafka's names."""

from __future__ import annotations

import re
from typing import NamedTuple

from strandline.broker.dispatch import MAX_ENTRIES_PER_REQUEST
from strandline.model.lazy_dataclass import dataclass
from strandline.model.settings import INT_MAX, BadSetting, PropertySettings, setting

LISTENER = re.compile(
    r"(?P<name>[A-Za-z0-9_]+)://(?:\[(?P<host6>[0-9a-fA-F:.%]+)\]|(?P<host>[^\[\]:/]*)):(?P<port>[0-9]{1,5})"
)
PLAINTEXT = "PLAINTEXT"
DEFAULT_PORT = 9092


class Listener(NamedTuple):
    host: str  # empty: every address of this machine
    port: int  # 0: one that is free


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings(PropertySettings):
    broker_id: int = setting(1, "broker.id", "node.id", at_least=0, at_most=INT_MAX)
    broker_rack: str = setting("", "broker.rack")
    listeners: tuple[str, ...] = setting((f"{PLAINTEXT}://:{DEFAULT_PORT}",), "listeners")
    advertised_listeners: tuple[str, ...] = setting((), "advertised.listeners")
    # KRaft's files name a listener for controllers beside the others; here a broker's one listener serves them as well.
    controller_listener_names: tuple[str, ...] = setting((), "controller.listener.names")
    num_partitions: int = setting(1, "num.partitions", at_least=1, at_most=INT_MAX)
    default_replication_factor: int = setting(1, "default.replication.factor", at_least=1, at_most=2**15 - 1)
    auto_create_topics_enable: bool = setting(True, "auto.create.topics.enable")
    delete_topic_enable: bool = setting(True, "delete.topic.enable")
    internal_topics_early: bool = setting(False, "strandline.internal.topics.early")  # ours: see early_topics
    # Ours; Kafka's controller has it as a constant.
    max_partitions_per_request: int = setting(10_000, "max.partitions.per.request", at_least=1, at_most=INT_MAX)
    # Ours. Topics, partitions and whatever else a request lists; a broker has one thread, and others wait for it.
    max_entries_per_request: int = setting(
        MAX_ENTRIES_PER_REQUEST, "max.entries.per.request", at_least=1, at_most=INT_MAX
    )
    max_request_partition_size_limit: int = setting(
        2000, "max.request.partition.size.limit", at_least=1, at_most=INT_MAX
    )
    # What Kafka's own brokers say that can be mixed with ours. Tools conclude from it what a broker can do.
    inter_broker_protocol_version: str = setting("3.9-IV0", "inter.broker.protocol.version", one_of=("3.9-IV0", "3.9"))
    background_threads: int = setting(10, "background.threads", at_least=1, at_most=1000)
    fetch_max_bytes: int = setting(55 * 2**20, "fetch.max.bytes", at_least=1024, at_most=INT_MAX)
    max_incremental_fetch_session_cache_slots: int = setting(
        1000, "max.incremental.fetch.session.cache.slots", at_least=0, at_most=INT_MAX
    )
    offsets_load_buffer_size: int = setting(5 * 2**20, "offsets.load.buffer.size", at_least=1, at_most=INT_MAX)
    offsets_commit_timeout_ms: int = setting(5000, "offsets.commit.timeout.ms", at_least=1, at_most=INT_MAX)

    def __post_init__(self) -> None:
        self.listener()
        self.advertised_listener()

    def listener(self) -> Listener:
        listeners = self._without_controllers(self.listeners)
        if len(listeners) != 1:
            raise BadSetting(
                f"listeners={','.join(self.listeners)!r}: name one listener, for example PLAINTEXT://:9092"
            )
        return parse_listener("listeners", listeners[0])

    def advertised_listener(self) -> Listener | None:
        """None: every client is told the address by which it reached us."""
        listeners = self._without_controllers(self.advertised_listeners)
        if not listeners:
            return None
        if len(listeners) != 1:
            raise BadSetting("advertised.listeners: name one, as there is one listener")
        advertised = parse_listener("advertised.listeners", listeners[0])
        if not advertised.host or advertised.host in ("0.0.0.0", "::"):
            raise BadSetting("advertised.listeners: clients need a host that they can reach, not every address")
        return advertised

    def _without_controllers(self, listeners: tuple[str, ...]) -> list[str]:
        return [each for each in listeners if each.partition("://")[0] not in self.controller_listener_names]


def parse_listener(name: str, text: str) -> Listener:
    match = LISTENER.fullmatch(text)
    if match is None or int(match["port"]) > 65535:
        raise BadSetting(f"{name}={text!r}: expected PLAINTEXT://host:port")
    if match["name"].upper() != PLAINTEXT:
        raise BadSetting(f"{name}={text!r}: only {PLAINTEXT} is served (docs/gaps.md)")
    return Listener(match["host6"] or match["host"] or "", int(match["port"]))
