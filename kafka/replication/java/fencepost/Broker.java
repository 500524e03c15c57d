package fencepost;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
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
import org.apache.kafka.common.errors.KafkaStorageException;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.DirectoryEventHandler;
import org.apache.kafka.server.common.KRaftVersion;  // since 3.9
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import kafka.log.UnifiedLog;  // until 4.0
import org.apache.kafka.storage.internals.log.UnifiedLog;  // since 4.1
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/** A broker process: LogManager, KRaftMetadataCache, ReplicaManager with its fetchers, and AlterPartitionManager. */
final class Broker {
    static final TopicPartition PARTITION = new TopicPartition("t", 0);
    /** The directory of a broker that has only one. */
    static final String DIRECTORY = "d0";
    private static final String STARTS = "log-start-offset-checkpoint";
    private static final Class<?> MANAGER = Reflect.type("kafka.server.ReplicaManager");
    private static final Constructor<?> LARGEST = Arrays.stream(MANAGER.getConstructors())
        .max(Comparator.comparingInt(Constructor::getParameterCount)).orElseThrow();
    private static final List<String> GENERIC = Arrays.stream(LARGEST.getGenericParameterTypes()).map(Type::getTypeName).toList();
    private static final Metrics METRICS = new Metrics();
    private static final BrokerTopicStats STATS = new BrokerTopicStats(Optional.empty());  // until 3.7
    private static final BrokerTopicStats STATS = new BrokerTopicStats(false);  // since 3.8 until 3.9
    private static final BrokerTopicStats STATS = new BrokerTopicStats();  // since 4.0
    private static final Map<String, Object> CONFIGS = new HashMap<>();
    private static final Map<Object, Object> QUOTAS = new HashMap<>();
    private static final Map<String, Object> UNUSED = new HashMap<>();

    final int id;
    /** -1 until the broker has registered. */
    long epoch;
    /** The log directories, which are folders in `root/broker-id`. */
    final List<File> directories = new ArrayList<>();
    /** The requests of AssignmentsManager, and the directories that heartbeats report as failed. */
    final List<Object[]> assignments = new ArrayList<>();
    final List<Uuid> offline = new ArrayList<>();
    /** The tasks of background threads that are due. */
    final List<Runnable> tasks = new ArrayList<>();
    /** The epoch that a clean shutdown has saved in its files, or -1. */
    final long previousEpoch;
    final kafka.server.ReplicaManager manager;
    final Fetching fetching;
    final Object logs;
    final Object alterations;
    /** Moves replicas between its directories; none of its threads runs. */
    final Moving moving;
    private final List<File> failed = new ArrayList<>();
    private IOException failure;
    private final LogDirFailureChannel failures = new LogDirFailureChannel(9) {
        @Override public void maybeAddOfflineLogDir(String dir, String message, IOException cause) {
            // a late task may find that the files of a failed directory are closed
            failure = failed.contains(new File(dir)) ? failure : cause;
            super.maybeAddOfflineLogDir(dir, message, cause);
        }
    };
    private final Object cache;
    private final Object topics;
    private MetadataImage image = MetadataImage.EMPTY;
    /** The number of the controller's images that it has applied, minus one. */
    int applied = -1;
    private int records;

    Broker(int id, long epoch, int minIsr, Path root, List<String> dirs, List<Alteration> sent) throws Exception {
        this(id, epoch, minIsr, root, dirs, null, sent, Fetching.Holding.NONE);
    }

