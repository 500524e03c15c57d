package fencepost;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Function;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.FetchResponse;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import kafka.log.UnifiedLog;  // until 4.0
import org.apache.kafka.storage.internals.log.UnifiedLog;  // since 4.1

/** Threads that a broker and its controller have, drawn by a seed, on a cluster that is prepared without control. */
final class Story {
    /** A step of a thread. */
    private interface Step {
        void take() throws Exception;
    }

    /** The kinds of threads, repeated by how often each is drawn. */
    private static final String[] KINDS = ("produce produce produce follow follow follow follow publish publish publish alter alter shrink fail delete retain roll "
        + "checkpoint work work consume consume offsets expire retry complete").split(" ");
    /** The threads of which a broker has only one. */
    private static final List<String> ALONE = List.of("follow", "publish", "alter", "fail", "expire", "shrink");
    private static final String[] BEFORE = "produce produce produce fetch follow fetch follow lag shrink alter answer publish roll".split(" ");
    private static final short CONSUMER_VERSION = 13;

    private static final Class<?> FETCHER = Reflect.type("kafka.server.AbstractFetcherThread");
    /** The condition that a fetcher waits for if it has nothing to fetch. Its back-off is 0, and Fray does not see waiting for older conditions. */
    private static final Object AT_ONCE = Reflect.proxy(java.util.concurrent.locks.Condition.class,
        (self, method, arguments) -> method.getReturnType() == boolean.class ? (Object) false : null);

    private final SplittableRandom random;
    private final Path root;
    private final Cluster.Shape shape;
    private final List<String> told = new ArrayList<>();
    private final List<Runnable> bodies = new ArrayList<>();
    private final Set<String> taken = new HashSet<>();
    private Cluster c;
    private Shown shown;
    private Judge judge;
    /** The broker that does not know that it leads no more, or -1. */
    private int deposed = -1;
    private int values = 1000;

    Story(long seed, Path root) {
        random = new SplittableRandom(seed * 31 + 1);
        this.root = root;
        int brokers = 2 + random.nextInt(2);
        int minIsr = random.nextInt(4) == 0 ? 1 : 2;
        int disks = random.nextInt(3) == 0 ? 2 : 1;
        int elr = 0;  // until 3.9
        int elr = 1;  // since 4.0
        int faults = minIsr == 2 && elr == 1 && disks == 2 && random.nextBoolean() ? 1 : 0;
        shape = new Cluster.Shape(brokers, disks, 1 + random.nextInt(2), brokers, minIsr, elr, faults);
    }

    Cluster.Shape shape() {
        return shape;
    }

    /** Returns what happened before, and each step of a thread in the order in which they began. */
    List<String> told() {
        return told;
    }

    List<Runnable> bodies() {
        return bodies;
    }

    Judge.Violation violation() {
        return shown == null ? null : shown.violation;
    }

    void note(String what) {
        told.add(what);
    }

    // ---- before and after

    /** Makes the cluster with some records and with metadata on its way, and the threads. */
    void prepare() throws Exception {
        c = new Cluster(shape, root);
        judge = new Judge(c);
        if (shape.disks() > 1) {
            judge.rest(true);  // assigns directories
        }
        int focus = c.registration(0).leader;
        boolean isDeposed = random.nextInt(4) == 0;
        deposed = isDeposed ? focus : -1;
        for (int i = isDeposed ? 0 : random.nextInt(8); i > 0; i--) {
            before(BEFORE[random.nextInt(BEFORE.length)]);
        }
        for (int i = isDeposed ? 0 : random.nextInt(3); i > 0; i--) {
            change();
        }
        if (isDeposed) {
            depose(focus);
        }
        judge.look();
        shown = new Shown(c);
        for (Broker b : c.up) {
            connect(b);
            shown.watch(b);
        }
        if (isDeposed) {
            taken.add("follow" + focus);
            add("publish", focus, 0);
            add("follow", shape.brokers() - 1, 0);
        } else {
            focus = Math.max(0, c.registration(0).leader);
        }
        int count = 2 + random.nextInt(3);
        while (bodies.size() < count) {
            int b = random.nextInt(3) > 0 ? focus : random.nextInt(shape.brokers());
            int p = random.nextInt(4) > 0 ? 0 : random.nextInt(shape.partitions());
            add(KINDS[random.nextInt(KINDS.length)], b, p);
        }
    }

