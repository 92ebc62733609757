"""Which topics a command is about: those named, or those that match."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

from strandline.client.cluster import Cluster
from strandline.client.failures import ClientError
from strandline.client.view import TopicView

regex_option = click.option("-r", "--regex", is_flag=True, help="TOPIC is a regular expression that a name must match.")


async def choose_topics(
    cluster: Cluster, names: Sequence[str], *, regex: bool = False, internal: bool = False
) -> list[TopicView]:
    """All topics where none is named, internal ones only if wanted; an error for a name that is none."""
    if names and not regex:
        return list((await cluster.topics(names, fresh=True)).values())
    patterns = [_compiled(name) for name in names]
    view = await cluster.refresh(None)
    chosen = [
        topic
        for name, topic in sorted(view.topics.items())
        if (not patterns or any(pattern.fullmatch(name) for pattern in patterns))
        and (internal or patterns or not topic.is_internal)
    ]
    if names and not chosen:
        raise ClientError(f"no topic matches {' or '.join(names)}: `strandline topic list` shows what there is")
    return chosen


def _compiled(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise click.UsageError(f"{text!r} is not a regular expression: {error}") from None
