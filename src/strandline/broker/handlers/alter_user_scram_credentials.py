"""AlterUserScramCredentials, v0: credentials are set and deleted, all of a user's or none (KIP-554)."""

from __future__ import annotations

from dataclasses import field

from strandline.broker.configs.changes import ConfigChanges
from strandline.broker.dispatch import Handler, Request
from strandline.broker.outcomes import error_of
from strandline.broker.procedures import all_of, by_procedure
from strandline.broker.scram_credentials import check_iterations, encode_credential, mechanism_of
from strandline.model.failures import ErrorCode, Refused
from strandline.model.lazy_dataclass import dataclass
from strandline.wire.codec import decode, encode
from strandline.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)

Credentials = dict[str, str]


@dataclass(slots=True)
class UserChange:
    deletions: list[ScramCredentialDeletion] = field(default_factory=list)
    upsertions: list[ScramCredentialUpsertion] = field(default_factory=list)


def alter_user_scram_credentials_handler(changes: ConfigChanges) -> Handler:
    async def alter(user: str, asked: UserChange) -> None:
        if not user:
            raise Refused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "A user has a name.")
        gone = {mechanism_of(each.mechanism).property_name for each in asked.deletions}
        new = dict(map(_credential, asked.upsertions))
        if len(gone | new.keys()) < len(asked.deletions) + len(asked.upsertions):
            raise Refused(ErrorCode.DUPLICATE_RESOURCE, "A credential may be changed once in a request.")

        def changed(stored: Credentials) -> Credentials:
            if not gone <= stored.keys():
                raise Refused(ErrorCode.RESOURCE_NOT_FOUND, f"User {user!r} has no such credential.")
            return {name: value for name, value in stored.items() if name not in gone} | new

        await changes.change_user(user, changed)

    async def answer(request: Request) -> bytes:
        users = _by_user(decode(AlterUserScramCredentialsRequest, request.api_version, request.body))
        outcomes = await all_of(alter(user, asked) for user, asked in users.items())
        results = [
            AlterUserScramCredentialsResult(user, *error_of(outcome))
            for user, outcome in zip(users, outcomes, strict=True)
        ]
        return encode(AlterUserScramCredentialsResponse(results=results), request.api_version)

    return by_procedure(answer)


def _by_user(asked: AlterUserScramCredentialsRequest) -> dict[str, UserChange]:
    users: dict[str, UserChange] = {}
    for deletion in asked.deletions:
        users.setdefault(deletion.name, UserChange()).deletions.append(deletion)
    for upsertion in asked.upsertions:
        users.setdefault(upsertion.name, UserChange()).upsertions.append(upsertion)
    return users


def _credential(asked: ScramCredentialUpsertion) -> tuple[str, str]:
    mechanism = mechanism_of(asked.mechanism)
    check_iterations(asked.iterations)
    credential = encode_credential(mechanism, asked.salt, asked.salted_password, asked.iterations)
    return mechanism.property_name, credential
