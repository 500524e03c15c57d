package org.apache.kafka.server.log.remote.storage;

import fencepost.Loop;
import java.io.File;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.SynchronousQueue;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.server.log.remote.metadata.storage.FencepostMetadata;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetsListener;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SegmentDeletionReason;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/** The logs of one partition's replicas, and the tasks of their RemoteLogManager, which run only on command. */
public final class FencepostTiers implements Loop.Driven {
    private static final TopicIdPartition PARTITION = new TopicIdPartition(Uuid.randomUuid(), new TopicPartition("t", 0));
    private static final org.apache.kafka.common.record.SimpleRecord ONE = new org.apache.kafka.common.record.SimpleRecord(1, new byte[1]);
    /** Kafka records per record of the model, because until 4.3, a segment with one record counts as missing from the tier. */
    private static final int EACH = 2;

    private final File root;
    private final int bytes = batch().sizeInBytes();
    private final List<Broker> brokers = new ArrayList<>();
    private int count;
    private int retention;
    private int leader;
    private int epoch;
    private int isr;

    private FencepostTiers(File root) {
        this.root = root;
    }

    public static void main(String[] arguments) throws Exception {
        Loop.run(arguments[0], new FencepostTiers(new File(arguments[0])));
    }

    private static org.apache.kafka.common.record.MemoryRecords batch() {
        return org.apache.kafka.common.record.MemoryRecords.withRecords(
            Compression.NONE, ONE, ONE);
    }

    /** A thread that copies one segment, and waits in the tier's store until a command decides the outcome. */
    public static final class Copy extends Thread {
        private final SynchronousQueue<String> said = new SynchronousQueue<>();
        private final SynchronousQueue<Boolean> isHeld = new SynchronousQueue<>();
        private final Broker broker;
        private RemoteLogSegmentMetadata metadata;

        private Copy(Broker broker) {
            this.broker = broker;
        }

        public static Copy current() {
            return (Copy) Thread.currentThread();
        }

        public void begin(RemoteLogSegmentMetadata begun) throws RemoteStorageException {
            if (metadata != null) {
                throw new RemoteStorageException("it copies one segment");
            }
            metadata = begun;
        }

        @Override public void run() {
            try {
                broker.task.copyLogSegmentsToRemote(broker.log);
                if (metadata == null) {
                    isHeld.put(false);
                }
            } catch (ThreadDeath e) {
                // abandoned
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }

        private void end(String word) throws Exception {
            said.put(word);
            join();
        }
    }

    /** A store that delays copies, and accepts all deletions. */
    public static final class Store implements RemoteStorageManager {
        @Override public Optional<RemoteLogSegmentMetadata.CustomMetadata> copyLogSegmentData(RemoteLogSegmentMetadata m, LogSegmentData data) {
            Copy copy = Copy.current();
            try {
                copy.isHeld.put(true);
                if (copy.said.take().equals("abandon")) {
                    throw new ThreadDeath();
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return Optional.empty();
        }
        @Override public void deleteLogSegmentData(RemoteLogSegmentMetadata metadata) { }
        @Override public InputStream fetchLogSegment(RemoteLogSegmentMetadata metadata, int start) { throw new UnsupportedOperationException(); }
        @Override public InputStream fetchLogSegment(RemoteLogSegmentMetadata metadata, int start, int end) { throw new UnsupportedOperationException(); }
        @Override public InputStream fetchIndex(RemoteLogSegmentMetadata metadata, IndexType type) { throw new UnsupportedOperationException(); }
        @Override public void close() { }
        @Override public void configure(Map<String, ?> settings) { }
    }

    /** A proxy that does nothing, and returns false or such a proxy. Deleted files remain until the next reset. */
    private static Object never(Class<?> type) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
            Class<?> answer = method.getReturnType();
            return answer == boolean.class ? (Object) false : answer.isInterface() ? never(answer) : null;
        });
    }

    private final class Broker {
        private final RemoteLogManager manager;
        private final File folder;
        private UnifiedLog log;
        private RemoteLogManager.RLMCopyTask task;
        private Copy copy;

