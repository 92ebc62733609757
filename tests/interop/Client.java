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
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Kafka's own client, for a test that asks a real broker. Answers are JSON, one object to a line; bytes in hexadecimal.
 *
 *     create BOOTSTRAP TOPIC [NAME=VALUE ...]     the topic's id
 *     produce BOOTSTRAP TOPIC COUNT WORD          COUNT records WORD-0, WORD-1, ...
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
            case "create" -> create(bootstrap, topic, arguments);
            case "produce" -> produce(bootstrap, topic, Integer.parseInt(arguments[3]), arguments[4]);
            case "consume" -> consume(bootstrap, topic.split(","), arguments[3]);
            case "find" -> find(bootstrap, new TopicPartition(topic, 0), Long.parseLong(arguments[3]));
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    static void create(String bootstrap, String topic, String[] arguments) throws Exception {
        Map<String, String> settings = new HashMap<>();
        for (int i = 3; i < arguments.length; i++) {
            String[] pair = arguments[i].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            NewTopic request = new NewTopic(topic, Optional.of(1), Optional.of((short) 1)).configs(settings);
            String topicId = admin.createTopics(List.of(request)).topicId(topic).get().toString();
            System.out.println(JSON.createObjectNode().put("topic_id", topicId));
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
