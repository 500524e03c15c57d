package fencepost;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.message.ListOffsetsRequestData;
import org.apache.kafka.common.message.ListOffsetsResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.ListOffsetsRequest;
import org.apache.kafka.common.requests.ListOffsetsResponse;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.controller.FencepostController;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import kafka.log.UnifiedLog;  // until 4.0
import org.apache.kafka.storage.internals.log.UnifiedLog;  // since 4.1

/** A controller and brokers built from Kafka's classes and not guided by a model: the possible steps, and their execution. */
final class Cluster {
    /** Sizes, settings, and the number of faults that may lose data. All of them hit one broker, so with min ISR 2, no record is lost. */
    record Shape(int brokers, int disks, int partitions, int replicas, int minIsr, int elr, int faults) {
        static Shape of(String text) {
            int[] n = Arrays.stream(text.split(" ")).mapToInt(word -> Integer.parseInt(word.split("=")[1])).toArray();
            return new Shape(n[0], n[1], n[2], n[3], n[4], n[5], n[6]);
        }

        @Override public String toString() {
            return "brokers=" + brokers + " disks=" + disks + " partitions=" + partitions + " replicas=" + replicas + " min-isr=" + minIsr
                + " elr=" + elr + " faults=" + faults;
        }

        List<Integer> replicasOf(int partition) {
            List<Integer> found = new ArrayList<>();
            for (int i = 0; i < replicas; i++) {
                found.add((partition + i) % brokers);
            }
            return found;
        }
    }

    /** A step: a verb and up to three numbers. */
    record Step(String verb, int a, int b, int c) {
        static Step of(String text) {
            String[] words = text.trim().split(" +");
            int[] n = new int[3];
            for (int i = 1; i < words.length; i++) {
                n[i - 1] = Integer.parseInt(words[i]);
            }
            return new Step(words[0], n[0], n[1], n[2]);
        }

        @Override public String toString() {
            return verb + " " + a + " " + b + " " + c;
        }
    }

    /** A write with acks=all, and its answer. */
    static class Write {
        final int value;
        final int partition;
        Broker leader;
        ProduceResponse.PartitionResponse answer;

        Write(int value, int partition) {
            this.value = value;
            this.partition = partition;
        }

        /** The first acknowledgement counts, because the producer then stops waiting. */
        void take(ProduceResponse.PartitionResponse answer) {
            this.answer = acknowledged() ? this.answer : answer;
        }

        boolean acknowledged() {
            return answer != null && answer.error == Errors.NONE;
        }
    }

    /** A fetch in flight, which its leader has not received yet. */
    private record Sent(Broker follower, Fetching.Request request, Broker leader, Map<TopicIdPartition, FetchRequest.PartitionData> wanted) { }

    final Shape shape;
    final Path root;
    FencepostController controller;
    final Broker[] up;
    final List<List<String>> dirs = new ArrayList<>();
    final List<Alteration> alterations = new ArrayList<>();
    /** The published ends of the metadata log. */
    final List<Integer> ends = new ArrayList<>();
    final List<Write> writes = new ArrayList<>();
    final List<TopicPartition> partitions = new ArrayList<>();
    /** For each partition, the offset up to which records were deleted. */
    final long[] deleted;
    /** The same offsets, including those of earlier topics. */
    final long[] everDeleted;
    Uuid topic;
    /** A bit mask of the brokers whose logs a step may have changed. */
    int touched;
    /** Whether records may be lost because an operator has requested an unclean election. */
    boolean excused;
    int minIsr;
    /** Whether eligible leader replicas are on. */
    boolean hasElr;
    /** Whether a directory was removed or replaced, perhaps with the only log that may be elected. */
    boolean hasLostDisk;
    /** For each broker, the high watermark, recovery point and start of its logs in its last checkpoints, by directory and topic. */
    private final List<Map<String, long[]>> written = new ArrayList<>();
    final Producers producers;
    final Sessions sessions;
    private final long[] former;
    private final List<Sent> fetches = new ArrayList<>();
    private final List<Map<Integer, Fetching.Answer>> answers = new ArrayList<>();
    private final int[] lastDir;
    private final String[] failed;
    private int values;
    private int topics;
    private int faults;
    private int hurt = -1;

    Cluster(Shape shape, Path root) throws Exception {
        this.shape = shape;
        this.root = root;
        minIsr = shape.minIsr;
        hasElr = shape.elr == 1;
        former = new long[shape.brokers];
        up = new Broker[shape.brokers];
        lastDir = new int[shape.brokers];
        failed = new String[shape.brokers];
        deleted = new long[shape.partitions];
        everDeleted = new long[shape.partitions];
        controller = new FencepostController(minIsr, shape.elr == 1, false, new Fakes.Clock());
        producers = new Producers(this);
        sessions = new Sessions(this);
        for (int p = 0; p < shape.partitions; p++) {
            partitions.add(new TopicPartition("t", p));
        }
        for (int b = 0; b < shape.brokers; b++) {
            dirs.add(new ArrayList<>());
            answers.add(new TreeMap<>());
            written.add(new TreeMap<>());
            Broker.remove(root.resolve("broker-" + b));
            for (int d = 0; d < shape.disks; d++) {
                dirs.get(b).add("d" + lastDir[b]++);
            }
            up[b] = process(b);
            register(up[b]);
            controller.heartbeat(b, up[b].epoch, false, Long.MAX_VALUE);
        }
        create();
        note();
        for (Broker b : up) {
            b.start(controller.log, last(), ends.size() - 1);
        }
        touched = -1;
    }

