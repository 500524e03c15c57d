package fencepost;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.storage.internals.log.LogOffsetsListener;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.pastalab.fray.runtime.Runtime;
import kafka.log.UnifiedLog;  // until 4.0
import org.apache.kafka.storage.internals.log.UnifiedLog;  // since 4.1

/** Judges what threads show while they run: high watermarks, answers, epochs. Between two scheduling points, it sees a consistent state. */
final class Shown {
    /** The first violation. It is not thrown, because some of Kafka's threads catch everything. */
    Judge.Violation violation;
    private final Cluster c;
    /** For each broker and partition: the partition, and the leader epoch and the high watermark of the last update as a leader. */
    private final kafka.cluster.Partition[][] partitions;
    private final int[][] epochs;
    private final long[][] heights;
    /** The broker that each write was sent to, and the record that was acknowledged at each offset. */
    private final Map<Integer, Integer> receivers = new HashMap<>();
    private final Map<Cluster.Write, Integer> answers = new HashMap<>();
    private final List<TreeMap<Long, Integer>> acknowledged = new ArrayList<>();
    /** For each broker and partition, the log end at which it had entered an epoch. */
    private final List<List<TreeMap<Integer, Long>>> entered = new ArrayList<>();
    private final List<List<Object>> timers = new ArrayList<>();
    private final List<List<UnifiedLog>> logs = new ArrayList<>();

    Shown(Cluster c) {
        this.c = c;
        int brokers = c.shape.brokers();
        int count = c.shape.partitions();
        partitions = new kafka.cluster.Partition[brokers][count];
        epochs = new int[brokers][count];
        heights = new long[brokers][count];
        for (int b = 0; b < brokers; b++) {
            entered.add(new ArrayList<>());
            timers.add(new ArrayList<>());
            logs.add(new ArrayList<>());
            for (int p = 0; p < count; p++) {
                entered.get(b).add(new TreeMap<>());
            }
        }
        for (int p = 0; p < count; p++) {
            acknowledged.add(new TreeMap<>());
        }
        c.writes.forEach(w -> receivers.put(w.value, w.leader.id));
    }

    /** Runs a check in which no other thread takes a turn. It must not wait for a lock. */
    private void check(Runnable body) {
        if (violation != null) {
            return;
        }
        Runtime.onSkipScheduling("fencepost");
        try {
            body.run();
        } finally {
            Runtime.onSkipSchedulingDone("fencepost");
        }
    }

    private void violate(String message) {
        violation = violation == null ? new Judge.Violation(message) : violation;
    }

    private static String where(int b, int p) {
        return "broker " + b + ", partition " + p + ": ";
    }

    // ---- before the threads

    /** Observes each high watermark of a broker, and its timers. */
    void watch(Broker b) throws Exception {
        for (int p = 0; p < partitions[b.id].length; p++) {
            kafka.cluster.Partition of = b.found(c.partitions.get(p));
            UnifiedLog log = b.log(c.partitions.get(p));
            partitions[b.id][p] = of;
            epochs[b.id][p] = -1;
            logs.get(b.id).add(log);
            if (log == null) {
                continue;
            }
            if (of.isLeader()) {
                epochs[b.id][p] = of.getLeaderEpoch();
                heights[b.id][p] = log.highWatermark();
            }
            int number = p;
            LogOffsetsListener theirs = (LogOffsetsListener) Reflect.get(log, "logOffsetsListener");
            log.setLogOffsetsListener(new LogOffsetsListener() {
                @Override public void onHighWatermarkUpdated(long offset) {
                    check(() -> raised(b.id, number, log, offset));
                    theirs.onHighWatermarkUpdated(offset);
                }
            });
        }
        for (String name : List.of("delayedProducePurgatory", "delayedFetchPurgatory")) {
            Object purgatory = Reflect.call(b.manager, name);
            Class<?> type = Reflect.field(purgatory.getClass(), "timeoutTimer").getType();
            Reflect.set(purgatory, purgatory.getClass(), "timeoutTimer", Reflect.proxy(type, (self, method, arguments) -> {
                if (method.getName().equals("add")) {
                    timers.get(b.id).add(arguments[0]);
                }
                return method.getReturnType() == int.class ? (Object) 0 : method.getReturnType() == boolean.class ? (Object) false : null;
            }));
            Reflect.set(purgatory, purgatory.getClass(), "timerEnabled", true);
        }
    }

