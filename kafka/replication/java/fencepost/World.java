package fencepost;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.message.ListOffsetsRequestData.ListOffsetsPartition;
import org.apache.kafka.common.message.ListOffsetsResponseData;
import org.apache.kafka.common.message.ListOffsetsResponseData.ListOffsetsPartitionResponse;
import org.apache.kafka.common.message.ListOffsetsResponseData.ListOffsetsTopicResponse;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.Records;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.ListOffsetsRequest;
import org.apache.kafka.common.requests.ListOffsetsResponse;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.controller.FencepostController;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchParams;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import kafka.log.UnifiedLog;  // until 4.0
import org.apache.kafka.storage.internals.log.UnifiedLog;  // since 4.1

/** A controller, its brokers, and all messages in flight between them. Actions happen one at a time, in one thread. */
final class World {
    /** The number of log directories of a broker whose directories may fail, which allows for removals. */
    private static final int DIRECTORIES = 4;
    private static final String HOLLOW = "the logs diverge in an epoch without records";

    private static final String LED = "a follower with an empty log has led an epoch without records";

    private static final String INDEX = "the controller's ELR index contains a broker whose ELR was cleared";

    /** Thrown if the driver itself rejects an action, without calling Kafka. */
    static final class Untried extends Loop.Untried {
        Untried(String why) {
            super(why);
        }
    }

    /** Thrown if a class of Kafka rejects an action. */
    static final class Refused extends Loop.Refused {
        Refused(String why) {
            super(why);
        }
    }

    /** A write and its outcome. */
    private static final class Write {
        int record;
        long offset;
        Broker leader;
        ProduceResponse.PartitionResponse answer;
    }

    private final int brokers;
    private final int minIsr;
    private final Fetching.Holding holding;
    private final Path root;
    private final FencepostController controller;
    private final Uuid topic;
    private final Broker[] running;
    private final Disk[] disks;
    /** The log directories of each broker: one, or several if directories may fail. */
    private final List<List<String>> dirs = new ArrayList<>();
    /** For each broker, the log directory that has failed, and how far the controller knows that the log is in another directory. */
    private final String[] failed;
    private final int[] moved;
    private int directories;
    private final List<List<Long>> epochs = new ArrayList<>();
    /** For each image, the end of the metadata log, and the image as text. */
    private final List<Integer> ends = new ArrayList<>();
    private final List<String> images = new ArrayList<>();
    private int told;
    private final List<Alteration> sent = new ArrayList<>();
    private final Map<Integer, Fetching.Request> late = new java.util.TreeMap<>();
    private int lates;
    private final List<Write> writes = new ArrayList<>();

    World(
        int brokers, int minIsr, boolean elr, boolean unclean, int leader, int isr, int missing, int holding, int mayFail, Path root
    ) throws Exception {
        this.holding = Fetching.Holding.values()[holding];
        this.brokers = brokers;
        this.minIsr = minIsr;
        this.root = root;
        Alteration.restart();
        running = new Broker[brokers];
        disks = new Disk[brokers];
        failed = new String[brokers];
        moved = new int[brokers];
        controller = new FencepostController(minIsr, elr, unclean, new Fakes.Clock());
        for (int b = 0; b < brokers; b++) {
            epochs.add(new ArrayList<>());
            dirs.add(new ArrayList<>(List.of(Broker.DIRECTORY)));
            while (b < mayFail && dirs.get(b).size() < DIRECTORIES) {
                dirs.get(b).add("d" + ++directories);
            }
            epochs.get(b).add(controller.register(b, new Uuid(5, b), -1, online(b)));
            controller.heartbeat(b, epoch(b), false, Long.MAX_VALUE);
        }
        List<Integer> replicas = new ArrayList<>();
        for (int b = 0; b < brokers; b++) {
            if ((missing & 1 << b) == 0) {
                replicas.add(b);
            }
        }
        List<Integer> leaderFirst = new ArrayList<>(replicas);
        leaderFirst.remove((Integer) leader);
        leaderFirst.add(0, leader);
        topic = controller.createTopic("t", leaderFirst);
        if (leader != 0) {
            controller.reassign("t", replicas);
        }
        for (int b = 0; b < brokers; b++) {
            if (((isr | missing) & 1 << b) == 0) {
                controller.fence(b);
                controller.heartbeat(b, epoch(b), false, Long.MAX_VALUE);
            }
        }
        for (int b = 0; b < brokers; b++) {
            Broker.prepare(root, b, dirs.get(b), null, topic, 0);
            running[b] = new Broker(b, epoch(b), minIsr, root, dirs.get(b), null, sent, this.holding);
        }
        if (mayFail > 0) {  // brokers with several directories report which one they use once they have created their logs
            int made = controller.log.size();
            for (int b = 0; b < brokers; b++) {
                running[b].apply(controller.log, made, 0);
                assigned(running[b]);
            }
        }
        note();
        for (int b = 0; b < brokers; b++) {
            running[b].apply(controller.log, ends.get(0), 0);
        }
    }