    void close() {
        for (Broker b : up) {
            if (b != null) {
                b.close();
            }
        }
    }

    private void create() {
        topic = controller.createTopic("t", partitions.stream().map(p -> shape.replicasOf(p.partition())).toList(), new Uuid(7, ++topics));
    }

    private Broker process(int b) throws Exception {
        Broker.prepare(root, b, dirs.get(b));
        Broker made = new Broker(b, -1, shape.minIsr, root, dirs.get(b), alterations);
        for (int leader = 0; leader < shape.brokers; leader++) {
            int at = leader;
            made.fetching.others.put(leader, request -> listOffsets(up[at], request));
        }
        return made;
    }

    private void register(Broker b) {
        former[b.id] = controller.registration(b.id) == null ? -1 : controller.registration(b.id).epoch();
        b.epoch = controller.register(b.id, new Uuid(6, controller.log.size() + 1), b.previousEpoch, b.directoryIds());
    }

    int last() {
        return ends.get(ends.size() - 1);
    }

    /** Records the end of the committed metadata, so that brokers can apply it; returns whether there is new metadata. */
    boolean note() {
        boolean more = ends.isEmpty() || last() != controller.log.size();
        if (more) {
            ends.add(controller.log.size());
        }
        return more;
    }

    PartitionRegistration registration(int partition) {
        return controller.partition(topic, partition);
    }

    boolean unfenced(int b) {
        return controller.registration(b) != null && !controller.registration(b).fenced();
    }

    /** Returns whether a broker that has lost records is down. A restart within its session, before an election, is the worst case. */
    boolean isDownWithLoss() {
        return faults > 0 && (up[hurt] == null || up[hurt].epoch < 0);
    }

    boolean isStopping(int b) {
        return unfenced(b) && controller.registration(b).inControlledShutdown();
    }

    /** Returns a broker that accepts connections because it has read its own registration in the metadata; otherwise null. */
    Broker connected(int b) {
        BrokerRegistration known = up[b] == null ? null : up[b].image().cluster().broker(b);
        return known == null || known.epoch() != up[b].epoch ? null : up[b];
    }

    UnifiedLog log(int b, int partition) {
        return up[b] == null ? null : up[b].log(partitions.get(partition));
    }

    boolean leads(int b, int partition) {
        kafka.cluster.Partition found = connected(b) == null ? null : up[b].found(partitions.get(partition));
        return found != null && found.isLeader();
    }

    // ---- possible steps

    /** Returns the steps with this verb that are possible now. */
    List<Step> steps(String verb) {
        List<Step> found = new ArrayList<>();
        switch (verb) {
            case "alter": case "resend": case "answer":
                for (int i = 0; i < alterations.size(); i++) {
                    Alteration a = alterations.get(i);
                    if (verb.equals("answer") == (a.response != null) && (!verb.equals("resend") || !a.isStray() && up[a.sender.id] == a.sender)) {
                        found.add(new Step(verb, a.sender.id, nth(a), 0));
                    }
                }
                return found;
            case "serve":
                for (int i = 0; i < fetches.size(); i++) {
                    found.add(new Step(verb, i, 0, 0));
                }
                return found;
            case "sessions": add(found, !sessions.areUsed, verb, 0, 0, 0); return found;
            case "balance": case "recreate": case "elr-off": case "fail-over": found.add(new Step(verb, 0, 0, 0)); return found;
            case "write": case "again": case "verify": case "deny": case "append": case "commit": case "abort": case "expire": case "mark":
                producers.list(verb, found);
                return found;
            case "min-isr":
                for (int n = 1; n <= shape.replicas; n++) {
                    if (n != minIsr && shape.faults == 0) {
                        found.add(new Step(verb, n, 0, 0));
                    }
                }
                return found;
            case "elect": case "elect-unclean": case "cancel":
                for (int p = 0; p < shape.partitions; p++) {
                    found.add(new Step(verb, p, 0, 0));
                }
                return found;
            case "reassign":
                for (int p = 0; p < shape.partitions; p++) {
                    for (int first = 0; first < shape.brokers; first++) {
                        for (int stride = 1; stride < shape.brokers; stride++) {
                            found.add(new Step(verb, p, first, stride));
                        }
                    }
                }
                return found;
            default:
                for (int b = 0; b < shape.brokers; b++) {
                    list(verb, b, found);
                }
                return found;
        }
    }

