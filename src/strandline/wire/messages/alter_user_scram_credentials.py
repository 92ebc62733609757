"""AlterUserScramCredentials (51), version 0, flexible from 0: SCRAM credentials to set or delete."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, blob, int8, int16, int32, many, text


@dataclass(slots=True)
class ScramCredentialDeletion:
    name: str = text()
    mechanism: int = int8()


@dataclass(slots=True)
class ScramCredentialUpsertion:
    name: str = text()
    mechanism: int = int8()
    iterations: int = int32()
    salt: bytes = blob()
    salted_password: bytes = blob()


@dataclass(slots=True)
class AlterUserScramCredentialsRequest(Message):
    api_key: ClassVar[int] = 51
    deletions: list[ScramCredentialDeletion] = many(ScramCredentialDeletion)
    upsertions: list[ScramCredentialUpsertion] = many(ScramCredentialUpsertion)


@dataclass(slots=True)
class AlterUserScramCredentialsResult:
    user: str = text()
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)


@dataclass(slots=True)
class AlterUserScramCredentialsResponse(Message):
    api_key: ClassVar[int] = 51
    throttle_time_ms: int = int32()
    results: list[AlterUserScramCredentialsResult] = many(AlterUserScramCredentialsResult)
