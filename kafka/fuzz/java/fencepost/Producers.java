package fencepost;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.VerificationGuard;

/**
 * Three producers and their transaction coordinator, which never fails. The first producer is only idempotent, the
 * second keeps its epoch after a transaction (TV1), and the third gets a new epoch after each transaction (TV2,
 * KIP-890).
 */
final class Producers {
    /** The first producer ID. All other writes use their value as the ID of their own producer. */
    private static final long FIRST = 1_000_000;
    static final int COUNT = 3;
    /** The maximum number of unacknowledged batches per partition. */
    private static final int IN_FLIGHT = 3;

    static final class Producer {
        final int number;
        short epoch;
        short nextEpoch;
        /** The next sequence number of each partition. */
        final int[] next;
        Transaction open;
        /** The batches of this epoch. */
        final List<Batch> sent = new ArrayList<>();

        Producer(int number, int partitions) {
            this.number = number;
            next = new int[partitions];
        }

        long id() {
            return FIRST + number;
        }

        boolean isTransactional() {
            return number > 0;
        }

        boolean bumps() {
            return number == 2;
        }
    }

    /** A batch with one record. */
    final class Batch extends Cluster.Write {
        final Producer producer;
        final short epoch;
        final int sequence;
        final Transaction in;

        Batch(int value, int partition, Producer producer) {
            super(value, partition);
            this.producer = producer;
            epoch = producer.epoch;
            sequence = producer.next[partition]++;
            in = producer.open;
        }

        @Override void take(ProduceResponse.PartitionResponse answer) {
            if (acknowledged() && answer.error == Errors.NONE && answer.baseOffset != this.answer.baseOffset
                && this.answer.baseOffset >= c.deleted[partition]) {
                wrong = "record " + value + " of partition " + partition + " was acknowledged at offset "
                    + this.answer.baseOffset
                    + ", and a retry is acknowledged at offset " + answer.baseOffset;
            }
            super.take(answer);
        }
    }

    /** A transaction as its coordinator knows it. */
    static final class Transaction {
        final Set<Integer> partitions = new TreeSet<>();
        /** Its number, which its markers contain as their coordinator epoch; 0 before it ends. */
        int number;
        boolean commits;
        private short markerEpoch;
        private final Map<Integer, Cluster.Write> markers = new TreeMap<>();

        private boolean isOver() {
            return number > 0 && markers.values().stream().allMatch(Cluster.Write::acknowledged);
        }
    }

    /** A batch whose transaction was verified if it has one, and that its leader has not appended yet. */
    private record Verified(Broker leader, Batch batch, Object guard) { }

    /** A batch that a leader has rejected as out of sequence. */
    record Rejected(Broker leader, Batch batch) { }

    private final Cluster c;
    private final List<Producer> producers = new ArrayList<>();
    private final List<Verified> verified = new ArrayList<>();
    private final Map<Integer, Batch> batches = new HashMap<>();
    private final Map<Integer, Transaction> ended = new HashMap<>();
    /** Why an answer is wrong, or null. */
    String wrong;
    Rejected rejected;

    Producers(Cluster c) {
        this.c = c;
        for (int k = 0; k < COUNT; k++) {
            producers.add(new Producer(k, c.shape.partitions()));
        }
    }

    boolean areUsed() {
        return !batches.isEmpty();
    }

    Transaction of(int value) {
        return batches.containsKey(value) ? batches.get(value).in : null;
    }

    Transaction ended(int number) {
        return ended.get(number);
    }

    /** Returns a producer's transaction, or null if the last one is over. */
    private Transaction open(Producer of) {
        if (of.open != null && of.open.isOver()) {
            of.open = null;
            renew(of, of.nextEpoch);
        }
        return of.open;
    }

    private static void renew(Producer of, short epoch) {
        if (of.epoch != epoch) {
            of.epoch = epoch;
            java.util.Arrays.fill(of.next, 0);
            of.sent.clear();
        }
    }

    private boolean isOngoing(Producer of) {
        return open(of) != null && of.open.number == 0;
    }

    private static Stream<Batch> sent(Producer of, int p) {
        return of.sent.stream().filter(batch -> batch.partition == p);
    }

    private static List<Batch> pending(Producer of, int p) {
        return sent(of, p).filter(batch -> !batch.acknowledged()).toList();
    }

    // ---- steps

