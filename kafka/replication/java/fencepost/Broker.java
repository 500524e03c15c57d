package fencepost;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.server.common.DirectoryEventHandler;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import kafka.log.UnifiedLog;  // until 4.0
import org.apache.kafka.storage.internals.log.UnifiedLog;  // since 4.1
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/** One process of a broker: LogManager, KRaftMetadataCache, ReplicaManager with its fetchers, AlterPartitionManager. */
final class Broker {
    static final TopicPartition PARTITION = new TopicPartition("t", 0);
    private static final Class<?> MANAGER = Reflect.type("kafka.server.ReplicaManager");
    private static final Metrics METRICS = new Metrics();
    private static final BrokerTopicStats STATS = new BrokerTopicStats(false);  // until 3.9
    private static final BrokerTopicStats STATS = new BrokerTopicStats();  // since 4.0
    private static final Map<String, Object> CONFIGS = new HashMap<>();
    private static final Map<Object, Object> QUOTAS = new HashMap<>();

    final int id;
    /** -1 until it is registered. */
    long epoch;
    final File directory;
    final kafka.server.ReplicaManager manager;
    final Fetching fetching;
    final Object logs;
    final Object alterations;
    private final Object cache;
    private final Object topics;
    private MetadataImage image = MetadataImage.EMPTY;
    /** How many images of the controller it has applied, less one. */
    int applied = -1;
    private int records;

    Broker(int id, long epoch, int minIsr, Path root, List<Alteration> sent) throws Exception {
        this.id = id;
        this.epoch = epoch;
        directory = root.resolve("broker-" + id).toFile();
        Fakes.Clock clock = new Fakes.Clock();
        kafka.server.KafkaConfig config = config(id, minIsr, directory);
        Object scheduler = Fakes.idle(Reflect.type("org.apache.kafka.server.util.Scheduler"));
        LogDirFailureChannel failures = new LogDirFailureChannel(1);
        Class<?> caches = Reflect.type("org.apache.kafka.metadata.KRaftMetadataCache", "kafka.server.metadata.KRaftMetadataCache");
        cache = caches.getConstructors()[0].newInstance(id, (Supplier<KRaftVersion>) () -> KRaftVersion.KRAFT_VERSION_1);
        logs = logManager(config, cache, scheduler, clock, failures);
        Object quotas = quotas(config, clock);
        alterations = Alteration.manager(this, scheduler, clock, sent);
        manager = manager(config, scheduler, clock, failures, quotas, alterations);
        fetching = new Fetching(this, config, Reflect.call(quotas, "follower"), METRICS, clock);
        Reflect.set(manager, MANAGER, "replicaFetcherManager", fetching.manager);
        topics = Reflect.type("kafka.server.TopicConfigHandler").getConstructors()[0].newInstance(manager, config, quotas
            , scala.Option.empty()  // until 3.9
        );
    }

    private static kafka.server.KafkaConfig config(int id, int minIsr, File directory) {
        return (kafka.server.KafkaConfig) CONFIGS.computeIfAbsent(id + "/" + minIsr + "/" + directory, key -> {
            Properties p = new Properties();
            p.put("process.roles", "broker");
            p.put("node.id", "" + id);
            p.put("controller.quorum.voters", "100@localhost:1");
            p.put("controller.listener.names", "CONTROLLER");
            p.put("listeners", "PLAINTEXT://localhost:" + (2000 + id));
            p.put("listener.security.protocol.map", "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT");
            p.put("log.dirs", directory.getPath());
            p.put("min.insync.replicas", "" + minIsr);
            p.put("log.cleaner.enable", "false");
            p.put("log.segment.bytes", "1048576");
            p.put("log.index.size.max.bytes", "4096");
            p.put("replica.fetch.max.bytes", "1");  // one record an answer: the first batch comes whatever its size
            p.put("replica.fetch.wait.max.ms", "0");
            return kafka.server.KafkaConfig.fromProps(p);
        });
    }