    void sent(int value, int b) {
        receivers.put(value, b);
    }

    // ---- while threads run

    private void raised(int b, int p, UnifiedLog log, long offset) {
        kafka.cluster.Partition of = partitions[b][p];
        if (offset > log.logEndOffset()) {
            violate(where(b, p) + "the high watermark " + offset + " is beyond the end of the log, " + log.logEndOffset());
        }
        if (!of.isLeader()) {
            epochs[b][p] = -1;
            return;
        }
        int epoch = of.getLeaderEpoch();
        if (epochs[b][p] == epoch && offset < heights[b][p]) {
            violate(where(b, p) + "the high watermark of the leader goes back from " + heights[b][p] + " to " + offset + " in epoch " + epoch);
        }
        epochs[b][p] = epoch;
        heights[b][p] = offset;
        for (Object member : Scala.items(Reflect.call(Reflect.call(of, "partitionState"), "isr"))) {
            UnifiedLog other = logs.get((int) Reflect.number(member)).get(p);
            if (c.shape.faults() == 0 && other != null && other.logEndOffset() < offset) {
                violate(where(b, p) + "the high watermark is " + offset + ", and the log of broker " + member + " of the ISR ends at " + other.logEndOffset());
            }
        }
    }

    /** Returns the epoch and the high watermark that a leader has shown for each partition. */
    long[] heights(int b) {
        long[] found = new long[2 * heights[b].length];
        for (int p = 0; p < heights[b].length; p++) {
            found[2 * p] = epochs[b][p];
            found[2 * p + 1] = heights[b][p];
        }
        return found;
    }

    /** An answer to a fetch that was sent after the leader had shown the high watermarks `before`. */
    void fetched(int b, int p, FetchRequest.PartitionData asked, FetchPartitionData read, long[] before) {
        if (read.error == Errors.UNKNOWN_SERVER_ERROR) {
            violate(where(b, p) + "a fetch fails with " + read.error);
        }
        check(() -> {
            boolean isSame = before[2 * p] >= 0 && epochs[b][p] == before[2 * p];
            if (read.error == Errors.NONE && isSame && read.highWatermark < before[2 * p + 1]) {
                violate(where(b, p) + "a fetch shows the high watermark " + read.highWatermark + " after " + before[2 * p + 1] + " was shown");
            }
            long next = -1;
            for (RecordBatch batch : read.records.batches()) {
                if (next < 0 && (batch.lastOffset() < asked.fetchOffset) || next >= 0 && batch.baseOffset() != next) {
                    violate(where(b, p) + "a fetch from " + asked.fetchOffset + " reads a batch at " + batch.baseOffset() + ", expected " + next);
                }
                next = batch.lastOffset() + 1;
            }
        });
    }

    void answered(Cluster.Write write, int b, ProduceResponse.PartitionResponse answer) {
        int p = write.partition;
        check(() -> {
            if (answer.error == Errors.UNKNOWN_SERVER_ERROR || answer.error == Errors.KAFKA_STORAGE_ERROR && c.shape.faults() == 0) {
                violate(where(b, p) + "a write fails with " + answer.error + ": " + answer.errorMessage);
            }
            if (answer.error != Errors.NONE) {
                return;
            }
            Integer other = acknowledged.get(p).put(answer.baseOffset, write.value);
            if (other != null && other != write.value) {
                violate(where(b, p) + "records " + other + " and " + write.value + " are both acknowledged at offset " + answer.baseOffset);
            }
            int complete = 0;
            for (int of = 0; of < c.shape.brokers(); of++) {
                UnifiedLog log = logs.get(of).get(p);
                complete += log != null && log.logEndOffset() > answer.baseOffset ? 1 : 0;
            }
            if (c.shape.faults() == 0 && complete < c.shape.minIsr()) {
                violate(where(b, p) + "record " + write.value + " is acknowledged at offset " + answer.baseOffset + ", which " + complete + " logs have");
            }
        });
        write.take(answer);
    }

