package fencepost;

import java.lang.reflect.Constructor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AssignReplicasToDirsResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AssignReplicasToDirsRequest;
import org.apache.kafka.common.requests.AssignReplicasToDirsResponse;
import org.apache.kafka.controller.FencepostController;
import org.apache.kafka.image.LocalReplicaChanges;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.server.AssignmentsManager;
import org.apache.kafka.server.common.TopicIdPartition;
import kafka.log.UnifiedLog;  // until 4.0
import org.apache.kafka.storage.internals.log.UnifiedLog;  // since 4.1

/** A broker with two directories and the only replica of a partition, its AssignmentsManager, and a controller. */
public final class Moves implements Loop.Driven {
    private static final String PROMOTION = "Future replica promotion";
    private static final List<String> DIRECTORIES = List.of("d0", "d1");

    private final Path root;
    private final List<Alteration> alterations = new ArrayList<>();
    /** The thread that waits for the answer to an assignment, by the assignment's callback. */
    private final Map<Object, kafka.server.ReplicaAlterLogDirsThread> waiting = new IdentityHashMap<>();
    private FencepostController controller;
    private Uuid topic;
    private Broker broker;
    private AssignmentsManager assignments;
    /** The request that AssignmentsManager has sent, who awaits its answer, and the answer. */
    private AssignReplicasToDirsRequest request;
    private Object awaits;
    private AssignReplicasToDirsResponseData answer;
    private String offline;

    private Moves(Path root) {
        this.root = root;
    }

    public static void main(String[] arguments) throws Exception {
        Loop.run(arguments[0], new Moves(Path.of(arguments[0])));
    }

    @Override
    public void end() throws Exception {
        Broker.remove(root);
    }

    @Override
    public void act(String action, int[] n) throws Exception {
        switch (action) {
            case "reset": reset(); break;
            case "leader-appends": append(); break;
            case "partition-changes": controller.writeIsr(topic); break;
            case "controller-elects": elect(); break;
            case "broker-moves-replica": broker.move(Broker.PARTITION, "d" + n[0]); break;
            case "broker-copies": broker.copy(); break;
            case "broker-sends-assignment": Reflect.call(assignments, "maybeSendAssignments"); break;
            case "controller-assigns-directory": answer = controller.assign(request.data()); break;
            case "broker-gets-answer": answer(); break;
            case "broker-applies-metadata": broker.apply(controller.log, controller.log.size(), 0); break;
            case "directory-fails": fail("d" + n[0]); break;
            case "broker-is-killed": kill(); break;
            default: throw new IllegalArgumentException("an action that this driver does not know: " + action);
        }
        for (Object[] next : broker.assignments) {
            if (next[2].equals(PROMOTION)) {
                waiting.put(next[3], broker.moving.thread());
            }
            assignments.onAssignment((TopicIdPartition) next[0], (Uuid) next[1], (String) next[2], (Runnable) next[3]);
        }
        broker.assignments.clear();
        broker.work();
    }

    private void reset() throws Exception {
        end(broker);
        Broker.remove(root.resolve("broker-0"));
        offline = null;
        controller = new FencepostController(1, false, false, new Fakes.Clock());
        register();
        controller.heartbeat(0, controller.registration(0).epoch(), false, Long.MAX_VALUE);
        topic = controller.createTopic("t", List.of(0));
        controller.assign(0, controller.registration(0).epoch(), topic, 0, Broker.directoryId(0, "d0"));
        start();
    }

    private void register() {
        controller.register(0, new Uuid(6, controller.log.size()), -1,
            DIRECTORIES.stream().filter(d -> !d.equals(offline)).map(d -> Broker.directoryId(0, d)).toList());
    }

    private void start() throws Exception {
        Broker.prepare(root, 0, DIRECTORIES);
        broker = new Broker(0, controller.registration(0).epoch(), 1, root, DIRECTORIES, offline, alterations, Fetching.Holding.NONE);
        Constructor<?> constructor = AssignmentsManager.class.getConstructors()[0];
        Object channel = Reflect.proxy(constructor.getParameterTypes()[1], (self, method, arguments) -> {
            if (method.getName().equals("sendRequest")) {
                request = ((AssignReplicasToDirsRequest.Builder) arguments[0]).build();
                // the controller reads other objects, which localChanges compares by identity
                request.data().directories().forEach(d -> d.setId(new Uuid(d.id().getMostSignificantBits(), d.id().getLeastSignificantBits())));
                awaits = arguments[1];
            }
            return null;
        });
        Broker of = broker;
        assignments = (AssignmentsManager) constructor.newInstance(new Fakes.Clock(), channel, 0, (Supplier<MetadataImage>) of::image,
            (Function<Uuid, String>) Uuid::toString);
        broker.start(controller.log, controller.log.size(), 0);
    }

