package fencepost;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import kafka.log.UnifiedLog;  // until 4.0
import org.apache.kafka.storage.internals.log.UnifiedLog;  // since 4.1

/**
 * Judges a replica's producers and transactions. The batches of its log, read one by one, say what its producer state,
 * its aborted transactions, its last stable offset and a read_committed consumer must show.
 */
final class ProducerJudge {
    /**
     * A producer according to the batches read so far. A batch of a new epoch, or the start of the log, shows all its
     * batches.
     */
    private static final class State {
        short epoch = -1;
        int sequence = -1;
        long last = -1;
        int coordinatorEpoch = -1;
        /** The first offset of its open transaction, or -1. */
        long first = -1;
        boolean isWhole;
        boolean hasMarker;
        final List<Integer> open = new ArrayList<>();
        final TreeMap<Long, Integer> undecided = new TreeMap<>();
    }

    /** An aborted transaction: the producer, the first offset, the offset of the marker. */
    private record Aborted(long producer, long first, long last) { }

    /** What the batches of a log say. */
    private static final class Story {
        final Map<Long, State> states = new TreeMap<>();
        final List<Aborted> aborted = new ArrayList<>();
        /**
         * The least first offset of completed transactions with markers beyond the high watermark: all, and those that
         * this leader has ended.
         */
        long unreplicated = Long.MAX_VALUE;
        long own = Long.MAX_VALUE;
        final TreeMap<Long, Integer> visible = new TreeMap<>();
        final Set<Producers.Transaction> ended = new HashSet<>();
    }

    private final Cluster c;
    /** For each process, the end of its log when it was first judged. */
    private final Object[][][] ends;
    /** For each leader, its last stable offset, with the process and the epoch. */
    private final Object[][][] stable;
    /**
     * For each leader, what was last read by a consumer: the bytes of its log, its last stable offset and its start.
     */
    private final Object[][] read;

    ProducerJudge(Cluster c) {
        this.c = c;
        ends = new Object[c.shape.brokers()][c.shape.partitions()][];
        stable = new Object[c.shape.brokers()][c.shape.partitions()][];
        read = new Object[c.shape.brokers()][c.shape.partitions()];
    }

    /** `bytes` is the content of the log's files. */
    void judge(int b, int p, UnifiedLog log, ByteBuffer bytes) throws Exception {
        String where = "broker " + b + ", partition " + p + ": ";
        long floor = Math.max(log.logStartOffset(), c.everDeleted[p]);
        kafka.cluster.Partition partition = c.up[b].found(c.partitions.get(p));
        boolean leads = partition.isLeader();
        int epoch = leads ? partition.getLeaderEpoch() : -1;
        if (ends[b][p] == null || ends[b][p][0] != c.up[b]) {
            ends[b][p] = new Object[] {c.up[b], log.logEndOffset()};
        }
        Story story = story(where, bytes, floor, log.highWatermark(), epoch, (long) ends[b][p][1]);
        states(where, story, log.producerStateManager().activeProducers(), floor == 0);
        aborted(where, story, log, floor);
        if (leads) {
            stable(where, story, log, floor);
            Object[] was = stable[b][p];
            long now = log.lastStableOffset();
            // a restarted leader counts completed transactions as replicated until its log's copy, which does not, replaces the log
            if (was != null && was[0] == c.up[b] && was[1].equals(epoch) && (long) was[2] > now && now < story.unreplicated) {
                throw new Judge.Violation(where + "the last stable offset of the leader goes back from " + was[2]
                    + " to " + now);
            }
            stable[b][p] = new Object[] {c.up[b], epoch, now};
            Object source = List.of(c.up[b], bytes, now, floor);
            if (!source.equals(read[b][p]) && floor <= now) {
                consume(where, story, b, p, floor, now);
                read[b][p] = source;
            }
            Producers.Rejected rejected = c.producers.rejected;
            if (rejected != null && rejected.leader() == c.up[b] && rejected.batch().partition == p) {
                rejected(where, story.states.get(rejected.batch().producer.id()), rejected.batch());
            }
        }
    }

    // ---- reading