    /** Returns the ids of a broker's directories that have not failed. */
    private List<Uuid> online(int broker) {
        return dirs.get(broker).stream().filter(d -> !d.equals(failed[broker])).map(d -> Broker.directoryId(broker, d)).toList();
    }

    void close() throws Exception {
        for (Broker b : running) {
            if (b != null) {
                b.close();
            }
        }
    }

    private long epoch(int broker) {
        List<Long> all = epochs.get(broker);
        return all.get(all.size() - 1);
    }

    /** Returns the number of a broker's incarnation with this epoch, or -1 if there is none. */
    private int incarnation(int broker, long epoch) {
        return epochs.get(broker).indexOf(epoch);
    }

    private Broker running(int broker) {
        if (running[broker] == null) {
            throw new Untried("broker " + broker + " does not run");
        }
        return running[broker];
    }

    /** Returns a broker that accepts connections, which requires that it has registered. */
    private Broker connected(int broker) {
        if (running(broker).epoch < 0) {
            throw new Untried("broker " + broker + " takes no connections before it is registered");
        }
        return running(broker);
    }

    /** Stores the controller's state as the image after the latest records. */
    private void note() {
        if (!ends.isEmpty() && ends.get(ends.size() - 1) == controller.log.size()) {
            return;
        }
        ends.add(controller.log.size());
        PartitionRegistration p = controller.partition(topic);
        List<BrokerRegistration> found = new ArrayList<>();
        for (int b = 0; b < brokers; b++) {
            found.add(controller.registration(b));
        }
        images.add(image(p, found, raised(controller.minIsr("t"))));
    }

    /** Returns the difference between a topic's min ISR and its initial min ISR. */
    private int raised(String setting) {
        return setting == null ? 0 : Integer.parseInt(setting) - minIsr;
    }

    private String image(PartitionRegistration p, List<BrokerRegistration> registrations, int raised) {
        int fenced = 0;
        int stopping = 0;
        StringBuilder incarnations = new StringBuilder();
        for (int b = 0; b < brokers; b++) {
            BrokerRegistration r = registrations.get(b);
            fenced |= r.fenced() ? 1 << b : 0;
            stopping |= r.inControlledShutdown() ? 1 << b : 0;
            incarnations.append(b == 0 ? "" : ",").append(incarnation(b, r.epoch()));
        }
        int missing = ~Scala.bits(p.replicas) & (1 << brokers) - 1;
        return "[" + p.leader + "," + p.leaderEpoch + "," + p.partitionEpoch + "," + Scala.bits(p.isr) + "," + fenced + "," + stopping
            + "," + missing + "," + raised + ",[" + incarnations + "]]";
    }

    // ---- actions

    void crash(int broker, int kept) throws Exception {
        halt(running(broker), kept, false);
    }

    private void halt(Broker b, int kept, boolean clean) throws Exception {
        leaveFetchBehind(b);
        Disk offline = disks[b.id];
        disks[b.id] = b.halt(kept, clean);
        if (failed[b.id] != null) {  // the log is unchanged since the directory failed
            offline.savedEpoch = disks[b.id].savedEpoch;
            disks[b.id] = offline;
        }
        running[b.id] = null;
    }

    private void leaveFetchBehind(Broker b) throws Exception {
        Fetching.Request request = b.fetching.answer == null ? b.fetching.request() : null;
        if (request != null) {
            request.hollow = isOfEmptyEpoch(request, b.entries());
            request.lastEpoch = lastEpoch(b.entries());
            late.put(++lates, request);
        }
    }

    // ---- log directories

    /** The directory with the replica fails, and LogDirFailureHandler is notified. */
    void fail(int broker) throws Exception {
        Broker b = running(broker);
        if (b.found() == null) {
            throw new Untried("the broker has no replica that is online");
        }
        leaveFetchBehind(b);
        Disk disk = b.disk(b.entries().size());
        disk.savedEpoch = disks[broker] == null ? -1 : disks[broker].savedEpoch;
        disks[broker] = disk;
        b.fetching.answer = null;
        failed[broker] = disk.directory;
        b.fail(disk.directory);
        b.act();
    }