    /** The same, with an unreadable log directory (or null), and answers that are held back. */
    Broker(
        int id, long epoch, int minIsr, Path root, List<String> dirs, String unreadable, List<Alteration> sent, Fetching.Holding holding
    ) throws Exception {
        this.id = id;
        this.epoch = epoch;
        for (String dir : dirs) {
            directories.add(root.resolve("broker-" + id).resolve(dir).toFile());
        }
        Fakes.Clock clock = new Fakes.Clock();
        kafka.server.KafkaConfig config = config(id, minIsr, directories);
        Object scheduler = Fakes.scheduler(tasks);
        Class<?> caches = Reflect.type("org.apache.kafka.metadata.KRaftMetadataCache", "kafka.server.metadata.KRaftMetadataCache");
        cache = caches.getConstructors()[0].newInstance(id);  // until 3.8
        cache = caches.getConstructors()[0].newInstance(id, (Supplier<KRaftVersion>) () -> KRaftVersion.KRAFT_VERSION_1);  // since 3.9
        logs = logManager(config, cache, scheduler, clock, failures, unreadable == null ? List.of() : List.of(directory(unreadable)));
        previousEpoch = ((java.util.OptionalLong) Reflect.call(logs, "readBrokerEpochFromCleanShutdownFiles")).orElse(-1L);
        Object quotas = quotas(config, clock);
        alterations = Alteration.manager(this, scheduler, clock, sent);
        manager = manager(config, scheduler, clock, failures, quotas, alterations);
        fetching = new Fetching(this, config, Reflect.call(quotas, "follower"), METRICS, clock, holding);
        Reflect.set(manager, MANAGER, "replicaFetcherManager", fetching.manager);
        moving = new Moving(config, manager, Reflect.call(quotas, "alterLogDirs"), STATS, events());
        Reflect.set(manager, MANAGER, "replicaAlterLogDirsManager", moving);
        topics = Reflect.type("kafka.server.TopicConfigHandler").getConstructors()[0].newInstance(manager, config, quotas
            , scala.Option.empty()  // until 3.9
        );
    }

    private static kafka.server.KafkaConfig config(int id, int minIsr, List<File> directories) {
        return (kafka.server.KafkaConfig) CONFIGS.computeIfAbsent(id + "/" + minIsr + "/" + directories, key -> {
            Properties p = new Properties();
            p.put("process.roles", "broker");
            p.put("node.id", "" + id);
            p.put("controller.quorum.voters", "100@localhost:1");
            p.put("controller.listener.names", "CONTROLLER");
            p.put("listeners", "PLAINTEXT://localhost:" + (2000 + id));
            p.put("listener.security.protocol.map", "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT");
            p.put("log.dirs", String.join(",", directories.stream().map(File::getPath).toList()));
            p.put("metadata.log.dir", directories.get(0).getParent() + "/metadata");
            p.put("min.insync.replicas", "" + minIsr);
            p.put("log.cleaner.enable", "false");
            p.put("num.recovery.threads.per.data.dir", "1");
            p.put("log.segment.bytes", "1048576");
            p.put("log.retention.bytes", "1");  // which no thread checks
            p.put("log.index.size.max.bytes", "4096");
            p.put("replica.fetch.max.bytes", "1");  // one record per answer: the first batch is sent whatever its size
            p.put("replica.fetch.wait.max.ms", "0");
            p.put("replica.fetch.backoff.ms", "0");  // which Kafka measures with the real clock
            return kafka.server.KafkaConfig.fromProps(p);
        });
    }

    private File directory(String name) {
        return directories.stream().filter(d -> d.getName().equals(name)).findFirst().orElseThrow();
    }

    private static Object logManager(
        Object config, Object settings, Object scheduler, Fakes.Clock clock, Object failures, List<File> unreadable
    ) {
        Class<?> type = Reflect.type("kafka.log.LogManager");
        Method make = Reflect.method(type, "apply", 7);  // since 4.1
        Method make = Reflect.method(type, "apply", 8);  // until 4.0
        List<String> paths = unreadable.stream().map(File::getAbsolutePath).toList();
        Object offline = make.getParameterTypes()[1] == Set.class ? Set.copyOf(paths) : scala.jdk.javaapi.CollectionConverters.asScala(paths).toSeq();
        return Reflect.invoke(make, null, config, offline, settings, scheduler, clock, STATS, failures
            , true  // until 4.0
        );
    }