        private Broker(int id) throws Exception {
            folder = new File(root, id + "/t-0");
            Properties settings = new Properties();
            settings.put("remote.log.storage.system.enable", "true");
            settings.put("remote.log.storage.manager.class.name", Store.class.getName());
            settings.put("remote.log.metadata.manager.class.name", FencepostMetadata.class.getName());
            settings.put("remote.log.metadata.manager.listener.name", "X");
            AbstractConfig config = new AbstractConfig(RemoteLogManagerConfig.configDef(), settings);
            manager = new RemoteLogManager(new RemoteLogManagerConfig(config), id, root.toString(), "c", Time.SYSTEM,
                partition -> Optional.of(log), (partition, offset) -> log.updateLogStartOffsetFromRemoteTier(offset),
                new BrokerTopicStats(true), new Metrics(), Optional.empty());
        }

        private void open(long start) throws Exception {
            folder.mkdirs();
            Properties settings = new Properties();
            settings.put("remote.storage.enable", "true");
            settings.put("retention.bytes", "" + retention * bytes);
            settings.put("local.retention.bytes", "0");
            settings.put("retention.ms", "-1");
            settings.put("local.retention.ms", "-1");
            log = UnifiedLog.create(folder, new LogConfig(settings), start, 0, (Scheduler) never(Scheduler.class), new BrokerTopicStats(true), Time.SYSTEM,
                300000, new ProducerStateManagerConfig(86400000, false), 600000, new LogDirFailureChannel(1), true, Optional.empty(),
                new ConcurrentHashMap<>(), true, LogOffsetsListener.NO_OP_OFFSETS_LISTENER);
        }

        private void reset() throws Exception {
            abandon();
            if (log != null) {
                log.close();
                Utils.delete(folder);
            }
            open(0);
            task = manager.new RLMCopyTask(PARTITION, 128);
        }

        private void abandon() throws Exception {
            if (copy != null) {
                copy.end("abandon");
                copy = null;
            }
        }

        /** The next record starts a new segment. */
        private void roll() throws Exception {
            if (log.activeSegment().size() > 0) {
                log.roll();
            }
        }
    }

    @Override
    public void act(String action, int[] n) throws Exception {
        if (action.equals("reset")) {
            reset(n[0], n[1]);
            return;
        }
        Broker broker = brokers.get(n[0]);
        UnifiedLog log = broker.log;
        switch (action) {
            case "leader-appends": broker.roll(); log.appendAsLeader(batch(), epoch); break;
            case "follower-fetches": fetch(broker, leading()); break;
            case "follower-truncates": log.truncateTo(parting(leading(), log)); break;
            case "follower-starts-over": log.truncateFullyAndStartAt(leading().logStartOffset(), Optional.empty()); break;
            case "follower-rebuilds": rebuild(log, leading()); break;
            case "leader-adds-follower": isr |= 1 << n[0]; break;
            case "leader-removes-follower": isr &= ~(1 << n[0]); break;
            case "controller-elects": elect(n[0]); break;
            case "broker-restarts": restart(n[0]); break;
            case "leader-looks-up-tier": call(broker.task, "maybeUpdateLogStartOffsetOnBecomingLeader", log); call(broker.task, "maybeUpdateCopiedOffset", log); break;
            case "follower-looks-up-tier": broker.manager.new RLMFollowerTask(PARTITION).execute(log); break;
            case "leader-starts-copy": copy(broker); break;
            case "broker-ends-copy": broker.copy.end("done"); broker.copy = null; break;
            case "broker-deletes-segment": delete(log); break;
            case "leader-expires-segments": broker.manager.new RLMExpirationTask(PARTITION).cleanupExpiredRemoteLogSegments(); break;
            case "leader-deletes-records": log.maybeIncrementLogStartOffset(n[1] * EACH, LogStartOffsetIncrementReason.ClientRecordDeletion); break;
            default: throw new IllegalArgumentException("an action that this driver does not know: " + action);
        }
        commit();
    }

    private void reset(int replicas, int most) throws Exception {
        FencepostMetadata.reset();
        count = replicas;
        retention = most;
        epoch = 0;
        leader = 0;
        isr = (1 << replicas) - 1;
        while (brokers.size() < replicas) {
            brokers.add(new Broker(brokers.size()));
        }
        for (Broker broker : brokers) {
            broker.reset();
        }
        leading().assignEpochStartOffset(0, 0);
    }

