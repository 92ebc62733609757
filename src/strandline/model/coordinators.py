"""What the coordinators of groups and of transactions have in common: where a name belongs, what can be stored, and
what clients hear when the coordinator's own log fails."""

from __future__ import annotations

from strandline.model.failures import ErrorCode, Refused

# A string in a stored key has an int16 length; requests can bring longer ones.
STORED_STRING_BYTES_MAX = 2**15 - 1

TOO_LARGE = {ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_FETCH_SIZE}
CLIENT_ERRORS = {
    **dict.fromkeys(TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
}


def client_error(append_error: ErrorCode) -> ErrorCode:
    """What a client hears when the coordinator's own write failed: it must not take it for its own topic's error."""
    return CLIENT_ERRORS.get(append_error, append_error)


def check_storable(*texts: str | None) -> None:
    for text in texts:
        if text is not None and len(text.encode()) > STORED_STRING_BYTES_MAX:
            raise Refused(ErrorCode.INVALID_REQUEST, f"a name of {len(text)} characters cannot be stored")


def coordinator_partition(name: str, partitions: int) -> int:
    """The partition of the coordinator's topic, and so the broker, that a group or a transactional id belongs to.

    It is Java's hash of the name."""
    code = 0
    units = name.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(units), 2):
        code = (31 * code + (units[position] << 8 | units[position + 1])) & 0xFFFFFFFF
    signed = code - 2**32 if code >= 2**31 else code
    # Java has no positive twin of its lowest integer; Kafka takes 0 for it.
    return (0 if signed == -(2**31) else abs(signed)) % partitions
