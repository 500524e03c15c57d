package fencepost;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.requests.AssignReplicasToDirsRequest;
import org.apache.kafka.common.requests.AssignReplicasToDirsResponse;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.controller.FencepostController;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.TopicDelta;
import org.apache.kafka.image.TopicsDelta;
import org.apache.kafka.image.loader.MetadataBatchLoader;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.server.AssignmentsManager;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.ControllerRequestCompletionHandler;
import org.apache.kafka.server.common.NodeToControllerChannelManager;
import org.apache.kafka.server.common.TopicIdPartition;

/** A controller that writes records about topics, and a broker that replays each at once, but publishes when a line says so. */
public final class Topics implements Loop.Driven {
    private static final int ID = 0;
    private static final List<String> DIRECTORIES = List.of("d0", "d1");

    private final Path root;
    /** Never due: its clock stands still. */
    private final AssignmentsManager assignments;
    private final List<Uuid> ids = new ArrayList<>();
    private FencepostController controller;
    private Broker broker;
    private MetadataBatchLoader loader;
    private int read;
    private int minIsr;
    private AssignReplicasToDirsRequest request;
    private ControllerRequestCompletionHandler handler;

    private Topics(Path root) {
        this.root = root;
        assignments = new AssignmentsManager(new Fakes.Clock(), channel(), ID, () -> broker.image(), Uuid::toString);
    }

    public static void main(String[] arguments) throws Exception {
        Loop.run(arguments[0], new Topics(Path.of(arguments[0])));
    }

    private NodeToControllerChannelManager channel() {
        return (NodeToControllerChannelManager) Reflect.proxy(NodeToControllerChannelManager.class, (self, method, arguments) -> {
            if (method.getName().equals("sendRequest")) {
                request = ((AssignReplicasToDirsRequest.Builder) arguments[0]).build();
                handler = (ControllerRequestCompletionHandler) arguments[1];
            }
            return null;
        });
    }

    @Override
    public void act(String action, int[] n) throws Exception {
        switch (action) {
            case "reset": reset(n[0] == 1); break;
            case "controller-creates-topic": ids.add(controller.createTopic("t", List.of(ID))); break;
            case "controller-deletes-topic": controller.deleteTopic(ids.isEmpty() ? Uuid.randomUuid() : ids.get(ids.size() - 1)); break;
            case "controller-clears-elrs": controller.setMinIsr(minIsr = 3 - minIsr); break;
            case "broker-publishes":
                loader.maybeFlushBatches(LeaderAndEpoch.UNKNOWN);  // until 3.9
                loader.maybeFlushBatches(LeaderAndEpoch.UNKNOWN, true);  // since 4.0
                break;
            case "broker-assigns-directory": assign(ids.get(n[0])); break;
            default: throw new IllegalArgumentException("an action that this driver does not know: " + action);
        }
        load();
    }

    private void reset(boolean elr) throws Exception {
        if (broker != null) {
            broker.close();
        }
        Broker.remove(root.resolve("broker-" + ID));
        ids.clear();
        waiting().clear();
        minIsr = 1;
        controller = new FencepostController(1, elr, false, new Fakes.Clock());
        Broker.prepare(root, ID, DIRECTORIES);
        broker = new Broker(ID, -1, 1, root, DIRECTORIES, new ArrayList<>());
        broker.epoch = controller.register(ID, new Uuid(5, ID), -1, broker.directoryIds());
        controller.heartbeat(ID, broker.epoch, false, controller.log.size());
        broker.start(controller.log, controller.log.size(), 0);
        read = controller.log.size();
        loader = new MetadataBatchLoader(new LogContext(), new Fakes.Clock(), (message, cause) -> new RuntimeException(message, cause), (delta, image, manifest) -> {
            try {
                broker.publish(delta, image, false);
            } catch (IllegalStateException e) {
                // like BrokerMetadataPublisher, which only logs it
            }
            for (Object[] one : broker.assignments) {
                assignments.onAssignment((TopicIdPartition) one[0], (Uuid) one[1], (String) one[2], (Runnable) one[3]);
            }
            broker.assignments.clear();
        }
            , org.apache.kafka.metadata.SupportedConfigChecker.TRUE  // since 4.2
        );
        loader.resetToImage(broker.image());
    }

    /** The broker replays what the controller has written. */
    private void load() {
        List<ApiMessageAndVersion> records = new ArrayList<>();
        controller.log.subList(read, controller.log.size()).forEach(record -> records.add(new ApiMessageAndVersion(record, (short) 0)));
        if (!records.isEmpty()) {
            loader.loadBatch(Batch.data(read, 1, 0, 1, records), LeaderAndEpoch.UNKNOWN);
        }
        read = controller.log.size();
    }

    @SuppressWarnings("unchecked")
    private Map<TopicIdPartition, Object> waiting() {
        return (Map<TopicIdPartition, Object>) Reflect.get(assignments, "ready");
    }

    /** The request that is due has one replica; the others wait for theirs. */
    private void assign(Uuid topic) {
        Map<TopicIdPartition, Object> others = new HashMap<>(waiting());
        if (others.remove(new TopicIdPartition(topic, 0)) == null) {
            throw new Loop.Untried("the directory need not be reported");
        }
        waiting().keySet().removeAll(others.keySet());
        request = null;
        Reflect.call(assignments, "maybeSendAssignments");
        if (request != null) {
            AssignReplicasToDirsResponse answer = new AssignReplicasToDirsResponse(controller.assign(request.data()));
            handler.onComplete(new ClientResponse(null, null, null, 0, 0, false, null, null, answer));
            Reflect.call(assignments, "previousGlobalFailures");  // which waits for the manager's thread
        }
        waiting().putAll(others);
    }

    private int bits(Collection<Uuid> of) {
        return of.stream().mapToInt(id -> 1 << ids.indexOf(id)).reduce(0, (a, b) -> a | b);
    }

    @Override
    public String state() {
        TopicsDelta delta = ((MetadataDelta) Reflect.get(loader, "delta")).topicsDelta();
        List<Uuid> changed = new ArrayList<>();
        boolean isBroken = false;
        for (Map.Entry<Uuid, TopicDelta> one : delta == null ? List.<Map.Entry<Uuid, TopicDelta>>of() : delta.changedTopics().entrySet()) {
            isBroken |= one.getValue().image() == null;
            if (one.getValue().image() != null) {
                changed.add(one.getKey());
            }
        }
        Optional<Uuid> held = Optional.ofNullable(broker.found()).map(one -> (Uuid) Scala.value(one.topicId()));
        List<Uuid> exist = ids.stream().filter(id -> controller.partition(id) != null).toList();
        return "{\"topic\":" + bits(exist) + ",\"number\":" + ids.size() + ",\"image\":" + bits(broker.image().topics().topicsById().keySet())
            + ",\"replicas\":" + (held.isEmpty() ? 0 : bits(List.of(held.get()))) + ",\"unassigned\":" + bits(waiting().keySet().stream().map(TopicIdPartition::topicId).toList()) + ",\"delta\":{\"changed\":"
            + bits(changed) + ",\"deleted\":" + (delta == null ? 0 : bits(delta.deletedTopicIds())) + ",\"created\":"
            + (delta == null ? 0 : bits(delta.createdTopicIds())) + ",\"broken\":" + isBroken + "}}";
    }
}
