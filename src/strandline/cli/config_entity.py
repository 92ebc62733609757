"""Whose settings a command is about: a topic's, a broker's, or those of all brokers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from strandline.cli.client_options import Failed
from strandline.client.configs import Resource, ResourceType
from strandline.client.failures import BrokerRefused
from strandline.model.error_codes import ErrorCode

entity_option = click.option(
    "--entity",
    type=click.Choice(["topic", "broker"]),
    default="topic",
    show_default=True,
    help="What NAME is; a broker goes by its id, and `all` stands for all brokers.",
)

ALL_BROKERS = "all"


def resource_of(entity: str, name: str) -> Resource:
    if entity == "topic":
        return Resource(ResourceType.TOPIC, name)
    if name == ALL_BROKERS:
        return Resource(ResourceType.BROKER, "")
    if not (name.isascii() and name.isdigit()):
        raise click.UsageError(f"{name!r} is not the id of a broker: `strandline cluster info` shows them")
    return Resource(ResourceType.BROKER, name)


@contextmanager
def hint_at_brokers(resource: Resource) -> Iterator[None]:
    """Who names a topic 1 may mean a broker."""
    try:
        yield
    except BrokerRefused as refused:
        is_id = resource.kind is ResourceType.TOPIC and resource.name.isascii() and resource.name.isdigit()
        if is_id and refused.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise Failed(f"{refused}; if broker {resource.name} is meant, add --entity broker") from None
        raise