    private Disk down(int broker) {
        if (running[broker] != null) {
            throw new Untried("broker " + broker + " runs");
        }
        return disks[broker];
    }

    /** The failed directory works again, but contains no file that marks a clean shutdown. */
    void restore(int broker) {
        down(broker).savedEpoch = -1;
        failed[broker] = null;
    }

    /** The disk with the replica is replaced with an empty one. */
    void replace(int broker) {
        down(broker).savedEpoch = -1;
        dirs.get(broker).set(leave(broker), "d" + ++directories);
    }

    /** The directory with the replica is removed from log.dirs. */
    void takeOut(int broker) {
        down(broker);
        dirs.get(broker).remove(leave(broker));
    }

    /** Removes the log with its directory; returns the directory's position in the list. */
    private int leave(int broker) {
        Disk disk = disks[broker];
        int at = disk.directory == null ? 0 : dirs.get(broker).indexOf(disk.directory);
        disk.segment = null;
        disk.base = 0;
        disk.checkpoint = 0;
        disk.entries = new ArrayList<>();
        disk.highWatermark = 0;
        disk.directory = null;
        failed[broker] = null;
        boolean known = !controller.registration(broker).hasOnlineDir(controller.partition(topic).directory(broker));
        moved[broker] = moved[broker] == 0 && known ? 1 : 2;
        return at;
    }

    /** A heartbeat reports the directory as failed. */
    void markOffline(int broker) {
        List<Uuid> offline = running(broker).offline;
        if (offline.isEmpty() && failed[broker] == null) {
            throw new Untried("no directory of broker " + broker + " has failed");
        }
        List<Uuid> gone = offline.isEmpty() ? List.of(Broker.directoryId(broker, failed[broker])) : offline;
        if (!gone.contains(controller.partition(topic).directory(broker))) {
            throw new Untried("the controller assigns another directory of broker " + broker + " to the partition");
        }
        controller.markOffline(broker, gone);
        note();
    }

    /** AssignmentsManager reports the directory in which the broker has created its log. */
    void assign(int broker) {
        if (!assigned(running(broker))) {
            throw new Untried("broker " + broker + " has nothing to say of its directories");
        }
        note();
    }

    private boolean assigned(Broker b) {
        if (b.assignments.isEmpty()) {
            return false;
        }
        Object[] next = b.assignments.get(b.assignments.size() - 1);
        b.assignments.clear();
        Errors answer = controller.assign(b.id, b.epoch, topic, 0, (Uuid) next[1]);
        if (answer != Errors.NONE) {
            throw new Refused(answer.name());
        }
        ((Runnable) next[3]).run();
        moved[b.id] = 0;
        return true;
    }

    // ---- actions of brokers and the controller

    void stop(int broker) throws Exception {
        Broker b = running(broker);
        for (Broker other : running) {
            BrokerRegistration known = other == null ? null : controller.registration(other.id);
            boolean isActive = known != null && other.epoch >= 0 && !known.fenced() && !known.inControlledShutdown();
            if (isActive && other != b) {
                controller.heartbeat(other.id, other.epoch, false, other.appliedRecords());
            }
        }
        String answer = controller.heartbeat(broker, b.epoch, true, b.appliedRecords());
        note();
        if (!answer.equals("stop")) {
            throw new Refused(isHeldUp(broker) ? "a broker that is down but not fenced yet delays a controlled shutdown"
                : "the heartbeat is answered: " + answer);
        }
        halt(b, b.entries().size(), true);
    }

    /** Returns whether the controller waits for heartbeats of another broker, which will send none. */
    private boolean isHeldUp(int broker) {
        for (int other = 0; other < brokers; other++) {
            BrokerRegistration r = controller.registration(other);
            boolean isSilent = running[other] == null || running[other].epoch < 0;
            if (other != broker && isSilent && !r.fenced() && !r.inControlledShutdown()) {
                return true;
            }
        }
        return false;
    }

    /** A process of the broker starts. With epoch -1, it is not registered yet. */
    private void start(int broker, long epoch, int checkpoint) throws Exception {
        if (running[broker] != null) {
            throw new Untried("broker " + broker + " runs");
        }
        Disk readable = failed[broker] == null ? disks[broker] : null;
        Broker.prepare(root, broker, dirs.get(broker), readable, topic, checkpoint);
        running[broker] = new Broker(broker, epoch, minIsr, root, dirs.get(broker), failed[broker], sent, holding);
        running[broker].start(controller.log, controller.log.size(), ends.size() - 1);
    }

