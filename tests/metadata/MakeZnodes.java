import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.feature.Features;
import org.apache.kafka.common.feature.SupportedVersionRange;
import org.apache.kafka.common.message.AlterPartitionRequestData.BrokerState;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.Sanitizer;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.server.common.ProducerIdsBlock;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Prints what Apache Kafka 3.9 writes into its znodes, by its own encoders: a name, a tab, the bytes. Its output is
 * znodes-3.9.txt; run it with the jars of kafka_2.13 3.9.x: java -cp 'jars/*' MakeZnodes.java
 */
@SuppressWarnings({"unchecked", "rawtypes"})
public class MakeZnodes {
    static void show(String name, byte[] bytes) {
        System.out.println(name + "\t" + new String(bytes, StandardCharsets.UTF_8));
    }

    static scala.collection.immutable.Seq<Object> list(Object... values) {
        return CollectionConverters.asScala(new ArrayList<>(List.of(values))).toSeq();
    }

    public static void main(String[] arguments) {
        var partitions = new LinkedHashSet<>(List.of(new TopicPartition("orders", 0), new TopicPartition("orders", 1)));
        var asScala = CollectionConverters.asScala(partitions).toSet();
        show("isr_change", kafka.zk.IsrChangeNotificationSequenceZNode.encode((scala.collection.Set) asScala));
        show("preferred", kafka.zk.PreferredReplicaElectionZNode.encode((scala.collection.immutable.Set) asScala));
        Map<TopicPartition, Object> moves = new LinkedHashMap<>();
        moves.put(new TopicPartition("orders", 0), list(1, 2, 3));
        show("reassign", kafka.zk.ReassignPartitionsZNode.encode((scala.collection.Map) CollectionConverters.asScala(moves)));
        show("controller", kafka.zk.ControllerZNode.encode(1, 1700000000123L, -1));
        show("controller_epoch", kafka.zk.ControllerEpochZNode.encode(7));
        show("log_dir_event", kafka.zk.LogDirEventNotificationSequenceZNode.encode(3));
        show("config_change", kafka.zk.ConfigEntityChangeNotificationSequenceZNode.encode("users/alice%20b/clients/c"));
        Properties settings = new Properties();
        settings.setProperty("retention.ms", "1000");
        settings.setProperty("cleanup.policy", "compact");
        show("config", kafka.zk.ConfigEntityZNode.encode(settings));
        show("cluster_id", kafka.zk.ClusterIdZNode.toJson("c3RyYW5kbGluZS1nb2xkZQ"));
        show("producer_ids", kafka.zk.ProducerIdBlockZNode.generateProducerIdBlockJson(new ProducerIdsBlock(1, 2000L, 1000)));
        topic();
        state();
        broker();
        features();
        for (String name : List.of("alice b", "a*b/c", "ü~._-%", "<default>", "+&="))
            show("sanitized " + name, Sanitizer.sanitize(name).getBytes(StandardCharsets.UTF_8));
        var paths = kafka.zk.ZkData.PersistentZkPaths().iterator();
        while (paths.hasNext())
            System.out.println("persistent\t" + paths.next());
    }

    static void topic() {
        var assignment = Map.of(
            new TopicPartition("orders", 0), new kafka.controller.ReplicaAssignment((scala.collection.immutable.Seq) list(1, 2, 3),
                (scala.collection.immutable.Seq) list(3), (scala.collection.immutable.Seq) list(2)));
        var id = Uuid.fromString("AAAAAAAAAAEAAAAAAAAAAg");
        var map = (scala.collection.Map) CollectionConverters.asScala(assignment);
        show("topic", kafka.zk.TopicZNode.encode(scala.Option.apply(id), map));
        show("topic without id", kafka.zk.TopicZNode.encode(scala.Option.apply(null), map));
    }

    static void state() {
        for (var recovery : LeaderRecoveryState.values()) {
            var isr = CollectionConverters.asScala(new ArrayList<>(
                List.of(new BrokerState().setBrokerId(1), new BrokerState().setBrokerId(3)))).toList();
            var leader = new kafka.api.LeaderAndIsr(1, 7, recovery, isr, 4);
            show("state " + recovery, kafka.zk.TopicPartitionStateZNode.encode(
                new kafka.controller.LeaderIsrAndControllerEpoch(leader, 5)));
        }
    }

    static void broker() {
        var endpoints = CollectionConverters.asScala(new ArrayList<>(List.of(
            new kafka.cluster.EndPoint("h1", 9092, new ListenerName("CLIENT"), SecurityProtocol.PLAINTEXT),
            new kafka.cluster.EndPoint("::1", 9093, new ListenerName("REPLICATION"), SecurityProtocol.SASL_SSL)))).toSeq();
        var secure = CollectionConverters.asScala(new ArrayList<>(List.of(
            new kafka.cluster.EndPoint("h1", 9093, new ListenerName("SSL"), SecurityProtocol.SSL)))).toSeq();
        var features = Features.supportedFeatures(Map.of("metadata.version", new SupportedVersionRange((short) 1, (short) 21)));
        for (int version : new int[] {2, 3, 4, 5}) {
            var broker = new kafka.cluster.Broker(1, version < 4 ? secure : endpoints, scala.Option.apply("rack-a"), features);
            show("broker " + version, kafka.zk.BrokerIdZNode.encode(new kafka.zk.BrokerInfo(broker, version, 9999)));
        }
        var plain = new kafka.cluster.Broker(1, secure, scala.Option.apply(null), Features.supportedFeatures(Map.of()));
        show("broker bare", kafka.zk.BrokerIdZNode.encode(new kafka.zk.BrokerInfo(plain, 5, -1)));
    }

    static void features() {
        Map<String, Object> levels = Map.of("group.version", (short) 1);
        for (int version : new int[] {1, 2})
            show("feature " + version, kafka.zk.FeatureZNode.encode(new kafka.zk.FeatureZNode(version,
                kafka.zk.FeatureZNodeStatus.Enabled$.MODULE$, (scala.collection.Map) CollectionConverters.asScala(levels))));
    }
}
