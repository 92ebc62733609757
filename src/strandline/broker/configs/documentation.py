"""A sentence or two for each setting, for DescribeConfigs and the command line.

Broker properties that are the default of a topic's are told by that.
"""

from __future__ import annotations

from collections.abc import Mapping

from strandline.broker.configs.definitions import BROKER_CONFIGS, TOPIC_SETTINGS
from strandline.model.settings import property_name

TOPICS = """
cleanup.policy
    What happens to old records: delete removes whole segments by age or size, compact keeps the newest of each key,
    and both may be named.
compression.gzip.level
    The level at which Kafka compresses with gzip. It is kept and shown, and has no effect here: the codec's own
    default is used.
compression.lz4.level
    The level at which Kafka compresses with lz4. It is kept and shown, and has no effect here: the codec's own
    default is used.
compression.type
    The codec that batches are stored with; producer keeps what the producer chose.
compression.zstd.level
    The level at which Kafka compresses with zstd. It is kept and shown, and has no effect here: the codec's own
    default is used.
delete.retention.ms
    How long a tombstone stays in a compacted topic, so that a reader from the start can see the deletion.
file.delete.delay.ms
    How long the files of a deleted segment stay on the disk.
flush.messages
    After how many records the log is synced to the disk.
flush.ms
    After which time records in the log are synced to the disk.
follower.replication.throttled.replicas
    Replicas whose fetching is throttled, as partition:broker or *.
index.interval.bytes
    After how many bytes of records the offset index gets an entry.
leader.replication.throttled.replicas
    Replicas whose followers are throttled, as partition:broker or *.
local.retention.bytes
    How much of a tiered log stays on the local disk. It is kept and shown, and has no effect here: there is no
    tiered storage.
local.retention.ms
    How long records of a tiered log stay on the local disk. It is kept and shown, and has no effect here: there is
    no tiered storage.
max.compaction.lag.ms
    After which time a record must have been considered for compaction.
max.message.bytes
    The largest record batch that is taken, after compression.
message.downconversion.enable
    Whether Kafka converts records for very old consumers. It is kept and shown, and has no effect here: such
    consumers are not served.
message.format.version
    The message format that Kafka once wrote. It is kept and shown, and has no effect here: version 2 is always
    written.
message.timestamp.after.max.ms
    How far ahead of the broker's clock a record's timestamp may be.
message.timestamp.before.max.ms
    How far behind the broker's clock a record's timestamp may be.
message.timestamp.type
    Whose time a record has: CreateTime is the producer's, LogAppendTime the broker's.
min.cleanable.dirty.ratio
    Which part of a compacted log must be new since the last compaction before it is compacted again.
min.compaction.lag.ms
    How long a record is safe from compaction.
min.insync.replicas
    How many replicas must be in sync for a write with acks=all to be taken.
preallocate
    Whether Kafka reserves the disk space of a segment when it begins one. It is kept and shown, and has no effect
    here.
remote.log.copy.disable
    Whether a tiered topic stops to copy segments. It is kept and shown, and has no effect here: there is no tiered
    storage.
remote.log.delete.on.disable
    Whether tiered data goes when tiering is switched off. It is kept and shown, and has no effect here: there is no
    tiered storage.
remote.storage.enable
    Whether old segments move to remote storage: always false, for there is no tiered storage here.
retention.bytes
    Above which size of a partition its oldest segments are deleted; -1 is no limit.
retention.ms
    After which time records may be deleted; -1 is never.
segment.bytes
    At which size a new segment file is begun.
segment.index.bytes
    The largest size of a segment's index; a full one begins a new segment.
segment.jitter.ms
    By how much, at most, time-based rolls of partitions are spread.
segment.ms
    After which time a new segment is begun, even if the last is not full.
unclean.leader.election.enable
    Whether a replica that is not in sync may lead when no other is left, which loses records.
"""