    void start(int broker, int checkpoint) throws Exception {
        start(broker, -1, checkpoint);
    }

    void register(int broker, int checkpoint) throws Exception {
        Broker early = running[broker];
        if (early != null && early.epoch >= 0) {
            throw new Untried("broker " + broker + " runs");
        }
        controller.expire(broker);
        long epoch = controller.register(broker, new Uuid(6, controller.log.size()), disks[broker].savedEpoch, online(broker));
        moved[broker] = Math.min(moved[broker], 1);
        epochs.get(broker).add(epoch);
        note();
        if (early == null) {
            start(broker, epoch, checkpoint);
        } else {
            early.epoch = epoch;
            early.apply(controller.log, ends.get(ends.size() - 1), ends.size() - 1);
        }
        if (controller.repeats) {
            throw new Refused(INDEX);
        }
    }

    void fence(int broker) {
        controller.fence(broker);
        note();
    }

    void unfence(int broker) throws Exception {
        Broker b = running(broker);
        boolean stopping = controller.registration(broker).inControlledShutdown();  // such a broker reports this in every heartbeat
        String answer = controller.heartbeat(broker, b.epoch, stopping, b.appliedRecords());
        note();
        goIfLet(b, answer);
        if (answer.equals("fenced")) {
            throw new Refused("the heartbeat is answered: fenced");
        }
    }

    /** Stops a broker that is allowed to stop. */
    private void goIfLet(Broker b, String answer) throws Exception {
        if (answer.equals("stop")) {
            halt(b, b.entries().size(), true);
            throw new Refused("the heartbeat is answered: stop");
        }
    }

    void beginShutdown(int broker) throws Exception {
        Broker b = running(broker);
        BrokerRegistration known = controller.registration(broker);
        boolean lonely = !controller.leadsAnything(broker);
        Uuid another = null;
        if (lonely && !known.fenced() && !known.inControlledShutdown()) {  // otherwise, the broker may shut down immediately
            List<Integer> replicas = new ArrayList<>(List.of(broker));
            for (int other = 0; other < brokers; other++) {
                if (other != broker) {
                    replicas.add(other);
                }
            }
            another = controller.createTopic("another", replicas);
        }
        String answer = controller.heartbeat(broker, b.epoch, true, b.appliedRecords());
        if (another != null) {
            controller.deleteTopic(another);
        }
        note();
        goIfLet(b, answer);
    }

    void elect() {
        String answer = controller.electPreferred("t");
        note();
        if (!answer.equals("NONE")) {
            throw new Refused(answer);
        }
    }

    /** An operator assigns the replicas to these brokers; null cancels a reassignment. */
    void reassign(Integer wanted) {
        List<Integer> replicas = wanted == null ? null : new ArrayList<>();
        for (int b = 0; wanted != null && b < brokers; b++) {
            if ((wanted & 1 << b) != 0) {
                replicas.add(b);
            }
        }
        String answer = controller.reassign("t", replicas);
        note();
        if (!answer.equals("NONE")) {
            throw new Refused(answer);
        }
    }

    /** An operator turns eligible leader replicas off, which brokers do not notice. */
    void turnElrOff() {
        controller.turnElrOff();
    }

    /** An operator raises or lowers the topic's min ISR. */
    void changeMinIsr(int by) {
        controller.setMinIsr("t", minIsr + raised(controller.minIsr("t")) + by);
        note();
    }

    /** The broker applies the topic's configuration in the image that it has applied. */
    void configure(int broker) {
        running(broker).configure();
    }

    private Alteration alteration(int number) {
        return sent.stream().filter(a -> a.number == number).findFirst().orElseThrow(() -> new Untried("no such request"));
    }

    void alter(int number) {
        Alteration a = alteration(number);
        if (a.response != null) {
            throw new Untried("the request is answered already");
        }
        try {
            a.response = controller.alterPartition(a.request.data());
        } catch (ApiException e) {
            a.response = new AlterPartitionResponseData().setErrorCode(Errors.forException(e).code());
        }
        note();
        if (a.isStray()) {
            sent.remove(a);  // the answer's connection is closed
        }
        if (a.error() != Errors.NONE) {
            throw new Refused(a.error().name());
        }
    }