    private Story story(String where, ByteBuffer bytes, long floor, long highWatermark, int epoch, long loaded) {
        Story story = new Story();
        for (RecordBatch batch : MemoryRecords.readableRecords(bytes.duplicate()).batches()) {
            if (batch.baseOffset() < floor) {
                continue;
            }
            if (!batch.hasProducerId()) {
                batch.forEach(r -> story.visible.put(r.offset(), Broker.record(r.value())));
                continue;
            }
            State state = story.states.computeIfAbsent(batch.producerId(), id -> new State());
            boolean isNew = state.epoch != batch.producerEpoch();
            if (state.epoch > batch.producerEpoch()) {
                throw new Judge.Violation(where + "offset " + batch.baseOffset() + " has producer epoch "
                    + batch.producerEpoch() + " after epoch " + state.epoch);
            }
            state.isWhole |= floor == 0 || isNew && state.epoch >= 0;
            int before = isNew ? -1 : state.sequence;
            state.sequence = before;
            state.last = isNew ? -1 : state.last;
            state.epoch = batch.producerEpoch();
            if (batch.isControlBatch()) {
                Record marker = batch.iterator().next();
                end(where, story, state, batch, EndTransactionMarker.deserialize(marker));
                if (batch.lastOffset() >= highWatermark && state.first >= 0) {
                    story.unreplicated = Math.min(story.unreplicated, state.first);
                    boolean isOwn = batch.partitionLeaderEpoch() == epoch && batch.baseOffset() >= loaded;
                    story.own = isOwn ? Math.min(story.own, state.first) : story.own;
                }
                state.first = -1;
                continue;
            }
            if ((state.isWhole || before >= 0) && batch.baseSequence() != before + 1) {
                throw new Judge.Violation(where + "offset " + batch.baseOffset() + " has sequence number "
                    + batch.baseSequence() + " of producer "
                    + batch.producerId() + " after " + before);
            }
            add(where, story, state, batch);
        }
        return story;
    }

    private void add(String where, Story story, State state, RecordBatch batch) {
        state.sequence = batch.lastSequence();
        state.last = batch.lastOffset();
        state.hasMarker = false;
        for (Record r : batch) {
            int value = Broker.record(r.value());
            Producers.Transaction of = c.producers.of(value);
            if (of != null && story.ended.contains(of)) {
                throw new Judge.Violation(where + "record " + value + " follows the end of its transaction");
            }
            if (batch.isTransactional()) {
                state.open.add(value);
                state.undecided.put(r.offset(), value);
            } else {
                story.visible.put(r.offset(), value);
            }
        }
        if (batch.isTransactional() && state.first < 0) {
            state.first = batch.baseOffset();
        }
    }

    private void end(String where, Story story, State state, RecordBatch batch, EndTransactionMarker marker) {
        boolean commits = marker.controlType() == ControlRecordType.COMMIT;
        Producers.Transaction of = c.producers.ended(marker.coordinatorEpoch());
        for (int value : state.open) {
            if (c.producers.of(value) != of || of.commits != commits) {
                throw new Judge.Violation(where + "record " + value + " is " + (commits ? "committed" : "aborted")
                    + " by the end of another transaction");
            }
        }
        if (commits) {
            story.visible.putAll(state.undecided);
        } else if (state.first >= 0) {
            story.aborted.add(new Aborted(batch.producerId(), state.first, batch.lastOffset()));
        }
        story.ended.add(of);
        state.coordinatorEpoch = marker.coordinatorEpoch();
        state.hasMarker = true;
        state.open.clear();
        state.undecided.clear();
    }

    // ---- comparing

    /**
     * Compares the state of each producer whose latest batches are in the log; if the log `isWhole`, there are no
     * others.
     */
    private static void states(String where, Story story, Map<Long, ProducerStateEntry> known, boolean isWhole) {
        if (isWhole && !story.states.keySet().equals(known.keySet())) {
            throw new Judge.Violation(where + "it knows the producers " + new java.util.TreeSet<>(known.keySet())
                + ", and its log has batches of " + story.states.keySet());
        }
        story.states.forEach((id, state) -> {
            ProducerStateEntry entry = known.get(id);
            boolean isSame = entry != null && entry.producerEpoch() == state.epoch;
            if (isSame && (state.last >= 0 || state.isWhole)) {
                isSame = Reflect.call(entry, "lastSeq").equals(state.sequence) && entry.lastDataOffset() == state.last;
            }
            if (isSame && (state.coordinatorEpoch >= 0 || isWhole)) {
                isSame = entry.coordinatorEpoch() == state.coordinatorEpoch;
            }
            if (isSame) {
                OptionalLong first = entry.currentTxnFirstOffset();
                isSame = state.first >= 0 ? first.isPresent()
                    && (isWhole ? first.getAsLong() == state.first : first.getAsLong() <= state.first)
                    : first.isEmpty() || !isWhole && !state.hasMarker;
            }
            if (!isSame) {
                throw new Judge.Violation(where + "the producer state is " + entry + ", and the log has epoch "
                    + state.epoch + ", sequence number " + state.sequence
                    + " at offset " + state.last + ", coordinator epoch " + state.coordinatorEpoch
                    + ", open transaction " + state.first);
            }
        });
    }