    private void list(String verb, int b, List<Step> found) {
        Broker up = this.up[b];
        boolean isDown = up == null;
        boolean mayHurt = faults < shape.faults && (hurt < 0 || hurt == b);
        boolean mayKill = shape.faults == 0 || hurt < 0 || hurt == b;
        switch (verb) {
            case "boot": case "start": add(found, isDown, verb, b, 0, 0); break;
            case "register": add(found, !isDown && up.epoch < 0, verb, b, 0, 0); break;
            case "fence": add(found, unfenced(b), verb, b, 0, 0); break;
            case "late-heartbeat": add(found, former[b] >= 0 && controller.registration(b) != null && former[b] != controller.registration(b).epoch(), verb, b, 0, 0); break;
            case "unregister": add(found, isDown && (mayHurt || shape.faults == 0) && controller.registration(b) != null, verb, b, 0, 0); break;
            case "take":
                for (String dir : dirs.get(b)) {
                    add(found, isDown && dirs.get(b).size() > 1 && (mayHurt || dir.equals(failed[b])), verb, b, number(dir), 0);
                }
                break;
            case "replace":
                for (String dir : dirs.get(b)) {
                    add(found, isDown && (mayHurt || dir.equals(failed[b])), verb, b, number(dir), 0);
                }
                break;
            case "publish":
                add(found, !isDown && up.applied < ends.size() - 1, verb, b, 0, 0);
                add(found, !isDown && up.applied < ends.size() - 2, verb, b, 1, 0);
                break;
            case "kill": add(found, !isDown && mayKill, verb, b, 0, 0); break;
            case "crash": case "tear": add(found, !isDown && mayHurt && hasUnflushed(b), verb, b, 1, 0); add(found, !isDown && mayHurt && hasUnflushed(b), verb, b, 3, 0); break;
            case "checkpoint": add(found, !isDown, verb, b, 0, 0); break;
            case "work": add(found, !isDown && !up.tasks.isEmpty(), verb, b, 0, 0); break;
            case "assign": add(found, !isDown && !up.assignments.isEmpty() && up.image().cluster().broker(b) != null, verb, b, 0, 0); break;
            case "fail":
                for (String dir : dirs.get(b)) {
                    boolean isOnline = !isDown && !up.offline.contains(Broker.directoryId(b, dir)) && up.offline.size() + 1 < dirs.get(b).size();
                    add(found, isOnline && mayHurt && failed[b] == null, verb, b, number(dir), 0);
                }
                break;
            case "heartbeat": add(found, !isDown && up.epoch >= 0, verb, b, 0, 0); break;
            default:
                if (connected(b) != null) {
                    listConnected(verb, b, found);
                }
        }
    }

    private void listConnected(String verb, int b, List<Step> found) {
        switch (verb) {
            case "stop": case "shrink": found.add(new Step(verb, b, 0, 0)); break;
            case "open": add(found, sessions.areUsed && up[b].image().topics().getTopic("t") != null, verb, b, 0, 0); break;
            case "cut":
                for (int leader = 0; leader < shape.brokers; leader++) {
                    add(found, sessions.areUsed && isOut(b, leader), verb, b, leader, 0);
                }
                break;
            case "late-fetch":
                for (int leader = 0; leader < shape.brokers; leader++) {
                    add(found, sessions.canRepeat(b, leader), verb, b, leader, 0);
                }
                break;
            case "roll": case "retain":
                for (int p = 0; p < shape.partitions; p++) {
                    UnifiedLog log = log(b, p);
                    boolean can = log != null && (verb.equals("roll") ? log.activeSegment().size() > 0 : log.numberOfSegments() > 1);
                    add(found, can, verb, b, p, 0);
                }
                break;
            case "produce": case "delete":
                for (int p = 0; p < shape.partitions; p++) {
                    add(found, leads(b, p), verb, b, p, 0);
                }
                break;
            case "fetch": case "send":
                for (int leader : up[b].fetching.leaders()) {
                    add(found, connected(leader) != null && !isOut(b, leader), verb, b, leader, 0);
                }
                break;
            case "move":
                for (int p = 0; p < shape.partitions; p++) {
                    for (String dir : dirs.get(b)) {
                        boolean isOther = log(b, p) != null && !log(b, p).parentDirFile().getName().equals(dir);
                        add(found, isOther && !up[b].offline.contains(Broker.directoryId(b, dir)), verb, b, p, number(dir));
                    }
                }
                break;
            case "copy": add(found, up[b].isMoving(), verb, b, 0, 0); break;
            case "retry":
                for (int p = 0; p < shape.partitions; p++) {
                    add(found, leads(b, p) && latest(p) != null, verb, b, p, 0);
                }
                break;
            case "reread": answers.get(b).keySet().forEach(leader -> found.add(new Step(verb, b, leader, 0))); break;
            case "follow": answers.get(b).keySet().forEach(leader -> found.add(new Step(verb, b, leader, 0))); break;
            case "lag":
                for (int p = 0; p < shape.partitions; p++) {
                    for (int f = 0; f < shape.brokers; f++) {
                        add(found, leads(b, p) && Scala.value(up[b].found(partitions.get(p)).getReplica(f)) != null, verb, b, p, f);
                    }
                }
                break;
            default: throw new IllegalArgumentException("a verb that this driver does not know: " + verb);
        }
    }

