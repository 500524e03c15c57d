package fencepost.clients;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.InvalidOffsetException;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** A driver for kafka-clients: flat JSON commands on stdin, one per line, and JSON events on stdout. Each `start` creates a client. */
public final class Driver {
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    private static final Pattern PAIR = Pattern.compile("\"(\\w+)\": (?:\"([^\"]*)\"|(-?\\d+))");
    private static final Map<Integer, Session> SESSIONS = new ConcurrentHashMap<>();

    private Driver() { }

    interface Session {
        void produce(int partition, String value);

        /** Executes another command: a commit, or a request by an admin client. */
        void act(Map<String, String> command);

        void stop();
    }

    private static void tell(Object... pairs) {
        StringBuilder text = new StringBuilder("{");
        for (int place = 0; place < pairs.length; place += 2) {
            text.append(place == 0 ? "" : ", ").append('"').append(pairs[place]).append("\": ");
            Object value = pairs[place + 1];
            if (value instanceof Number) {
                text.append(value);
            } else {
                String said = String.valueOf(value).replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ");
                text.append('"').append(said).append('"');
            }
        }
        synchronized (OUT) {
            OUT.println(text.append('}'));
            OUT.flush();
        }
    }

    private static Map<String, Object> common(Map<String, String> command) {
        Map<String, Object> config = new HashMap<>();
        int backoff = Integer.parseInt(command.get("backoff"));
        config.put("bootstrap.servers", command.get("bootstrap"));
        config.put("retry.backoff.ms", backoff);
        config.put("retry.backoff.max.ms", backoff);
        config.put("reconnect.backoff.ms", 5);
        config.put("reconnect.backoff.max.ms", backoff);
        config.put("metadata.max.age.ms", Integer.parseInt(command.get("max_age")));
        config.put("enable.metrics.push", false);
        config.put("auto.include.jmx.reporter", false);
        return config;
    }

    static final class Producer implements Session {
        private final int id;
        private final String topic;
        private final Map<String, Object> common;
        private final KafkaProducer<String, String> client;
        private final ExecutorService worker = Executors.newSingleThreadExecutor();
        private Admin admin;

        Producer(int id, Map<String, String> command) {
            this.id = id;
            topic = command.get("topic");
            Map<String, Object> config = common(command);
            common = common(command);
            config.put("acks", "all");
            boolean idempotent = command.get("idempotent").equals("1");
            config.put("enable.idempotence", idempotent);
            config.put("max.in.flight.requests.per.connection", idempotent ? 5 : 1);
            config.put("batch.size", idempotent ? 1 : 16384);
            config.put("linger.ms", 0);
            config.put("request.timeout.ms", 5000);
            config.put("delivery.timeout.ms", Math.max(5000, Integer.parseInt(command.get("timeout"))));
            config.put("max.block.ms", 5000);
            client = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
        }

        @Override
        public void produce(int partition, String value) {
            worker.execute(() -> client.send(new ProducerRecord<>(topic, partition, null, value), (meta, error) -> {
                if (error == null) {
                    tell("id", id, "event", "acked", "partition", partition, "value", value, "offset", meta.offset());
                } else {
                    tell("id", id, "event", "failed", "partition", partition, "value", value, "error", error);
                }
            }));
        }

        @Override
        public void act(Map<String, String> command) {
            if (!command.get("do").equals("asks_admin")) {
                lacks(id, command);
                return;
            }
            admin = admin == null ? Admin.create(common) : admin;
            int partition = Integer.parseInt(command.get("partition"));
            admin.listOffsets(Map.of(new TopicPartition(topic, partition), OffsetSpec.latest())).all().whenComplete((found, error) ->
                tell("id", id, "event", error == null ? "acked" : "failed", "partition", partition, "value", command.get("value"), "error", error));
        }

        @Override
        public void stop() {
            if (admin != null) {
                admin.close(Duration.ZERO);
            }
            worker.shutdownNow();
            client.close(Duration.ZERO);
        }
    }

    static final class Consumer implements Session {
        private final KafkaConsumer<String, String> client;
        private final Thread thread;
        private final int id;
        private final Queue<Map<String, String>> commits = new ConcurrentLinkedQueue<>();
        private volatile boolean over;

