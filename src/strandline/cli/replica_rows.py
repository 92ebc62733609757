"""Replicas as rows: how far each has come, how far behind it is, and if it is out of sync, since when and why (T6)."""

from __future__ import annotations

from typing import Any

from strandline.cli.reports import Column
from strandline.client.replicas import Replica
from strandline.client.view import PartitionView
from strandline.wire.messages.describe_replicas import FollowerDescription, ReplicaDescription

UNKNOWN = -1
REPLICA_COLUMNS = (
    Column("partition", is_number=True),
    Column("replica", is_number=True),
    Column("role"),
    Column("epoch", is_number=True),
    Column("log_start", "log start", is_number=True, is_wide=True),
    Column("stable", is_number=True, is_wide=True),
    Column("high_watermark", "high watermark", is_number=True),
    Column("log_end", "log end", is_number=True),
    Column("lag", is_number=True),
    Column("lag_ms", "lag ms", is_number=True),
    Column("fetched_ms_ago", "fetched ms ago", is_number=True, is_wide=True),
    Column("state"),
)


def replica_row(replica: Replica, view: PartitionView, leader_end: int | None) -> dict[str, Any]:
    said, by_leader = replica.said, replica.by_leader
    is_leader = replica.broker_id == view.leader_id
    log_end = _log_end(said, by_leader)
    return {
        "topic": replica.partition.topic,
        "partition": replica.partition.partition,
        "replica": replica.broker_id,
        "role": "leader" if is_leader else "follower",
        "epoch": None if said is None else _known(said.leader_epoch),
        "log_start": None if said is None else _known(said.log_start_offset),
        "stable": None if said is None else _known(said.last_stable_offset),
        "high_watermark": None if said is None else _known(said.high_watermark),
        "log_end": log_end,
        "lag": 0 if is_leader else _lag(log_end, leader_end),
        "lag_ms": 0 if is_leader else _known(UNKNOWN if by_leader is None else by_leader.caught_up_ms_ago),
        "fetched_ms_ago": None if by_leader is None else _known(by_leader.fetched_ms_ago),
        "in_sync": replica.broker_id in view.in_sync,
        "state": _state(replica, view, is_leader=is_leader),
    }


def leader_end_of(replicas: list[Replica], view: PartitionView) -> int | None:
    for replica in replicas:
        if replica.broker_id == view.leader_id:
            return _log_end(replica.said, None)
    return None


def _state(replica: Replica, view: PartitionView, *, is_leader: bool) -> str:
    if replica.broker_id in view.in_sync:
        pending = replica.said.pending_change if replica.said is not None and is_leader else None
        note = f", not reachable: {replica.why_unknown}" if replica.said is None and replica.why_unknown else ""
        return "in sync" + (f", under way: {pending}" if pending else "") + note
    return f"out of sync{_since(replica.by_leader)}: {_why(replica, view)}"


def _since(by_leader: FollowerDescription | None) -> str:
    if by_leader is None or by_leader.caught_up_ms_ago == UNKNOWN:
        return ""
    return f" since {by_leader.caught_up_ms_ago / 1000:.1f} s"


def _why(replica: Replica, view: PartitionView) -> str:
    by_leader = replica.by_leader
    if replica.said is None:
        return replica.why_unknown
    if replica.why_unknown:
        return replica.why_unknown
    if not view.has_leader:
        return "there is no leader to fetch from"
    if by_leader is None or by_leader.fetched_ms_ago == UNKNOWN:
        return f"it has not fetched from leader {view.leader_id} in this epoch"
    return f"it is alive and catching up, fetched {by_leader.fetched_ms_ago / 1000:.1f} s ago"


def _log_end(said: ReplicaDescription | None, by_leader: FollowerDescription | None) -> int | None:
    if said is not None:
        return _known(said.log_end_offset)
    return None if by_leader is None else _known(by_leader.log_end_offset)


def _lag(log_end: int | None, leader_end: int | None) -> int | None:
    return None if log_end is None or leader_end is None else max(0, leader_end - log_end)


def _known(value: int) -> int | None:
    return None if value == UNKNOWN else value