    private static void add(List<Step> found, boolean isPossible, String verb, int a, int b, int c) {
        if (isPossible) {
            found.add(new Step(verb, a, b, c));
        }
    }

    private static int number(String dir) {
        return Integer.parseInt(dir.substring(1));
    }

    private boolean hasUnflushed(int b) {
        return partitions.stream().anyMatch(p -> up[b].log(p) != null && up[b].log(p).logEndOffset() > up[b].log(p).recoveryPoint());
    }

    private boolean isOut(int follower, int leader) {
        return answers.get(follower).containsKey(leader)
            || fetches.stream().anyMatch(f -> f.follower == up[follower] && f.request.leader == leader);
    }

    /** Returns the position of a request among its broker's requests. */
    private int nth(Alteration wanted) {
        return (int) alterations.stream().filter(a -> a.sender.id == wanted.sender.id).takeWhile(a -> a != wanted).count();
    }

    private Alteration alteration(Step step) {
        return alterations.stream().filter(a -> a.sender.id == step.a).skip(step.b).findFirst().orElse(null);
    }

    /** Returns whether a step is possible. A step of a script may be impossible after earlier steps were omitted. */
    boolean can(Step step) {
        return steps(step.verb).contains(step);
    }

    // ---- execution

    void act(Step step) throws Exception {
        perform(step);
        note();
    }

    /** Executes a step without publishing the metadata that it has committed. */
    void perform(Step step) throws Exception {
        int b = step.a;
        touched |= isOfBroker(step.verb) ? 1 << b : 0;
        switch (step.verb) {
            case "alter": alter(alteration(step)); break;
            case "resend": alterations.add(alteration(step).again()); break;
            case "answer": answer(alteration(step)); break;
            case "balance": controller.balance(); break;
            case "recreate": recreate(); break;
            case "fail-over": controller = controller.successor(); break;
            case "elr-off": hasElr = false; controller.turnElrOff(); break;
            case "min-isr": minIsr = step.a; controller.setMinIsr("t", minIsr); break;
            case "elect": expect(controller.elect("t", step.a, false)); break;
            case "elect-unclean":
                excused |= expect(controller.elect("t", step.a, true));
                break;
            case "reassign": reassign(step); break;
            case "cancel": expect(controller.reassign("t", step.a, null)); break;
            case "boot": boot(b); break;
            case "register": enrol(b); break;
            case "start": boot(b); enrol(b); break;
            case "fence": controller.fence(b); break;
            case "unregister":
                if (shape.faults > 0) {
                    hurt(b);
                }
                controller.unregister(b);
                break;
            case "heartbeat": heartbeat(b, false); break;
            case "late-heartbeat": lateHeartbeat(b); break;
            case "checkpoint": up[b].checkpoint(); written.set(b, offsets(b)); break;
            case "roll": Broker.roll(log(b, step.b)); break;
            case "retain": retain(b, step.b); break;
            case "stop": stop(b); break;
            case "kill": hurt = b; halt(b, 0, false); break;
            case "crash": case "tear": hurt(b); halt(b, step.b, step.verb.equals("tear")); break;
            case "write": case "again": case "verify": case "deny": case "append": case "commit": case "abort": case "expire": case "mark": producers.act(step); break;
            case "fail": hurt(b); failed[b] = "d" + step.b; fail(b, failed[b]); break;
            case "take": lose(b, "d" + step.b); dirs.get(b).remove("d" + step.b); break;
            case "replace": lose(b, "d" + step.b); replace(b, "d" + step.b); break;
            case "publish": publish(b, step.b == 0 ? ends.size() - 1 : up[b].applied + 1); break;
            case "work": up[b].work(); up[b].act(); break;
            case "assign": assign(b); break;
            case "shrink": Reflect.call(up[b].manager, "maybeShrinkIsr"); up[b].act(); break;
            case "produce": produce(b, step.b); break;
            case "retry": send(b, latest(step.b)); break;
            case "move": up[b].move(partitions.get(step.b), "d" + step.c); break;
            case "copy": copy(b); break;
            case "reread": reread(b, step.b); break;
            case "delete": delete(b, step.b); break;
            case "send": send(b, step.b); break;
            case "serve": serve(fetches.remove(step.a)); break;
            case "fetch":
                if (send(b, step.b)) {
                    serve(fetches.remove(fetches.size() - 1));
                }
                break;
            case "follow": follow(b, answers.get(b).remove(step.b)); break;
            case "sessions": sessions.areUsed = true; break;
            case "open": sessions.open(up[b]); break;
            case "cut":
                fetches.removeIf(f -> f.follower == up[b] && f.request.leader == step.b && lose(b, f.request));
                answers.get(b).computeIfPresent(step.b, (leader, answer) -> lost(answer.to));
                break;
            case "late-fetch": sessions.repeat(b, step.b); break;
            case "lag": Replicas.age(Scala.value(up[b].found(partitions.get(step.b)).getReplica(step.c))); break;
            default: throw new IllegalArgumentException("a verb that this driver does not know: " + step.verb);
        }
    }