        Consumer(int id, Map<String, String> command) {
            Map<String, Object> config = common(command);
            config.put("enable.auto.commit", false);
            config.put("auto.offset.reset", command.get("reset"));
            config.put("client.rack", command.get("rack"));
            if (!command.get("group").isEmpty()) {
                config.put("group.id", command.get("group"));
            }
            this.id = id;
            config.put("fetch.max.wait.ms", 20);
            config.put("request.timeout.ms", 5000);
            client = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
            List<TopicPartition> assigned = new ArrayList<>();
            for (int partition = 0; partition < Integer.parseInt(command.get("partitions")); partition++) {
                assigned.add(new TopicPartition(command.get("topic"), partition));
            }
            client.assign(assigned);
            if (command.get("resume").equals("0")) {
                assigned.forEach(partition -> client.seek(partition, 0));
            }
            thread = new Thread(() -> poll(id, assigned));
            thread.setDaemon(true);
            thread.start();
        }

        private void poll(int id, List<TopicPartition> assigned) {
            while (!over) {
                try {
                    for (Map<String, String> command = commits.poll(); command != null; command = commits.poll()) {
                        int epoch = Integer.parseInt(command.get("epoch"));
                        client.commitSync(Map.of(new TopicPartition(command.get("topic"), Integer.parseInt(command.get("partition"))),
                            new OffsetAndMetadata(Long.parseLong(command.get("offset")), epoch < 0 ? Optional.empty() : Optional.of(epoch), "")));
                        tell("id", id, "event", "committed");
                    }
                    for (ConsumerRecord<String, String> got : client.poll(Duration.ofMillis(50))) {
                        tell("id", id, "event", "delivered", "partition", got.partition(), "offset", got.offset(), "value", got.value(),
                            "epoch", got.leaderEpoch().orElse(-1));
                    }
                } catch (WakeupException woken) {
                    break;
                } catch (InvalidOffsetException lost) {
                    for (TopicPartition partition : lost.partitions()) {
                        tell("id", id, "event", "truncated", "partition", partition.partition(), "error", lost);
                        client.pause(List.of(partition));
                        client.seek(partition, 0);
                    }
                } catch (RuntimeException error) {
                    for (TopicPartition partition : assigned) {
                        tell("id", id, "event", "error", "partition", partition.partition(), "error", error);
                    }
                }
            }
            client.close(Duration.ZERO);
        }

        @Override
        public void produce(int partition, String value) { }

        @Override
        public void act(Map<String, String> command) {
            if (command.get("do").equals("commit")) {
                commits.add(command);
            } else {
                lacks(id, command);
            }
        }

        @Override
        public void stop() {
            over = true;
            client.wakeup();
            try {
                thread.join(3000);
            } catch (InterruptedException woken) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static void lacks(int id, Map<String, String> command) {
        tell("id", id, "event", "broken", "error", "the driver of kafka-clients has no " + command.get("do"));
    }

    private static void start(int id, Map<String, String> command) {
        try {
            SESSIONS.put(id, command.get("role").equals("producer") ? new Producer(id, command) : new Consumer(id, command));
        } catch (RuntimeException error) {
            tell("id", id, "event", "broken", "error", error);
        }
    }

    public static void main(String[] args) throws Exception {
        ExecutorService aside = Executors.newCachedThreadPool(work -> {
            Thread thread = new Thread(work);
            thread.setDaemon(true);
            return thread;
        });
        tell("event", "ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map<String, String> command = new HashMap<>();
            for (Matcher found = PAIR.matcher(line); found.find();) {
                command.put(found.group(1), found.group(2) == null ? found.group(3) : found.group(2));
            }
            int id = Integer.parseInt(command.get("id"));
            switch (command.get("do")) {
                case "start" -> start(id, command);
                case "produce" -> {
                    Session session = SESSIONS.get(id);
                    if (session != null) {
                        session.produce(Integer.parseInt(command.get("partition")), command.get("value"));
                    }
                }
                case "stop" -> aside.execute(() -> {
                    Session session = SESSIONS.remove(id);
                    if (session != null) {
                        session.stop();
                    }
                    tell("id", id, "event", "stopped");
                });
                default -> {
                    Session session = SESSIONS.get(id);
                    if (session != null) {
                        session.act(command);
                    }
                }
            }
        }
        System.exit(0);
    }
}
