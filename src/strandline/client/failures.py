"""What can go wrong for a client. Every message is one plain sentence that says what to do next where that is known.

ClientError            what a caller of this package has to expect, and nothing else
  NoBroker             nobody answered at any of the addresses given: there is no use in trying again
  BrokerUnreachable    a broker went away or stayed silent: another try may find it, or its successor
  BrokerRefused        a broker answered with an error code
    NoTopic            the most frequent one
  NoSuchOffset         a partition begins later, or ends earlier, than where it was to be read
"""

from __future__ import annotations

from strandline.model.error_codes import ErrorCode
from strandline.model.partitions import TopicPartition

# What Kafka calls retriable, of what a client can meet: the state of the cluster will change, or our view of it is old.
RETRIABLE = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.LISTENER_NOT_FOUND,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)

ADVICE = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "there is no such topic or partition; `strandline topic list` shows them",
    ErrorCode.UNKNOWN_TOPIC_ID: "the topic was deleted, or created anew, in the meantime",
    ErrorCode.TOPIC_ALREADY_EXISTS: "the topic exists already; --if-not-exists lets that pass",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "not a topic name: use 1 to 249 of a-z A-Z 0-9 . _ -",
    ErrorCode.LEADER_NOT_AVAILABLE: "the partition has no leader; `strandline cluster health` says more",
    ErrorCode.NOT_ENOUGH_REPLICAS: "fewer replicas are in sync than min.insync.replicas asks for",
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: "written, but to fewer replicas than min.insync.replicas asks for",
    ErrorCode.MESSAGE_TOO_LARGE: (
        "the batch is larger than max.message.bytes of the topic allows;"
        " `strandline config set TOPIC max.message.bytes=N` raises it"
    ),
    ErrorCode.RECORD_LIST_TOO_LARGE: "the batch is larger than segment.bytes of the topic allows",
    ErrorCode.OFFSET_OUT_OF_RANGE: "no such offset; `strandline offsets TOPIC` shows what the partitions hold",
    ErrorCode.INVALID_REPLICATION_FACTOR: "there are fewer brokers than replicas asked for",
    ErrorCode.INVALID_PARTITIONS: "not a number of partitions that the topic can have",
    ErrorCode.NON_EMPTY_GROUP: "the group has members; stop its consumers first",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "the group reads that topic right now; stop its consumers first",
    ErrorCode.GROUP_ID_NOT_FOUND: "there is no such group; `strandline group list` shows them",
    ErrorCode.GROUP_MAX_SIZE_REACHED: "the group has as many members as group.max.size allows",
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: "the other members of the group use another assignor or protocol",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "no broker coordinates it; start the brokers that are down",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "not allowed on this topic",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "not allowed on this group",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "not allowed on this cluster",
    ErrorCode.UNSUPPORTED_VERSION: "the broker does not do this",
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE: "the broker does not know this compression",
}


class ClientError(Exception):
    """One plain sentence."""


class NoBroker(ClientError):
    pass


class BrokerUnreachable(ClientError):
    pass


class BrokerRefused(ClientError):
    def __init__(self, error_code: int, what: str, said: str | None = None) -> None:
        """`what` was refused; `said` is the broker's own explanation."""
        super().__init__(f"{what}: {explain(error_code, said)}")
        self.error_code = error_code
        self.what = what

    @property
    def code_name(self) -> str:
        return ErrorCode(self.error_code).name if self.error_code in set(ErrorCode) else f"error {self.error_code}"

    @property
    def is_retriable(self) -> bool:
        return self.error_code in RETRIABLE


class NoTopic(BrokerRefused):
    def __init__(self, topic: str) -> None:
        said = f"it does not exist; `strandline topic list` shows what does, `strandline topic create {topic}` makes it"
        super().__init__(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic}", said)
        self.topic = topic


class NoSuchOffset(ClientError):
    def __init__(self, partition: TopicPartition, offset: int, log_start: int, log_end: int) -> None:
        held = f"it holds {log_start} to {log_end - 1}" if log_start < log_end else "it is empty"
        after = "" if log_start < log_end else f", the next record gets {log_end}"
        super().__init__(f"{partition} has no offset {offset}: {held}{after}")
        self.partition = partition
        self.offset = offset
        self.log_start = log_start
        self.log_end = log_end


def explain(error_code: int, said: str | None = None) -> str:
    """The broker's words or else ours, and the name by which the code can be looked up."""
    try:
        known = ErrorCode(error_code)
    except ValueError:
        return f"{said or 'an error that this version does not know'} (error {error_code})"
    reason = (said or ADVICE.get(known) or known.name.lower().replace("_", " ")).rstrip(".")
    return f"{reason} ({known.name})"


def may_pass(error: ClientError) -> bool:
    """Whether another try can end better."""
    return isinstance(error, BrokerUnreachable) or (isinstance(error, BrokerRefused) and error.is_retriable)