    private static boolean isOfBroker(String verb) {
        return !List.of("balance", "fail-over", "elect", "elect-unclean", "cancel", "reassign", "min-isr", "elr-off", "recreate", "serve", "late-heartbeat",
            "append", "commit", "abort", "expire", "sessions").contains(verb);
    }

    /** Returns whether the controller granted a request. An answer that an operator cannot understand is a bug. */
    private static boolean expect(String error) {
        if (error.equals("UNKNOWN_SERVER_ERROR")) {
            throw new Judge.Violation("the controller answers " + error);
        }
        return error.equals("NONE");
    }

    private void hurt(int b) {
        faults++;
        hurt = b;
    }

    private void fail(int b, String dir) {
        List<TopicPartition> moved = partitions.stream().filter(p -> up[b].future(p) != null && up[b].log(p).parentDirFile().getName().equals(dir)).toList();
        up[b].fail(dir);
        // the fix: if a failed directory ends a move, the move is also reverted in the metadata
        for (TopicPartition p : Fakes.isRepaired("failed-while-moved") ? moved : List.<TopicPartition>of()) {
            Object place = new org.apache.kafka.server.common.TopicIdPartition(up[b].image().topics().getTopic("t").id(), p.partition());
            up[b].assignments.add(new Object[] {place, Broker.directoryId(b, dir), (Runnable) () -> { }});
        }
    }

    private void lose(int b, String dir) {
        hasLostDisk = true;
        if (!dir.equals(failed[b])) {
            hurt(b);
        }
        failed[b] = null;
    }

    private void alter(Alteration a) {
        if (a.arrivesLate() && Fakes.isRepaired("hyp-8")) {
            alterations.remove(a);  // without HYP-8, the network delivers no old copy of a request
            return;
        }
        try {
            a.response = controller.alterPartition(a.request.data());
        } catch (ApiException e) {
            a.response = new AlterPartitionResponseData().setErrorCode(Errors.forException(e).code());
        }
        refuse("an AlterPartition", a.sender.id, a.request.data().brokerEpoch(), Errors.forCode(a.response.errorCode()));
        if (a.isStray()) {
            alterations.remove(a);  // the answer's connection is closed
        }
    }

    /** A request from an earlier process of a broker is always rejected. */
    private void refuse(String what, int b, long epoch, Errors answer) {
        expect(answer.name());
        BrokerRegistration known = controller.registration(b);
        if ((known == null || known.epoch() != epoch) && answer != Errors.STALE_BROKER_EPOCH) {
            throw new Judge.Violation("the controller answers " + answer + " to " + what + " of an earlier process of broker " + b);
        }
    }

    private void lateHeartbeat(int b) {
        try {
            controller.heartbeat(b, former[b], false, Long.MAX_VALUE);
            refuse("a heartbeat", b, former[b], Errors.NONE);
        } catch (ApiException e) {
            refuse("a heartbeat", b, former[b], Errors.forException(e));
        }
    }

    private void answer(Alteration a) {
        alterations.remove(a);
        if (up[a.sender.id] == a.sender) {
            if (Fakes.isRepaired("hyp-11")) {
                a.sender.configure(minIsr);  // the fix for HYP-11: an answer contains the min ISR that was used to judge the request
            }
            a.answer();
            a.sender.act();
        }
    }

    private void recreate() {
        for (TopicPartition p : partitions) {
            List<Integer> replicas = shape.replicasOf(p.partition());
            if (replicas.stream().anyMatch(b -> controller.registration(b) == null)
                || replicas.stream().noneMatch(b -> unfenced(b) && !controller.registration(b).inControlledShutdown())) {
                return;
            }
        }
        controller.deleteTopic(topic);
        note();
        create();
        writes.clear();
        Arrays.fill(deleted, 0);
        minIsr = shape.minIsr;
    }

    private void reassign(Step step) {
        List<Integer> wanted = new ArrayList<>();
        for (int i = 0; wanted.size() < shape.replicas && i < shape.brokers; i++) {
            int next = (step.b + i * step.c) % shape.brokers;
            if (!wanted.contains(next) && controller.registration(next) != null) {
                wanted.add(next);
            }
        }
        if (wanted.size() == shape.replicas) {
            expect(controller.reassign("t", step.a, wanted));
        }
    }