    /** The request is resent after its connection broke. The first copy may still arrive. */
    void resend(int number) {
        Alteration a = alteration(number);
        if (a.response != null || a.isStray() || running[a.sender.id] != a.sender) {
            throw new Untried("nobody waits for an answer to this request");
        }
        sent.add(a.again());
    }

    /** The answer to one copy of a request is lost with the connection. */
    void drop(int number) {
        sent.remove(alteration(number));
    }

    void answer(int number) {
        Alteration a = alteration(number);
        if (a.response == null) {
            throw new Untried("the request is not answered yet");
        }
        sent.remove(a);
        if (running[a.sender.id] != a.sender) {
            throw new Untried("the process that has asked is gone");
        }
        a.answer();
        a.sender.act();
    }

    void apply(int broker, int index) {
        Broker b = running(broker);
        if (index <= b.applied || index >= ends.size()) {
            throw new Untried("there is no such image to apply");
        }
        b.apply(controller.log, ends.get(index), index);
    }

    void produce(int broker) {
        Broker b = connected(broker);
        Write write = new Write();
        write.record = writes.size() + 1;
        write.leader = b;
        TopicIdPartition partition = new TopicIdPartition(topic, Broker.PARTITION);
        write.offset = b.manager.getLog(Broker.PARTITION).isDefined() ? b.log().logEndOffset() : 0;
        Calls.append(b.manager, partition, Calls.batch(write.record), answer -> write.answer = answer);
        b.act();
        if (write.answer != null && write.answer.error != Errors.NONE && b.log().logEndOffset() == write.offset) {
            throw new Refused(write.answer.error.name());
        }
        writes.add(write);
    }

    void fetch(int leader, int follower) throws Exception {
        Broker l = connected(leader);
        Broker f = running(follower);
        if (f.fetching.answer != null) {
            throw new Untried("the follower has an answer to handle");
        }
        Fetching.Request request = f.fetching.request();
        if (request == null || request.leader != leader) {
            throw new Untried("the follower does not fetch from this broker");
        }
        FetchPartitionData data = serve(l, request);
        if (data.divergingEpoch.isPresent() && isOfEmptyEpoch(request, f.entries())) {
            f.fetching.answer = answer(request, data);
            long end = f.log().logEndOffset();
            f.fetching.handle();
            if (f.log().logEndOffset() != end) {
                throw new Refused(HOLLOW);
            }
            // nothing was truncated, and the follower fetches again with the epoch of its last record
            request = f.fetching.request();
            data = serve(l, request);
        }
        f.fetching.answer = answer(request, data);
        UnifiedLog log = f.log();
        boolean empty = data.divergingEpoch.isEmpty() && data.records.sizeInBytes() == 0;
        long highWatermark = Math.max(Math.min(data.highWatermark, log.logEndOffset()), log.logStartOffset());
        boolean asBefore = data.logStartOffset <= log.logStartOffset() && highWatermark == log.highWatermark();
        if (empty && asBefore) {
            f.fetching.handle();  // the leader would delay an answer without new information
        }
    }

    /** Returns whether a request names a last epoch in which the follower has no record, because it led then and wrote nothing. */
    private static boolean isOfEmptyEpoch(Fetching.Request request, List<int[]> entries) {
        return request.data().lastFetchedEpoch.orElse(-1) != lastEpoch(entries);
    }

    private static int lastEpoch(List<int[]> entries) {
        return entries.isEmpty() || entries.get(entries.size() - 1)[0] == 0 ? -1 : entries.get(entries.size() - 1)[1];
    }

    private static Fetching.Answer answer(Fetching.Request request, FetchPartitionData data) throws Exception {
        Fetching.Answer answer = new Fetching.Answer(request);
        answer.add(request.partition(), data);
        return answer;
    }

    private FetchPartitionData serve(Broker leader, Fetching.Request request) {
        FetchPartitionData data = Calls.fetch(leader.manager, request.request, request.partition(), request.data());
        leader.act();
        Replicas.pass(leader, request.request.replicaId());
        if (data.error == Errors.UNKNOWN_SERVER_ERROR) {
            throw new IllegalStateException("the leader fails to serve " + request.request);
        }
        if (data.error != Errors.NONE) {
            throw new Refused(data.error.name());
        }
        return data;
    }

    // ---- log starts

