package fencepost.clusters;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigsOptions;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.PartitionReassignment;
import org.apache.kafka.clients.admin.QuorumInfo;
import org.apache.kafka.clients.admin.RaftVoterEndpoint;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Kafka's own clients with their default settings. Each line of JSON is a request and gets one line as an answer. Sends
 * continue in their own threads, and the outcome of each record is reported. Only partition 0 of one topic is used.
 */
public final class Client {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int PARTITION = 0;
    /** The dynamic settings of all brokers. */
    private static final ConfigResource DEFAULTS = new ConfigResource(ConfigResource.Type.BROKER, "");

    private final String servers;
    private final Map<String, Object> settings;
    private Admin admin;

    private Client(String kind, String servers) {
        this.servers = servers;
        this.settings = Map.of(kind, servers, "request.timeout.ms", "5000", "default.api.timeout.ms", "10000");
        this.admin = Admin.create(settings);
    }

    public static void main(String[] arguments) throws Exception {
        Client client = new Client(arguments[0], arguments[1]);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = lines.readLine()) != null; ) {
            JsonNode asked = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            try {
                client.answer(asked, answer);
            } catch (Exception failed) {
                Throwable cause = failed instanceof ExecutionException ? failed.getCause() : failed;
                answer.put("refused", cause.toString());
                if (cause instanceof UnsupportedVersionException) {  // a starting controller; an admin client then fails for good
                    client.admin.close(Duration.ZERO);
                    client.admin = Admin.create(client.settings);
                }
            }
            say(answer.put("answers", asked.get("number").asInt()));
        }
        Runtime.getRuntime().halt(0);
    }

    private static synchronized void say(ObjectNode line) {
        System.out.println(line);
        System.out.flush();
    }

    private void answer(JsonNode asked, ObjectNode answer) throws Exception {
        String topic = asked.get("topic").asText();
        TopicPartition partition = new TopicPartition(topic, PARTITION);
        switch (asked.get("do").asText()) {
            case "create" -> admin.createTopics(List.of(
                new NewTopic(topic, Map.of(PARTITION, numbers(asked.get("replicas")))).configs(settings(asked)))).all().get();
            case "describe" -> describe(partition, answer);
            case "elect" -> admin.electLeaders(ElectionType.PREFERRED, Set.of(partition)).all().get();
            case "reassign" -> admin.alterPartitionReassignments(
                Map.of(partition, Optional.of(new NewPartitionReassignment(numbers(asked.get("replicas")))))).all().get();
            case "move" -> admin.alterReplicaLogDirs(Map.of(
                new TopicPartitionReplica(topic, PARTITION, asked.get("broker").asInt()), asked.get("folder").asText())).all().get();
            case "delete-records" -> admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(-1))).all().get();
            case "delete" -> admin.deleteTopics(List.of(topic)).all().get();
            case "configure" -> configure(topic, settings(asked));
            case "send" -> new Thread(() -> send(partition, asked), "send").start();
            case "read" -> read(partition, asked.get("isolation").asText(), answer);
            case "quorum" -> describe(admin.describeMetadataQuorum().quorumInfo().get(), answer);
            case "add-voter" -> admin.addRaftVoter(asked.get("voter").asInt(), Uuid.fromString(asked.get("directory").asText()),
                Set.of(new RaftVoterEndpoint("CONTROLLER", "127.0.0.1", asked.get("port").asInt()))).all().get();
            case "set-defaults" -> admin.incrementalAlterConfigs(Map.of(DEFAULTS, changes(settings(asked))),
                new AlterConfigsOptions().timeoutMs(asked.get("milliseconds").asInt())).all().get();
            case "read-defaults" -> {
                ArrayNode keys = answer.putArray("keys");
                admin.describeConfigs(List.of(DEFAULTS)).all().get().get(DEFAULTS).entries().forEach(entry -> keys.add(entry.name()));
            }
            default -> throw new IllegalArgumentException(asked.toString());
        }
    }

    private void describe(TopicPartition partition, ObjectNode answer) throws Exception {
        TopicPartitionInfo info = admin.describeTopics(List.of(partition.topic())).allTopicNames().get()
            .get(partition.topic()).partitions().get(PARTITION);
        PartitionReassignment moving = admin.listPartitionReassignments(Set.of(partition)).reassignments().get().get(partition);
        answer.put("leader", info.leader() == null || info.leader().isEmpty() ? -1 : info.leader().id());
        put(answer, "replicas", ids(info.replicas()));
        put(answer, "isr", ids(info.isr()).stream().sorted().toList());
        put(answer, "elr", info.elr() == null ? List.of() : ids(info.elr()).stream().sorted().toList());
        put(answer, "adding", moving == null ? List.of() : moving.addingReplicas());
        put(answer, "removing", moving == null ? List.of() : moving.removingReplicas());
    }

    private static void describe(QuorumInfo quorum, ObjectNode answer) {
        answer.put("leader", quorum.leaderId());
        put(answer, "voters", quorum.voters().stream().map(QuorumInfo.ReplicaState::replicaId).sorted().toList());
    }

    private void configure(String topic, Map<String, String> settings) throws Exception {
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, topic), changes(settings))).all().get();
    }

    private static List<AlterConfigOp> changes(Map<String, String> settings) {
        List<AlterConfigOp> changes = new ArrayList<>();
        settings.forEach((name, value) -> changes.add(new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET)));
        return changes;
    }

    /** Each call creates a producer, so that no producer inherits the sequence numbers of a lost record. */
    private void send(TopicPartition partition, JsonNode asked) {
        String value = "x".repeat(asked.get("size").asInt());
        int timeout = asked.get("milliseconds").asInt();
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", servers, "acks", "all",
            "delivery.timeout.ms", timeout, "request.timeout.ms", Math.min(30_000, timeout / 2),
            "key.serializer", StringSerializer.class.getName(), "value.serializer", StringSerializer.class.getName());
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            for (JsonNode key : asked.get("keys")) {
                producer.send(new ProducerRecord<>(partition.topic(), PARTITION, key.asText(), value), (record, error) -> {
                    ObjectNode line = JSON.createObjectNode().put("key", key.asText());
                    say(error == null ? line.put("offset", record.offset()) : line.put("failed", error.toString()));
                });
            }
        }
    }

    private void read(TopicPartition partition, String isolation, ObjectNode answer) {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", servers, "isolation.level", isolation,
            "key.deserializer", StringDeserializer.class.getName(), "value.deserializer", StringDeserializer.class.getName());
        ArrayNode keys = answer.putArray("keys");
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings)) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            long until = System.currentTimeMillis() + 20_000;
            while (consumer.position(partition) < end) {
                if (System.currentTimeMillis() > until) {
                    throw new IllegalStateException("only " + keys.size() + " of " + end + " records could be read in time");
                }
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    keys.add(record.key());
                }
            }
            answer.put("end", end);
        }
    }

    private static List<Integer> ids(Collection<Node> nodes) {
        return nodes.stream().map(Node::id).toList();
    }

    private static void put(ObjectNode answer, String name, List<Integer> numbers) {
        ArrayNode array = answer.putArray(name);
        numbers.forEach(array::add);
    }

    private static List<Integer> numbers(JsonNode array) {
        List<Integer> found = new ArrayList<>();
        array.forEach(number -> found.add(number.asInt()));
        return found;
    }

    private static Map<String, String> settings(JsonNode asked) {
        Map<String, String> found = new HashMap<>();
        asked.get("settings").properties().forEach(setting -> found.put(setting.getKey(), setting.getValue().asText()));
        return found;
    }
}
