"""DescribeUserScramCredentials (50), version 0, flexible from 0: which users have which SCRAM credentials."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int8, int16, int32, many, text


@dataclass(slots=True)
class UserName:
    name: str = text()


@dataclass(slots=True)
class DescribeUserScramCredentialsRequest(Message):
    api_key: ClassVar[int] = 50
    users: list[UserName] | None = many(UserName, None, nullable_since=0)


@dataclass(slots=True)
class CredentialInfo:
    mechanism: int = int8()
    iterations: int = int32()


@dataclass(slots=True)
class DescribeUserScramCredentialsResult:
    user: str = text()
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)
    credential_infos: list[CredentialInfo] = many(CredentialInfo)


@dataclass(slots=True)
class DescribeUserScramCredentialsResponse(Message):
    api_key: ClassVar[int] = 50
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)
    results: list[DescribeUserScramCredentialsResult] = many(DescribeUserScramCredentialsResult)
