package fencepost;

import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.PartitionRegistration;
import kafka.log.UnifiedLog;  // until 4.0
import org.apache.kafka.storage.internals.log.UnifiedLog;  // since 4.1

/** Judges a cluster after each step, by rules that must always hold, and at the end, by rules that must eventually hold. */
final class Judge {
    /** Thrown if a rule is violated. */
    static final class Violation extends RuntimeException {
        Violation(String message) {
            super(message, null, false, false);
        }
    }

    /** A log as it was read: the record and the leader epoch at each offset from `first` on. */
    private static final class Copy {
        long first;
        long start;
        long end;
        long highWatermark;
        /** The bytes that the records were read from, and everything that they were compared with. */
        List<Object> source;
        int[] values = new int[16];
        int[] epochs = new int[16];
        int count;

        void add(int value, int epoch) {
            if (count == values.length) {
                values = Arrays.copyOf(values, 2 * count);
                epochs = Arrays.copyOf(epochs, 2 * count);
            }
            values[count] = value;
            epochs[count++] = epoch;
        }

        /** Returns the record at an offset, or 0 if there is none. */
        int value(long offset) {
            return offset < Math.max(start, first) || offset >= first + count ? 0 : values[(int) (offset - first)];
        }

        boolean contains(int value, long from) {
            return IntStream.range(0, count).anyMatch(i -> values[i] == value && first + i >= from);
        }

        int epoch(long offset) {
            return epochs[(int) (offset - first)];
        }
    }

    private final Cluster c;
    private final Copy[][] copies;
    private final ProducerJudge producers;
    private final List<Map<Integer, Integer>> leaders = new ArrayList<>();
    /** The records below a leader's high watermark, which consumers can read. */
    private final List<TreeMap<Long, Integer>> readable = new ArrayList<>();
    /** For each leader, its last high watermark, with the process and the epoch. */
    private final Object[][][] heights;
    private final PartitionRegistration[] registrations;
    private Object topic;
    private int records = -1;

    Judge(Cluster c) {
        this.c = c;
        producers = new ProducerJudge(c);
        copies = new Copy[c.shape.brokers()][c.shape.partitions()];
        registrations = new PartitionRegistration[c.shape.partitions()];
        heights = new Object[c.shape.brokers()][c.shape.partitions()][];
    }

    private void forget() {
        topic = c.topic;
        Arrays.fill(registrations, null);
        leaders.clear();
        readable.clear();
        for (int p = 0; p < c.shape.partitions(); p++) {
            leaders.add(new HashMap<>());
            readable.add(new TreeMap<>());
        }
    }

    /** Checks the rules that hold between any two steps. Logs are read again only if a step may have changed them. */
    void look() throws Exception {
        if (c.topic != topic) {
            forget();
        }
        if (c.touched == 0 && records == c.controller.log.size()) {
            return;
        }
        records = c.controller.log.size();
        for (int b = 0; b < c.shape.brokers(); b++) {
            if (c.up[b] != null && (c.touched & 1 << b) != 0 && c.up[b].failure() != null) {
                throw new Violation("broker " + b + " takes a directory for failed that works, since " + c.up[b].failure());
            }
            for (int p = 0; p < c.shape.partitions(); p++) {
                if ((c.touched & 1 << b) != 0) {
                    UnifiedLog log = c.log(b, p);
                    copies[b][p] = log == null ? null : read(b, p, log);
                    if (log != null) {
                        role(b, p, copies[b][p]);
                        if (c.producers.areUsed()) {
                            producers.judge(b, p, log, (ByteBuffer) copies[b][p].source.get(0));
                        }
                    }
                }
                if (copies[b][p] != null && !c.excused) {
                    ledger(b, p, copies[b][p]);
                }
            }
        }
        c.touched = 0;
        c.producers.rejected = null;
        if (c.producers.wrong != null) {
            throw new Violation(c.producers.wrong);
        }
        for (int p = 0; p < c.shape.partitions(); p++) {
            controller(p);
        }
    }