    /** Notes the log end at which a broker has entered an epoch: no request of an earlier epoch may append behind it. */
    void published(Broker up) {
        for (int p = 0; p < c.shape.partitions(); p++) {
            int number = p;
            check(() -> {
                kafka.cluster.Partition of = partitions[up.id][number];
                UnifiedLog log = logs.get(up.id).get(number);
                PartitionRegistration seen = up.image().topics().getPartition(c.topic, number);
                if (of == null || log == null || seen == null || !up.offline.isEmpty()) {
                    return;
                }
                if (of.getLeaderEpoch() != seen.leaderEpoch || of.isLeader() != (seen.leader == up.id)) {
                    violate(where(up.id, number) + "it is " + (of.isLeader() ? "leader" : "follower") + " in epoch " + of.getLeaderEpoch()
                        + " after it applied leader " + seen.leader + " in epoch " + seen.leaderEpoch);
                }
                entered.get(up.id).get(number).putIfAbsent(seen.leaderEpoch, log.logEndOffset());
            });
        }
    }

    void deleted(int b, int p, UnifiedLog log, long low) {
        check(() -> {
            if (log.logStartOffset() < low && partitions[b][p].isLeader()) {
                violate(where(b, p) + "records were deleted up to " + low + ", and its log starts at " + log.logStartOffset());
            }
            c.everDeleted[p] = Math.max(c.everDeleted[p], log.logStartOffset());
            c.deleted[p] = Math.max(c.deleted[p], log.logStartOffset());
        });
    }

    void ends(int b, int p, Object answer, int epoch) {
        check(() -> {
            long end = Reflect.number(Reflect.call(answer, "endOffset"));
            int of = (int) Reflect.number(Reflect.call(answer, "leaderEpoch"));
            if (of > epoch) {
                violate(where(b, p) + "in epoch " + epoch + " it answers that epoch " + of + " ends at " + end);
            }
        });
    }

    void snapshot(int b, int p, Object snapshot) {
        check(() -> {
            Object end = Reflect.get(snapshot, "logEndOffset");
            Object high = Reflect.get(snapshot, "highWatermark");
            if (Reflect.number(Reflect.get(high, "messageOffset")) > Reflect.number(Reflect.get(end, "messageOffset"))) {
                violate(where(b, p) + "its offsets are " + snapshot);
            }
        });
    }

    /** The timer: requests that wait in purgatories time out. */
    void expire(int b) {
        List<Object> due = new ArrayList<>(timers.get(b));
        timers.get(b).clear();
        due.forEach(task -> ((Runnable) task).run());
    }

    // ---- after the threads

    /** Checks the state that the threads have left, before anything else happens. */
    void end() throws Exception {
        if (violation != null) {
            throw violation;
        }
        for (Broker b : c.up) {
            for (int p = 0; p < c.shape.partitions(); p++) {
                kafka.cluster.Partition of = b.found(c.partitions.get(p));
                UnifiedLog log = b.log(c.partitions.get(p));
                if (log != null && b.offline.isEmpty()) {
                    epochsOf(b, p, log);
                    fetcher(b, p, of, log);
                    files(b, p, log);
                }
            }
        }
    }

    private void epochsOf(Broker b, int p, UnifiedLog log) {
        for (LogSegment segment : log.logSegments()) {
            for (RecordBatch batch : segment.log().batches()) {
                for (org.apache.kafka.common.record.Record r : batch) {
                    Integer receiver = receivers.get(Broker.record(r.value()));
                    Map.Entry<Integer, Long> later = entered.get(b.id).get(p).higherEntry(batch.partitionLeaderEpoch());
                    if (later != null && receiver != null && receiver == b.id && r.offset() >= later.getValue()) {
                        throw new Judge.Violation(where(b.id, p) + "offset " + r.offset() + " was appended in epoch " + batch.partitionLeaderEpoch()
                            + " after the broker had entered epoch " + later.getKey() + " with a log of " + later.getValue() + " records");
                    }
                }
            }
        }
    }

    private boolean hasFailed(Broker b, int p) {
        return (boolean) Reflect.call(b.fetching.manager.failedPartitions(), "contains", c.partitions.get(p));
    }

