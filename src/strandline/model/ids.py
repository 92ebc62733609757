"""Ids as Kafka writes every uuid: 16 bytes in url-safe base64 without padding, 22 characters."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from uuid import UUID

from strandline.model.failures import CorruptData

ID_TEXT = re.compile(r"[A-Za-z0-9_-]{22}(==)?")


def encode_id(identity: UUID) -> str:
    return urlsafe_b64encode(identity.bytes).decode().removesuffix("==")


def decode_id(text: str) -> UUID:
    if not ID_TEXT.fullmatch(text):
        raise CorruptData(f"{text[:80]!r} is not an id of 22 base64 characters")
    return UUID(bytes=urlsafe_b64decode(text[:22] + "=="))