    private void boot(int b) throws Exception {
        up[b] = process(b);
        up[b].start(controller.log, last(), ends.size() - 1);
        Map<String, long[]> now = offsets(b);
        written.get(b).forEach((log, was) -> {
            for (int i = 0; now.containsKey(log) && i < NAMED.length; i++) {
                if (now.get(log)[i] < Math.min(was[i], now.get(log)[NAMED.length])) {
                    throw new Judge.Violation("broker " + b + ", " + log + ": its " + NAMED[i] + " is " + now.get(log)[i] + " after its start, and it wrote " + was[i]);
                }
            }
        });
    }

    private static final String[] NAMED = {"high watermark", "recovery point", "log start"};

    private Map<String, long[]> offsets(int b) {
        Map<String, long[]> found = new TreeMap<>();
        for (TopicPartition p : partitions) {
            UnifiedLog log = up[b].log(p);
            if (log != null) {
                found.put("partition " + p.partition() + ", directory " + log.parentDirFile().getName() + ", topic "
                    + (Scala.value(log.topicId()) == null ? 0 : ((Uuid) Scala.value(log.topicId())).getLeastSignificantBits()),
                    new long[] {log.highWatermark(), log.recoveryPoint(), log.logStartOffset(), log.logEndOffset()});
            }
        }
        return found;
    }

    private void enrol(int b) {
        if (controller.registration(b) != null) {
            controller.expire(b);
        }
        register(up[b]);
    }

    /** A heartbeat. With `stop`, this heartbeat and all later ones request a controlled shutdown. */
    private void heartbeat(int b, boolean stop) throws Exception {
        BrokerRegistration known = controller.registration(b);
        if (known == null || known.epoch() != up[b].epoch) {
            return;
        }
        String answer = controller.heartbeat(b, up[b].epoch, stop || known.inControlledShutdown(), up[b].appliedRecords(), up[b].offline);
        note();
        if (answer.equals("stop")) {
            written.set(b, offsets(b));
            up[b].stop();
            gone(b);
        }
    }

    private void stop(int b) throws Exception {
        for (int other = 0; other < shape.brokers; other++) {
            if (other != b && connected(other) != null && unfenced(other)) {
                heartbeat(other, false);
            }
        }
        heartbeat(b, true);
    }

    private void halt(int b, int lost, boolean tears) throws Exception {
        lower(b);
        up[b].crash(partitions, lost, tears);
        gone(b);
    }

    /** A truncation rewrites checkpoints. A flush that was scheduled before may raise the recovery point again, but not in the file. */
    private void lower(int b) {
        offsets(b).forEach((log, now) -> {
            long[] was = written.get(b).get(log);
            for (int i = 0; was != null && i < NAMED.length; i++) {
                was[i] = Math.min(was[i], now[i]);
            }
        });
    }

    private void gone(int b) {
        up[b] = null;
        answers.get(b).clear();
    }

    private void replace(int b, String dir) throws Exception {
        Broker.remove(root.resolve("broker-" + b).resolve(dir));
        dirs.get(b).set(dirs.get(b).indexOf(dir), "d" + lastDir[b]++);
    }

    private void publish(int b, int index) {
        boolean configures = controller.log.subList(up[b].appliedRecords(), ends.get(index)).stream()
            .anyMatch(record -> record instanceof org.apache.kafka.common.metadata.ConfigRecord);
        up[b].apply(controller.log, ends.get(index), index);
        if (configures) {
            up[b].configure();
        }
    }

    /** AssignmentsManager sends the next assignments, with the broker epoch from its metadata. */
    private void assign(int b) {
        Object[] next = up[b].assignments.remove(0);
        Uuid of = (Uuid) Reflect.call(next[0], "topicId");
        int partition = (int) Reflect.number(Reflect.call(next[0], "partitionId"));
        long epoch = up[b].image().cluster().broker(b).epoch();
        Errors answer = controller.assign(b, epoch, of, partition, (Uuid) next[1]);
        refuse("an AssignReplicasToDirs", b, epoch, answer);
        if (answer == Errors.NONE) {
            try {
                ((Runnable) next[next.length - 1]).run();
            } catch (NullPointerException e) {
                return;  // AssignmentsManager logs the error, and the replica no longer moves
            }
        } else if (answer == Errors.STALE_BROKER_EPOCH && up[b].image().cluster().broker(b).epoch() != up[b].epoch) {
            up[b].assignments.add(0, next);  // AssignmentsManager tries again
        }
    }

    private void produce(int b, int partition) {
        Write write = new Write(nextValue(), partition);
        writes.add(write);
        send(b, write);
    }

    int nextValue() {
        return ++values;
    }

    /** A write as its producer sends it; a resent write has the same sequence number. */
    private void send(int b, Write write) {
        write.leader = up[b];
        TopicIdPartition named = new TopicIdPartition(up[b].image().topics().getTopic("t").id(), partitions.get(write.partition));
        Calls.append(up[b].manager, named, Calls.firstBatch(write.value), answer -> write.take(answer));
        up[b].act();
        if (!named.topicId().equals(topic)) {
            writes.remove(write);
        }
    }