    /** Checks the controller's state: the leader is in the ISR and may lead, and the ELR and the ISR contain replicas and are disjoint. */
    private void controller(int p) {
        PartitionRegistration r = c.registration(p);
        String of = "partition " + p + " ";
        PartitionRegistration was = registrations[p];
        registrations[p] = r;
        if (was != null && !was.equals(r)) {
            boolean needsEpoch = was.leader != r.leader || Arrays.stream(was.replicas).anyMatch(b -> !contains(r.replicas, b));
            if (r.partitionEpoch <= was.partitionEpoch && !Arrays.equals(was.isr, r.isr) || r.leaderEpoch < was.leaderEpoch + (needsEpoch ? 1 : 0)) {
                throw new Violation(of + "changes its leader, ISR or replicas without a new epoch");
            }
        }
        // until 4.0, a broker that registers again within its session is fenced but still leads
        boolean fences = false;  // until 4.0
        boolean fences = true;  // since 4.1
        if (r.leader >= 0 && (fences && !c.unfenced(r.leader) || !contains(r.isr, r.leader))) {
            throw new Violation(of + "is led by broker " + r.leader + ", which is fenced or not in the ISR");
        }
        if (r.leader >= 0 && c.controller.registration(r.leader) != null && !c.controller.registration(r.leader).hasOnlineDir(r.directory(r.leader))) {
            throw new Violation(of + "is led by broker " + r.leader + ", which has reported that its directory has failed");
        }
        for (int b : r.elr) {
            if (contains(r.isr, b) || !contains(r.replicas, b)) {
                throw new Violation(of + "has broker " + b + " in the ELR, which is in the ISR or no replica");
            }
        }
        for (int b : r.isr) {
            boolean isLast = r.isr.length == 1 && r.leader < 0;
            if (fences && !c.unfenced(b) && !isLast || !contains(r.replicas, b)) {
                throw new Violation(of + "has broker " + b + " in the ISR, which is fenced or no replica");
            }
        }
    }

    private static String where(int b, int p) {
        return "broker " + b + ", partition " + p + ": ";
    }

    private Copy read(int b, int p, UnifiedLog log) throws Exception {
        Copy found = new Copy();
        found.start = log.logStartOffset();
        found.end = log.logEndOffset();
        found.highWatermark = log.highWatermark();
        if (found.highWatermark > found.end || found.highWatermark < found.start) {
            throw new Violation(where(b, p) + "the high watermark " + found.highWatermark + " is not in the log, "
                + found.start + " to " + found.end);
        }
        Object cache = cache(log);
        Object earliest = Scala.value(Reflect.call(cache, "earliestEntry"));
        if (earliest != null && Reflect.number(Reflect.get(earliest, "startOffset")) < found.start) {
            throw new Violation(where(b, p) + "the epoch cache starts at " + Reflect.get(earliest, "startOffset") + ", and its log at " + found.start);
        }
        ByteBuffer bytes = bytes(log);
        found.source = List.of(bytes, found.start, found.end, c.everDeleted[p], Reflect.call(cache, "epochEntries"));
        if (copies[b][p] != null && copies[b][p].source.equals(found.source)) {
            copies[b][p].highWatermark = found.highWatermark;
            return copies[b][p];
        }
        int before = -1;
        long deleted = Math.max(found.start, c.everDeleted[p]);
        for (RecordBatch batch : MemoryRecords.readableRecords(bytes).batches()) {
            for (org.apache.kafka.common.record.Record r : batch) {
                int epoch = batch.partitionLeaderEpoch();
                if (found.count == 0) {
                    found.first = r.offset();
                } else if (r.offset() != found.first + found.count) {
                    throw new Violation(where(b, p) + "offset " + r.offset() + " follows " + (found.first + found.count - 1));
                }
                // records below a log start may be those of a leader that was truncated elsewhere
                if (epoch < before && r.offset() > deleted) {
                    throw new Violation(where(b, p) + "the leader epochs in its log go back at offset " + r.offset());
                }
                int cached = r.offset() < deleted ? epoch : epoch(cache, r.offset());
                if (cached != epoch) {
                    throw new Violation(where(b, p) + "offset " + r.offset() + " has epoch " + epoch + ", and the epoch cache has " + cached);
                }
                // the number of a transaction, which the coordinator may end with several markers, is negative
                int value = batch.isControlBatch() ? -EndTransactionMarker.deserialize(r).coordinatorEpoch() : Broker.record(r.value());
                if (!c.excused && value > 0 && found.contains(value, deleted)) {
                    throw new Violation(where(b, p) + "record " + value + " of an idempotent producer is there twice");
                }
                found.add(value, epoch);
                before = epoch;
            }
        }
        if (found.count > 0 && found.first + found.count != found.end) {
            throw new Violation(where(b, p) + "its records end at " + (found.first + found.count) + ", and its log at " + found.end);
        }
        return found;
    }

