import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Kafka's own producer and several members of a group at once, for a test that asks a real broker.
 *
 *     produce BOOTSTRAP TOPIC COUNT [NAME=VALUE ...]               values 0, 1, ...; prints how many were acknowledged
 *     consume BOOTSTRAP TOPIC COUNT MEMBERS [NAME=VALUE ...]       until the members have COUNT values among them, then
 *                                                                  they commit and leave; prints what each had
 */
public class Members {
    static final ObjectMapper JSON = new ObjectMapper();
    static final long PATIENCE_MS = 60_000;

    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[3]);
        switch (arguments[0]) {
            case "produce" -> produce(arguments[2], count, settings(arguments, 4));
            case "consume" -> consume(arguments[2], count, Integer.parseInt(arguments[4]), settings(arguments, 5));
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    static Map<String, Object> settings(String[] arguments, int first) {
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", arguments[1]));
        for (int i = first; i < arguments.length; i++) {
            String[] pair = arguments[i].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        return settings;
    }

    static void produce(String topic, int count, Map<String, Object> settings) {
        AtomicInteger acknowledged = new AtomicInteger();
        StringSerializer text = new StringSerializer();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings, text, text)) {
            for (int i = 0; i < count; i++)
                producer.send(new ProducerRecord<>(topic, "" + i % 7, "" + i), (data, error) -> {
                    if (error == null) acknowledged.incrementAndGet();
                });
        }
        System.out.println(JSON.createObjectNode().put("acknowledged", acknowledged.get()));
    }

    static void consume(String topic, int count, int members, Map<String, Object> settings) throws Exception {
        Set<String> seen = ConcurrentHashMap.newKeySet();
        Map<Integer, Integer> shares = new ConcurrentHashMap<>();
        AtomicBoolean done = new AtomicBoolean();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < members; i++) {
            int number = i;
            threads.add(new Thread(() -> member(topic, count, members, number, settings, seen, shares, done)));
        }
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
    }

    /** Reads until all values are seen and every member has its share, one that has none not being done yet.
        Then all are done: who looked later would find what the first to leave has left to it. */
    static void member(String topic, int count, int members, int number, Map<String, Object> shared, Set<String> seen,
                       Map<Integer, Integer> shares, AtomicBoolean done) {
        Map<String, Object> settings = new HashMap<>(shared);
        if (settings.remove("static") != null) settings.put("group.instance.id", "member-" + number);
        settings.put("enable.auto.commit", "false");
        StringDeserializer text = new StringDeserializer();
        int mine = 0;
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings, text, text)) {
            int partitions = consumer.partitionsFor(topic).size();
            consumer.subscribe(List.of(topic));
            long deadline = System.currentTimeMillis() + PATIENCE_MS;
            while (System.currentTimeMillis() < deadline) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                    seen.add(record.value());
                    mine++;
                }
                if (done.get()) break;
                if (!consumer.assignment().isEmpty()) shares.put(number, consumer.assignment().size());
                boolean fair = shares.values().stream().allMatch(share -> share == partitions / members);
                if (seen.size() >= count && shares.size() == members && fair) done.set(true);
            }
            consumer.commitSync();
        }
        synchronized (JSON) {
            System.out.println(JSON.createObjectNode().put("member", number).put("records", mine)
                    .put("partitions", shares.getOrDefault(number, 0)).put("seen", seen.size()));
        }
    }
}