    /** Returns the last write to a partition, which its producer may resend, or null if there is none. */
    private Write latest(int partition) {
        return writes.stream().filter(w -> w.partition == partition && w.getClass() == Write.class && w.value > 0).reduce((before, last) -> last).orElse(null);
    }

    /** Copies records of a moving replica. If the copy has replaced the original, its checkpoints are new. */
    private void copy(int b) {
        up[b].copy();
        written.get(b).keySet().retainAll(offsets(b).keySet());
    }

    /** The leader sends the bytes of an answer late, so it sends the current content of that position in its files. */
    private void reread(int b, int leader) throws Exception {
        Fetching.Answer answer = answers.get(b).get(leader);
        if (answer.isWhole()) {
            answer.read();
        } else {
            answers.get(b).remove(leader);
            lose(b, answer.to);
        }
    }

    private void delete(int b, int partition) {
        Object result = up[b].found(partitions.get(partition)).deleteRecordsOnLeader(-1);
        long low = Reflect.number(Reflect.call(result, "requestedOffset"));
        if (log(b, partition).logStartOffset() < low) {
            throw new Judge.Violation("broker " + b + ", partition " + partition + ": records were deleted up to " + low + ", and its log starts at "
                + log(b, partition).logStartOffset());
        }
        everDeleted[partition] = Math.max(everDeleted[partition], low);
        if (up[b].image().topics().getTopic("t").id().equals(topic)) {
            deleted[partition] = Math.max(deleted[partition], low);
        }
    }

    /** Retention by size, which keeps only the last segment. Each replica deletes segments on its own. */
    private void retain(int b, int partition) {
        UnifiedLog log = log(b, partition);
        Broker.retain(log);
        if (log.numberOfSegments() > 1 && log.activeSegment().size() > 0 && log.highWatermark() >= log.activeSegment().baseOffset()) {
            throw new Judge.Violation("broker " + b + ", partition " + partition + ": retention leaves old segments");
        }
        long start = log.logStartOffset();
        everDeleted[partition] = Math.max(everDeleted[partition], start);
        if (topic.equals(Scala.value(log.topicId()))) {
            deleted[partition] = Math.max(deleted[partition], start);
        }
    }

    private boolean send(int b, int leader) {
        Fetching.Request request = up[b].fetching.request(leader);
        return request != null
            && fetches.add(new Sent(up[b], request, up[leader], sessions.areUsed ? sessions.wanted(up[b], request.fetcher) : null));
    }

    /** If sessions are used, a follower learns that its fetch is not answered. */
    private boolean lose(int b, Fetching.Request request) {
        if (sessions.areUsed) {
            answers.get(b).put(request.leader, lost(request));
        }
        return sessions.areUsed;
    }

    private static Fetching.Answer lost(Fetching.Request request) {
        Fetching.Answer lost = new Fetching.Answer(request);
        lost.isLost = true;
        return lost;
    }

    private void follow(int b, Fetching.Answer answer) {
        Fetching.handle(answer);
        up[b].act();
        lower(b);
        Sessions.followed(up[b], answer);
    }

    /** The leader handles a fetch. A follower that no longer waits gets no answer. */
    private void serve(Sent sent) throws Exception {
        Broker leader = connected(sent.request.leader);
        if (leader == null || sent.wanted != null && leader != sent.leader) {
            drop(sent);
            return;
        }
        touched |= 1 << leader.id;
        List<Object> before = pending(leader);
        if (sent.wanted != null) {
            serve(sent, before);
            return;
        }
        Map<TopicIdPartition, FetchRequest.PartitionData> asked = sent.request.asked();
        asked.keySet().removeIf(p -> leader.image().topics().getTopic(p.topicId()) == null);
        Map<TopicIdPartition, FetchPartitionData> found = asked.isEmpty() ? Map.of() : Calls.fetch(leader.manager, sent.request.request, asked);
        leader.act();
        eligible(leader, before);
        Fetching.Answer answer = new Fetching.Answer(sent.request);
        for (Map.Entry<TopicIdPartition, FetchPartitionData> of : found.entrySet()) {
            expect(of.getValue().error.name());
            try {
                answer.add(of.getKey(), of.getValue());
            } catch (java.nio.channels.ClosedChannelException e) {
                return;  // the leader's network thread closes the connection
            }
        }
        if (up[sent.follower.id] == sent.follower && !answer.data.isEmpty()) {
            answers.get(sent.follower.id).put(leader.id, answer);
        }
    }

    private void drop(Sent sent) {
        if (up[sent.follower.id] == sent.follower) {
            lose(sent.follower.id, sent.request);
        }
    }