    /** Quotas have their own threads, which do nothing here. All processes of a broker share one set. */
    private static Object quotas(Object config, Fakes.Clock clock) {
        Class<?> factory = Reflect.type("org.apache.kafka.server.quota.QuotaFactory", "kafka.server.QuotaFactory");
        return QUOTAS.computeIfAbsent(((kafka.server.KafkaConfig) config).brokerId(), key ->
            Reflect.invoke(Reflect.method(factory, "instantiate", 5), null, config, METRICS, clock, "", ""));  // since 4.1
            Reflect.invoke(Reflect.method(factory, "instantiate", 4), null, config, METRICS, clock, ""));  // until 4.0
    }

    private kafka.server.ReplicaManager manager(
        Object config, Object scheduler, Fakes.Clock clock, Object failures, Object quotas, Object alterations
    ) throws Exception {
        Constructor<?> constructor = LARGEST;
        Class<?>[] types = constructor.getParameterTypes();
        Object[] arguments = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            switch (types[i].getSimpleName()) {
                case "KafkaConfig": arguments[i] = config; break;
                case "Metrics": arguments[i] = METRICS; break;
                case "Time": arguments[i] = clock; break;
                case "Scheduler": arguments[i] = scheduler; break;
                case "LogManager": arguments[i] = logs; break;
                case "Option": arguments[i] = purgatory(GENERIC.get(i)); break;
                case "QuotaManagers": arguments[i] = quotas; break;
                case "MetadataCache": arguments[i] = cache; break;
                case "LogDirFailureChannel": arguments[i] = failures; break;
                case "AlterPartitionManager": arguments[i] = alterations; break;
                case "BrokerTopicStats": arguments[i] = STATS; break;
                case "AtomicBoolean": arguments[i] = new AtomicBoolean(); break;
                case "Function0": arguments[i] = (scala.Function0<Object>) () -> epoch; break;
                case "Supplier": arguments[i] = (Supplier<Object>) () -> epoch; break;
                case "DirectoryEventHandler": arguments[i] = events(); break;
                case "ActionQueue": arguments[i] = Reflect.type(
                    "org.apache.kafka.server.DelayedActionQueue", "kafka.server.DelayedActionQueue").getConstructor().newInstance(); break;
                default: throw new Reflect.Changed("ReplicaManager's parameter " + types[i].getName());
            }
        }
        return (kafka.server.ReplicaManager) constructor.newInstance(arguments);
    }

    private Object events() {
        return Reflect.proxy(DirectoryEventHandler.class, (self, method, arguments) -> {
            if (method.getName().equals("handleAssignment")) {
                assignments.add(arguments);
            } else if (method.getName().equals("handleFailure")) {
                offline.add((Uuid) arguments[0]);
            }
            return null;
        });
    }

    /** Kafka's purgatory without threads, so nothing expires. All brokers share the purgatories that stay empty. */
    private Object purgatory(String option) throws Exception {
        if (!option.contains("DelayedOperationPurgatory")) {
            return scala.Option.empty();
        }
        if (option.contains(".DelayedProduce") || option.contains(".DelayedFetch")) {
            return purgatory();
        }
        if (!UNUSED.containsKey(option)) {
            UNUSED.put(option, purgatory());
        }
        return UNUSED.get(option);
    }

    private Object purgatory() throws Exception {
        Class<?> type = Reflect.type("org.apache.kafka.server.purgatory.DelayedOperationPurgatory", "kafka.server.DelayedOperationPurgatory");
        for (Constructor<?> c : type.getConstructors()) {
            if (c.getParameterCount() == 6) {
                Object timer = Fakes.idle(c.getParameterTypes()[1]);
                return scala.Option.apply(c.newInstance("fencepost", timer, id, 1000, false, false));
            }
        }
        throw new Reflect.Changed("DelayedOperationPurgatory's constructor with 6 parameters");
    }

    /** Writes the remaining data to these log directories, and loads it like a starting broker. */
    static void prepare(Path root, int id, List<String> dirs, Disk disk, Uuid topicId, long checkpoint) throws IOException {
        for (String dir : dirs) {
            remove(root.resolve("broker-" + id).resolve(dir));
        }
        prepare(root, id, dirs);
        if (disk == null || disk.segment == null) {
            return;
        }
        Path directory = root.resolve("broker-" + id).resolve(disk.directory);
        Path folder = directory.resolve(PARTITION.toString());
        Files.createDirectories(folder);
        Files.write(folder.resolve(String.format("%020d.log", disk.base)), disk.segment);
        if (disk.checkpoint > 0) {
            Files.writeString(directory.resolve(STARTS), "0\n1\nt 0 " + disk.checkpoint + "\n");
        }
        Files.writeString(folder.resolve("partition.metadata"), "version: 0\ntopic_id: " + topicId + "\n");
        Files.writeString(directory.resolve("replication-offset-checkpoint"), "0\n1\nt 0 " + checkpoint + "\n");
    }

    /** Creates the folders of the log directories, and formats new ones. */
    static void prepare(Path root, int id, List<String> dirs) throws IOException {
        for (String dir : dirs) {
            Path directory = root.resolve("broker-" + id).resolve(dir);
            if (!Files.exists(directory)) {
                Files.createDirectories(directory);
                Files.writeString(directory.resolve("meta.properties"),
                    "version=1\ncluster.id=c\nnode.id=" + id + "\ndirectory.id=" + directoryId(id, dir) + "\n");
            }
        }
    }

    static Uuid directoryId(int id, String dir) {
        return new Uuid(1000 + Integer.parseInt(dir.substring(1)), id);
    }

    static void remove(Path folder) throws IOException {
        File file = folder.toFile();
        File[] inside = file.delete() ? null : file.listFiles();
        for (File each : inside == null ? new File[0] : inside) {
            remove(each.toPath());
        }
        Files.deleteIfExists(folder);
    }

    /** Starts LogManager. Kafka's recovery reads the segment unless the metadata lacks the replica; copies of moves become logs. */
    private void loadLogs() {
        if (Arrays.stream(logs.getClass().getMethods()).noneMatch(m -> m.getName().equals("startup") && m.getParameterCount() == 2)) {  // until 3.7
            Reflect.call(logs, "startup", scala.collection.immutable.Set$.MODULE$.<Object>empty().incl("t"));  // until 3.7
            Reflect.call(logs, "deleteStrayKRaftReplicas", id, image.topics());  // until 3.7
            return;  // until 3.7
        }  // until 3.7
        Method startup = Reflect.method(logs.getClass(), "startup", 2);
        Object topics = startup.getParameterTypes()[0] == Set.class
            ? Set.of("t") : scala.collection.immutable.Set$.MODULE$.<Object>empty().incl("t");
        Object stray = (scala.Function1<Object, Object>) this::isStray;  // until 4.3
        Object stray = (java.util.function.Function<Object, Object>) this::isStray;  // since 4.4
        Reflect.invoke(startup, logs, topics, stray);
        Object assigned = image.topics();  // until 4.3
        Object assigned = (org.apache.kafka.storage.internals.log.LogManager.DirectoryForBrokerPartition)  // since 4.4
            (topic, number, broker) -> image.topics().getPartition(topic, number).directory(broker);  // since 4.4
        Reflect.call(logs, "recoverAbandonedFutureLogs", id, assigned);
    }

    private Object isStray(Object log) {
        Class<?> type = logs.getClass();  // until 4.0
        Class<?> type = Reflect.type("org.apache.kafka.storage.internals.log.LogManager");  // since 4.1
        Method judge = Reflect.method(type, "isStrayKraftReplica", 3);  // until 4.2
        return Reflect.invoke(judge, null, id, image.topics(), log);  // until 4.2
        Method judge = Reflect.method(type, "isStrayReplica", 3);  // since 4.3
        List<Integer> replicas = new ArrayList<>();  // since 4.3
        Uuid topic = (Uuid) Scala.value(Reflect.call(log, "topicId"));  // since 4.3
        int number = ((TopicPartition) Reflect.call(log, "topicPartition")).partition();  // since 4.3
        PartitionRegistration of = topic == null ? null : image.topics().getPartition(topic, number);  // since 4.3
        if (of == null) {  // since 4.3
            return true;  // since 4.3
        }  // since 4.3
        Arrays.stream(of.replicas).forEach(replicas::add);  // since 4.3
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

    private void publish(List<ApiMessage> log, int upTo, int index, boolean first) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        log.subList(records, upTo).forEach(delta::replay);
        records = upTo;
        applied = index;
        MetadataImage next = delta.apply(new MetadataProvenance(upTo, 1, upTo));  // until 3.9
        MetadataImage next = delta.apply(new MetadataProvenance(upTo, 1, upTo, true));  // since 4.0
        publish(delta, next, first);
    }

    /** What BrokerMetadataPublisher does with a delta: the cache first, then LogManager if it has not started, then ReplicaManager. */
    void publish(MetadataDelta delta, MetadataImage next, boolean first) {
        Reflect.call(cache, "setImage", next);
        image = next;
        if (!first && Fakes.isRepaired("hyp-11") && delta.configsDelta() != null) {
            configure();
        }
        if (first) {
            loadLogs();
        }
        fetching.judge();
        if (delta.topicsDelta() != null) {
            manager.applyDelta(delta.topicsDelta(), next);
        }
        fetching.leaveOutdated();
        act();
    }

    /** Does the work of DynamicConfigPublisher for the topic's configuration in the latest applied metadata. */
    void configure() {
        Reflect.call(topics, "processConfigChanges", "t", image.configs().configProperties(new ConfigResource(ConfigResource.Type.TOPIC, "t")));
        act();
    }

    /** Sets the topic's min ISR before the metadata has arrived. */
    void configure(int minIsr) {
        Properties changed = new Properties();
        changed.put("min.insync.replicas", "" + minIsr);
        Reflect.call(topics, "processConfigChanges", "t", changed);
    }

    /** Returns the min ISR in the log's configuration. */
    int minIsr() {
        return log(PARTITION) == null ? -1 : log().config().minInSyncReplicas;
    }

    /** Completes requests that wait in purgatories, as request handlers do once they hold no lock. */
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

    /** Returns the partition, or null if the broker has no replica. */
    kafka.cluster.Partition found() {
        return found(PARTITION);
    }

    kafka.cluster.Partition found(TopicPartition partition) {
        return (kafka.cluster.Partition) Scala.value(manager.onlinePartition(partition));
    }

    /** Returns the log of a partition, or null if the broker has no online log. */
    UnifiedLog log(TopicPartition partition) {
        kafka.cluster.Partition found = found(partition);
        return found == null ? null : (UnifiedLog) Scala.value(found.log());
    }

    UnifiedLog log() {
        return partition().localLogOrException();
    }

    boolean leads() {
        return found() != null && found().isLeader();
    }

    /** Returns the record and the leader epoch of every entry in the broker's log, if any. */
    List<int[]> entries() throws Exception {
        return log(PARTITION) == null ? List.of() : entries(log());
    }

    TopicIdPartition topicIdPartition() {
        return new TopicIdPartition(image.topics().getTopic("t").id(), PARTITION);
    }

    /** Returns the record and the leader epoch of every entry in the log. */
    static List<int[]> entries(UnifiedLog log) throws Exception {
        List<int[]> found = unknown(segment(log).baseOffset());
        for (LogSegment segment : log.logSegments()) {
            for (RecordBatch batch : segment.log().batches()) {
                for (org.apache.kafka.common.record.Record r : batch) {
                    found.add(new int[] {record(r.value()), batch.partitionLeaderEpoch()});
                }
            }
        }
        return found;
    }

    /** Returns this many placeholders for entries that were deleted from the files. */
    static List<int[]> unknown(long offset) {
        List<int[]> found = new ArrayList<>();
        while (found.size() < offset) {
            found.add(new int[2]);
        }
        return found;
    }

    private static LogSegment segment(UnifiedLog log) {
        return log.logSegments().iterator().next();
    }

    /** Returns the log start in the checkpoint of this log's directory, or 0 if there is none. */
    static long checkpoint(File dir) throws IOException {
        Path file = dir.toPath().resolve(STARTS);
        List<String> lines = Files.exists(file) ? Files.readAllLines(file) : List.of();
        return lines.size() < 3 ? 0 : Long.parseLong(lines.get(2).split(" ")[2]);
    }

    /** Writes the checkpoint of log starts. */
    void writeLogStart() {
        Reflect.call(logs, "checkpointLogStartOffsets");
    }

    static int record(ByteBuffer value) {
        byte[] bytes = new byte[value.remaining()];
        value.duplicate().get(bytes);
        return Integer.parseInt(new String(bytes, StandardCharsets.US_ASCII));
    }

    /** The end of Kafka's controlled shutdown: writes checkpoints, and the files that mark a clean shutdown. */
    void stop() {
        work();
        manager.checkpointHighWatermarks();
        try {
            Reflect.call(logs, "shutdown", epoch);
        } catch (RuntimeException e) {
            close();  // BrokerServer ignores the error: the lock of a failed directory cannot be destroyed again
        }
    }

    /** Runs the due tasks of background threads. */
    boolean work() {
        List<Runnable> now = new ArrayList<>(tasks);
        tasks.clear();
        for (Runnable task : now) {
            try {
                task.run();
            } catch (KafkaStorageException e) {
                continue;  // KafkaScheduler only logs the error: the task's directory has failed
            }
        }
        return !now.isEmpty();
    }

    /** Writes the checkpoints of background threads: recovery points, log starts and high watermarks. */
    void checkpoint() {
        Reflect.call(logs, "checkpointLogRecoveryOffsets");
        writeLogStart();
        manager.checkpointHighWatermarks();
    }

    static void roll(UnifiedLog log) {
        Reflect.call(log, "roll", scala.Option.empty());  // until 4.0
        Reflect.call(log, "roll");  // since 4.1
    }

    static void retain(UnifiedLog log) {
        Reflect.call(log, "deleteOldSegments");
    }

    /**
     * The process is killed. Each log loses its last `lost` records that were not flushed. With `tears`, indexes remain, and
     * snapshots of producer state that were not flushed are empty; otherwise, indexes are deleted, and snapshots remain.
     */
    void crash(List<TopicPartition> partitions, int lost, boolean tears) throws IOException {
        Map<Path, Long> sizes = new HashMap<>();
        for (TopicPartition partition : partitions) {
            UnifiedLog log = log(partition);
            if (log != null && lost > 0) {
                cut(log, Math.max(log.logEndOffset() - lost, log.recoveryPoint()), sizes);
                for (File file : tears ? log.dir().listFiles() : new File[0]) {
                    boolean isSnapshot = file.getName().endsWith(".snapshot");
                    if (isSnapshot && Long.parseLong(file.getName().substring(0, 20)) > log.recoveryPoint()) {
                        sizes.put(file.toPath(), 0L);
                    }
                }
            }
        }
        close();
        for (Map.Entry<Path, Long> size : sizes.entrySet()) {
            try (Stream<Path> files = Files.list(size.getKey().getParent())) {
                for (Path file : files.filter(file -> !tears && file.toString().endsWith("index")).toArray(Path[]::new)) {
                    Files.delete(file);
                }
            }
            if (size.getValue() < 0) {
                Files.delete(size.getKey());
                continue;
            }
            try (FileChannel channel = FileChannel.open(size.getKey(), StandardOpenOption.WRITE)) {
                channel.truncate(size.getValue());
            }
        }
    }

    /** Stores the size of each segment up to offset `end`, or -1 if nothing of its file remains. */
    private static void cut(UnifiedLog log, long end, Map<Path, Long> sizes) {
        boolean isFirst = true;
        for (LogSegment segment : log.logSegments()) {
            long size = 0;
            for (RecordBatch batch : segment.log().batches()) {
                size += batch.lastOffset() < end ? batch.sizeInBytes() : 0;
            }
            sizes.put(segment.log().file().toPath(), isFirst || segment.baseOffset() <= end ? size : -1L);
            isFirst = false;
        }
    }

    /** An operator moves a replica to another directory (AlterReplicaLogDirs). */
    void move(TopicPartition partition, String dir) {
        Reflect.call(manager, "alterReplicaLogDirs",
            scala.collection.immutable.Map$.MODULE$.empty().updated(partition, directory(dir).getAbsolutePath()));
        act();
    }

    boolean isMoving() {
        return moving.isBusy();
    }

    void copy() {
        moving.work();
        act();
    }

    /** Returns a partition's future log in another directory, or null if there is none. */
    UnifiedLog future(TopicPartition partition) {
        kafka.cluster.Partition found = found(partition);
        return found == null ? null : (UnifiedLog) Scala.value(found.futureLog());
    }

    /** Returns why Kafka considers a working directory failed, or null if it does not. */
    IOException failure() {
        return failure;
    }

    /** Notifies LogDirFailureHandler of a failed directory. */
    void fail(String dir) {
        failed.add(directory(dir).getAbsoluteFile());
        manager.handleLogDirFailure(directory(dir).getAbsolutePath(), true);
    }

    List<Uuid> directoryIds() {
        return directories.stream().map(d -> directoryId(id, d.getName())).toList();
    }

    /** Ends the process. The first `kept` records remain on disk. */
    Disk halt(int kept, boolean clean) throws Exception {
        if (clean && log(PARTITION) != null && log().logStartOffset() + checkpoint(log().dir().getParentFile()) > 0) {
            writeLogStart();
        }
        Disk disk = log(PARTITION) == null ? new Disk() : disk(kept);
        disk.savedEpoch = clean ? epoch : -1;
        close();
        return disk;
    }

    /** Returns the data of the log on disk, with the first `kept` records. */
    Disk disk(int kept) throws Exception {
        Disk disk = new Disk();
        UnifiedLog log = log();
        List<int[]> all = entries(log);
        disk.entries = new ArrayList<>(all.subList(0, kept));
        LogSegment segment = segment(log);
        int size = 0;
        for (RecordBatch batch : segment.log().batches()) {
            size += batch.lastOffset() < kept ? batch.sizeInBytes() : 0;
        }
        disk.directory = log.dir().getParentFile().getName();
        disk.segment = Arrays.copyOf(Files.readAllBytes(segment.log().file().toPath()), size);
        if (kept > 0 || all.isEmpty()) {  // otherwise, the files are gone
            disk.base = segment.baseOffset();
            disk.checkpoint = checkpoint(log.dir().getParentFile());
        }
        disk.highWatermark = Math.min(log.highWatermark(), kept);
        return disk;
    }

    /** Releases files and locks, as at the end of a process. */
    void close() {
        List<Object> open = new ArrayList<>();
        open.addAll(Scala.items(Reflect.call(logs, "allLogs")));
        for (Object gone : Scala.items(Reflect.get(logs, "logsToBeDeleted"))) {  // which a thread of Kafka deletes a minute later
            open.add(((scala.Tuple2<?, ?>) gone)._1());  // until 4.3
            open.add(((Map.Entry<?, ?>) gone).getKey());  // since 4.4
        }
        for (Object log : open) {
            try {
                ((UnifiedLog) log).closeHandlers();  // until 4.3
                ((UnifiedLog) log).close();  // since 4.4
            } catch (KafkaStorageException e) {
                continue;  // Kafka has already closed it, in a failed directory or an unfinished shutdown
            }
        }
        for (Object lock : Scala.items(Reflect.get(logs, "dirLocks"))) {
            try {
                Reflect.call(lock, "destroy");
            } catch (RuntimeException e) {
                continue;  // the lock of a failed directory is gone
            }
        }
    }
}