    private static ByteBuffer bytes(UnifiedLog log) throws Exception {
        List<FileRecords> files = new ArrayList<>();
        log.logSegments().forEach(segment -> files.add(segment.log()));
        ByteBuffer all = ByteBuffer.allocate(files.stream().mapToInt(FileRecords::sizeInBytes).sum());
        for (FileRecords file : files) {
            ByteBuffer of = all.slice(all.position(), file.sizeInBytes());
            file.readInto(of, 0);
            all.position(all.position() + file.sizeInBytes());
        }
        return all.flip();
    }

    private void role(int b, int p, Copy copy) {
        kafka.cluster.Partition partition = c.up[b].found(c.partitions.get(p));
        PartitionRegistration seen = c.up[b].image().topics().getPartition(c.topic, p);
        if (seen == null || !contains(seen.replicas, b)) {
            return;
        }
        if (partition.isLeader() != (seen.leader == b) || partition.getLeaderEpoch() != seen.leaderEpoch) {
            throw new Violation(where(b, p) + "it is " + (partition.isLeader() ? "leader" : "follower") + " in epoch "
                + partition.getLeaderEpoch() + ", and its image has leader " + seen.leader + " in epoch " + seen.leaderEpoch);
        }
        if (copy.count > 0 && copy.epochs[copy.count - 1] > seen.leaderEpoch) {
            throw new Violation(where(b, p) + "its log has a record of epoch " + copy.epochs[copy.count - 1] + ", and it is in epoch " + seen.leaderEpoch);
        }
        if (partition.isLeader()) {
            Integer other = leaders.get(p).putIfAbsent(seen.leaderEpoch, b);
            if (other != null && other != b) {
                throw new Violation("brokers " + other + " and " + b + " lead partition " + p + " in epoch " + seen.leaderEpoch);
            }
            Object[] was = heights[b][p];
            if (was != null && was[0] == c.up[b] && was[1].equals(seen.leaderEpoch) && was[2] == c.topic && (long) was[3] > copy.highWatermark) {
                throw new Violation(where(b, p) + "the high watermark of the leader goes back from " + was[3] + " to " + copy.highWatermark);
            }
            heights[b][p] = new Object[] {c.up[b], seen.leaderEpoch, c.topic, copy.highWatermark};
        }
    }

    /** Checks that leaders, and brokers that may be elected, have all records that were acknowledged or could be read. */
    private void ledger(int b, int p, Copy copy) {
        PartitionRegistration r = c.registration(p);
        boolean knows = c.connected(b) != null && c.up[b].image().topics().getPartition(c.topic, p) != null;
        if (!knows || !c.unfenced(b)) {
            return;
        }
        boolean leads = r.leader == b && c.leads(b, p) && c.up[b].found(c.partitions.get(p)).getLeaderEpoch() == r.leaderEpoch;
        boolean isIn = contains(r.isr, b);
        if (!leads && !isIn && !(c.hasElr && contains(r.elr, b))) {
            return;
        }
        String as = leads ? "it leads in epoch " + r.leaderEpoch : "it is in the " + (isIn ? "ISR" : "ELR");
        if (leads && copy.start > c.deleted[p]) {
            throw new Violation(where(b, p) + "it leads with a log that starts at " + copy.start + ", and records were deleted up to " + c.deleted[p]);
        }
        for (Cluster.Write w : c.writes) {
            if (w.partition == p && w.acknowledged() && w.answer.baseOffset >= c.deleted[p]) {
                int there = copy.value(w.answer.baseOffset);
                if (there != w.value) {
                    throw new Violation(where(b, p) + as + " without record " + w.value
                        + ", which was acknowledged at offset " + w.answer.baseOffset + (there == 0 ? "" : ": record " + there + " is there"));
                }
            }
        }
        TreeMap<Long, Integer> known = readable.get(p);
        for (Map.Entry<Long, Integer> e : known.tailMap(Math.max(copy.start, c.deleted[p])).entrySet()) {
            if (copy.value(e.getKey()) != e.getValue()) {
                throw new Violation(where(b, p) + as + " without record " + e.getValue() + ", which consumers could read at offset " + e.getKey());
            }
        }
        for (long o = Math.max(copy.start, known.isEmpty() ? 0 : known.lastKey() + 1); leads && o < copy.highWatermark; o++) {
            known.put(o, copy.value(o));
        }
    }