    private UnifiedLog leading() {
        return brokers.get(leader).log;
    }

    private static int epochAt(UnifiedLog log, long offset) {
        return log.leaderEpochCache().epochForOffset(offset).orElse(-1);
    }

    /** Returns the offset at which a follower's log diverges from the leader's, or the end of the follower's log. */
    private static long parting(UnifiedLog log, UnifiedLog other) {
        long end = Math.min(log.logEndOffset(), other.logEndOffset());
        for (long offset = Math.max(log.logStartOffset(), other.logStartOffset()); offset < end; offset++) {
            if (epochAt(log, offset) != epochAt(other, offset)) {
                return offset;
            }
        }
        return end;
    }

    /** Like Partition.maybeIncrementLeaderHW. */
    private void commit() throws Exception {
        if (leader < 0) {
            return;
        }
        long reached = leading().logEndOffset();
        for (int id = 0; id < count; id++) {
            reached = (isr >> id & 1) == 0 ? reached : Math.min(reached, parting(leading(), brokers.get(id).log));
        }
        if (reached > leading().highWatermark()) {
            leading().updateHighWatermark(reached);
        }
    }

    /** Like ReplicaFetcherThread.processPartitionData. */
    private static void fetch(Broker follower, UnifiedLog from) throws Exception {
        UnifiedLog log = follower.log;
        log.truncateTo(log.logEndOffset());  // removes an epoch that it led without a record, as after a diverging answer
        org.apache.kafka.common.record.Records records = from.read(log.logEndOffset(), 1, FetchIsolation.LOG_END, true).records;
        if (records.sizeInBytes() > 0) {
            java.nio.ByteBuffer buffer = java.nio.ByteBuffer.allocate(records.sizeInBytes());
            ((org.apache.kafka.common.record.FileRecords) records).readInto(buffer, 0);
            follower.roll();
            log.appendAsFollower(org.apache.kafka.common.record.MemoryRecords.readableRecords(buffer), Integer.MAX_VALUE);
        }
        log.maybeUpdateHighWatermark(from.highWatermark());
        log.maybeIncrementLogStartOffset(from.logStartOffset(), LogStartOffsetIncrementReason.LeaderOffsetIncremented);
    }

    /** Like TierStateMachine.buildRemoteLogAuxState, but with the leader's epochs. */
    private static void rebuild(UnifiedLog log, UnifiedLog from) throws Exception {
        long last = from.localLogStartOffset() - 1;
        Optional<RemoteLogSegmentMetadata> found = new FencepostMetadata().remoteLogSegmentMetadata(PARTITION, epochAt(from, last), last);
        long end = found.orElseThrow(() -> new Loop.Refused("the tier has no such segment")).endOffset() + 1;
        log.truncateFullyAndStartAt(end, Optional.of(from.logStartOffset()));
        log.maybeIncrementLogStartOffset(from.logStartOffset(), LogStartOffsetIncrementReason.LeaderOffsetIncremented);
        log.maybeIncrementLocalLogStartOffset(end, LogStartOffsetIncrementReason.LeaderOffsetIncremented);
        log.leaderEpochCache().assign(from.leaderEpochCache().epochEntriesInRange(0, end));
    }

    private void elect(int id) throws Exception {
        Broker broker = brokers.get(id);
        broker.abandon();
        leader = id;
        epoch++;
        isr = (isr >> id & 1) == 1 ? isr : 1 << id;
        broker.task = broker.manager.new RLMCopyTask(PARTITION, 128);
        broker.log.assignEpochStartOffset(epoch, broker.log.logEndOffset());
    }

    private void restart(int id) throws Exception {
        Broker broker = brokers.get(id);
        broker.abandon();
        long watermark = broker.log.highWatermark();
        long start = broker.log.logStartOffset();
        broker.log.flush(true);
        broker.log.close();
        broker.open(start);
        broker.log.updateHighWatermark(watermark);
        broker.task = broker.manager.new RLMCopyTask(PARTITION, 128);
        leader = leader == id ? -1 : leader;
    }