    private void end(Broker old) throws Exception {
        if (old != null) {
            old.crash(List.of(Broker.PARTITION), 0, false);
            assignments.close();
        }
        waiting.clear();
        request = null;
        answer = null;
    }

    private void append() {
        Calls.append(broker.manager, broker.topicIdPartition(), Calls.batch(1), answer -> {
            if (answer.error != Errors.NONE) {
                throw new Loop.Refused(answer.error.name());
            }
        });
        broker.act();
    }

    /** A heartbeat unfences the broker; without one, it is the balancer that elects. */
    private void elect() {
        if (controller.registration(0).fenced()) {
            controller.heartbeat(0, broker.epoch, false, Long.MAX_VALUE);
        } else {
            controller.balance();
        }
    }

    private void answer() {
        AssignReplicasToDirsResponse body = new AssignReplicasToDirsResponse(answer);
        ClientResponse response = new ClientResponse(null, null, "", 0, 0, false, null, null, body);
        Reflect.call(assignments, "handleResponse", Reflect.get(awaits, "sent"), Optional.of(response));
        request = null;
        answer = null;
    }

    private void fail(String dir) {
        offline = dir;
        broker.fail(dir);
        controller.markOffline(0, broker.offline);
    }

    private void kill() throws Exception {
        end(broker);
        controller.fence(0);
        controller.expire(0);
        register();
        start();
    }

    /** The directory of an assignment, and whether the thread that awaits its answer still runs. */
    private String assignment(Object pending) {
        Object found = ((Map<?, ?>) pending).values().stream().findFirst().orElse(null);
        if (found == null) {
            return "[-1,false]";
        }
        kafka.server.ReplicaAlterLogDirsThread thread = waiting.get(Reflect.call(found, "successCallback"));
        return "[" + directory((Uuid) Reflect.call(found, "directoryId")) + "," + (thread != null && thread.isRunning()) + "]";
    }

    private static long directory(Uuid id) {
        return id.getMostSignificantBits() - 1000;
    }

    private void describe(StringBuilder out, String name, String end, boolean isFuture) {
        UnifiedLog log = (UnifiedLog) Scala.value(Reflect.call(broker.logs, "getLog", Broker.PARTITION, isFuture));
        out.append('"').append(name).append("\":").append(log == null ? "-1" : log.parentDirFile().getName().substring(1))
            .append(",\"").append(end).append("\":").append(log == null ? 0 : log.logEndOffset()).append(',');
    }

    @Override
    public String state() throws Exception {
        StringBuilder out = new StringBuilder("{");
        describe(out, "log", "end", false);
        describe(out, "copy", "copied", true);
        int offline = 0;
        for (String dir : DIRECTORIES) {
            boolean isOnline = (boolean) Reflect.call(broker.logs, "isLogDirOnline", root.resolve("broker-0").resolve(dir).toString());
            offline |= isOnline ? 0 : 1 << directory(Broker.directoryId(0, dir));
        }
        MetadataDelta delta = new MetadataDelta.Builder().setImage(broker.image()).build();
        controller.log.subList(broker.appliedRecords(), controller.log.size()).forEach(delta::replay);
        LocalReplicaChanges changes = delta.topicsDelta() == null ? null : delta.topicsDelta().localChanges(0);
        boolean changed = changes != null && !(changes.leaders().isEmpty() && changes.followers().isEmpty());
        boolean reassigned = changes != null && !changes.directoryIds().isEmpty();
        kafka.server.ReplicaAlterLogDirsThread thread = broker.moving.thread();
        Object promotion = thread == null ? null : thread.promotionStates().get(Broker.PARTITION);
        String stage = promotion == null ? "" : Reflect.call(promotion, "reassignmentState").toString();
        return out.append("\"offline\":" + offline + ",\"serves\":" + (broker.log(Broker.PARTITION) != null)
            + ",\"queued\":" + stage.equals("Queued") + ",\"accepted\":" + stage.equals("Accepted")
            + ",\"ready\":" + assignment(Reflect.get(assignments, "ready")) + ",\"sent\":" + assignment(Reflect.get(assignments, "inflight"))
            + ",\"recorded\":" + (answer != null) + ",\"changed\":" + changed + ",\"reassigned\":" + reassigned
            + ",\"led\":" + broker.leads() + ",\"leads\":" + (controller.partition(topic).leader == 0)
            + ",\"fenced\":" + controller.registration(0).fenced()
            + ",\"assigned\":" + directory(controller.partition(topic).directory(0)) + "}").toString();
    }
}