    private static void aborted(String where, Story story, UnifiedLog log, long floor) {
        List<Aborted> all = new ArrayList<>();
        for (LogSegment segment : log.logSegments()) {
            for (Object of : Scala.items(Reflect.call(segment.txnIndex(), "allAbortedTxns"))) {
                Aborted found = new Aborted(Reflect.number(Reflect.call(of, "producerId")),
                    Reflect.number(Reflect.call(of, "firstOffset")),
                    Reflect.number(Reflect.call(of, "lastOffset")));
                all.add(found);
            }
        }
        List<Aborted> indexed = all.stream().filter(of -> of.first >= floor).toList();
        boolean isSame = floor == 0 ? indexed.equals(story.aborted) : story.aborted.containsAll(indexed)
            && story.aborted.stream().allMatch(
                wanted -> all.stream().anyMatch(of -> of.producer == wanted.producer && of.last == wanted.last));
        if (!isSame) {
            throw new Judge.Violation(where + "the index has the aborted transactions " + indexed
                + ", and the log has " + story.aborted);
        }
    }

    private static void stable(String where, Story story, UnifiedLog log, long floor) {
        long undecided = story.states.values().stream().mapToLong(s -> s.first).filter(first -> first >= 0).min()
            .orElse(Long.MAX_VALUE);
        long most = Math.max(log.logStartOffset(), Math.min(log.highWatermark(), Math.min(undecided, story.own)));
        long least = floor == 0 ? Math.min(most, story.unreplicated) : log.logStartOffset();
        long now = log.lastStableOffset();
        // after a restart, completed transactions no longer wait for the high watermark, because they are decided
        if (now > most || now < least) {
            throw new Judge.Violation(where + "the last stable offset is " + now + ", and it must be between "
                + least + " and " + most);
        }
    }

    /**
     * Reads like a read_committed consumer, which skips records of the aborted transactions that each answer contains.
     */
    private void consume(String where, Story story, int b, int p, long floor, long end) throws Exception {
        TreeMap<Long, Integer> found = new TreeMap<>();
        long next = floor;
        while (next < end) {
            FetchPartitionData answer = Calls.read(
                c.up[b].manager, new TopicIdPartition(c.topic, c.partitions.get(p)), next);
            long before = next;
            if (answer.error != Errors.NONE || answer.lastStableOffset.orElse(-1) != end) {
                throw new Judge.Violation(where + "a consumer at offset " + next + " gets " + answer.error
                    + " and the last stable offset "
                    + answer.lastStableOffset + ", which is " + end);
            }
            PriorityQueue<FetchResponseData.AbortedTransaction> aborted =
                new PriorityQueue<>(Comparator.comparingLong(FetchResponseData.AbortedTransaction::firstOffset));
            answer.abortedTransactions.ifPresent(aborted::addAll);
            Set<Long> skipped = new HashSet<>();
            for (RecordBatch batch : Fetching.Answer.copy(answer.records).batches()) {
                while (!aborted.isEmpty() && aborted.peek().firstOffset() <= batch.lastOffset()) {
                    skipped.add(aborted.poll().producerId());
                }
                next = batch.lastOffset() + 1;
                if (batch.isControlBatch()) {
                    boolean aborts = ControlRecordType.parse(batch.iterator().next().key()) == ControlRecordType.ABORT;
                    skipped.remove(aborts ? batch.producerId() : -1L);
                } else if (!batch.isTransactional() || !skipped.contains(batch.producerId())) {
                    batch.forEach(r -> found.put(r.offset(), Broker.record(r.value())));
                }
            }
            if (next == before) {
                break;
            }
        }
        if (!found.isEmpty() && found.lastKey() >= end) {
            throw new Judge.Violation(where + "a read_committed consumer gets offset " + found.lastKey()
                + ", and the last stable offset is " + end);
        }
        found.headMap(floor).clear();
        Map<Long, Integer> wanted = new TreeMap<>(story.visible.headMap(end));
        if (!found.equals(wanted)) {
            throw new Judge.Violation(where + "a read_committed consumer gets the records " + found
                + ", and the committed records are " + wanted);
        }
    }

    /**
     * The last batch of the log is recognized if it is sent again; the next one of an idempotent producer is accepted.
     */
    private void rejected(String where, State state, Producers.Batch batch) {
        c.producers.rejected = null;
        boolean isKnown = state != null && state.last >= 0 && state.epoch == batch.epoch;
        boolean isLast = isKnown && state.sequence == batch.sequence;
        boolean isNext = isKnown && state.sequence + 1 == batch.sequence && batch.in == null;
        if (isLast || isNext) {
            throw new Judge.Violation(where + "sequence number " + batch.sequence
                + " is rejected as out of order, and the last in the log is " + state.sequence);
        }
    }
}
