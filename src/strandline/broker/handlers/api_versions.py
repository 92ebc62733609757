"""ApiVersions, v0-v4: what this broker can do, which is exactly what it has handlers for.

A version that we do not know is answered in version 0 with UNSUPPORTED_VERSION and this API's range, and the
connection stays (KIP-511). A client's name or version that Kafka would not take as a metric's label is
INVALID_REQUEST.

The feature `transaction.version` at 2 tells producers that every transaction has an epoch of its own, and that we add
its partitions for them (KIP-890).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from strandline.broker.dispatch import Handler, Request
from strandline.model.failures import ErrorCode
from strandline.transactions.states import EPOCH_BUMPS
from strandline.wire.api_versions import (
    decode_api_versions_request,
    encode_api_versions_response,
    unsupported_version_response,
)
from strandline.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from strandline.wire.versions import SERVED, ApiKey, advertised

CLIENT_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
TRANSACTION_VERSION = "transaction.version"
TRANSACTIONS = {ApiKey.PRODUCE, ApiKey.END_TXN, ApiKey.TXN_OFFSET_COMMIT, ApiKey.ADD_PARTITIONS_TO_TXN}
FEATURES_EPOCH = 0  # they never change
NAMED_FROM = 3  # the version since which a client says what it is


def api_versions_handler(api_keys: Iterable[ApiKey]) -> Handler:
    """Advertises these APIs and itself."""
    api = SERVED[ApiKey.API_VERSIONS]
    keys = {*api_keys, ApiKey.API_VERSIONS}
    response = ApiVersionsResponse(ErrorCode.NONE, [ApiVersion(*entry) for entry in advertised(keys)])
    if keys >= TRANSACTIONS:
        response.supported_features = [SupportedFeatureKey(TRANSACTION_VERSION, 0, EPOCH_BUMPS)]
        response.finalized_features = [FinalizedFeatureKey(TRANSACTION_VERSION, EPOCH_BUMPS, EPOCH_BUMPS)]
        response.finalized_features_epoch = FEATURES_EPOCH
    invalid = ApiVersionsResponse(ErrorCode.INVALID_REQUEST)

    def handle(request: Request) -> bytes:
        version = request.api_version
        if not api.serves(version):
            return unsupported_version_response()
        asked = decode_api_versions_request(version, request.body)
        names = (asked.client_software_name, asked.client_software_version)
        if version >= NAMED_FROM and not all(map(CLIENT_SOFTWARE.fullmatch, names)):
            return encode_api_versions_response(version, invalid)
        return encode_api_versions_response(version, response)

    return handle
