"""`strandline explain`: one record, where it lies, who has it, and who may see it (SPEC R2, R3, P3)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.output import counted
from strandline.cli.reports import Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.failures import ClientError
from strandline.client.replicas import Replica, describe_replicas
from strandline.client.settings import ClientSettings
from strandline.client.view import PartitionView
from strandline.model.partitions import TopicPartition
from strandline.wire.messages.describe_replicas import RecordPlace, ReplicaDescription

PLACE = re.compile(r"(?P<topic>[^/@]+)/(?P<partition>[0-9]{1,9})@(?P<offset>[0-9]{1,18})")
UNKNOWN = -1


class Wanted(NamedTuple):
    partition: TopicPartition
    offset: int


class RecordName(click.ParamType[Wanted]):
    name = "TOPIC/PARTITION@OFFSET"

    def convert(self, value: str | Wanted, param: click.Parameter | None, ctx: click.Context | None) -> Wanted:
        if isinstance(value, Wanted):
            return value
        match = PLACE.fullmatch(value)
        if match is None:
            self.fail(f"{value!r} names no record; write TOPIC/PARTITION@OFFSET, as in orders/0@47", param, ctx)
        return Wanted(TopicPartition(match["topic"], int(match["partition"])), int(match["offset"]))


@click.command(cls=ClientCommand, short_help="Say where a record is, and who may see it.")
@click.argument("record", type=RecordName(), metavar="TOPIC/PARTITION@OFFSET")
@report_format_option
def explain(record: Wanted, output_format: str, settings: ClientSettings) -> None:
    """Say where a record is, and who may see it.

    Its segment, position and epoch, which replicas have it, whether consumers see it and, if they do not, who holds
    it back.

    strandline explain orders/0@47
    """

    async def work(cluster: Cluster) -> dict[str, Any]:
        topics = await cluster.topics([record.partition.topic])
        view = topics[record.partition.topic].partitions.get(record.partition.partition)
        if view is None:
            count = len(topics[record.partition.topic].partitions)
            raise ClientError(
                f"there is no partition {record.partition}: the topic has {counted(count, 'partition')}, from 0 on;"
                f" `strandline offsets {record.partition.topic}` shows what they hold"
            )
        replicas = await describe_replicas(cluster, {record.partition: view}, record.offset)
        return explanation(record, view, replicas)

    report = Report(output_format)
    found = run(settings, work)
    if report.is_text:
        for line in found["says"]:
            report.line(line)
    else:
        report.facts(found)


def explanation(record: Wanted, view: PartitionView, replicas: list[Replica]) -> dict[str, Any]:
    leader = next((each.said for each in replicas if each.broker_id == view.leader_id and each.said), None)
    place = next((each.said.places[0] for each in replicas if each.said and each.said.places), None)
    holders = [each.broker_id for each in replicas if _has(each, record.offset)]
    return {
        "topic": record.partition.topic,
        "partition": record.partition.partition,
        "offset": record.offset,
        "leader": view.leader_id if view.has_leader else None,
        "leader_epoch": view.leader_epoch,
        "in_sync": list(view.in_sync),
        "held_by": holders,
        "segment": None if place is None else place.segment_base_offset,
        "position": None if place is None else place.position,
        "record_epoch": None if place is None else place.batch_leader_epoch,
        "is_committed": leader is not None and record.offset < leader.high_watermark,
        "is_stable": leader is not None and record.offset < leader.last_stable_offset,
        "says": list(_says(record, view, replicas, leader, place, holders)),
    }


def _says(
    record: Wanted,
    view: PartitionView,
    replicas: list[Replica],
    leader: ReplicaDescription | None,
    place: RecordPlace | None,
    holders: list[int],
) -> Iterator[str]:
    yield f"{record.partition} offset {record.offset}"
    if place is not None:
        yield from _where(place)
    yield f"replicas      {_ids(view.replicas)}; in sync {_ids(view.in_sync)}; this record is on {_ids(holders)}"
    yield from _unknown(replicas)
    if leader is None:
        yield f"leader        none answers: nobody can read or write {record.partition} now"
        return
    yield (
        f"leader        {view.leader_id} in epoch {view.leader_epoch}: log start {leader.log_start_offset}, last stable"
        f" {leader.last_stable_offset}, high watermark {leader.high_watermark}, log end {leader.log_end_offset}"
    )
    yield f"visible       {_visible(record, view, leader, place)}"


def _where(place: RecordPlace) -> Iterator[str]:
    kind = "a control batch" if place.is_control else "a transactional batch" if place.is_transactional else "a batch"
    moment = datetime.fromtimestamp(place.timestamp_ms / 1000, UTC).isoformat(timespec="milliseconds")
    yield f"segment       {place.segment_base_offset:020d}.log, position {place.position}"
    yield (
        f"batch         {kind} of offsets {place.batch_base_offset} to {place.batch_last_offset},"
        f" {place.batch_bytes} bytes, leader epoch {place.batch_leader_epoch}, newest record of {moment}"
    )


def _unknown(replicas: list[Replica]) -> Iterator[str]:
    for each in replicas:
        if each.said is None:
            yield f"unknown       broker {each.broker_id}: {each.why_unknown}"


def _visible(record: Wanted, view: PartitionView, leader: ReplicaDescription, place: RecordPlace | None) -> str:
    if record.offset < leader.log_start_offset:
        return f"to nobody: the log begins at {leader.log_start_offset}, what was before has been deleted"
    if record.offset >= leader.log_end_offset:
        return f"to nobody: it has not been written, the log ends at {leader.log_end_offset}"
    if record.offset >= leader.high_watermark:
        return f"to followers only: it is above the high watermark; {_who_holds_back(record, view, leader)}"
    if place is None:
        return "to nobody: compaction has removed it"
    if place.is_control:
        return "to nobody: it is the marker that ends a transaction"
    if place.is_aborted:
        return "to read_uncommitted consumers only: its transaction was aborted"
    if record.offset >= leader.last_stable_offset:
        return (
            f"to read_uncommitted consumers only: a transaction is open since offset {leader.last_stable_offset};"
            " `strandline transaction find-hanging` says whose"
        )
    return "to every consumer"


def _who_holds_back(record: Wanted, view: PartitionView, leader: ReplicaDescription) -> str:
    if len(view.in_sync) < leader.min_insync_replicas:
        return (
            f"in sync are {_ids(view.in_sync)}, fewer than min.insync.replicas={leader.min_insync_replicas}, so it"
            " stands still"
        )
    behind = [
        f"{each.replica_id} ends at {each.log_end_offset if each.log_end_offset != UNKNOWN else 'an unknown offset'}"
        for each in leader.followers
        if each.is_in_sync and each.log_end_offset <= record.offset
    ]
    return f"in-sync replicas that do not have it yet: {'; '.join(behind) or 'none, it is about to be committed'}"


def _has(replica: Replica, offset: int) -> bool:
    return replica.said is not None and replica.said.log_start_offset <= offset < replica.said.log_end_offset


def _ids(broker_ids: list[int] | tuple[int, ...]) -> str:
    return ",".join(map(str, broker_ids)) or "none"
