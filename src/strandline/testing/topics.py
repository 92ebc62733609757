"""Creating a topic over the wire, in one blocking question: a convenience for tests, not a client."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from struct import Struct

from strandline.model.error_codes import ErrorCode
from strandline.testing.failure import BrokerFailed
from strandline.wire.codec import decode, encode
from strandline.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from strandline.wire.versions import ApiKey

CREATE_TOPICS_VERSION = 7
ANSWER_TIMEOUT_S = 30.0
DEFAULT = -1  # partitions as num.partitions says, replicas as default.replication.factor does
HEAD = Struct(">ihhihx")  # frame length, API, version, correlation id, client id of length -1, no tagged fields
RESPONSE_HEAD = Struct(">iix")


def create_topic(address: tuple[str, int], name: str, partitions: int | None, settings: Mapping[str, str]) -> None:
    """Returns when the topic can be used. Raises `BrokerFailed` with the broker's own words."""
    configs = [CreatableTopicConfig(key, value) for key, value in settings.items()]
    topic = CreatableTopic(name, DEFAULT if partitions is None else partitions, DEFAULT, [], configs)
    body = encode(CreateTopicsRequest([topic], int(ANSWER_TIMEOUT_S * 1000)), CREATE_TOPICS_VERSION)
    head = HEAD.pack(HEAD.size - 4 + len(body), ApiKey.CREATE_TOPICS, CREATE_TOPICS_VERSION, 0, -1)
    try:
        with socket.create_connection(address, ANSWER_TIMEOUT_S) as connected, connected.makefile("rb") as answer:
            connected.sendall(head + body)
            length, _ = RESPONSE_HEAD.unpack(answer.read(RESPONSE_HEAD.size).ljust(RESPONSE_HEAD.size, b"\0"))
            response = answer.read(max(0, length - RESPONSE_HEAD.size + 4))
    except OSError as failure:
        raise BrokerFailed(f"cannot create topic {name!r}: {failure}") from failure
    if not response:
        raise BrokerFailed(f"cannot create topic {name!r}: the broker closed the connection")
    [result] = decode(CreateTopicsResponse, CREATE_TOPICS_VERSION, response).topics
    if result.error_code:
        error = ErrorCode(result.error_code).name
        raise BrokerFailed(f"cannot create topic {name!r}: {error}: {result.error_message or 'no reason given'}")