    private static Object logManager(Object config, Object settings, Object scheduler, Fakes.Clock clock, Object failures) {
        Class<?> type = Reflect.type("kafka.log.LogManager");
        Method make = Reflect.method(type, "apply", 7);  // since 4.1
        Method make = Reflect.method(type, "apply", 8);  // until 4.0
        Object none = make.getParameterTypes()[1] == Set.class ? Set.of() : scala.collection.immutable.Nil$.MODULE$;
        return Reflect.invoke(make, null, config, none, settings, scheduler, clock, STATS, failures
            , true  // until 4.0
        );
    }

    /** Quotas have threads of their own, which do nothing here: one set for all processes of a broker. */
    private static Object quotas(Object config, Fakes.Clock clock) {
        Class<?> factory = Reflect.type("org.apache.kafka.server.quota.QuotaFactory", "kafka.server.QuotaFactory");
        return QUOTAS.computeIfAbsent(config, key ->
            Reflect.invoke(Reflect.method(factory, "instantiate", 5), null, config, METRICS, clock, "", ""));  // since 4.1
            Reflect.invoke(Reflect.method(factory, "instantiate", 4), null, config, METRICS, clock, ""));  // until 4.0
    }

    private kafka.server.ReplicaManager manager(
        Object config, Object scheduler, Fakes.Clock clock, Object failures, Object quotas, Object alterations
    ) throws Exception {
        Constructor<?> constructor = Arrays.stream(MANAGER.getConstructors())
            .max(Comparator.comparingInt(Constructor::getParameterCount)).orElseThrow();
        Class<?>[] types = constructor.getParameterTypes();
        Type[] generic = constructor.getGenericParameterTypes();
        Object[] arguments = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            switch (types[i].getSimpleName()) {
                case "KafkaConfig": arguments[i] = config; break;
                case "Metrics": arguments[i] = METRICS; break;
                case "Time": arguments[i] = clock; break;
                case "Scheduler": arguments[i] = scheduler; break;
                case "LogManager": arguments[i] = logs; break;
                case "Option": arguments[i] = purgatory(generic[i].getTypeName()); break;
                case "QuotaManagers": arguments[i] = quotas; break;
                case "MetadataCache": arguments[i] = cache; break;
                case "LogDirFailureChannel": arguments[i] = failures; break;
                case "AlterPartitionManager": arguments[i] = alterations; break;
                case "BrokerTopicStats": arguments[i] = STATS; break;
                case "AtomicBoolean": arguments[i] = new AtomicBoolean(); break;
                case "Function0": arguments[i] = (scala.Function0<Object>) () -> epoch; break;
                case "Supplier": arguments[i] = (Supplier<Object>) () -> epoch; break;
                case "DirectoryEventHandler": arguments[i] = DirectoryEventHandler.NOOP; break;
                case "ActionQueue": arguments[i] = Reflect.type(
                    "org.apache.kafka.server.DelayedActionQueue", "kafka.server.DelayedActionQueue").getConstructor().newInstance(); break;
                default: throw new Reflect.Changed("ReplicaManager's parameter " + types[i].getName());
            }
        }
        return (kafka.server.ReplicaManager) constructor.newInstance(arguments);
    }

    /** A purgatory without threads: nothing expires, everything else is Kafka's. */
    private Object purgatory(String option) throws Exception {
        if (!option.contains("DelayedOperationPurgatory")) {
            return scala.Option.empty();
        }
        Class<?> type = Reflect.type("org.apache.kafka.server.purgatory.DelayedOperationPurgatory", "kafka.server.DelayedOperationPurgatory");
        for (Constructor<?> c : type.getConstructors()) {
            if (c.getParameterCount() == 6) {
                Object timer = Fakes.idle(c.getParameterTypes()[1]);
                return scala.Option.apply(c.newInstance("fencepost", timer, id, 1000, false, false));
            }
        }
        throw new Reflect.Changed("DelayedOperationPurgatory's constructor with 6 parameters");
    }

    /** Write what is left on disk, and load it as a starting broker does. */
    static void prepare(Path root, int id, Disk disk, Uuid topicId, long checkpoint) throws IOException {
        Path directory = root.resolve("broker-" + id);
        remove(directory);
        Path folder = directory.resolve(PARTITION.toString());
        Files.createDirectories(directory);
        Files.writeString(directory.resolve("meta.properties"),
            "version=1\ncluster.id=c\nnode.id=" + id + "\ndirectory.id=" + new Uuid(1000, id) + "\n");
        if (disk == null || disk.segment == null) {
            return;
        }
        Files.createDirectories(folder);
        Files.write(folder.resolve("00000000000000000000.log"), disk.segment);
        Files.writeString(folder.resolve("partition.metadata"), "version: 0\ntopic_id: " + topicId + "\n");
        Files.writeString(directory.resolve("replication-offset-checkpoint"), "0\n1\nt 0 " + checkpoint + "\n");
    }

    static void remove(Path folder) throws IOException {
        if (Files.exists(folder)) {
            try (Stream<Path> found = Files.walk(folder)) {
                for (Path path : found.sorted(Comparator.reverseOrder()).toArray(Path[]::new)) {
                    Files.delete(path);
                }
            }
        }
    }

    /** Start LogManager: Kafka's recovery reads the segment, unless the metadata has no such replica. */
    private void loadLogs() {
        Method startup = Reflect.method(logs.getClass(), "startup", 2);
        Object topics = startup.getParameterTypes()[0] == Set.class
            ? Set.of("t") : scala.collection.immutable.Set$.MODULE$.<Object>empty().incl("t");
        Object stray = (scala.Function1<Object, Object>) this::isStray;  // until 4.3
        Object stray = (java.util.function.Function<Object, Object>) this::isStray;  // since 4.4
        Reflect.invoke(startup, logs, topics, stray);
    }

    private Object isStray(Object log) {
        Class<?> type = logs.getClass();  // until 4.0
        Class<?> type = Reflect.type("org.apache.kafka.storage.internals.log.LogManager");  // since 4.1
        Method judge = Reflect.method(type, "isStrayKraftReplica", 3);  // until 4.2
        return Reflect.invoke(judge, null, id, image.topics(), log);  // until 4.2
        Method judge = Reflect.method(type, "isStrayReplica", 3);  // since 4.3
        List<Integer> replicas = new ArrayList<>();  // since 4.3
        Arrays.stream(image.topics().getPartition(topicIdPartition().topicId(), 0).replicas).forEach(replicas::add);  // since 4.3
        return Reflect.invoke(judge, null, replicas, id, log);  // since 4.3
    }

    /** The first metadata of a new process. */
    void start(List<ApiMessage> log, int upTo, int index) {
        publish(log, upTo, index, true);
    }

    /** More metadata, as one delta. */
    void apply(List<ApiMessage> log, int upTo, int index) {
        publish(log, upTo, index, false);
    }

    /** What BrokerMetadataPublisher does with a delta: the cache first, then LogManager if it has not started, then ReplicaManager. */
    private void publish(List<ApiMessage> log, int upTo, int index, boolean first) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        log.subList(records, upTo).forEach(delta::replay);
        records = upTo;
        applied = index;
        MetadataImage next = delta.apply(new MetadataProvenance(upTo, 1, upTo));  // until 3.9
        MetadataImage next = delta.apply(new MetadataProvenance(upTo, 1, upTo, true));  // since 4.0
        Reflect.call(cache, "setImage", next);
        image = next;
        if (first) {
            loadLogs();
        }
        if (delta.topicsDelta() != null) {
            manager.applyDelta(delta.topicsDelta(), next);
        }
        fetching.forgetOutdated();
        act();
    }

    /** What DynamicConfigPublisher does with the topic's configuration in the metadata that was applied last. */
    void configure() {
        Reflect.call(topics, "processConfigChanges", "t", image.configs().configProperties(new ConfigResource(ConfigResource.Type.TOPIC, "t")));
        act();
    }

    /** The min ISR that is the configuration of its log. */
    int minIsr() {
        return log().config().minInSyncReplicas;
    }

    /** What request handlers do once they hold no lock any more: complete what waits in purgatories. */
    void act() {
        manager.tryCompleteActions();
    }

    int appliedRecords() {
        return records;
    }

    MetadataImage image() {
        return image;
    }

    kafka.cluster.Partition partition() {
        return manager.getPartitionOrException(PARTITION);
    }

    /** The partition; null if the broker has no replica. */
    kafka.cluster.Partition found() {
        return (kafka.cluster.Partition) Scala.value(manager.onlinePartition(PARTITION));
    }

    UnifiedLog log() {
        return partition().localLogOrException();
    }

    boolean leads() {
        return found() != null && found().isLeader();
    }

    /** Record and leader epoch of every entry of its log, if it has one. */
    List<int[]> entries() throws Exception {
        return found() == null ? List.of() : entries(log());
    }

    TopicIdPartition topicIdPartition() {
        return new TopicIdPartition(image.topics().getTopic("t").id(), PARTITION);
    }

    /** Record and leader epoch of every entry of the log. */
    static List<int[]> entries(UnifiedLog log) throws Exception {
        List<int[]> found = new ArrayList<>();
        if (log.logEndOffset() > 0) {
            for (RecordBatch batch : log.read(0, 1 << 20, FetchIsolation.LOG_END, true).records.batches()) {
                for (org.apache.kafka.common.record.Record r : batch) {
                    found.add(new int[] {record(r.value()), batch.partitionLeaderEpoch()});
                }
            }
        }
        return found;
    }

    static int record(ByteBuffer value) {
        byte[] bytes = new byte[value.remaining()];
        value.duplicate().get(bytes);
        return Integer.parseInt(new String(bytes, StandardCharsets.US_ASCII));
    }

    /** End the process; the first `kept` records stay on disk. */
    Disk halt(int kept, boolean clean) throws Exception {
        Disk disk = new Disk();
        disk.savedEpoch = clean ? epoch : -1;
        if (found() == null) {
            close();
            return disk;
        }
        UnifiedLog log = log();
        List<int[]> all = entries(log);
        disk.entries = new ArrayList<>(all.subList(0, kept));
        int size = 0;
        int count = 0;
        if (kept > 0) {
            for (RecordBatch batch : log.read(0, 1 << 20, FetchIsolation.LOG_END, true).records.batches()) {
                if (count++ < kept) {
                    size += batch.sizeInBytes();
                }
            }
        }
        disk.segment = Arrays.copyOf(Files.readAllBytes(directory.toPath().resolve(PARTITION.toString()).resolve("00000000000000000000.log")), size);
        disk.highWatermark = Math.min(log.highWatermark(), kept);
        close();
        return disk;
    }

    /** Let go of files and locks, as the end of a process does. */
    void close() {
        List<Object> open = new ArrayList<>();
        open.add(Scala.value(Reflect.call(logs, "getLog", PARTITION, false)));
        for (Object gone : Scala.items(Reflect.get(logs, "logsToBeDeleted"))) {  // which a thread of Kafka's deletes a minute later
            open.add(((scala.Tuple2<?, ?>) gone)._1());  // until 4.3
            open.add(((Map.Entry<?, ?>) gone).getKey());  // since 4.4
        }
        for (Object log : open) {
            if (log != null) {
                ((UnifiedLog) log).closeHandlers();  // until 4.3
                ((UnifiedLog) log).close();  // since 4.4
            }
        }
        for (Object lock : Scala.items(Reflect.get(logs, "dirLocks"))) {
            Reflect.call(lock, "destroy");
        }
    }
}
