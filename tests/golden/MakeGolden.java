import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.KRaftVersionRecord;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.SnapshotFooterRecord;
import org.apache.kafka.common.message.SnapshotHeaderRecord;
import org.apache.kafka.common.message.VotersRecord;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.DefaultRecordBatch;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.SimpleRecord;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.PrimitiveRef;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogValidator;

/**
 * Golden record batches, built by the classes of Kafka 3.9 with which its own producer, broker and cleaner build them.
 * Each case is NAME.bin (the bytes) and NAME.json (what Kafka reads back from them).
 *
 *     java -cp '.interop/kafka-3.9/jars/*' tests/golden/MakeGolden.java tests/golden/batches
 *
 * Everything is fixed (times, ids, sizes), so a second run writes the same bytes.
 */
public class MakeGolden {
    static final long NOON = 1_700_000_000_000L;
    static final byte V0 = 0;
    static final byte V1 = 1;
    static final byte V2 = 2;
    static final TimestampType CREATE = TimestampType.CREATE_TIME;
    static final TimestampType APPEND = TimestampType.LOG_APPEND_TIME;
    static final Compression NONE = Compression.NONE;
    static final int BIG_VALUE = 256; // longer values are told by size and SHA-256

    final Path folder;
    final ObjectMapper json = new ObjectMapper();

    MakeGolden(Path folder) {
        this.folder = folder;
    }

    public static void main(String[] arguments) throws Exception {
        MakeGolden golden = new MakeGolden(Path.of(arguments[0]));
        Files.createDirectories(golden.folder);
        golden.current();
        golden.codecs();
        golden.producers();
        golden.control();
        golden.compacted();
        golden.legacy();
        golden.upConverted();
    }

    // ---- v2, uncompressed

    void current() throws Exception {
        write("v2-plain", "three records, keys and values", MemoryRecords.withRecords(0L, NONE, 0, some(3)));
        write("v2-nulls", "null and empty keys and values", MemoryRecords.withRecords(40L, NONE, 7,
                new SimpleRecord(NOON, null, bytes("no key")), new SimpleRecord(NOON + 1, bytes("no value"), null),
                new SimpleRecord(NOON + 2, null, (byte[]) null), new SimpleRecord(NOON + 3, new byte[0], new byte[0])));
        write("v2-headers", "headers: none, one, repeated names, null and empty values, a name that is not ASCII",
                MemoryRecords.withRecords(100L, NONE, 3,
                        new SimpleRecord(NOON, bytes("k0"), bytes("v0"), new Header[0]),
                        new SimpleRecord(NOON, bytes("k1"), bytes("v1"), new Header[] {header("trace", "abc")}),
                        new SimpleRecord(NOON, bytes("k2"), bytes("v2"), new Header[] {
                            header("a", "1"), header("a", "2"), header("", "no name"),
                            new RecordHeader("null", (byte[]) null),
                            new RecordHeader("empty", new byte[0]), header("größe", "潮")})));
        write("v2-one-record", "the smallest batch with a record", MemoryRecords.withRecords(0L, NONE, 0, some(1)));
        write("v2-times", "timestamps that go backwards, far apart, and none at all",
                MemoryRecords.withRecords(5L, NONE, 1,
                new SimpleRecord(NOON, bytes("a"), bytes("first")),
                new SimpleRecord(NOON - 86_400_000L, bytes("b"), bytes("a day before")),
                new SimpleRecord(NOON + 4_000_000_000_000L, bytes("c"), bytes("a century on")),
                new SimpleRecord(RecordBatch.NO_TIMESTAMP, bytes("d"), bytes("none"))));
        write("v2-log-append-time", "the broker's clock: every record has the batch's max timestamp", appendTime());
        write("v2-big-offsets", "offsets beyond 32 bits, with gaps", gaps());
        write("v2-varints", "values at each step in length of a varint", MemoryRecords.withRecords(0L,
                Compression.gzip().build(), 0,
                sized(0), sized(1), sized(63), sized(64), sized(127), sized(128), sized(8191), sized(8192)));
        ByteBuffer three = ByteBuffer.allocate(4096);
        three.put(MemoryRecords.withRecords(0L, NONE, 0, some(2)).buffer());
        three.put(MemoryRecords.withRecords(2L, Compression.gzip().build(), 0, some(4)).buffer());
        three.put(MemoryRecords.withRecords(6L, NONE, 1, some(1)).buffer());
        write("v2-three-batches", "three batches in a row, the second compressed, the third of a later epoch",
                flipped(three));
    }