    /** Checks that a follower has a fetcher in its epoch, and a leader has none. */
    private void fetcher(Broker b, int p, kafka.cluster.Partition of, UnifiedLog log) {
        TopicPartition partition = c.partitions.get(p);
        PartitionRegistration seen = b.image().topics().getPartition(c.topic, p);
        if (seen == null || of.getLeaderEpoch() != seen.leaderEpoch || hasFailed(b, p)) {
            return;  // a leader in a later epoch lets a fetcher wait for metadata
        }
        Object state = null;
        int fetchers = 0;
        for (int leader = 0; leader < c.shape.brokers(); leader++) {
            Fetching.Fetcher fetcher = b.fetching.fetcher(leader);
            Object found = fetcher == null ? null : Scala.value(Reflect.call(fetcher, "fetchState", partition));
            state = found == null ? state : found;
            fetchers += found == null ? 0 : 1;
        }
        boolean needs = !of.isLeader() && seen.leader >= 0 && b.image().cluster().broker(seen.leader) != null
            && !b.image().cluster().broker(seen.leader).fenced();
        if (fetchers > 1 || fetchers == 1 && of.isLeader() || fetchers == 0 && needs) {
            throw new Judge.Violation(where(b.id, p) + "it has " + fetchers + " fetchers as " + (of.isLeader() ? "leader" : "follower of broker " + seen.leader));
        }
        if (state != null && Reflect.number(Reflect.call(state, "currentLeaderEpoch")) != seen.leaderEpoch) {
            throw new Judge.Violation(where(b.id, p) + "its fetcher is in epoch " + Reflect.call(state, "currentLeaderEpoch") + " instead of " + seen.leaderEpoch);
        }
        if (state != null && Reflect.number(Reflect.call(state, "fetchOffset")) != log.logEndOffset()) {
            throw new Judge.Violation(where(b.id, p) + "its fetcher is at " + Reflect.call(state, "fetchOffset") + ", and its log ends at " + log.logEndOffset());
        }
    }

    /** Checks that the fields of a log agree with each other and with its files. */
    private static void files(Broker b, int p, UnifiedLog log) throws Exception {
        Object end = Reflect.call(log, "logEndOffsetMetadata");
        LogSegment active = log.activeSegment();
        long read = active.readNextOffset();
        if (read != log.logEndOffset() || Reflect.number(Reflect.get(end, "segmentBaseOffset")) != active.baseOffset()
            || Reflect.number(Reflect.get(end, "relativePositionInSegment")) != active.size()) {
            throw new Judge.Violation(where(b.id, p) + "its log ends at " + end + ", and its last segment, of " + active.size() + " bytes, at " + read);
        }
        long produced = Reflect.number(Reflect.call(Reflect.call(log, "producerStateManager"), "mapEndOffset"));
        if (produced != log.logEndOffset()) {
            throw new Judge.Violation(where(b.id, p) + "the state of its producers ends at " + produced + ", and its log at " + log.logEndOffset());
        }
        if (log.recoveryPoint() > log.logEndOffset()) {
            throw new Judge.Violation(where(b.id, p) + "its recovery point is " + log.recoveryPoint() + ", and its log ends at " + log.logEndOffset());
        }
    }

    /** Checks the state after everything has arrived. */
    void settled() throws Exception {
        for (Broker b : c.up) {
            for (int p = 0; p < c.shape.partitions(); p++) {
                kafka.cluster.Partition of = b.found(c.partitions.get(p));
                UnifiedLog log = b.log(c.partitions.get(p));
                if (log == null || !b.offline.isEmpty()) {
                    continue;
                }
                files(b, p, log);
                if (hasFailed(b, p)) {
                    throw new Judge.Violation(where(b.id, p) + "its fetcher has given up");
                }
                PartitionRegistration now = c.registration(p);
                int isr = Scala.bits(Reflect.call(Reflect.call(of, "partitionState"), "isr"));
                if (of.isLeader() && (isr != Scala.bits(now.isr) || of.getPartitionEpoch() != now.partitionEpoch)) {
                    throw new Judge.Violation(where(b.id, p) + "its ISR is " + Integer.toBinaryString(isr) + " in partition epoch " + of.getPartitionEpoch()
                        + ", and the controller's " + Arrays.toString(now.isr) + " in " + now.partitionEpoch);
                }
            }
        }
    }
}