    static int epoch(UnifiedLog log, long offset) {
        return epoch(cache(log), offset);
    }

    private static Object cache(UnifiedLog log) {
        Object cache = Reflect.call(log, "leaderEpochCache");
        return cache instanceof java.util.Optional || cache instanceof scala.Option ? Scala.value(cache) : cache;
    }

    private static int epoch(Object cache, long offset) {
        Method of = Reflect.method(cache.getClass(), "epochForOffset", 1);
        return ((OptionalInt) Reflect.invoke(of, cache, offset)).orElse(-1);
    }

    // ---- the end of a history

    /** Delivers all messages and ends the sessions of stopped processes; then starts brokers; then replaces disks. Checks each time. */
    void settle() throws Exception {
        boolean isWhole = Arrays.stream(c.up).allMatch(b -> b != null && b.epoch >= 0);
        if (!isWhole && !c.isDownWithLoss()) {
            rest(false);
            well(false);
        }
        rest(true);
        boolean isSound = Arrays.stream(c.up).allMatch(b -> b.offline.isEmpty());
        well(isSound);
        if (!isSound) {
            repair();
            rest(true);
            well(true);
        }
        everywhere("produce", 0);
        if (c.producers.areUsed()) {
            transact();
        }
        rest(true);
        answered();
        c.sessions.settled();
    }

    /** Each producer writes to all partitions. Transactions end, before and after that. */
    private void transact() throws Exception {
        for (String end : List.of("expire", "commit")) {
            for (int k = 0; k < Producers.COUNT; k++) {
                step(end, k, 0, 0);
                everywhere("mark", k);
            }
            rest(true);
            for (int k = 0; k < Producers.COUNT && end.equals("expire"); k++) {
                everywhere("write", k);
            }
            rest(true);
        }
        for (int p : c.producers.unmarked()) {
            if (isWritable(p)) {
                throw new Violation("partition " + p + " never gets the end of a transaction");
            }
        }
        for (int p = 0; p < c.shape.partitions(); p++) {
            UnifiedLog log = isWritable(p) ? c.log(c.registration(p).leader, p) : null;
            if (log != null && !c.producers.areInTransactions() && log.lastStableOffset() != log.highWatermark()) {
                throw new Violation("partition " + p + " has the last stable offset " + log.lastStableOffset() + ", and all transactions have ended");
            }
            for (Cluster.Write w : log == null ? List.<Cluster.Write>of() : c.producers.latest(p)) {
                if (w.answer != null && !w.acknowledged()) {
                    throw new Violation("record " + w.value + " of partition " + p + " is answered with " + w.answer.error + ", and its producer is in sequence");
                }
            }
        }
    }

    private boolean isWritable(int p) {
        PartitionRegistration r = c.registration(p);
        return r.leader >= 0 && r.isr.length >= c.minIsr && c.leads(r.leader, p);
    }

    private void everywhere(String verb, int k) throws Exception {
        for (int p = 0; p < c.shape.partitions(); p++) {
            int leader = c.registration(p).leader;
            Cluster.Step step = new Cluster.Step(verb, leader, p, k);
            if (leader >= 0 && c.leads(leader, p) && c.can(step)) {
                c.act(step);
            }
        }
    }

    private void well(boolean isWhole) {
        for (int p = 0; p < c.shape.partitions(); p++) {
            settled(p, isWhole);
        }
    }