    private void copy(Broker broker) throws Exception {
        broker.copy = new Copy(broker);
        broker.copy.setDaemon(true);
        broker.copy.start();
        if (!broker.copy.isHeld.take()) {
            broker.copy = null;
            throw new Loop.Refused("no segment can be copied");
        }
    }

    /** Calls UnifiedLog.deleteOldSegments, with only the first segment due. */
    private static void delete(UnifiedLog log) throws Exception {
        Method method = UnifiedLog.class.getDeclaredMethod("deleteOldSegments", UnifiedLog.DeletionCondition.class, SegmentDeletionReason.class);
        method.setAccessible(true);
        LogSegment first = log.logSegments().iterator().next();
        method.invoke(log, (UnifiedLog.DeletionCondition) (segment, next) -> segment == first, (SegmentDeletionReason) segments -> { });
    }

    private static Object call(Object on, String name, UnifiedLog... log) throws Exception {
        Method method = on.getClass().getDeclaredMethod(name, log.length == 0 ? new Class<?>[0] : new Class<?>[] {UnifiedLog.class});
        method.setAccessible(true);
        return method.invoke(on, (Object[]) log);
    }

    @Override
    public String state() throws Exception {
        StringBuilder out = new StringBuilder("{\"leader\":" + leader + ",\"leader_epoch\":" + epoch + ",\"isr\":" + isr + ",\"replica\":[");
        List<RemoteLogSegmentId> held = new ArrayList<>();
        List<RemoteLogSegmentId> ids = new ArrayList<>();
        new FencepostMetadata().listRemoteLogSegments(PARTITION).forEachRemaining(one -> ids.add(one.remoteLogSegmentId()));
        for (Broker broker : brokers.subList(0, count)) {
            UnifiedLog log = broker.log;
            List<Integer> epochs = new ArrayList<>();
            for (long offset = log.logStartOffset(); offset < log.logEndOffset(); offset += EACH) {
                epochs.add(epochAt(log, offset));
            }
            String copying = "[-1,0,0]";
            if (broker.copy != null && ids.contains(broker.copy.metadata.remoteLogSegmentId())) {
                RemoteLogSegmentMetadata one = broker.copy.metadata;
                held.add(one.remoteLogSegmentId());
                copying = "[" + one.startOffset() / EACH + "," + (one.endOffset() + 1) / EACH + "," + one.segmentLeaderEpochs().lastKey() + "]";
            }
            Field copied = broker.task.getClass().getDeclaredField("copiedOffsetOption");
            copied.setAccessible(true);
            Optional<?> last = (Optional<?>) copied.get(broker.task);
            out.append(broker == brokers.get(0) ? "" : ",").append("{\"log\":" + epochs + ",\"start\":" + log.logStartOffset() / EACH
                + ",\"local\":" + log.localLogStartOffset() / EACH + ",\"first\":" + log.logSegments().iterator().next().baseOffset() / EACH
                + ",\"end\":" + log.logEndOffset() / EACH + ",\"high_watermark\":" + log.highWatermark() / EACH
                + ",\"tiered\":" + ((long) call(log, "highestOffsetInRemoteStorage") + 1) / EACH + ",\"copying\":" + copying + ",\"copied\":"
                + (last.isEmpty() ? -1 : (((org.apache.kafka.server.common.OffsetAndEpoch) last.get()).offset() + 1) / EACH) + "}");
        }
        List<String> tier = new ArrayList<>();
        for (Iterator<RemoteLogSegmentMetadata> all = new FencepostMetadata().listRemoteLogSegments(PARTITION); all.hasNext();) {
            RemoteLogSegmentMetadata one = all.next();
            if (!held.contains(one.remoteLogSegmentId())) {
                tier.add("[" + one.segmentLeaderEpochs().lastKey() + "," + one.startOffset() / EACH + "," + (one.endOffset() + 1) / EACH + ","
                    + (one.state() == RemoteLogSegmentState.COPY_SEGMENT_FINISHED ? 0 : 1) + "]");
            }
        }
        List<Long> highest = new ArrayList<>();
        for (int number = 0; number <= epoch; number++) {
            highest.add((new FencepostMetadata().highestOffsetForEpoch(PARTITION, number).orElse(-1L) + 1) / EACH);
        }
        return out.append("],\"tier\":" + tier + ",\"highest\":" + highest + "}").toString();
    }
}