    MemoryRecords appendTime() {
        MemoryRecordsBuilder builder = MemoryRecords.builder(ByteBuffer.allocate(1024), V2, NONE, APPEND, 10L,
                NOON + 500, 2);
        for (SimpleRecord record : some(3)) builder.append(record);
        return builder.build();
    }

    MemoryRecords gaps() {
        MemoryRecordsBuilder builder = MemoryRecords.builder(ByteBuffer.allocate(1024), V2, NONE, CREATE,
                5_000_000_000L, -1L, 12);
        builder.appendWithOffset(5_000_000_000L, some(1)[0]);
        builder.appendWithOffset(5_000_000_007L, some(1)[0]);
        builder.appendWithOffset(5_000_100_000L, some(1)[0]);
        return builder.build();
    }

    // ---- v2, every codec

    void codecs() throws Exception {
        for (CompressionType type : CompressionType.values()) {
            if (type == CompressionType.NONE) continue;
            Compression codec = Compression.of(type).build();
            write("v2-" + type.name, "four small records, " + type.name, MemoryRecords.withRecords(20L, codec, 4,
                    some(4)));
            write("v2-" + type.name + "-blocks", "several blocks of " + type.name + ": 80 KiB unpacked",
                    MemoryRecords.withRecords(0L, codec, 4, big()));
            write("v2-" + type.name + "-incompressible", "bytes that " + type.name + " cannot make smaller",
                    MemoryRecords.withRecords(0L, codec, 4, new SimpleRecord(NOON, bytes("noise"), noise(600))));
        }
    }

    // ---- producer ids, transactions

    void producers() throws Exception {
        write("v2-idempotent", "producer 4000, epoch 2, sequences from 100",
                MemoryRecords.withIdempotentRecords(300L, NONE, 4000L, (short) 2, 100, 5, some(3)));
        write("v2-sequence-wrap", "sequences that pass 2147483647 go on at 0",
                MemoryRecords.withIdempotentRecords(0L, NONE, 1L, (short) 0, Integer.MAX_VALUE - 1, 5, some(4)));
        write("v2-transactional", "part of a transaction, compressed",
                MemoryRecords.withTransactionalRecords(400L, Compression.lz4().build(), 4001L, (short) 0, 0, 5,
                        some(3)));
        write("v2-transactions", "two transactions interleaved, one committed and one aborted", transactions());
    }

    MemoryRecords transactions() {
        ByteBuffer buffer = ByteBuffer.allocate(4096);
        buffer.put(MemoryRecords.withTransactionalRecords(0L, NONE, 9L, (short) 1, 0, 0, some(2)).buffer());
        buffer.put(MemoryRecords.withTransactionalRecords(2L, NONE, 8L, (short) 3, 50, 0, some(1)).buffer());
        buffer.put(MemoryRecords.withTransactionalRecords(3L, NONE, 9L, (short) 1, 2, 0, some(1)).buffer());
        buffer.put(marker(4L, 9L, (short) 1, ControlRecordType.ABORT, 6).buffer());
        buffer.put(marker(5L, 8L, (short) 3, ControlRecordType.COMMIT, 7).buffer());
        return flipped(buffer);
    }

    static MemoryRecords marker(long offset, long producerId, short epoch, ControlRecordType type,
            int coordinatorEpoch) {
        return MemoryRecords.withEndTransactionMarker(offset, NOON + offset, 0, producerId, epoch,
                new EndTransactionMarker(type, coordinatorEpoch));
    }

    // ---- control batches