    void list(String verb, List<Cluster.Step> found) {
        if (verb.equals("append")) {
            verified.removeIf(v -> c.up[v.leader.id] != v.leader);
            for (int i = 0; i < verified.size(); i++) {
                found.add(new Cluster.Step(verb, i, 0, 0));
            }
            return;
        }
        for (Producer of : producers) {
            boolean isOngoing = isOngoing(of);
            boolean can = switch (verb) {
                case "commit" -> isOngoing && of.sent.stream().allMatch(Cluster.Write::acknowledged);
                case "abort" -> isOngoing;
                case "expire" -> isOngoing || !of.isTransactional() && !of.sent.isEmpty();
                default -> false;
            };
            if (can) {
                found.add(new Cluster.Step(verb, of.number, 0, 0));
            }
            for (int b = 0; b < c.shape.brokers(); b++) {
                for (int p = 0; p < c.shape.partitions(); p++) {
                    if (c.leads(b, p) && can(verb, b, p, of)) {
                        found.add(new Cluster.Step(verb, b, p, of.number));
                    }
                }
            }
        }
    }

    private boolean can(String verb, int b, int p, Producer of) {
        return switch (verb) {
            case "write" -> canWrite(b, p, of);
            case "again" -> oldest(of, p) != null;
            case "deny" -> of.isTransactional() && isFree(of, p, b);
            case "verify" -> isFree(of, p, b) && verified.stream().noneMatch(v -> v.batch.producer == of
                && v.batch.partition == p);
            case "mark" -> open(of) != null && isUnmarked(of.open.markers.get(p), c.up[b]);
            default -> false;
        };
    }

    private boolean isFree(Producer of, int p, int b) {
        return oldest(of, p) != null || canWrite(b, p, of);
    }

    /** Returns whether a partition lacks the marker, and this leader does not already replicate it. */
    private static boolean isUnmarked(Cluster.Write marker, Broker leader) {
        return marker != null && !marker.acknowledged() && (marker.leader != leader || marker.answer != null);
    }

    /**
     * A producer writes a batch after an unacknowledged one if this leader has appended that one, or if all leaders
     * know the producer from a batch of this epoch. A leader that does not know the producer would accept any sequence
     * number.
     */
    private boolean canWrite(int b, int p, Producer of) {
        List<Batch> pending = pending(of, p);
        Batch last = pending.isEmpty() ? null : pending.get(pending.size() - 1);
        return (open(of) == null || of.open.number == 0) && pending.size() < IN_FLIGHT
            && (last == null || isKnown(of, p) || last.leader == c.up[b] && last.answer == null);
    }

    /**
     * Returns the batch that a producer may resend: the first unacknowledged one, or else the last one; null if there
     * is none.
     */
    private Batch oldest(Producer of, int p) {
        if (of.isTransactional() && !isOngoing(of)) {
            return null;
        }
        List<Batch> pending = pending(of, p);
        return pending.isEmpty()
            ? sent(of, p).reduce((before, last) -> last).filter(last -> last.in == of.open).orElse(null)
            : pending.get(0);
    }

    void act(Cluster.Step step) {
        if (step.verb().equals("append")) {
            Verified of = verified.remove(step.a());
            append(of.leader, of.batch, of.guard);
            return;
        }
        boolean ends = List.of("commit", "abort", "expire").contains(step.verb());
        Producer of = producers.get(ends ? step.a() : step.c());
        if (ends) {
            end(of, step.verb());
        } else if (step.verb().equals("mark")) {
            mark(c.up[step.a()], of.open.markers.get(step.b()), of);
        } else {
            boolean isNew = step.verb().equals("write")
                || !step.verb().equals("again") && pending(of, step.b()).isEmpty() && canWrite(step.a(), step.b(), of);
            Batch batch = isNew ? null : oldest(of, step.b());
            submit(c.up[step.a()], batch == null ? made(of, step.b()) : batch, step.verb());
        }
    }

    private Batch made(Producer of, int p) {
        if (of.isTransactional() && open(of) == null) {
            of.open = new Transaction();
        }
        Batch made = new Batch(c.nextValue(), p, of);
        if (of.isTransactional() && !of.bumps()) {
            of.open.partitions.add(p);  // AddPartitionsToTxn; with TV2, the leader's verification adds the partition
        }
        of.sent.add(made);
        batches.put(made.value, made);
        c.writes.add(made);
        return made;
    }