    private void serve(Sent sent, List<Object> before) throws Exception {
        try {
            Fetching.Answer answer = sessions.serve(sent.follower, sent.leader, sent.request, sent.wanted);
            answer.data.values().forEach(data -> expect(Errors.forCode(data.errorCode()).name()));
            if (up[sent.follower.id] == sent.follower) {
                answers.get(sent.follower.id).put(sent.leader.id, answer);
            }
        } catch (java.nio.channels.ClosedChannelException e) {
            drop(sent);
        }
        eligible(sent.leader, before);
    }

    private List<Object> pending(Broker leader) {
        return partitions.stream().map(leader::found).map(p -> p == null ? null : Reflect.call(p, "partitionState")).toList();
    }

    /** Checks that a leader adds only replicas of brokers that are active in its metadata and have fetched since they registered. */
    private void eligible(Broker leader, List<Object> before) {
        List<Object> now = pending(leader);
        for (int p = 0; p < now.size(); p++) {
            if (now.get(p) == null || now.get(p) == before.get(p) || !(boolean) Reflect.call(now.get(p), "isInflight")) {
                continue;
            }
            int added = Scala.bits(Reflect.call(Reflect.call(now.get(p), "sentLeaderAndIsr"), "isr")) & ~Scala.bits(Reflect.call(now.get(p), "isr"));
            for (int f = 0; f < shape.brokers; f++) {
                if ((added & 1 << f) != 0) {
                    BrokerRegistration known = leader.image().cluster().broker(f);
                    Object state = Reflect.call(Scala.value(leader.found(partitions.get(p)).getReplica(f)), "stateSnapshot");
                    Object epoch = Scala.value(Reflect.call(state, "brokerEpoch"));
                    if (known == null || known.fenced() || known.inControlledShutdown() || epoch == null || known.epoch() != (long) epoch) {
                        throw new Judge.Violation("broker " + leader.id + ", partition " + p + ": it asks to add broker " + f
                            + " to the ISR, which is fenced or has fetched before it was registered");
                    }
                }
            }
        }
    }

    /** ListOffsets, which a follower sends if its offset is out of the leader's range. */
    private AbstractResponse listOffsets(Broker leader, AbstractRequest asked) {
        ListOffsetsResponseData out = new ListOffsetsResponseData();
        for (ListOffsetsRequestData.ListOffsetsTopic topic : ((ListOffsetsRequest) asked).topics()) {
            ListOffsetsResponseData.ListOffsetsTopicResponse of = new ListOffsetsResponseData.ListOffsetsTopicResponse().setName(topic.name());
            for (ListOffsetsRequestData.ListOffsetsPartition p : topic.partitions()) {
                of.partitions().add(offset(leader, p));
            }
            out.topics().add(of);
        }
        return new ListOffsetsResponse(out);
    }

    private ListOffsetsResponseData.ListOffsetsPartitionResponse offset(Broker leader, ListOffsetsRequestData.ListOffsetsPartition asked) {
        ListOffsetsResponseData.ListOffsetsPartitionResponse out =
            new ListOffsetsResponseData.ListOffsetsPartitionResponse().setPartitionIndex(asked.partitionIndex());
        kafka.cluster.Partition found = leader == null ? null : leader.found(partitions.get(asked.partitionIndex()));
        if (found == null) {
            return out.setErrorCode(Errors.NOT_LEADER_OR_FOLLOWER.code());
        }
        try {
            UnifiedLog log = found.localLogWithEpochOrThrow(java.util.Optional.of(asked.currentLeaderEpoch()), true);
            long at = asked.timestamp() == ListOffsetsRequest.LATEST_TIMESTAMP ? log.logEndOffset() : log.logStartOffset();
            Object epoch = Scala.value(log.latestEpoch());
            int of = at == log.logEndOffset() ? (epoch == null ? 0 : (Integer) epoch) : Judge.epoch(log, at);
            return out.setOffset(at).setTimestamp(-1).setLeaderEpoch(of);
        } catch (ApiException e) {
            return out.setErrorCode(Errors.forException(e).code());
        }
    }

    // ---- output

    /** Returns the state as one line: leader/epoch, ISR and ELR of each partition, and the status and logs of each broker. */
    String show() {
        StringBuilder out = new StringBuilder();
        for (int p = 0; p < shape.partitions; p++) {
            PartitionRegistration r = registration(p);
            out.append(p == 0 ? "" : "; ").append("leader ").append(r.leader < 0 ? "none" : r.leader).append(" epoch ").append(r.leaderEpoch)
                .append(" ISR ").append(Arrays.toString(r.isr)).append(r.elr.length == 0 ? "" : " ELR " + Arrays.toString(r.elr))
                .append(" logs");
            for (int b = 0; b < shape.brokers; b++) {
                UnifiedLog log = log(b, p);
                out.append(' ').append(up[b] == null ? "down" : log == null ? "-" : log.logStartOffset() == 0 ? "" + log.logEndOffset()
                    : log.logStartOffset() + ".." + log.logEndOffset());
            }
        }
        return out.toString();
    }
}