    /** DeleteRecords at a leader. */
    void delete(int leader, int offset) {
        Broker l = connected(leader);
        try {
            l.partition().deleteRecordsOnLeader(offset);
        } catch (ApiException e) {
            throw new Refused(Errors.forException(e).name());
        }
        l.act();
    }

    void writeLogStart(int broker) {
        running(broker).writeLogStart();
    }

    /** The follower gets an out-of-range error, asks where the leader's log begins and ends, and handles the answer. */
    void outOfRange(int leader, int follower) throws Exception {
        Broker l = connected(leader);
        Broker f = running(follower);
        Fetching.Request request = f.fetching.answer == null ? f.fetching.request() : null;
        if (request == null || request.leader != leader) {
            throw new Untried("the follower does not fetch from this broker");
        }
        UnifiedLog log = l.log(Broker.PARTITION);
        FetchRequest.PartitionData asked = request.data();
        if (log != null && asked.fetchOffset >= log.logStartOffset() && (asked.fetchOffset <= log.logEndOffset() || asked.lastFetchedEpoch.isPresent())) {
            throw new Untried("the offset is in range: the fetch would count");
        }
        FetchPartitionData data = Calls.fetch(l.manager, request.request, request.partition(), asked);
        l.act();
        Replicas.pass(l, follower);
        if (data.error != Errors.OFFSET_OUT_OF_RANGE) {
            throw new Refused(data.error.name());
        }
        f.fetching.others.put(leader, of -> listOffsets(l, of));
        f.fetching.answer = answer(request, data);
        f.fetching.handle();
        f.act();
    }

    private static AbstractResponse listOffsets(Broker leader, AbstractRequest asked) {
        ListOffsetsPartition of = ((ListOffsetsRequest) asked).topics().get(0).partitions().get(0);
        UnifiedLog log = leader.partition().localLogWithEpochOrThrow(Optional.of(of.currentLeaderEpoch()), true);
        long at = of.timestamp() == ListOffsetsRequest.LATEST_TIMESTAMP ? log.logEndOffset() : log.logStartOffset();
        ListOffsetsPartitionResponse found = new ListOffsetsPartitionResponse().setOffset(at).setTimestamp(-1).setLeaderEpoch(0);
        return new ListOffsetsResponse(new ListOffsetsResponseData().setTopics(List.of(
            new ListOffsetsTopicResponse().setName(Broker.PARTITION.topic()).setPartitions(List.of(found)))));
    }

    void late(int number) {
        Fetching.Request request = late.get(number);
        if (request == null) {
            throw new Untried("no such fetch");
        }
        FetchPartitionData data = serve(connected(request.leader), request);
        if (data.divergingEpoch.isPresent()) {
            throw new Refused(request.hollow ? HOLLOW : "the logs have diverged");
        }
        late.remove(number);
    }

    void lose(int number) {
        late.remove(number);
    }

    /** The follower's thread gets the answer for which it has waited since an earlier leader epoch. `number` names both brokers. */
    void takeLate(int number) throws Exception {
        Broker f = running(number / brokers);
        Fetching.Answer answer = f.fetching.lates.remove(number % brokers);
        if (answer == null) {
            throw new Untried("no such answer");
        }
        List<int[]> before = f.entries();
        long highWatermark = f.found() == null ? 0 : f.log().highWatermark();
        Fetching.handle(answer);
        f.act();
        if (before.size() == f.entries().size() && highWatermark == (f.found() == null ? 0 : f.log().highWatermark())) {
            throw new Refused("the answer is ignored");
        }
        if (before.isEmpty()) {
            throw new Refused(LED);
        }
    }

    void loseLate(int number) {
        running(number / brokers).fetching.lates.remove(number % brokers);
    }

    /** The leader reads the records of the answer in flight to the follower now. */
    void read(int follower) throws Exception {
        Broker f = running(follower);
        if (f.fetching.answer == null) {
            throw new Untried("no answer is on its way");
        }
        f.fetching.answer.read();
    }

    void follow(int follower) {
        Broker f = running(follower);
        if (f.fetching.answer == null) {
            throw new Untried("there is no answer to handle");
        }
        f.fetching.handle();
        f.act();
    }

    void lag(int leader, int follower) {
        Broker l = running(leader);
        if (!l.leads()) {
            throw new Untried("the broker does not lead");
        }
        Replicas.age(l, follower);
    }

    void shrink(int leader, int members) {
        Broker l = running(leader);
        if (!l.leads()) {
            throw new Untried("the broker does not lead");
        }
        Replicas.shrink(l, members, brokers);
    }