    /** Adds a thread of each kind for each broker, so that everything that they call has been called once. */
    void addAll() {
        for (int b = 0; b < shape.brokers(); b++) {
            for (String kind : KINDS) {
                if (!kind.equals("fail")) {
                    add(kind, b, 0);
                }
            }
        }
    }

    /** Another broker becomes leader and writes, and the last leader, which has a record that no other broker has, does not know it yet. */
    private void depose(int leader) throws Exception {
        before("produce", leader);
        for (int b = 0; b < shape.brokers(); b++) {
            before("fetch", b);
            before("follow", b);
        }
        before("produce", leader);
        before("fence", leader);
        before("heartbeat", leader);
        int next = c.registration(0).leader;
        if (next >= 0) {
            before("publish", next);
            before("produce", next);
        }
    }

    private void before(String verb) throws Exception {
        List<Cluster.Step> steps = c.steps(verb);
        if (!steps.isEmpty()) {
            Cluster.Step step = steps.get(random.nextInt(steps.size()));
            note("before: " + step);
            c.act(step);
        }
    }

    /** Commits metadata that some brokers have not applied yet; a new leader may already have new records. */
    private void change() throws Exception {
        int leader = c.registration(0).leader;
        switch (random.nextInt(4)) {
            case 0: case 1:
                if (leader >= 0) {
                    before("fence", leader);
                }
                break;
            case 2:
                before("fence", random.nextInt(shape.brokers()));
                break;
            default: before("elect");
        }
        for (int b = 0; b < shape.brokers(); b++) {
            if (random.nextInt(3) == 0) {
                before("heartbeat", b);
            }
        }
        int now = c.registration(0).leader;
        for (int b = 0; b < shape.brokers(); b++) {
            if (random.nextInt(b == now ? 4 : 2) > 0) {
                before("publish", b);
            }
        }
        for (int i = random.nextInt(3); i > 0 && now >= 0; i--) {
            before("produce", now);
        }
    }

    private void before(String verb, int b) throws Exception {
        List<Cluster.Step> steps = c.steps(verb).stream().filter(step -> step.a() == b).toList();
        if (!steps.isEmpty()) {
            note("before: " + steps.get(0));
            c.act(steps.get(0));
        }
    }

    /** Judges what the threads have left: first as it is, then after everything has arrived. */
    void end() throws Exception {
        c.touched = -1;
        c.note();
        shown.end();
        judge.look();
        judge.settle();
        shown.settled();
    }

    void close() {
        if (c != null) {
            c.close();
        }
    }

    // ---- threads

