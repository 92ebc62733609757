"""ElectLeaders, v0-v2: preferred leaders come back, or anybody leads where nobody in sync is left (SPEC T5; KIP-460).

Answered by the controller alone, when the elections are in the store. Who asks for all partitions hears only of those
in which something had to be done.
"""

from __future__ import annotations

from collections.abc import Iterable

from strandline.broker.controller_loop import ControllerLoop
from strandline.broker.controller_office import NotController
from strandline.broker.dispatch import Handler, Request
from strandline.broker.procedures import by_procedure
from strandline.controller import requests
from strandline.controller.replies import PartitionResult, PartitionsReply
from strandline.controller.requests import ElectionKind
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import TopicPartition
from strandline.wire.codec import decode, encode
from strandline.wire.messages import elect_leaders
from strandline.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, ReplicaElectionResult

KINDS = {0: ElectionKind.PREFERRED, 1: ElectionKind.UNCLEAN}


def elect_leaders_handler(loop: ControllerLoop) -> Handler:
    async def elect(election_type: int, wanted: tuple[TopicPartition, ...] | None) -> tuple[PartitionResult, ...]:
        kind = KINDS.get(election_type)
        if kind is None:
            raise Refused(ErrorCode.INVALID_REQUEST, f"There is no election of type {election_type}.")
        try:
            reply = await loop.ask(
                lambda number: requests.ElectLeadersRequest(request=number, kind=kind, partitions=wanted)
            )
        except NotController as elsewhere:
            raise Refused(ErrorCode.NOT_CONTROLLER, str(elsewhere)) from None
        assert isinstance(reply, PartitionsReply)
        return reply.results

    async def answer(request: Request) -> bytes:
        asked = decode(ElectLeadersRequest, request.api_version, request.body)
        wanted = _partitions(asked)
        error_code = ErrorCode.NONE
        try:
            results = await elect(asked.election_type, wanted)
        except Refused as refused:
            error_code = refused.error_code  # version 0 can say it of each partition only
            results = tuple(PartitionResult(name, error_code, refused.reason) for name in wanted or ())
        response = ElectLeadersResponse(error_code=error_code, replica_election_results=_by_topic(results))
        return encode(response, request.api_version)

    return by_procedure(answer)


def _partitions(asked: ElectLeadersRequest) -> tuple[TopicPartition, ...] | None:
    if asked.topic_partitions is None:
        return None
    named = (TopicPartition(topic.topic, index) for topic in asked.topic_partitions for index in topic.partitions)
    return tuple(dict.fromkeys(named))


def _by_topic(results: Iterable[PartitionResult]) -> list[ReplicaElectionResult]:
    topics: dict[str, ReplicaElectionResult] = {}
    for result in results:
        topic = topics.setdefault(result.partition.topic, ReplicaElectionResult(result.partition.topic))
        topic.partition_result.append(
            elect_leaders.PartitionResult(result.partition.partition, result.error_code, result.message or None)
        )
    return list(topics.values())