    // ---- observed state

    /** Returns all fields of Kafka's objects that belong to the state. */
    String dump() {
        Dump out = new Dump();
        out.add("controller.partition", controller.partition(topic));
        for (int b = 0; b < brokers; b++) {
            out.add("controller.broker[" + b + "]", controller.registration(b));
            if (running[b] != null) {
                out.add("broker[" + b + "].partition", running[b].found());
                out.add("broker[" + b + "].fetch", running[b].fetching.state());
                out.add("broker[" + b + "].requests", Reflect.get(running[b].alterations, "inflightRequest"));
                for (String name : List.of("delayedProducePurgatory", "delayedFetchPurgatory")) {
                    out.add("broker[" + b + "]." + name, Reflect.call(Reflect.get(running[b].manager, kafka.server.ReplicaManager.class, name), "watched"));
                }
            }
        }
        return out.json();
    }

    String state() throws Exception {
        StringBuilder out = new StringBuilder(1024);
        PartitionRegistration p = controller.partition(topic);
        out.append("{\"images\":[");
        for (int i = told; i < images.size(); i++) {
            out.append(i == told ? "" : ",").append(images.get(i));
        }
        told = images.size();
        out.append("],\"elr\":").append(Scala.bits(p.elr));
        out.append(",\"adding\":").append(Scala.bits(p.addingReplicas)).append(",\"removing\":").append(Scala.bits(p.removingReplicas));
        out.append(",\"last\":").append(p.lastKnownElr.length == 0 ? -1 : p.lastKnownElr[0]);
        int offline = 0;
        for (int b : p.replicas) {
            offline |= dirs.get(b).size() > 1 && !controller.registration(b).hasOnlineDir(p.directory(b)) ? 1 << b : 0;
        }
        out.append(",\"offline\":").append(offline);
        out.append(",\"brokers\":[");
        for (int b = 0; b < brokers; b++) {
            out.append(b == 0 ? "" : ",");
            if (running[b] != null) {
                describe(out, running[b]);
            } else {
                Disk d = disks[b];
                out.append("{\"life\":").append(d.life()).append(",\"log\":");
                entries(out, d.loaded());
                starts(out, d);
                out.append(",\"moved\":").append(moved[b]).append(",\"offline\":").append(failed[b] != null).append('}');
            }
        }
        out.append("],\"requests\":[");
        String comma = "";
        for (Alteration a : sent) {
            out.append(comma);
            describe(out, a);
            comma = ",";
        }
        out.append("],\"late\":[");
        comma = "";
        for (Map.Entry<Integer, Fetching.Request> e : late.entrySet()) {
            FetchRequest.PartitionData d = e.getValue().data();
            int follower = e.getValue().request.replicaId();
            out.append(comma).append('[').append(e.getKey()).append(',').append(e.getValue().leader).append(',').append(follower).append(',')
                .append(incarnation(follower, e.getValue().request.replicaEpoch())).append(',').append(d.currentLeaderEpoch.get()).append(',')
                .append(d.fetchOffset).append(',').append(e.getValue().lastEpoch).append(',').append(d.logStartOffset).append(']');
            comma = ",";
        }
        out.append("],\"lateAnswers\":[");
        comma = "";
        for (Broker b : running) {
            for (Map.Entry<Integer, Fetching.Answer> e : b == null ? Map.<Integer, Fetching.Answer>of().entrySet() : b.fetching.lates.entrySet()) {
                FetchRequest.PartitionData d = e.getValue().to.data();
                out.append(comma).append('[').append(b.id * brokers + e.getKey()).append(',').append(e.getKey()).append(',').append(b.id).append(',')
                    .append(d.currentLeaderEpoch.get()).append(',').append(d.fetchOffset).append(',').append(content(e.getValue())).append(']');
                comma = ",";
            }
        }
        int acknowledged = 0;
        for (Write w : writes) {
            acknowledged |= w.answer != null && w.answer.error == Errors.NONE ? 1 << w.record : 0;
        }
        out.append("],\"written\":").append(writes.size()).append(",\"acknowledged\":").append(acknowledged).append('}');
        return out.toString();
    }

    private static void entries(StringBuilder out, List<int[]> entries) {
        out.append('[');
        for (int i = 0; i < entries.size(); i++) {
            out.append(i == 0 ? "[" : ",[").append(entries.get(i)[0]).append(',').append(entries.get(i)[1]).append(']');
        }
        out.append(']');
    }

