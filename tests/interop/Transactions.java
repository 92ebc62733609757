import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Kafka's own transactional producer and its reader of committed records, told what to do by arguments; prints lines.
 *
 * write BOOTSTRAP TOPIC TRANSACTIONS RECORDS    every third transaction is aborted; prints the values that are committed
 * copy BOOTSTRAP SOURCE TARGET RECORDS          with the offsets in the transactions; ends after so many records
 * read BOOTSTRAP TOPIC ISOLATION                up to where it may read; prints the values
 * fence BOOTSTRAP TOPIC                         two producers of one id; prints what becomes of the first
 * open BOOTSTRAP TOPIC                          leaves a transaction open, and ends
 */
public class Transactions {
    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[1];
        String topic = arguments[2];
        switch (arguments[0]) {
            case "write" -> write(bootstrap, topic, Integer.parseInt(arguments[3]), Integer.parseInt(arguments[4]));
            case "copy" -> copy(bootstrap, topic, arguments[3], Integer.parseInt(arguments[4]));
            case "read" -> read(bootstrap, topic, arguments[3]);
            case "fence" -> fence(bootstrap, topic);
            case "open" -> open(bootstrap, topic);
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    static KafkaProducer<String, String> producer(String bootstrap, String id) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("transactional.id", id);
        KafkaProducer<String, String> producer =
            new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        return producer;
    }

    static KafkaConsumer<String, String> consumer(String bootstrap, String group, String isolation) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", group);
        settings.put("isolation.level", isolation);
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    static void write(String bootstrap, String topic, int transactions, int records) {
        try (KafkaProducer<String, String> producer = producer(bootstrap, topic)) {
            for (int number = 0; number < transactions; number++) {
                producer.beginTransaction();
                for (int record = 0; record < records; record++) {
                    producer.send(new ProducerRecord<>(topic, number + "-" + record));
                }
                if (number % 3 == 1) {
                    producer.flush();
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                    for (int record = 0; record < records; record++) {
                        System.out.println(number + "-" + record);
                    }
                }
            }
        }
    }

    static void copy(String bootstrap, String source, String target, int records) {
        try (KafkaProducer<String, String> producer = producer(bootstrap, source + "-copier");
             KafkaConsumer<String, String> consumer = consumer(bootstrap, source + "-group", "read_committed")) {
            consumer.subscribe(List.of(source));
            int copied = 0;
            while (copied < records) {
                Map<TopicPartition, OffsetAndMetadata> positions = new java.util.HashMap<>();
                producer.beginTransaction();
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    producer.send(new ProducerRecord<>(target, record.value()));
                    TopicPartition partition = new TopicPartition(record.topic(), record.partition());
                    positions.put(partition, new OffsetAndMetadata(record.offset() + 1));
                    copied++;
                }
                producer.sendOffsetsToTransaction(positions, consumer.groupMetadata());
                producer.commitTransaction();
            }
            TopicPartition first = new TopicPartition(source, 0);
            System.out.println(consumer.committed(java.util.Set.of(first)).get(first).offset());
        }
    }

    static void read(String bootstrap, String topic, String isolation) {
        try (KafkaConsumer<String, String> consumer = consumer(bootstrap, topic + "-" + isolation, isolation)) {
            TopicPartition partition = new TopicPartition(topic, 0);
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            List<String> values = new ArrayList<>();
            while (consumer.position(partition) < end) {
                consumer.poll(Duration.ofMillis(200)).forEach(record -> values.add(record.value()));
            }
            values.forEach(System.out::println);
        }
    }

    static void fence(String bootstrap, String topic) throws Exception {
        KafkaProducer<String, String> first = producer(bootstrap, topic);
        first.beginTransaction();
        first.send(new ProducerRecord<>(topic, "first")).get();
        try (KafkaProducer<String, String> second = producer(bootstrap, topic)) {
            try {
                first.commitTransaction();
                System.out.println("committed");
            } catch (ProducerFencedException | InvalidProducerEpochException fenced) {
                System.out.println("fenced");
            }
            second.beginTransaction();
            second.send(new ProducerRecord<>(topic, "second"));
            second.commitTransaction();
        }
        first.close(Duration.ZERO);
    }

    static void open(String bootstrap, String topic) throws Exception {
        KafkaProducer<String, String> producer = producer(bootstrap, topic);
        producer.beginTransaction();
        producer.send(new ProducerRecord<>(topic, "open")).get();
        System.out.println("open");
        System.out.flush();
        Runtime.getRuntime().halt(0); // as if it had been killed
    }
}
