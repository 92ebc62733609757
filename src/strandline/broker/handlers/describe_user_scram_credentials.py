"""DescribeUserScramCredentials, v0: which users have credentials, with which mechanism (KIP-554)."""

from __future__ import annotations

from collections import Counter

from strandline.broker.dispatch import Handler, Request
from strandline.broker.outcomes import error_of
from strandline.broker.procedures import all_of, by_procedure
from strandline.broker.scram_credentials import Mechanism, iterations_of
from strandline.metadata import paths
from strandline.metadata.config_values import decode_config
from strandline.metadata.errors import NoNode, StoreError
from strandline.metadata.store import Session
from strandline.model.failures import CorruptData, ErrorCode, Refused
from strandline.wire.codec import decode, encode
from strandline.wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

Result = DescribeUserScramCredentialsResult


def describe_user_scram_credentials_handler(session: Session) -> Handler:
    async def credentials_of(user: str) -> list[CredentialInfo]:
        entity = paths.entity_path(paths.USER_CONFIGS, user)
        try:
            stored = decode_config(entity, (await session.get(paths.config_path(entity))).data)
        except NoNode:
            stored = {}
        return [
            CredentialInfo(mechanism, iterations_of(user, stored[mechanism.property_name]))
            for mechanism in Mechanism
            if mechanism.property_name in stored
        ]

    async def describe(user: str, count: int) -> list[CredentialInfo]:
        if not user:
            raise Refused(ErrorCode.RESOURCE_NOT_FOUND, "A user has a name.")
        if count > 1:
            raise Refused(ErrorCode.DUPLICATE_RESOURCE, f"User {user!r} is in the request more than once.")
        found = await credentials_of(user)
        if not found:
            raise Refused(ErrorCode.RESOURCE_NOT_FOUND, f"User {user!r} has no credentials.")
        return found

    async def describe_all() -> list[Result]:
        names = (await session.children(f"{paths.CONFIG}/{paths.USER_CONFIGS}")).names
        users = [paths.desanitize(name) for name in names if name != paths.DEFAULT_ENTITY]
        found = await all_of(credentials_of(user) for user in users)
        return [_result(user, outcome) for user, outcome in sorted(zip(users, found, strict=True)) if outcome]

    async def answer(request: Request) -> bytes:
        asked = decode(DescribeUserScramCredentialsRequest, request.api_version, request.body)
        counts = Counter(user.name for user in asked.users or ())
        try:
            if counts:
                found = await all_of(describe(user, count) for user, count in counts.items())
                results = [_result(user, outcome) for user, outcome in zip(counts, found, strict=True)]
            else:
                results = await describe_all()
            response = DescribeUserScramCredentialsResponse(results=results)
        except StoreError as failure:
            response = DescribeUserScramCredentialsResponse(0, *error_of(failure))
        return encode(response, request.api_version)

    return by_procedure(answer)


def _result(user: str, outcome: list[CredentialInfo] | Exception) -> Result:
    if isinstance(outcome, CorruptData):
        return Result(user, ErrorCode.UNKNOWN_SERVER_ERROR, f"{outcome}.")
    return Result(user, *error_of(outcome), [] if isinstance(outcome, Exception) else outcome)
