import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Kafka's own client, for a test that asks a real broker. Answers are JSON, one object to a line; bytes in hexadecimal.
 *
 *     create BOOTSTRAP TOPIC,TOPIC... [NAME=VALUE ...]     each topic's id
 *     configure BOOTSTRAP TOPIC NAME=VALUE ...    changes the topic's settings
 *     produce BOOTSTRAP TOPIC COUNT WORD          COUNT records WORD-0, WORD-1, ...
 *     stream BOOTSTRAP TOPIC                      records 0, 1, ... without end; "acked N" as each is acknowledged
 *     consume BOOTSTRAP TOPIC,TOPIC... ISOLATION  of each topic where the log begins and ends, then every record
 *     find BOOTSTRAP TOPIC TIMESTAMP              the first offset at or after a time
 */
public class Client {
    static final ObjectMapper JSON = new ObjectMapper();
    static final Duration PATIENCE = Duration.ofSeconds(30);

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[1];
        String topic = arguments[2];
        switch (arguments[0]) {
            case "create" -> create(bootstrap, topic.split(","), settings(arguments));
            case "configure" -> configure(bootstrap, topic, settings(arguments));
            case "stream" -> stream(bootstrap, topic);
            case "produce" -> produce(bootstrap, topic, Integer.parseInt(arguments[3]), arguments[4]);
            case "consume" -> consume(bootstrap, topic.split(","), arguments[3]);
            case "find" -> find(bootstrap, new TopicPartition(topic, 0), Long.parseLong(arguments[3]));
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    static Map<String, String> settings(String[] arguments) {
        Map<String, String> settings = new HashMap<>();
        for (int i = 3; i < arguments.length; i++) {
            String[] pair = arguments[i].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        return settings;
    }

    static void create(String bootstrap, String[] topics, Map<String, String> settings) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            for (String topic : topics) {
                NewTopic request = new NewTopic(topic, Optional.of(1), Optional.of((short) 1)).configs(settings);
                String topicId = admin.createTopics(List.of(request)).topicId(topic).get().toString();
                System.out.println(JSON.createObjectNode().put("topic", topic).put("topic_id", topicId));
            }
        }
    }

    static void configure(String bootstrap, String topic, Map<String, String> settings) throws Exception {
        List<AlterConfigOp> changes = settings.entrySet().stream()
                .map(each -> new ConfigEntry(each.getKey(), each.getValue()))
                .map(entry -> new AlterConfigOp(entry, AlterConfigOp.OpType.SET)).toList();
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            admin.incrementalAlterConfigs(Map.of(resource, changes)).all().get();
        }
    }

    /** Ends when it is killed: the broker goes first. */
    static void stream(String bootstrap, String topic) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "acks", "all", "compression.type", "lz4");
        ByteArraySerializer plain = new ByteArraySerializer();
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, plain, plain);
        for (int i = 0; ; i++) {
            int number = i;
            producer.send(new ProducerRecord<>(topic, 0, bytes("key-" + i % 100), bytes("" + i)), (data, error) -> {
                if (error == null) System.out.println("acked " + number);
            });
            Thread.sleep(1);
        }
    }

    static void produce(String bootstrap, String topic, int count, String word) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "linger.ms", "5000", "acks", "all");
        ByteArraySerializer plain = new ByteArraySerializer();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, plain, plain)) {
            for (int i = 0; i < count; i++)
                producer.send(new ProducerRecord<>(topic, 0, bytes("key-" + i), bytes(word + "-" + i)));
        }
    }

    static void consume(String bootstrap, String[] topics, String isolation) {
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(bootstrap, isolation)) {
            for (String topic : topics) consume(consumer, new TopicPartition(topic, 0));
        }
    }

    static void consume(KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition) {
        consumer.assign(List.of(partition));
        long first = consumer.beginningOffsets(List.of(partition), PATIENCE).get(partition);
        long end = consumer.endOffsets(List.of(partition), PATIENCE).get(partition);
        System.out.println(JSON.createObjectNode().put("topic", partition.topic()).put("first", first).put("end", end));
        consumer.seek(partition, first);
        while (consumer.position(partition, PATIENCE) < end)
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200)))
                System.out.println(describe(record));
    }

    static void find(String bootstrap, TopicPartition partition, long timestamp) throws Exception {
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(bootstrap, "read_uncommitted")) {
            OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(partition, timestamp), PATIENCE).get(partition);
            System.out.println(JSON.createObjectNode().put("offset", found == null ? -1 : found.offset())
                    .put("timestamp", found == null ? -1 : found.timestamp()));
        }
    }

    static KafkaConsumer<byte[], byte[]> consumer(String bootstrap, String isolation) {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "isolation.level", isolation,
                "check.crcs", "true", "auto.offset.reset", "none");
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    static ObjectNode describe(ConsumerRecord<byte[], byte[]> record) {
        ObjectNode node = JSON.createObjectNode().put("offset", record.offset()).put("timestamp", record.timestamp())
                .put("timestamp_type", record.timestampType().name).put("leader_epoch", record.leaderEpoch().orElse(-1))
                .put("key", hex(record.key())).put("value", hex(record.value()));
        ArrayNode headers = node.putArray("headers");
        for (Header header : record.headers())
            headers.addObject().put("key", header.key()).put("value", hex(header.value()));
        return node;
    }

    static String hex(byte[] content) {
        return content == null ? null : HexFormat.of().formatHex(content);
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