    void control() throws Exception {
        write("v2-commit-marker", "a commit marker", marker(70L, 4001L, (short) 0, ControlRecordType.COMMIT, 11));
        write("v2-abort-marker", "an abort marker", marker(71L, 4001L, (short) 1, ControlRecordType.ABORT, 12));
        LeaderChangeMessage.Voter one = new LeaderChangeMessage.Voter().setVoterId(1);
        LeaderChangeMessage.Voter two = new LeaderChangeMessage.Voter().setVoterId(2);
        write("v2-leader-change", "KRaft: a new leader's first batch", MemoryRecords.withLeaderChangeMessage(3L, NOON,
                9, ByteBuffer.allocate(512), new LeaderChangeMessage().setLeaderId(2).setVoters(List.of(one, two))
                        .setGrantingVoters(List.of(two.duplicate()))));
        write("v2-snapshot-header", "KRaft: the head of a metadata snapshot", MemoryRecords.withSnapshotHeaderRecord(0L,
                NOON, 9, ByteBuffer.allocate(512),
                new SnapshotHeaderRecord().setVersion((short) 0).setLastContainedLogTimestamp(NOON - 1)));
        write("v2-snapshot-footer", "KRaft: the foot of a metadata snapshot",
                MemoryRecords.withSnapshotFooterRecord(50L, NOON, 9, ByteBuffer.allocate(512),
                new SnapshotFooterRecord().setVersion((short) 0)));
        write("v2-kraft-version", "KRaft: the version of its own protocol", MemoryRecords.withKRaftVersionRecord(1L,
                NOON, 9, ByteBuffer.allocate(512),
                new KRaftVersionRecord().setVersion((short) 0).setKRaftVersion((short) 1)));
        write("v2-kraft-voters", "KRaft: who votes", MemoryRecords.withVotersRecord(2L, NOON, 9,
                ByteBuffer.allocate(512),
                new VotersRecord().setVersion((short) 0).setVoters(List.of(new VotersRecord.Voter().setVoterId(1)
                        .setVoterDirectoryId(new Uuid(1L, 2L))
                                .setKRaftVersionFeature(new VotersRecord.KRaftVersionFeature()
                                .setMinSupportedVersion((short) 0).setMaxSupportedVersion((short) 1))))));
    }

    // ---- what the cleaner leaves

    void compacted() throws Exception {
        MemoryRecords source = MemoryRecords.withIdempotentRecords(200L, NONE, 4000L, (short) 2, 10, 5,
                new SimpleRecord(NOON, bytes("a"), bytes("1")), new SimpleRecord(NOON + 1, bytes("b"), null),
                new SimpleRecord(NOON + 2, bytes("c"), bytes("3")), new SimpleRecord(NOON + 3, bytes("d"), bytes("4")));
        write("v2-compacted-source", "four records, one a tombstone: what the three cases below were cleaned from",
                source);
        write("v2-compacted-gaps",
                "first and last record cleaned away: base and last offset stay, a tombstone gives a delete horizon",
                cleaned(source, Set.of(201L, 202L), false));
        write("v2-compacted-no-tombstone", "as above without the tombstone: no delete horizon", cleaned(source,
                Set.of(202L), false));
        write("v2-compacted-empty", "every record cleaned away, the batch kept for its producer's last sequence",
                cleaned(source, Set.of(), true));
        write("v2-delete-horizon-gzip", "a compressed batch with tombstones, marked by its first cleaning",
                cleaned(MemoryRecords.withRecords(500L, Compression.gzip().build(), 6, new SimpleRecord(NOON,
                        bytes("gone"), null),
                        new SimpleRecord(NOON + 5, bytes("kept"), bytes("value"))), Set.of(500L, 501L), false));
        write("v2-delete-horizon-marker", "a commit marker of an empty transaction, marked by its first cleaning",
                cleaned(marker(70L, 4001L, (short) 0, ControlRecordType.COMMIT, 11), Set.of(70L), false));
    }

    static MemoryRecords cleaned(MemoryRecords source, Set<Long> kept, boolean retainEmpty) {
        ByteBuffer result = ByteBuffer.allocate(4096);
        source.filterTo(new TopicPartition("golden", 0), new MemoryRecords.RecordFilter(NOON + 1000, 86_400_000L) {
            @Override
            protected BatchRetentionResult checkBatchRetention(RecordBatch batch) {
                return new BatchRetentionResult(retainEmpty ? BatchRetention.RETAIN_EMPTY : BatchRetention.DELETE_EMPTY,
                        batch.isControlBatch());
            }

            @Override
            protected boolean shouldRetainRecord(RecordBatch batch, Record record) {
                return kept.contains(record.offset());
            }
        }, result, Integer.MAX_VALUE, BufferSupplier.NO_CACHING);
        return flipped(result);
    }

    // ---- message sets of the old formats

