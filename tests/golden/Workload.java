import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
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
 * What the brokers behind the golden folders were asked to write. make.py runs one step after another, with a restart of
 * the broker in between (each gives the partitions a new leader epoch).
 *
 *     java -cp '.interop/kafka-3.9/jars/*' tests/golden/Workload.java BOOTSTRAP create|first|second|open|orders|legacy [ARGUMENT]
 */
public class Workload {
    // Producers are forgotten a day after their last timestamp, and cleaned batches with them: so the times are of today.
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

    /** segmentBytes is the name of the property that makes small segments: Kafka 4 refuses segment.bytes under a megabyte. */
    void create(String segmentBytes) throws Exception {
        Map<String, String> small = Map.of(segmentBytes, "1500", "segment.index.bytes", "480", "index.interval.bytes", "300",
                "retention.ms", "-1", "file.delete.delay.ms", "0", "delete.retention.ms", "86400000000");
        topic("orders", small, Map.of());
        topic("payments", small, Map.of());
        topic("accounts", small, Map.of("cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.001"));
        topic("clicks", small, Map.of("message.timestamp.type", "LogAppendTime"));
    }

    void topic(String name, Map<String, String> settings, Map<String, String> more) throws Exception {
        Map<String, String> all = new HashMap<>(settings);
        all.putAll(more);
        admin.createTopics(List.of(new NewTopic(name, Optional.of(1), Optional.of((short) 1)).configs(all))).all().get();
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
        try (KafkaProducer<byte[], byte[]> producer = producer("none", null)) {
            for (int i = 0; i < 12; i++) send(producer, "accounts", NOON + 100_000 + i, "account-" + i % 4, i == 7 ? null : "later " + i);
            producer.flush();
            for (int i = 0; i < 12; i++) send(producer, "accounts", NOON + 200_000 + i, "account-" + i % 3, "latest " + i);
        }
        admin.deleteRecords(Map.of(new TopicPartition("clicks", 0), RecordsToDelete.beforeOffset(23))).all().get();
    }

