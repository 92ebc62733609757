"""`.kafka_cleanshutdown`: its presence in a log directory says that nothing there needs recovery.

    {"version":0,"brokerEpoch":5}

Kafka before 3.7 left it empty. Only its presence counts: contents that cannot be read mean an unknown epoch.
"""

from __future__ import annotations

import json

CLEAN_SHUTDOWN_MARKER = ".kafka_cleanshutdown"
UNKNOWN_BROKER_EPOCH = -1


def encode_clean_shutdown(broker_epoch: int) -> bytes:
    return json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":")).encode()


def decode_clean_shutdown(data: bytes) -> int:
    """The epoch the broker had when it stopped, or -1."""
    try:
        content = json.loads(data)
    except ValueError:
        return UNKNOWN_BROKER_EPOCH
    broker_epoch = content.get("brokerEpoch") if isinstance(content, dict) else None
    return broker_epoch if type(broker_epoch) is int else UNKNOWN_BROKER_EPOCH