    void legacy() throws Exception {
        for (byte magic : new byte[] {V0, V1}) {
            String version = "v" + magic;
            write(version + "-plain", "three messages", legacy(magic, NONE, CREATE, 0L, some(3)));
            write(version + "-nulls", "null and empty keys and values", legacy(magic, NONE, CREATE, 40L,
                    new SimpleRecord(NOON, null, bytes("no key")), new SimpleRecord(NOON + 1, bytes("no value"), null),
                    new SimpleRecord(NOON + 2, null, (byte[]) null), new SimpleRecord(NOON + 3, new byte[0],
                            new byte[0])));
            for (CompressionType type : List.of(CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4)) {
                Compression codec = Compression.of(type).build();
                String name = version + "-" + type.name;
                write(name, "a wrapper around four messages" + inner(magic), legacy(magic, codec, CREATE, 20L,
                        some(4)));
                write(name + "-blocks", "a wrapper around several blocks, 80 KiB unpacked" + inner(magic), legacy(magic,
                        codec, CREATE, 0L, big()));
            }
            write(version + "-gzip-gaps", "a wrapper from which the cleaner took messages" + inner(magic),
                    legacyGaps(magic));
        }
        write("v1-log-append-time", "the broker's clock in plain messages", legacy(V1, NONE, APPEND, 7L, some(3)));
        write("v1-gzip-log-append-time", "the broker's clock: the wrapper's timestamp stands for all within", legacy(V1,
                Compression.gzip().build(), APPEND, 7L, some(3)));
        ByteBuffer mixed = ByteBuffer.allocate(4096);
        mixed.put(legacy(V0, NONE, CREATE, 0L, some(2)).buffer());
        mixed.put(legacy(V1, Compression.gzip().build(), CREATE, 2L, some(3)).buffer());
        mixed.put(legacy(V1, NONE, CREATE, 5L, some(1)).buffer());
        mixed.put(MemoryRecords.withRecords(6L, NONE, 0, some(2)).buffer());
        write("mixed-formats", "v0, v1 and v2 in one file, as a broker upgraded twice has it", flipped(mixed));
    }

    static String inner(byte magic) {
        return magic == V0 ? ", inner offsets absolute" : ", inner offsets relative";
    }

    static MemoryRecords legacy(byte magic, Compression codec, TimestampType type, long baseOffset,
            SimpleRecord... records) {
        MemoryRecordsBuilder builder = MemoryRecords.builder(ByteBuffer.allocate(1 << 19), magic, codec, type,
                baseOffset, type == APPEND ? NOON + 500 : -1L);
        for (SimpleRecord record : records) builder.append(magic == V0 ? new SimpleRecord(RecordBatch.NO_TIMESTAMP,
                record.key(), record.value(), record.headers()) : record);
        return builder.build();
    }

    static MemoryRecords legacyGaps(byte magic) {
        MemoryRecords source = legacy(magic, Compression.gzip().build(), CREATE, 20L, some(6));
        return cleaned(source, Set.of(21L, 24L), false);
    }

    // ---- what a broker makes of an old message set

    void upConverted() throws Exception {
        write("up-converted-v0-plain", "v0-plain after a broker appended it at offset 1000 as v2",
                upConverted(legacy(V0, NONE, CREATE, 0L, some(3))));
        write("up-converted-v1-plain", "v1-plain after a broker appended it at offset 1000 as v2",
                upConverted(legacy(V1, NONE, CREATE, 0L, some(3))));
        write("up-converted-v1-gzip", "v1-gzip after a broker appended it at offset 1000 as v2", upConverted(legacy(V1,
                Compression.gzip().build(), CREATE, 20L, some(4))));
    }

    static MemoryRecords upConverted(MemoryRecords old) {
        CompressionType type = old.batches().iterator().next().compressionType();
        LogValidator validator = new LogValidator(old, new TopicPartition("golden", 0), Time.SYSTEM, type,
                Compression.of(type).build(), false, V2,
                CREATE, Long.MAX_VALUE, Long.MAX_VALUE, 8, AppendOrigin.CLIENT, MetadataVersion.latestProduction());
        LogValidator.MetricsRecorder deaf = new LogValidator.MetricsRecorder() {
            @Override public void recordInvalidMagic() { }
            @Override public void recordInvalidOffset() { }
            @Override public void recordInvalidSequence() { }
            @Override public void recordInvalidChecksums() { }
            @Override public void recordNoKeyCompactedTopic() { }
        };
        return validator.validateMessagesAndAssignOffsets(PrimitiveRef.ofLong(1000L), deaf, BufferSupplier.NO_CACHING)
                .validatedRecords;
    }

    // ---- records to put in

    static SimpleRecord[] some(int count) {
        SimpleRecord[] records = new SimpleRecord[count];
        for (int i = 0; i < count; i++) records[i] = new SimpleRecord(NOON + i, bytes("key-" + i),
                bytes("value of record " + i));
        return records;
    }

    static SimpleRecord[] big() {
        SimpleRecord[] records = new SimpleRecord[10];
        for (int i = 0; i < records.length; i++) records[i] = new SimpleRecord(NOON + i, bytes("big-" + i),
                bytes(("tide " + i + ";").repeat(1171)));
        return records;
    }

