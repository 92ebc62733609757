"""Whose settings a command is about: a topic's, a broker's, or those of all brokers."""

from __future__ import annotations

import click

from strandline.client.configs import Resource, ResourceType

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
