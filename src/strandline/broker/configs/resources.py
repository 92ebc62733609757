"""Whose settings a request is about."""

from __future__ import annotations

from enum import IntEnum

from strandline.model.failures import ErrorCode, Refused


class ResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


# What Kafka has settings for, and Strandline has not.
ELSEWHERE = {
    ResourceType.BROKER_LOGGER: "Log levels are chosen when the broker is started (--verbose), not here.",
    ResourceType.CLIENT_METRICS: "Metrics of clients are not collected here.",
    ResourceType.GROUP: "Groups have no settings of their own here.",
}


def unsupported(resource_type: int) -> Refused:
    known = {int(each): sentence for each, sentence in ELSEWHERE.items()}
    sentence = known.get(resource_type, f"There are no resources of type {resource_type}.")
    return Refused(ErrorCode.INVALID_REQUEST, sentence)


def broker_of(resource_name: str, broker_id: int) -> int | None:
    """Which broker; None is all of them. Each broker answers for itself alone, as in Kafka."""
    if not resource_name:
        return None
    if resource_name != str(broker_id):
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"This is broker {broker_id}, and not {resource_name[:80]!r}: ask that one."
        )
    return broker_id