    static SimpleRecord sized(int bytes) {
        return new SimpleRecord(NOON, null, "x".repeat(bytes).getBytes(StandardCharsets.US_ASCII));
    }

    static byte[] noise(int size) {
        byte[] result = new byte[size];
        new java.util.Random(20120405L).nextBytes(result);
        return result;
    }

    static Header header(String key, String value) {
        return new RecordHeader(key, bytes(value));
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static MemoryRecords flipped(ByteBuffer buffer) {
        buffer.flip();
        return MemoryRecords.readableRecords(buffer);
    }

    // ---- the two files of a case

    void write(String name, String about, MemoryRecords records) throws Exception {
        byte[] content = Utils.toArray(records.buffer().duplicate());
        Files.write(folder.resolve(name + ".bin"), content);
        ObjectNode expected = json.createObjectNode().put("about", about).put("size", content.length);
        ArrayNode batches = expected.putArray("batches");
        int position = 0;
        for (MutableRecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(content)).batches()) {
            batches.add(describe(batch, position));
            position += batch.sizeInBytes();
        }
        if (position != content.length) throw new IllegalStateException(name + " holds bytes that are no batch");
        Files.writeString(folder.resolve(name + ".json"), text(expected));
    }

    /** One line for each batch and each record: small, and readable in a diff. */
    String text(ObjectNode expected) throws Exception {
        return json.writeValueAsString(expected)
                .replace("[{\"position\"", "[\n {\"position\"").replace("},{\"position\"", "},\n {\"position\"")
                .replace("[{\"offset\"", "[\n  {\"offset\"").replace("},{\"offset\"", "},\n  {\"offset\"") + "\n";
    }

    ObjectNode describe(RecordBatch batch, int position) throws Exception {
        ObjectNode node = json.createObjectNode().put("position", position).put("size", batch.sizeInBytes())
                .put("magic", batch.magic())
                .put("crc", batch.checksum()).put("is_valid", batch.isValid())
                .put("base_offset", batch.baseOffset()).put("last_offset", batch.lastOffset())
                .put("next_offset", batch.nextOffset())
                .put("compression", batch.compressionType().name).put("timestamp_type", batch.timestampType().name)
                        .put("max_timestamp", batch.maxTimestamp());
        if (batch.magic() == V2) {
            node.put("base_timestamp", ((DefaultRecordBatch) batch).baseTimestamp()).put("count", batch.countOrNull())
                    .put("leader_epoch", batch.partitionLeaderEpoch())
                    .put("producer_id", batch.producerId()).put("producer_epoch", batch.producerEpoch())
                    .put("base_sequence", batch.baseSequence()).put("last_sequence", batch.lastSequence())
                    .put("is_transactional", batch.isTransactional()).put("is_control", batch.isControlBatch());
            node.put("delete_horizon_ms", batch.deleteHorizonMs().isPresent() ? (Long) batch.deleteHorizonMs()
                    .getAsLong() : null);
        }
        ArrayNode records = node.putArray("records");
        for (Record record : batch) records.add(describe(batch, record));
        return node;
    }

    ObjectNode describe(RecordBatch batch, Record record) throws Exception {
        ObjectNode node = json.createObjectNode().put("offset", record.offset()).put("timestamp", record.timestamp());
        put(node, "key", record.hasKey() ? Utils.toArray(record.key()) : null);
        put(node, "value", record.hasValue() ? Utils.toArray(record.value()) : null);
        if (batch.magic() == V2) {
            node.put("sequence", record.sequence());
            ArrayNode headers = node.putArray("headers");
            for (Header header : record.headers()) put(headers.addObject().put("key", header.key()), "value",
                    header.value());
        }
        if (batch.isControlBatch()) {
            ControlRecordType type = ControlRecordType.parse(record.key());
            ObjectNode control = node.putObject("control").put("type", type.name());
            if (type == ControlRecordType.COMMIT || type == ControlRecordType.ABORT)
                control.put("coordinator_epoch", EndTransactionMarker.deserialize(record).coordinatorEpoch());
        }
        return node;
    }

    void put(ObjectNode node, String name, byte[] content) throws Exception {
        if (content == null) node.putNull(name);
        else if (content.length <= BIG_VALUE) node.put(name, HexFormat.of().formatHex(content));
        else node.putObject(name).put("size", content.length).put("sha256", sha256(content));
    }

    static String sha256(byte[] content) throws Exception {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
    }
}
