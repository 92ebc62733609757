"""What the commands about dead letters share: the topic, who of them is meant, and how each is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from strandline.cli.client_options import ClientCommand, Failed
from strandline.cli.output import iso_time, with_bytes
from strandline.client.fetched import ConsumedRecord
from strandline.model.partitions import TopicPartition
from strandline.pipeline.dead_letter_headers import Origin, origin_of, without_errors
from strandline.pipeline.failures import PipelineFailed
from strandline.pipeline.redriven import Sent

Selected = dict[str, Any]


class DeadLetterCommand(ClientCommand):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except PipelineFailed as error:
            raise Failed(str(error)) from None


def selecting(command: Any) -> Any:
    """Options that choose letters."""
    for option in (
        click.option("--offset", type=click.IntRange(0), help="The one at this offset of the dead-letter topic."),
        click.option("-p", "--partition", type=click.IntRange(0), help="Of this partition of the dead-letter topic."),
        click.option("--stage", metavar="STAGE", help="Of this stage: VALUE_CONVERTER, TRANSFORMATION …"),
        click.option("--matching", metavar="TEXT", help="Whose message has this in it."),
    ):
        command = option(command)
    return command


def is_wanted(
    record: ConsumedRecord, offset: int | None, partition: int | None, stage: str | None, matching: str | None
) -> bool:
    origin = origin_of(record.headers)
    return (
        (offset is None or record.offset == offset)
        and (partition is None or record.partition.partition == partition)
        and (stage is None or origin.stage == stage)
        and (matching is None or matching in (origin.message or ""))
    )


def _place(origin: Origin) -> str | None:
    if origin.topic is None or origin.partition is None or origin.offset is None:
        return origin.topic
    return f"{origin.topic}-{origin.partition}@{origin.offset}"


def letter_row(record: ConsumedRecord, sent: Mapping[TopicPartition, Sent]) -> dict[str, Any]:
    origin = origin_of(record.headers)
    return {
        "partition": record.partition.partition,
        "offset": record.offset,
        "time": iso_time(record.timestamp),
        "from": _place(origin),
        "stage": origin.stage,
        "error": origin.error,
        "message": origin.message,
        "redriven": record.offset in sent[record.partition],
        **with_bytes("key", record.key),
        **with_bytes("value", record.value),
        "headers": [{"name": name, **with_bytes("value", value)} for name, value in without_errors(record.headers)],
    }