BROKERS = """
add.partitions.to.txn.retry.backoff.max.ms
    How long a producer waits at most before it adds partitions to a transaction again.
add.partitions.to.txn.retry.backoff.ms
    How long a producer waits at first before it adds partitions to a transaction again.
advertised.listeners
    The address that clients are told; by default each is told the one by which it reached the broker.
auto.create.topics.enable
    Whether a topic that is asked for is created.
auto.leader.rebalance.enable
    Whether leaders that have drifted go back to the brokers that are preferred.
background.threads
    Threads for work that waits for the disk.
broker.id
    The number of this broker in its cluster.
broker.rack
    The rack of this broker, over which replicas are spread.
connections.max.idle.ms
    After which time a connection that sends nothing is closed.
controller.listener.names
    Listeners of `listeners` that are passed over, as in KRaft's files: controllers are served with everybody else.
default.replication.factor
    How many replicas the partitions of a topic get that does not say.
delete.topic.enable
    Whether topics may be deleted.
fetch.max.bytes
    The most that one answer to a fetch may have, whatever the client allows; the first batch is always given.
group.consumer.assignors
    The assignors of consumer groups with the new protocol; the first is for members that name none.
group.consumer.heartbeat.interval.ms
    How often members of consumer groups with the new protocol send heartbeats.
group.consumer.max.heartbeat.interval.ms
    The largest heartbeat interval that a group may have.
group.consumer.max.session.timeout.ms
    The largest session timeout that a group may have.
group.consumer.max.size
    How many members a consumer group with the new protocol may have.
group.consumer.min.heartbeat.interval.ms
    The smallest heartbeat interval that a group may have.
group.consumer.min.session.timeout.ms
    The smallest session timeout that a group may have.
group.consumer.session.timeout.ms
    After which silence a member of a consumer group with the new protocol is gone.
group.initial.rebalance.delay.ms
    How long a new group waits for more members before its first rebalance.
group.max.session.timeout.ms
    The largest session timeout that a member of a classic group may ask for.
group.max.size
    How many members a classic group may have.
group.min.session.timeout.ms
    The smallest session timeout that a member of a classic group may ask for.
inter.broker.protocol.version
    The version of Kafka whose brokers this one can be mixed with; it cannot be chosen.
leader.imbalance.check.interval.seconds
    How often the controller looks for leaders that have drifted.
leader.imbalance.per.broker.percentage
    Which part of a broker's leaders may have drifted before they go back.
listeners
    Where the broker listens, as PLAINTEXT://host:port.
log.cleaner.backoff.ms
    How long the cleaner sleeps when there is nothing to compact.
log.cleaner.dedupe.buffer.size
    The memory that all cleaner threads together have for keys.
log.cleaner.enable
    Whether topics are compacted at all.
log.cleaner.io.buffer.load.factor
    How full the memory for keys may become.
log.cleaner.io.buffer.size
    The memory that all cleaner threads together have to read and write.
log.cleaner.io.max.bytes.per.second
    How many bytes the cleaner reads and writes in a second, at most.
log.cleaner.threads
    How many partitions are compacted at a time.
log.dir
    The directory of the data, where log.dirs names none.
log.dirs
    The directories of the data, separated by commas.
log.flush.offset.checkpoint.interval.ms
    How often it is noted how far the logs are on the disk.
log.flush.scheduler.interval.ms
    How often the broker looks for logs that are to be synced; the default of log.flush.interval.ms too.
log.flush.start.offset.checkpoint.interval.ms
    How often it is noted where the logs begin.
log.initial.task.delay.ms
    How long after its start a broker waits with the first retention, checkpoints and other housekeeping.
log.retention.check.interval.ms
    How often the broker looks for segments that may be deleted.
max.connection.creation.rate
    How many connections are accepted in a second; more have to wait.
max.connections
    How many connections there may be, all together.
max.connections.per.ip
    How many connections there may be from one address.
max.connections.per.ip.overrides
    Other limits for some addresses, as address:count.
max.entries.per.request
    How many topics, partitions and other entries one request may list; a setting of Strandline's own.
max.incremental.fetch.session.cache.slots
    How many fetch sessions are remembered.
max.partitions.per.request
    How many partitions one request may create; a setting of Strandline's own.
max.request.partition.size.limit
    How many partitions one answer describes at most, where a client can ask for the next page.
node.id
    Another name for broker.id.
num.io.threads
    Threads that read what is not in the page cache.
num.partitions
    How many partitions a topic gets that does not say.
offset.metadata.max.bytes
    How long the text may be that a consumer stores with an offset.
offsets.commit.timeout.ms
    How long a commit of offsets waits for all replicas that are in sync.
offsets.load.buffer.size
    How many bytes are read at a time when the groups of a partition are loaded.
offsets.retention.check.interval.ms
    How often the broker looks for offsets that may be forgotten.
offsets.retention.minutes
    How long the offsets of a group that has no members are kept.
offsets.topic.num.partitions
    How many partitions the topic of the offsets gets when it is created.
offsets.topic.replication.factor
    How many replicas the topic of the offsets gets when it is created.
offsets.topic.segment.bytes
    The segment size of the topic of the offsets when it is created.
producer.id.expiration.check.interval.ms
    How often the broker looks for idempotent producers that may be forgotten.
producer.id.expiration.ms
    How long an idempotent producer that writes nothing is remembered.
queued.max.request.bytes
    How many bytes of unfinished and waiting requests are held, all connections together.
queued.max.response.bytes
    A connection with more than this to send handles no further request; a setting of Strandline's own.
replica.fetch.backoff.ms
    How long a follower waits after a fetch that failed.
replica.high.watermark.checkpoint.interval.ms
    How often the high watermarks are noted on the disk.
replica.lag.time.max.ms
    After which time a follower that has not caught up is no longer in sync.
replication.quota.window.num
    Over how many windows throttled replication is measured.
replication.quota.window.size.seconds
    How long each window is over which throttled replication is measured.
socket.listen.backlog.size
    How many connections may wait to be accepted.
socket.receive.buffer.bytes
    The receive buffer of a connection; -1 leaves it to the operating system.
socket.request.max.bytes
    The largest request that is taken.
socket.request.stalled.ms
    How long a peer that has begun a request may stand still; a setting of Strandline's own.
socket.send.buffer.bytes
    The send buffer of a connection; -1 leaves it to the operating system.
socket.stop.timeout.ms
    How long a stop waits for answers that are being sent; a setting of Strandline's own.
socket.turn.ms
    After so long a connection waits until others have been served; a setting of Strandline's own.
transaction.abort.timed.out.transaction.cleanup.interval.ms
    How often the broker looks for transactions that have been open for too long.
transaction.max.timeout.ms
    The longest time that a transaction may be open.
transaction.partition.verification.enable
    Whether a partition asks if a transaction is open before it takes a record of it.
transaction.remove.expired.transaction.cleanup.interval.ms
    How often the broker looks for transactional ids that may be forgotten.
transaction.state.log.load.buffer.size
    How many bytes are read at a time when the transactions of a partition are loaded.
transaction.state.log.min.isr
    How many replicas of the topic of the transactions must be in sync for a write.
transaction.state.log.num.partitions
    How many partitions the topic of the transactions gets when it is created.
transaction.state.log.replication.factor
    How many replicas the topic of the transactions gets when it is created.
transaction.state.log.segment.bytes
    The segment size of the topic of the transactions when it is created.
transactional.id.expiration.ms
    How long a transactional id that is not used is remembered.
zookeeper.connect
    Where ZooKeeper is, host:port,host:port/chroot; without it the metadata lies beside the data.
zookeeper.connection.timeout.ms
    How long the first connection to ZooKeeper may take; -1 is as long as a session.
zookeeper.max.in.flight.requests
    How many requests to ZooKeeper may be under way.
zookeeper.max.queued.requests
    How many requests to ZooKeeper may wait behind those under way.
zookeeper.session.timeout.ms
    After which silence ZooKeeper takes the broker for dead.
strandline.internal.topics.early
    Whether the topics of coordinators are made when the cluster has formed, and not when the first client asks for one.
strandline.journal.enable
    Whether a cluster keeps a journal of elections, ISR changes and truncations, with their causes.
strandline.journal.replication.factor
    How many replicas the journal has, if there are as many brokers when it is created.
strandline.journal.retention.ms
    How long entries of the journal are kept.
strandline.journal.queue.entries
    How many entries wait on a broker while the journal cannot be written; then the oldest are lost.
replica.fetch.wait.max.ms
    How long a fetch of a follower waits for records.
replica.fetch.min.bytes
    For how many bytes a fetch of a follower waits.
replica.fetch.max.bytes
    How much of one partition a follower fetches at once.
replica.fetch.response.max.bytes
    How much a follower fetches at once, of all partitions.
replica.socket.timeout.ms
    After which silence a follower gives up its connection to a leader.
leader.replication.throttled.rate
    How many bytes in a second a leader sends to throttled replicas that are not in sync.
follower.replication.throttled.rate
    How many bytes in a second throttled replicas that are not in sync fetch.
controlled.shutdown.enable
    Whether a broker that stops has its partitions led by others first.
controlled.shutdown.max.retries
    How often a broker that stops asks for that.
controlled.shutdown.retry.backoff.ms
    How long it waits before it asks again.
controller.socket.timeout.ms
    How long a broker that stops waits for the controller's answer.
"""


def parsed(page: str) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    name = ""
    for line in page.strip().splitlines():
        if line.startswith(" "):
            found[name].append(line.strip())
        else:
            name = line
            found[name] = []
    return {name: " ".join(lines) for name, lines in found.items()}


def _of_brokers() -> dict[str, str]:
    found = parsed(BROKERS)
    for name, definition in BROKER_CONFIGS.items():
        if definition.settings in TOPIC_SETTINGS:
            topic_name = property_name(definition.field)
            found[name] = f"The default of {topic_name}{_unit(name, topic_name)}. {TOPIC_DOCUMENTATION[topic_name]}"
    return found


def _unit(name: str, topic_name: str) -> str:
    for unit in ("hours", "minutes"):
        if name.endswith(f".{unit}") and topic_name.endswith(".ms"):
            return f", in {unit}"
    return ""


TOPIC_DOCUMENTATION: Mapping[str, str] = parsed(TOPICS)
BROKER_DOCUMENTATION: Mapping[str, str] = _of_brokers()
