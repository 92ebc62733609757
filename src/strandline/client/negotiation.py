"""Which version of each API to speak with a broker: the highest that both sides know.

ApiVersions itself is asked in our highest version. A broker that does not know that one answers in version 0, with
error 35 and the versions of this API that it knows (KIP-511); then it is asked once more. Brokers before 2.4 would
hang up instead; they are twelve releases old and not cared for.

What brokers say among themselves ours tell nobody of. Asked for it all the same, a broker is taken to know it as we do.
"""

from __future__ import annotations

from strandline import __version__
from strandline.client.failures import ClientError
from strandline.model.error_codes import ErrorCode
from strandline.model.failures import ProtocolError
from strandline.wire.codec import decode
from strandline.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from strandline.wire.versions import INTER_BROKER, SERVED, SPOKEN, Api, ApiKey

OURS = ApiVersionsRequest("strandline", __version__)
NEWEST = SERVED[ApiKey.API_VERSIONS].last_version
UNTOLD = {key: (api.first_version, api.last_version) for key, api in INTER_BROKER.items()}


class BrokerVersions:
    """What one broker told us that it speaks."""

    def __init__(self, broker: str, response: ApiVersionsResponse) -> None:
        self.broker = broker
        self._ranges = UNTOLD | {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}

    def serves(self, api_key: int) -> bool:
        return self._newest_common(SPOKEN[api_key]) is not None

    def pick(self, api_key: int, version_max: int | None = None) -> int:
        """The version to speak, not above `version_max`, where the caller lacks what later ones need."""
        api = SPOKEN[api_key]
        version = self._newest_common(api, version_max)
        if version is None:
            raise ClientError(self._describe_missing(api))
        return version

    def _newest_common(self, api: Api, version_max: int | None = None) -> int | None:
        first, last = self._ranges.get(api.key) or self._untold(api)
        newest = min(last, api.last_version if version_max is None else min(version_max, api.last_version))
        return newest if newest >= max(first, api.first_version) else None

    def _untold(self, api: Api) -> tuple[int, int]:
        """A broker of ours does not tell of what only brokers say to each other; it knows what we know."""
        return (api.first_version, api.last_version) if api.key in INTER_BROKER else (0, -1)

    def _describe_missing(self, api: Api) -> str:
        if api.key not in self._ranges:
            return f"the broker at {self.broker} does not know {api.name}"
        first, last = self._ranges[api.key]
        return (
            f"the broker at {self.broker} speaks versions {first} to {last} of {api.name},"
            f" this client {api.first_version} to {api.last_version}"
        )


def decode_api_versions(asked_version: int, body: memoryview) -> ApiVersionsResponse:
    """The answer, which is of version 0 where the broker does not know the version we asked in."""
    if body[:2] == ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big"):
        return decode(ApiVersionsResponse, 0, body)
    return decode(ApiVersionsResponse, asked_version, body)


def version_to_ask_again(response: ApiVersionsResponse) -> int:
    """After an answer of version 0 that said which versions of ApiVersions there are."""
    known = next((each for each in response.api_keys if each.api_key == ApiKey.API_VERSIONS), None)
    if known is None:
        return 0
    if known.min_version > NEWEST:
        raise ProtocolError(f"the broker speaks ApiVersions from version {known.min_version}, we until {NEWEST}")
    return min(known.max_version, NEWEST)