    /** The operator removes failed directories, or replaces the disk of a broker that has only one. */
    private void repair() throws Exception {
        for (int b = 0; b < c.shape.brokers(); b++) {
            if (!c.up[b].offline.isEmpty()) {
                String failed = c.dirs.get(b).stream().filter(d -> isOffline(d)).findFirst().orElseThrow();
                step("stop", b, 0);
                step("kill", b, 0);
                step("take", b, Integer.parseInt(failed.substring(1)));
                step("start", b, 0);
            }
        }
    }

    private boolean isOffline(String dir) {
        return Arrays.stream(c.up).anyMatch(b -> b != null && b.offline.contains(Broker.directoryId(b.id, dir)));
    }

    private boolean step(String verb, int a, int b) throws Exception {
        return step(verb, a, b, 0);
    }

    private boolean step(String verb, int a, int b, int k) throws Exception {
        Cluster.Step step = new Cluster.Step(verb, a, b, k);
        boolean can = c.can(step);
        if (can) {
            c.act(step);
            look();
        }
        return can;
    }

    private static final int ROUNDS = 60;

    void rest(boolean starts) throws Exception {
        int still = 0;
        for (int round = 0; round < ROUNDS; round++) {
            String before = state();
            List<Object[]> assignments = assignments();
            for (int b = 0; b < c.shape.brokers(); b++) {
                if (starts) {
                    step("start", b, 0);
                    step("register", b, 0);
                } else if (c.up[b] == null || c.up[b].epoch < 0) {
                    step("fence", b, 0);
                }
                step("work", b, 0);
                step("heartbeat", b, 0);
                step("assign", b, 0);
                step("copy", b, 0);
                step("publish", b, 0);
                while (step("serve", 0, 0)) {
                    continue;
                }
                for (int leader = 0; leader < c.shape.brokers(); leader++) {
                    step("follow", b, leader);
                    step("fetch", b, leader);
                    step("follow", b, leader);
                    step("fetch", b, leader);
                    step("follow", b, leader);
                }
                while (step("alter", b, 0) | step("answer", b, 0)) {
                    continue;
                }
            }
            boolean isStill = before.equals(state()) && assignments.equals(assignments()) && c.alterations.isEmpty();
            still = isStill ? still + 1 : 0;
            // a controlled shutdown waits for other brokers' heartbeats, which have no visible effect
            if (isStill && (still > 2 || IntStream.range(0, c.shape.brokers()).noneMatch(c::isStopping))) {
                return;
            }
        }
        throw new Violation("it does not come to rest");
    }

    /** Returns the assignments of replicas to directories that are not sent yet. Arrays are equal only if they are the same. */
    private List<Object[]> assignments() {
        return Arrays.stream(c.up).filter(b -> b != null).flatMap(b -> b.assignments.stream()).toList();
    }

    /** Returns everything visible that a step may change, as one line. */
    String state() {
        StringBuilder out = new StringBuilder().append(c.ends.size()).append(c.alterations.size()).append(c.show());
        for (int b = 0; b < c.shape.brokers(); b++) {
            for (int p = 0; p < c.shape.partitions(); p++) {
                UnifiedLog log = c.log(b, p);
                out.append(' ').append(log == null ? -1 : log.highWatermark());
                UnifiedLog future = log == null ? null : c.up[b].future(c.partitions.get(p));
                out.append(log == null ? "" : log.parentDirFile().getName()).append(future == null ? "" : "+" + future.logEndOffset());
            }
            out.append(c.up[b] == null ? "" : "/" + c.up[b].applied + "/" + c.up[b].tasks.size() + "/" + c.up[b].assignments.size() + "/" + c.up[b].epoch);
        }
        return out.append(c.producers.show()).append(c.sessions.show()).append(c.writes.stream().filter(w -> w.answer != null).count()).toString();
    }

    private boolean isOnline(int b, PartitionRegistration r) {
        BrokerRegistration of = c.controller.registration(b);
        return c.connected(b) != null && of != null && !of.fenced() && of.hasOnlineDir(r.directory(b));
    }

