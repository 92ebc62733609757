import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * What the brokers behind the golden folders were asked to write. make.py runs one step after another, with a restart
 * of the broker in between (each gives the partitions a new leader epoch).
 *
 *     java -cp '.interop/kafka-3.9/jars/*' tests/golden/Workload.java BOOTSTRAP STEP [ARGUMENT]
 */
public class Workload {
    // A day after their last timestamp producers are forgotten, and with them their empty batches: times are of today.
    static final long NOON = System.currentTimeMillis() / 1000 * 1000;
    static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");

    final String bootstrap;
    final Admin admin;

    Workload(String bootstrap) {
        this.bootstrap = bootstrap;
        this.admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    public static void main(String[] arguments) throws Exception {
        Workload workload = new Workload(arguments[0]);
        switch (arguments[1]) {
            case "create" -> workload.create(arguments[2]);
            case "first" -> workload.first();
            case "second" -> workload.second();
            case "orders" -> workload.allOrders();
            case "open" -> workload.leaveOpen();
            case "legacy" -> workload.legacy(arguments[2]);
            default -> throw new IllegalArgumentException(arguments[1]);
        }
        workload.admin.close();
    }

    // ---- topics

    /** segmentBytes is the property that makes small segments: Kafka 4 refuses segment.bytes under a megabyte. */
    void create(String segmentBytes) throws Exception {
        Map<String, String> small = Map.of(segmentBytes, "1500", "segment.index.bytes", "480",
                "index.interval.bytes", "300", "retention.ms", "-1", "file.delete.delay.ms", "0",
                "delete.retention.ms", "86400000000");
        topic("orders", small, Map.of());
        topic("payments", small, Map.of());
        topic("accounts", small, Map.of("cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.001"));
        topic("clicks", small, Map.of("message.timestamp.type", "LogAppendTime"));
    }

    void topic(String name, Map<String, String> settings, Map<String, String> more) throws Exception {
        Map<String, String> all = new HashMap<>(settings);
        all.putAll(more);
        NewTopic request = new NewTopic(name, Optional.of(1), Optional.of((short) 1)).configs(all);
        admin.createTopics(List.of(request)).all().get();
    }

    // ---- what is written

    void first() throws Exception {
        allOrders();
        payments();
        accounts();
        clicks();
    }

    void allOrders() throws Exception {
        for (int i = 0; i < CODECS.size(); i++) orders(i * 10, CODECS.get(i));
    }

    void second() throws Exception {
        orders(50, "zstd");
        orders(60, "none");
        try (Writer producer = producer("none")) {
            for (int i = 0; i < 12; i++)
                producer.put("accounts", NOON + 100_000 + i, "account-" + i % 4, i == 7 ? null : "later " + i);
            producer.flush();
            for (int i = 0; i < 12; i++)
                producer.put("accounts", NOON + 200_000 + i, "account-" + i % 3, "latest " + i);
        }
        admin.deleteRecords(Map.of(new TopicPartition("clicks", 0), RecordsToDelete.beforeOffset(23))).all().get();
    }

    /** Ten records in three batches of one idempotent producer: plain, with headers, with nulls. */
    void orders(int from, String codec) throws Exception {
        try (Writer producer = producer(codec)) {
            for (int i = from; i < from + 5; i++)
                producer.put("orders", NOON + i * 1000L, "order-" + i, "paid with " + codec + " " + i);
            producer.flush();
            for (int i = from + 5; i < from + 8; i++) {
                var record = record("orders", NOON + i * 1000L, "order-" + i, "headers " + i);
                record.headers().add("trace", bytes("t-" + i)).add("codec", bytes(codec)).add("none", null);
                producer.send(record);
            }
            producer.flush();
            producer.put("orders", NOON + from * 1000L - 5, "order-" + from, null); // an older time, a tombstone
            producer.put("orders", NOON + (from + 9) * 1000L, null, "no key");
        }
    }

    /** Committed and aborted transactions of two producers, interleaved, with plain records between. */
    void payments() throws Exception {
        try (Writer blue = producer("none", "blue"); Writer red = producer("lz4", "red");
                Writer plain = producer("none")) {
            blue.initTransactions();
            red.initTransactions();
            for (int round = 0; round < 4; round++) {
                blue.beginTransaction();
                red.beginTransaction();
                for (int i = 0; i < 3; i++)
                    blue.put("payments", NOON + round * 1000L + i, "blue-" + i, "blue round " + round);
                blue.flush();
                for (int i = 0; i < 2; i++)
                    red.put("payments", NOON + round * 1000L + 10 + i, "red-" + i, "red round " + round);
                red.flush();
                plain.put("payments", NOON + round * 1000L + 20, "plain", "outside of any transaction");
                plain.flush();
                blue.put("payments", NOON + round * 1000L + 30, "blue-last", "blue again");
                blue.flush();
                if (round % 2 == 0) blue.commitTransaction(); else blue.abortTransaction();
                if (round < 2) red.abortTransaction(); else red.commitTransaction();
            }
        }
    }

    /** Keys that come again, tombstones, a committed and an aborted transaction: work for the cleaner. */
    void accounts() throws Exception {
        try (Writer producer = producer("none"); Writer gzip = producer("gzip"); Writer once = producer("none");
                Writer transactional = producer("none", "teller")) {
            for (int i = 0; i < 3; i++)
                once.put("accounts", NOON + i, "account-" + i, "all of this batch will be cleaned away");
            once.flush();
            for (int i = 0; i < 15; i++) {
                producer.put("accounts", NOON + i, "account-" + i % 5, "balance " + i);
                if (i % 5 == 4) producer.flush();
            }
            for (int i = 0; i < 10; i++)
                gzip.put("accounts", NOON + 100 + i, "account-" + (i + 3) % 9, i % 4 == 3 ? null : "gzip balance " + i);
            gzip.put("accounts", NOON + 110, "account-closed", null);
            gzip.flush();
            transactional.initTransactions();
            transactional.beginTransaction();
            for (int i = 0; i < 4; i++)
                transactional.put("accounts", NOON + 200 + i, "account-" + i, "committed " + i);
            transactional.commitTransaction();
            transactional.beginTransaction();
            for (int i = 0; i < 4; i++)
                transactional.put("accounts", NOON + 300 + i, "account-" + i, "aborted " + i);
            transactional.flush();
            transactional.abortTransaction();
            for (int i = 0; i < 15; i++)
                producer.put("accounts", NOON + 400 + i, "account-" + i % 6, "filling " + i);
            producer.flush();
            for (int i = 0; i < 15; i++)
                producer.put("accounts", NOON + 500 + i, "account-" + i % 7, "filling more " + i);
        }
    }

    void clicks() throws Exception {
        for (String codec : CODECS) {
            try (Writer producer = producer(codec)) {
                for (int i = 0; i < 8; i++) {
                    producer.put("clicks", NOON, "click-" + i, "at the broker's time, " + codec + ", number " + i);
                    if (i % 4 == 3) producer.flush();
                }
            }
        }
    }

    /** A transaction that is neither committed nor aborted when the broker stops. */
    void leaveOpen() throws Exception {
        Writer producer = producer("none", "open");
        producer.initTransactions();
        producer.beginTransaction();
        for (int i = 0; i < 2; i++) producer.put("payments", NOON + 9000 + i, "open-" + i, "still open");
        producer.flush();
        Runtime.getRuntime().halt(0);
    }

    // ---- a topic that lived through three formats

    /** One topic whose format is raised, as an upgraded cluster's was: 0.9.0 (v0), 0.10.2 (v1), 2.8 (v2). */
    void legacy(String format) throws Exception {
        if (format.equals("0.9.0"))
            topic("ledger", Map.of("segment.bytes", "1200", "segment.index.bytes", "480", "index.interval.bytes", "200",
                    "retention.ms", "-1", "message.format.version", format), Map.of());
        else
            change("ledger", "message.format.version", format);
        for (String codec : List.of("none", "gzip", "snappy", "lz4")) {
            try (Writer producer = producer(codec, null, Map.of("enable.idempotence", "false"))) {
                for (int i = 0; i < 5; i++)
                    producer.put("ledger", NOON + i * 1000L, i == 2 ? null : "entry-" + i,
                            i == 4 ? null : format + " " + codec + " " + i);
            }
        }
    }

    void change(String topic, String name, String value) throws Exception {
        AlterConfigOp operation = new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET);
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(operation))).all().get();
    }

    // ---- producers and records

    Writer producer(String codec) {
        return producer(codec, null, Map.of());
    }

    Writer producer(String codec, String transactionalId) {
        return producer(codec, transactionalId, Map.of());
    }

    Writer producer(String codec, String transactionalId, Map<String, String> more) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("compression.type", codec);
        settings.put("linger.ms", "5000"); // a batch ends at flush or close, so batches come out the same each time
        settings.put("delivery.timeout.ms", "60000");
        if (transactionalId != null) settings.put("transactional.id", transactionalId);
        settings.putAll(more);
        return new Writer(settings);
    }

    /** A producer of records in words, to partition 0. */
    static class Writer extends KafkaProducer<byte[], byte[]> {
        Writer(Properties settings) {
            super(settings, new ByteArraySerializer(), new ByteArraySerializer());
        }

        void put(String topic, long timestamp, String key, String value) {
            send(record(topic, timestamp, key, value));
        }
    }

    static ProducerRecord<byte[], byte[]> record(String topic, long timestamp, String key, String value) {
        return new ProducerRecord<>(topic, 0, timestamp, bytes(key), bytes(value));
    }

    static byte[] bytes(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }
}