    /** Ten records in three batches of one idempotent producer: plain, with headers, with nulls. */
    void orders(int from, String codec) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = producer(codec, null)) {
            for (int i = from; i < from + 5; i++) send(producer, "orders", NOON + i * 1000L, "order-" + i, "paid with " + codec + " " + i);
            producer.flush();
            for (int i = from + 5; i < from + 8; i++) {
                ProducerRecord<byte[], byte[]> record = record("orders", NOON + i * 1000L, "order-" + i, "headers " + i);
                record.headers().add("trace", bytes("t-" + i)).add("codec", bytes(codec)).add("none", null);
                producer.send(record);
            }
            producer.flush();
            send(producer, "orders", NOON + from * 1000L - 5, "order-" + from, null); // an older time, a tombstone
            send(producer, "orders", NOON + (from + 9) * 1000L, null, "no key");
        }
    }

    /** Committed and aborted transactions of two producers, interleaved, with plain records between. */
    void payments() throws Exception {
        try (KafkaProducer<byte[], byte[]> blue = producer("none", "blue"); KafkaProducer<byte[], byte[]> red = producer("lz4", "red");
                KafkaProducer<byte[], byte[]> plain = producer("none", null)) {
            blue.initTransactions();
            red.initTransactions();
            for (int round = 0; round < 4; round++) {
                blue.beginTransaction();
                red.beginTransaction();
                for (int i = 0; i < 3; i++) send(blue, "payments", NOON + round * 1000L + i, "blue-" + i, "blue round " + round);
                blue.flush();
                for (int i = 0; i < 2; i++) send(red, "payments", NOON + round * 1000L + 10 + i, "red-" + i, "red round " + round);
                red.flush();
                send(plain, "payments", NOON + round * 1000L + 20, "plain", "outside of any transaction");
                plain.flush();
                send(blue, "payments", NOON + round * 1000L + 30, "blue-last", "blue again");
                blue.flush();
                if (round % 2 == 0) blue.commitTransaction(); else blue.abortTransaction();
                if (round < 2) red.abortTransaction(); else red.commitTransaction();
            }
        }
    }

    /** Keys that come again, tombstones, a committed and an aborted transaction: work for the cleaner. */
    void accounts() throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = producer("none", null); KafkaProducer<byte[], byte[]> gzip = producer("gzip", null);
                KafkaProducer<byte[], byte[]> once = producer("none", null); KafkaProducer<byte[], byte[]> transactional = producer("none", "teller")) {
            for (int i = 0; i < 3; i++) send(once, "accounts", NOON + i, "account-" + i, "all of this batch will be cleaned away");
            once.flush();
            for (int i = 0; i < 15; i++) {
                send(producer, "accounts", NOON + i, "account-" + i % 5, "balance " + i);
                if (i % 5 == 4) producer.flush();
            }
            for (int i = 0; i < 10; i++) send(gzip, "accounts", NOON + 100 + i, "account-" + (i + 3) % 9, i % 4 == 3 ? null : "gzip balance " + i);
            send(gzip, "accounts", NOON + 110, "account-closed", null);
            gzip.flush();
            transactional.initTransactions();
            transactional.beginTransaction();
            for (int i = 0; i < 4; i++) send(transactional, "accounts", NOON + 200 + i, "account-" + i, "committed " + i);
            transactional.commitTransaction();
            transactional.beginTransaction();
            for (int i = 0; i < 4; i++) send(transactional, "accounts", NOON + 300 + i, "account-" + i, "aborted " + i);
            transactional.flush();
            transactional.abortTransaction();
            for (int i = 0; i < 15; i++) send(producer, "accounts", NOON + 400 + i, "account-" + i % 6, "filling " + i);
            producer.flush();
            for (int i = 0; i < 15; i++) send(producer, "accounts", NOON + 500 + i, "account-" + i % 7, "filling more " + i);
        }
    }

    void clicks() throws Exception {
        for (String codec : CODECS) {
            try (KafkaProducer<byte[], byte[]> producer = producer(codec, null)) {
                for (int i = 0; i < 8; i++) {
                    send(producer, "clicks", NOON, "click-" + i, "at the broker's time, " + codec + ", number " + i);
                    if (i % 4 == 3) producer.flush();
                }
            }
        }
    }

    /** A transaction that is neither committed nor aborted when the broker stops. */
    void leaveOpen() throws Exception {
        KafkaProducer<byte[], byte[]> producer = producer("none", "open");
        producer.initTransactions();
        producer.beginTransaction();
        for (int i = 0; i < 2; i++) send(producer, "payments", NOON + 9000 + i, "open-" + i, "still open");
        producer.flush();
        Runtime.getRuntime().halt(0);
    }

    // ---- a topic that lived through three formats

    /** One topic, whose format is raised between the steps, as an upgraded cluster's was: 0.9.0 (v0), 0.10.2 (v1), 2.8 (v2). */
    void legacy(String format) throws Exception {
        if (format.equals("0.9.0"))
            topic("ledger", Map.of("segment.bytes", "1200", "segment.index.bytes", "480", "index.interval.bytes", "200",
                    "retention.ms", "-1", "message.format.version", format, "message.timestamp.difference.max.ms", "9223372036854775807"), Map.of());
        else
            admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, "ledger"),
                    List.of(new AlterConfigOp(new ConfigEntry("message.format.version", format), AlterConfigOp.OpType.SET)))).all().get();
        for (String codec : List.of("none", "gzip", "snappy", "lz4")) {
            try (KafkaProducer<byte[], byte[]> producer = producer(codec, null, Map.of("enable.idempotence", "false"))) {
                for (int i = 0; i < 5; i++) send(producer, "ledger", NOON + i * 1000L, i == 2 ? null : "entry-" + i, i == 4 ? null : format + " " + codec + " " + i);
            }
        }
    }

    // ---- producers and records

    KafkaProducer<byte[], byte[]> producer(String codec, String transactionalId) {
        return producer(codec, transactionalId, Map.of());
    }

    KafkaProducer<byte[], byte[]> producer(String codec, String transactionalId, Map<String, String> more) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("compression.type", codec);
        settings.put("linger.ms", "5000"); // a batch ends at flush or close, so batches come out the same each time
        settings.put("delivery.timeout.ms", "60000");
        if (transactionalId != null) settings.put("transactional.id", transactionalId);
        settings.putAll(more);
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }

    static void send(KafkaProducer<byte[], byte[]> producer, String topic, long timestamp, String key, String value) {
        producer.send(record(topic, timestamp, key, value));
    }

    static ProducerRecord<byte[], byte[]> record(String topic, long timestamp, String key, String value) {
        return new ProducerRecord<>(topic, 0, timestamp, bytes(key), bytes(value));
    }

    static byte[] bytes(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }
}