    /**
     * ReplicaManager.handleProduceAppend: verifies the transaction if the leader does not know it, then appends the
     * batch.
     */
    private void submit(Broker leader, Batch batch, String verb) {
        Object guard = null;
        if (batch.in != null) {
            try {
                kafka.cluster.Partition of = leader.found(c.partitions.get(batch.partition));
                guard = Reflect.call(of, "maybeStartTransactionVerification", batch.producer.id(), batch.sequence,
                    batch.epoch
                    , batch.producer.bumps()  // since 4.0
                );
            } catch (ApiException e) {
                batch.take(new ProduceResponse.PartitionResponse(Errors.forException(e)));
                return;
            }
            boolean isOngoing = batch.in == batch.producer.open && batch.in.number == 0;
            if (guard == VerificationGuard.SENTINEL) {
                guard = null;
            } else if (verb.equals("deny") || !isOngoing) {
                batch.take(new ProduceResponse.PartitionResponse(verb.equals("deny") ? Errors.NOT_ENOUGH_REPLICAS
                    : Errors.INVALID_TXN_STATE));
                return;
            } else {
                batch.in.partitions.add(batch.partition);
            }
        }
        if (verb.equals("verify")) {
            verified.add(new Verified(leader, batch, guard));
        } else {
            append(leader, batch, guard);
        }
    }

    private void append(Broker leader, Batch batch, Object guard) {
        send(batch, leader);
        c.touched |= 1 << leader.id;
        MemoryRecords records = Calls.batch(batch.value, batch.producer.id(), batch.epoch, batch.sequence,
            batch.in != null);
        Calls.append(leader.manager, named(leader, batch.partition), records, AppendOrigin.CLIENT, guard, 2, answer -> {
            batch.take(answer);
            rejected = answer.error == Errors.OUT_OF_ORDER_SEQUENCE_NUMBER ? new Rejected(leader, batch) : rejected;
        });
        leader.act();
    }

    private static void send(Cluster.Write write, Broker leader) {
        write.leader = leader;
        write.answer = write.acknowledged() ? write.answer : null;
    }

    private TopicIdPartition named(Broker leader, int p) {
        return new TopicIdPartition(leader.image().topics().getTopic("t").id(), c.partitions.get(p));
    }

    /**
     * The coordinator decides a transaction (after `expire`, because it timed out); an idempotent producer takes a new
     * epoch.
     */
    private void end(Producer of, String verb) {
        boolean expires = verb.equals("expire");
        boolean isClear = of.sent.stream().allMatch(Cluster.Write::acknowledged);
        if (!of.isTransactional()) {
            renew(of, (short) (of.epoch + 1));
            return;
        }
        Transaction ending = of.open;
        ending.number = ended.size() + 1;
        ended.put(ending.number, ending);
        ending.commits = verb.equals("commit");
        ending.markerEpoch = (short) (of.epoch + (of.bumps() || expires ? 1 : 0));
        of.nextEpoch = (short) (ending.markerEpoch + (expires || !of.bumps() && !isClear ? 1 : 0));
        for (int p : ending.partitions) {
            Cluster.Write marker = new Cluster.Write(-ending.number, p);
            ending.markers.put(p, marker);
            c.writes.add(marker);
        }
    }

    /** WriteTxnMarkers. */
    private void mark(Broker leader, Cluster.Write marker, Producer of) {
        send(marker, leader);
        MemoryRecords records = Calls.marker(of.id(), of.open.markerEpoch, of.open.commits, of.open.number);
        Calls.append(leader.manager, named(leader, marker.partition), records, AppendOrigin.COORDINATOR, null,
            of.bumps() ? 2 : 1, marker::take);
        leader.act();
    }

    /** Returns the partitions that lack a marker of an ended transaction. */
    Set<Integer> unmarked() {
        Set<Integer> found = new TreeSet<>();
        ended.values().forEach(of -> of.markers.forEach((p, marker) ->
            found.addAll(marker.acknowledged() ? Set.of() : Set.of(p))));
        return found;
    }

    boolean areInTransactions() {
        return producers.stream().anyMatch(of -> open(of) != null);
    }

    /**
     * Returns each producer's last batch of this partition that leaders must accept. Once all earlier batches of its
     * epoch are deleted, a leader that knows the producer only from a marker rejects all but sequence number 0.
     */
    List<Batch> latest(int p) {
        return producers.stream().flatMap(of -> sent(of, p).reduce((before, last) -> last).stream())
            .filter(last -> last.sequence == 0 || isKnown(last.producer, p)).toList();
    }

    private boolean isKnown(Producer of, int p) {
        return sent(of, p).anyMatch(batch -> batch.acknowledged() && batch.answer.baseOffset >= c.deleted[p]);
    }

    /** Returns everything visible, or nothing if no producer has written. */
    String show() {
        StringBuilder out = new StringBuilder();
        for (Producer of : areUsed() ? producers : List.<Producer>of()) {
            Transaction open = open(of);
            out.append(' ').append(of.epoch).append(java.util.Arrays.toString(of.next))
                .append(open == null ? "" : open.partitions + "" + open.number);
        }
        return out.append(verified.isEmpty() ? "" : "v" + verified.size()).toString();
    }
}