    private static void starts(StringBuilder out, Disk d) {
        out.append(",\"hw\":").append(Math.max(d.highWatermark, d.start())).append(",\"first\":").append(d.start())
            .append(",\"checkpoint\":").append(d.checkpoint);
    }

    private void describe(StringBuilder out, Alteration a) {
        AlterPartitionRequestData.PartitionData asked = a.asked();
        int isr = 0;
        int[] members = new int[brokers];
        for (AlterPartitionRequestData.BrokerState m : asked.newIsrWithEpochs()) {
            isr |= 1 << m.brokerId();
            members[m.brokerId()] = incarnation(m.brokerId(), m.brokerEpoch());
        }
        out.append('[').append(a.number).append(',').append(a.response != null ? '"' + a.error().name() + '"' : a.isStray() ? "\"STRAY\"" : "\"\"").append(',')
            .append(a.sender.id).append(',').append(incarnation(a.sender.id, request(a).brokerEpoch())).append(',')
            .append(asked.leaderEpoch()).append(',').append(asked.partitionEpoch()).append(',').append(isr).append(',')
            .append(a.response == null ? a.minIsr - minIsr : 0).append(",[");
        for (int b = 0; b < brokers; b++) {
            out.append(b == 0 ? "" : ",").append(members[b]);
        }
        out.append("],").append(running[a.sender.id] == a.sender).append(']');
    }

    private static AlterPartitionRequestData request(Alteration a) {
        return a.request.data();
    }

    private void describe(StringBuilder out, Broker b) throws Exception {
        kafka.cluster.Partition p = b.found();
        List<BrokerRegistration> known = new ArrayList<>();
        for (int other = 0; other < brokers; other++) {
            known.add(b.image().cluster().broker(other));
        }
        int life = b.epoch >= 0 ? 0 : disks[b.id].life();
        out.append("{\"life\":").append(life).append(",\"applied\":").append(b.applied).append(",\"image\":")
            .append(image(b.image().topics().getPartition(topic, 0), known, raised(FencepostController.minIsr(b.image(), "t")))).append(",\"log\":");
        boolean offline = failed[b.id] != null;
        entries(out, offline ? disks[b.id].loaded() : b.entries());
        out.append(",\"moved\":").append(moved[b.id]).append(",\"offline\":").append(offline);
        if (offline) {
            starts(out, disks[b.id]);
            out.append(",\"role\":null");
        } else if (p == null) {
            out.append(",\"hw\":0,\"first\":0,\"checkpoint\":0,\"role\":null");
        } else {
            out.append(",\"first\":").append(b.log().logStartOffset()).append(",\"checkpoint\":").append(Broker.checkpoint(b.log().dir().getParentFile()));
            out.append(",\"hw\":").append(b.log().highWatermark()).append(",\"role\":[").append(p.isLeader()).append(',').append(p.getLeaderEpoch())
                .append(',').append(p.getPartitionEpoch()).append("],\"raised\":").append(b.minIsr() - minIsr);
        }
        if (b.leads()) {
            Replicas.describe(out, b, p, brokers, epochs);
        }
        out.append(",\"waiting\":[");
        String comma = "";
        for (Write w : writes) {
            if (w.answer == null && w.leader == b) {
                out.append(comma).append('[').append(w.offset).append(',').append(w.record).append(']');
                comma = ",";
            }
        }
        out.append(']');
        Fetching.Answer a = b.fetching.answer;
        if (a != null) {
            out.append(",\"answer\":[").append(content(a)).append(']');
        }
        out.append(",\"failed\":").append(b.fetching.failed()).append('}');
    }

    /** Returns the kind, record, epoch, end, high watermark and log start of an answer. */
    private static String content(Fetching.Answer a) {
        if (a.only().divergingEpoch().epoch() >= 0 || a.only().divergingEpoch().endOffset() >= 0) {
            return "2,0," + a.only().divergingEpoch().epoch() + "," + a.only().divergingEpoch().endOffset() + ",0,0";
        }
        int record = 0;
        int epoch = 0;
        if (((MemoryRecords) a.only().records()).sizeInBytes() > 0) {
            org.apache.kafka.common.record.RecordBatch batch = ((MemoryRecords) a.only().records()).batches().iterator().next();
            record = Broker.record(batch.iterator().next().value());
            epoch = batch.partitionLeaderEpoch();
        }
        return "1," + record + "," + epoch + ",0," + a.only().highWatermark() + "," + a.only().logStartOffset();
    }
}