    private void add(String kind, int b, int p) {
        if (ALONE.contains(kind) && !taken.add(kind + b)) {
            return;
        }
        int times = 1 + random.nextInt(3);
        List<Step> steps = new ArrayList<>();
        List<String> names = new ArrayList<>();
        for (int i = 0; i < times; i++) {
            names.add(kind + " on broker " + b + (isOfPartition(kind) ? ", partition " + p : ""));
            steps.add(step(kind, b, p));
        }
        if (kind.equals("publish") && (b == deposed || random.nextBoolean() && taken.add("follow" + b))) {
            for (int i = 0; i < 3; i++) {
                names.add("follow on broker " + b);
                steps.add(step("follow", b, p));
            }
        }
        int number = bodies.size();
        bodies.add(() -> {
            for (int i = 0; i < steps.size(); i++) {
                told.add("thread " + number + ": " + names.get(i));
                try {
                    steps.get(i).take();
                } catch (ApiException e) {
                    told.add("thread " + number + ": " + Errors.forException(e));
                } catch (RuntimeException e) {
                    throw e;
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            }
        });
    }

    private static boolean isOfPartition(String kind) {
        return List.of("produce", "retry", "delete", "retain", "roll", "consume", "offsets").contains(kind);
    }

    private Step step(String kind, int b, int p) {
        switch (kind) {
            case "produce": return () -> produce(b, p, new Cluster.Write(++values, p));
            case "retry": return () -> retry(b, p);
            case "follow": return () -> follow(b);
            case "publish": return () -> publish(b);
            case "alter": return () -> alter(b);
            case "shrink": return () -> shrink(b);
            case "fail": return () -> fail(b, p);
            case "delete": return () -> delete(b, p);
            case "retain": return () -> retain(b, p);
            case "roll": return () -> roll(b, p);
            case "checkpoint": return () -> c.up[b].checkpoint();
            case "work": return () -> c.up[b].work();
            case "consume": return () -> consume(b, p);
            case "offsets": return () -> offsets(b, p);
            case "expire": return () -> shown.expire(b);
            case "complete": return () -> complete(b, p);
            default: throw new IllegalArgumentException(kind);
        }
    }

    private TopicIdPartition named(int b, int p) {
        return new TopicIdPartition(c.up[b].image().topics().getTopic("t").id(), c.partitions.get(p));
    }

    /** A request handler: a write with acks=all. */
    private void produce(int b, int p, Cluster.Write write) {
        write.leader = c.up[b];
        if (!c.writes.contains(write)) {
            c.writes.add(write);
            shown.sent(write.value, b);
        }
        Calls.append(c.up[b].manager, named(b, p), Calls.firstBatch(write.value), answer -> shown.answered(write, b, answer));
        c.up[b].act();
    }

    private void retry(int b, int p) {
        Cluster.Write last = c.writes.stream().filter(w -> w.partition == p).reduce((before, after) -> after).orElse(null);
        if (last != null && last.leader == c.up[b]) {
            Calls.append(c.up[b].manager, named(b, p), Calls.firstBatch(last.value), answer -> shown.answered(last, b, answer));
            c.up[b].act();
        }
    }

    /** Kafka's fetcher threads of a follower, one round each. */
    private void follow(int b) {
        for (int leader = 0; leader < shape.brokers(); leader++) {
            Fetching.Fetcher fetcher = c.up[b].fetching.fetcher(leader);
            if (fetcher != null && fetcher.partitionCount() > 0) {
                Reflect.set(fetcher, FETCHER, "partitionMapCond", AT_ONCE);
                fetcher.doWork();
            }
        }
        c.up[b].act();
    }

    /** Lets the follower's fetches be answered by its leader within the same thread. */
    private void connect(Broker follower) {
        for (int l = 0; l < shape.brokers(); l++) {
            int leader = l;
            Function<AbstractRequest, AbstractResponse> others = follower.fetching.others.get(l);
            follower.fetching.others.put(l, request -> request instanceof FetchRequest ? served(leader, (FetchRequest) request) : others.apply(request));
        }
    }

    private AbstractResponse served(int l, FetchRequest request) {
        Broker leader = c.up[l];
        Fetching.Request to = new Fetching.Request();
        to.request = request;
        Map<TopicIdPartition, FetchRequest.PartitionData> asked = to.asked();
        Fetching.Answer answer = new Fetching.Answer(to);
        long[] before = shown.heights(l);
        Map<TopicIdPartition, FetchPartitionData> found = Calls.fetch(leader.manager, request, asked);
        leader.act();
        try {
            for (Map.Entry<TopicIdPartition, FetchPartitionData> of : found.entrySet()) {
                answer.add(of.getKey(), of.getValue());  // a network thread reads the file only now
                shown.fetched(l, of.getKey().partition(), asked.get(of.getKey()), of.getValue(), before);
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);  // the connection is closed
        }
        return FetchResponse.of(Errors.NONE, 0, 0, answer.data, List.of());
    }

    /** The metadata publisher: everything that was committed, or only the next commit. */
    private void publish(int b) {
        Broker up = c.up[b];
        List<ApiMessage> log;
        int index;
        int end;
        synchronized (c.controller) {
            index = Math.min(c.ends.size() - 1, up.applied + 1);
            end = c.ends.get(index);
            log = new ArrayList<>(c.controller.log);
        }
        if (index > up.applied) {
            up.apply(log, end, index);
            shown.published(up);
        }
    }

    /** The channel to the controller: sends the next AlterPartition request, and delivers an answer. */
    private void alter(int b) throws Exception {
        Alteration next = c.alterations.stream().filter(a -> a.sender.id == b).findFirst().orElse(null);
        if (next == null) {
            return;
        }
        if (next.response == null) {
            synchronized (c.controller) {
                if (next.response == null && c.alterations.contains(next)) {
                    c.perform(new Cluster.Step("alter", b, nth(next), 0));
                    c.note();
                }
            }
        } else if (c.alterations.remove(next)) {
            next.answer();
            next.sender.act();
        }
    }

    private int nth(Alteration wanted) {
        return (int) c.alterations.stream().filter(a -> a.sender.id == wanted.sender.id).takeWhile(a -> a != wanted).count();
    }

    /** The scheduler: followers have not fetched for too long. */
    private void shrink(int b) {
        for (TopicPartition p : c.partitions) {
            kafka.cluster.Partition of = c.up[b].found(p);
            for (int f = 0; of != null && f < shape.brokers(); f++) {
                Object replica = Scala.value(of.getReplica(f));
                if (replica != null) {
                    Replicas.age(replica);
                }
            }
        }
        Reflect.call(c.up[b].manager, "maybeShrinkIsr");
        c.up[b].act();
    }

    /** LogDirFailureHandler. */
    private void fail(int b, int p) throws Exception {
        UnifiedLog log = c.log(b, p);
        Cluster.Step step = log == null ? null : new Cluster.Step("fail", b, Integer.parseInt(log.parentDirFile().getName().substring(1)), 0);
        if (step != null && c.can(step)) {
            c.perform(step);
        }
    }

    /** A request handler: DeleteRecords up to the high watermark. */
    private void delete(int b, int p) {
        kafka.cluster.Partition of = c.up[b].found(c.partitions.get(p));
        if (of != null) {
            UnifiedLog log = (UnifiedLog) Scala.value(of.log());
            long low = Reflect.number(Reflect.call(of.deleteRecordsOnLeader(-1), "requestedOffset"));
            shown.deleted(b, p, log, low);
        }
    }

    /** The scheduler: a segment is full, and retention deletes all but the last. */
    private void retain(int b, int p) {
        UnifiedLog log = c.log(b, p);
        if (log != null) {
            if (log.activeSegment().size() > 0) {
                Broker.roll(log);
            }
            Broker.retain(log);
            shown.deleted(b, p, log, -1);
        }
    }

    private void roll(int b, int p) {
        UnifiedLog log = c.log(b, p);
        if (log != null && log.activeSegment().size() > 0) {
            Broker.roll(log);
        }
    }

    /** A request handler: a consumer reads from an offset that may not be reached yet. */
    private void consume(int b, int p) {
        UnifiedLog log = c.log(b, p);
        if (log == null) {
            return;
        }
        TopicIdPartition of = named(b, p);
        long from = Math.max(log.logStartOffset(), log.highWatermark() - 1);
        FetchRequest.PartitionData data = new FetchRequest.PartitionData(of.topicId(), from, -1, 1 << 20, Optional.empty());
        FetchRequest request = FetchRequest.Builder.forConsumer(CONSUMER_VERSION, from % 2 == 0 ? 0 : 1000, 1, Map.of(of.topicPartition(), data)).build();
        long[] before = shown.heights(b);
        Map<TopicIdPartition, FetchPartitionData> found = Calls.fetch(c.up[b].manager, request, Map.of(of, data));
        c.up[b].act();
        for (FetchPartitionData read : found.values()) {
            shown.fetched(b, p, data, read, before);
        }
    }

    /** A request handler: OffsetsForLeaderEpoch and ListOffsets. */
    private void offsets(int b, int p) {
        kafka.cluster.Partition of = c.up[b].found(c.partitions.get(p));
        if (of != null) {
            int epoch = of.getLeaderEpoch();
            shown.ends(b, p, of.lastOffsetForLeaderEpoch(Optional.of(epoch), Math.max(0, epoch - 1), true), epoch);
            shown.snapshot(b, p, Reflect.call(of, "fetchOffsetSnapshot", Optional.empty(), true));
        }
    }

    /** Whatever else completes requests that wait in purgatories: here, another partition's request handler. */
    private void complete(int b, int p) {
        kafka.cluster.Partition of = c.up[b].found(c.partitions.get(p));
        if (of != null) {
            Reflect.call(of, "tryCompleteDelayedRequests");
        }
        c.up[b].act();
    }
}
