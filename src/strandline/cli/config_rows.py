"""Settings as rows: what they are, and where each comes from."""

from __future__ import annotations

from typing import Any

from strandline.cli.reports import Column
from strandline.client.configs import Config, ConfigSource

SOURCES = {
    ConfigSource.TOPIC: "topic",
    ConfigSource.BROKER_DYNAMIC: "broker",
    ConfigSource.CLUSTER_DYNAMIC: "all brokers",
    ConfigSource.BROKER_STATIC: "server.properties",
    ConfigSource.DEFAULT: "default",
    ConfigSource.GROUP: "group",
}
CONFIG_COLUMNS = (
    Column("name", "setting"),
    Column("value"),
    Column("source"),
    Column("inherited", is_wide=True),
    Column("is_read_only", "read only", is_wide=True),
)


def config_row(config: Config) -> dict[str, Any]:
    return {
        "name": config.name,
        "value": "(secret)" if config.is_sensitive else config.value,
        "source": SOURCES.get(ConfigSource(config.source), "other") if config.source in list(ConfigSource) else "other",
        "inherited": config.inherited,
        "is_read_only": config.is_read_only,
    }