    private void settled(int p, boolean isWhole) {
        PartitionRegistration r = c.registration(p);
        String of = "partition " + p + " ";
        for (Broker b : c.up) {
            if (b != null && b.image().topics().topicsById().size() != 1) {
                throw new Violation("broker " + b.id + " has metadata of a topic that was deleted");
            }
            if (b != null && !r.equals(b.image().topics().getPartition(c.topic, p))) {
                throw new Violation(of + "is not in the metadata of broker " + b.id + " as the controller has it");
            }
        }
        boolean isReassigned = r.addingReplicas.length + r.removingReplicas.length > 0;
        if (isReassigned && Arrays.stream(r.replicas).allMatch(b -> contains(r.isr, b) || contains(r.removingReplicas, b))) {
            throw new Violation(of + "is still reassigned, and all new replicas are in the ISR");
        }
        if (r.leader < 0) {
            if (isWhole && c.hasElr && !c.hasLostDisk && Arrays.stream(r.replicas).allMatch(b -> isOnline(b, r))) {
                throw new Violation(of + "has no leader, and all its replicas run");
            }
            for (int[] members : new int[][] {r.isr, r.elr}) {
                for (int b : members) {
                    if (isOnline(b, r)) {
                        throw new Violation(of + "has no leader, and broker " + b + " of its ISR or ELR runs");
                    }
                }
            }
            return;
        }
        if (!c.leads(r.leader, p)) {
            throw new Violation(of + "is led by broker " + r.leader + ", which does not know it");
        }
        Copy leader = copies[r.leader][p];
        // a running replica without its directory counts as caught up until its lag time is over
        boolean isComplete = Arrays.stream(r.replicas).allMatch(b -> isOnline(b, r)) && r.isr.length >= c.minIsr;
        if (isComplete && leader.highWatermark != leader.end) {
            throw new Violation(of + "has the high watermark " + leader.highWatermark + ", and the ISR has its log up to " + leader.end);
        }
        for (int b : r.replicas) {
            Copy copy = copies[b][p];
            if (!isOnline(b, r)) {
                continue;
            }
            if (isWhole && c.up[b].isMoving()) {
                throw new Violation(of + "is still moved between directories of broker " + b);
            }
            if (copy == null) {
                throw new Violation(of + "has no log on broker " + b + ", whose directory is online");
            }
            if (copy.start < leader.start) {
                throw new Violation(of + "starts at " + copy.start + " on broker " + b + ", and at " + leader.start + " on leader " + r.leader);
            }
            if (!contains(r.isr, b)) {
                throw new Violation(of + "has replica " + b + ", which runs and stays out of the ISR");
            }
            // without min ISR, a new leader does not raise its high watermark
            if (copy.end != leader.end || copy.highWatermark != leader.highWatermark && r.isr.length >= c.minIsr) {
                throw new Violation(of + "ends at " + copy.end + " on broker " + b + ", high watermark " + copy.highWatermark + ", and on leader "
                    + r.leader + " at " + leader.end + ", " + leader.highWatermark);
            }
            for (long o = Math.max(Math.max(copy.start, leader.start), Math.max(c.deleted[p], Math.max(copy.first, leader.first))); o < copy.end; o++) {
                if (copy.value(o) != leader.value(o) || copy.epoch(o) != leader.epoch(o)) {
                    throw new Violation(of + "has record " + leader.value(o) + " on leader " + r.leader + " at offset " + o + ", and "
                        + copy.value(o) + " on broker " + b);
                }
            }
        }
    }

    private static boolean contains(int[] members, int wanted) {
        return Arrays.stream(members).anyMatch(member -> member == wanted);
    }

    /** Checks that every write to a leader that still leads and has min ISR has been answered. */
    private void answered() {
        for (int p = 0; p < c.shape.partitions(); p++) {
            PartitionRegistration r = c.registration(p);
            boolean isWritable = r.leader >= 0 && r.isr.length >= c.minIsr;
            for (Cluster.Write w : c.writes) {
                if (w.partition == p && isWritable && w.answer == null && w.leader == c.up[r.leader]) {
                    throw new Violation("record " + w.value + " of partition " + p + " is never answered");
                }
            }
        }
    }
}
