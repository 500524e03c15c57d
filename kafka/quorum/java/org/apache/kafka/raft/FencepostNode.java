package org.apache.kafka.raft;

import fencepost.Loop;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.memory.MemoryPool;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.raft.internals.StringSerde;
import org.apache.kafka.server.common.OffsetAndEpoch;  // since 4.1
import org.apache.kafka.snapshot.SnapshotReader;
import org.apache.kafka.snapshot.SnapshotWriter;
import org.apache.kafka.server.common.Features;  // until 3.9
import org.apache.kafka.server.common.Feature;  // since 4.0

/** A node: Kafka's KafkaRaftClient with its MockLog, MockQuorumStateStore and MockMessageQueue, and a separate clock. */
final class FencepostNode {
    static final int REQUEST_MS = 10;
    static final int ELECTION_MS = 10_000;
    static final int FETCH_MS = 100_000;
    static final int CHECK_QUORUM_MS = 2 * FETCH_MS;
    static final ListenerName LISTENER = new ListenerName("CONTROLLER");
    private static final int MAX_WAIT_MS = 500;
    private static final String CLUSTER = "fencepost";

    final int id;
    private final int voters;
    private final Uuid directory = Uuid.randomUuid();
    private MockQuorumStateStore store = new MockQuorumStateStore();
    final Clock time = new Clock();
    final Picked random = new Picked();
    MockLog log = emptyLog();
    KafkaRaftClient<String> client;
    MockMessageQueue queue;
    Channel channel;
    List<CompletableFuture<?>> expirations;
    FencepostFetch fetch;
    RaftRequest.Outbound snapshotRequest;
    final Map<Integer, RaftRequest.Outbound> begins = new HashMap<>();
    final Map<Integer, RaftRequest.Outbound> votes = new HashMap<>();
    final Map<Integer, RaftResponse.Outbound> replies = new HashMap<>();
    String failed = "";
    boolean lost;
    boolean active;

    FencepostNode(int id, int voters) {
        this.id = id;
        this.voters = voters;
        start();
    }

    private static MockLog emptyLog() {
        return new MockLog(new TopicPartition("__cluster_metadata", 0), Uuid.METADATA_TOPIC_ID, new LogContext());
    }

    /** Starts a process, which finds its log and its election state file. */
    void start() {
        channel = new Channel();
        queue = new MockMessageQueue();
        expirations = new ArrayList<>();
        fetch = null;
        lost = false;
        active = false;
        snapshotRequest = null;
        begins.clear();
        votes.clear();
        replies.clear();
        log.reopen();
        client = new KafkaRaftClient<>(
            OptionalInt.of(id), directory, new StringSerde(), channel, queue, log, MemoryPool.NONE, time, new Expirations(),
            MAX_WAIT_MS, true, CLUSTER, List.of(), endpoints(id),
            Features.KRAFT_VERSION.supportedVersionRange(),  // until 3.9
            Feature.KRAFT_VERSION.supportedVersionRange(),  // since 4.0
            new LogContext(), random, config());
        Map<Integer, InetSocketAddress> addresses = new HashMap<>();
        for (int voter = 0; voter < voters; voter++) {
            addresses.put(voter, address(voter));
        }
        client.initialize(addresses, store, new Metrics(time));  // until 3.9
        client.initialize(addresses, store, new Metrics(time), ignored -> { });  // since 4.0
        client.register(new Controller());
    }

    void loseDisk() {
        log = emptyLog();
        store = new MockQuorumStateStore();
        start();
    }

    private static InetSocketAddress address(int node) {
        return InetSocketAddress.createUnresolved("node-" + node, 9093);
    }

    private static Endpoints endpoints(int node) {
        return Endpoints.fromInetSocketAddresses(Map.of(LISTENER, address(node)));
    }

    private static QuorumConfig config() {
        Map<String, Integer> values = new HashMap<>();
        values.put(QuorumConfig.QUORUM_REQUEST_TIMEOUT_MS_CONFIG, REQUEST_MS);
        values.put(QuorumConfig.QUORUM_RETRY_BACKOFF_MS_CONFIG, 1);
        values.put(QuorumConfig.QUORUM_ELECTION_TIMEOUT_MS_CONFIG, ELECTION_MS);
        values.put(QuorumConfig.QUORUM_ELECTION_BACKOFF_MAX_MS_CONFIG, ELECTION_MS);
        values.put(QuorumConfig.QUORUM_FETCH_TIMEOUT_MS_CONFIG, FETCH_MS);
        values.put(QuorumConfig.QUORUM_LINGER_MS_CONFIG, 0);
        return new QuorumConfig(new AbstractConfig(QuorumConfig.CONFIG_DEF, values, false));
    }

    boolean votes() {
        return id < voters;
    }

    QuorumState quorum() {
        return client.quorum();
    }

    /** Handles all pending messages and the resulting work. */
    void poll() {
        try {
            do {
                client.poll();
            } while (!queue.isEmpty());
            client.poll();
        } catch (IllegalStateException e) {
            if (String.valueOf(e.getMessage()).contains("inconsistent with current leader")) {
                throw new Loop.Refused("a node stops because it learns of another leader of its epoch");
            }
            throw e;
        }
        channel.take(this);
    }

    /** Advances the clock of this node only. */
    void sleep(long ms) {
        time.now += ms;
        poll();
    }

    /** Takes a snapshot up to the high watermark, or of the whole log if the high watermark is unknown, and deletes the log before it. */
    void takeSnapshot() {
        long start = log.startOffset();
        long known = quorum().highWatermark().map(LogOffsetMetadata::offset).orElse(start);
        long end = known > start ? known : start + entries().size();
        if (end == start) {
            throw new Loop.Untried("there is nothing to take a snapshot of");
        }
        OffsetAndEpoch id = new OffsetAndEpoch(end, entries().get((int) (end - start) - 1)[1]);
        try (SnapshotWriter<String> writer = client.createSnapshot(id, 0).orElseThrow(() -> new Loop.Refused("there is one already"))) {
            writer.freeze();
        } catch (IllegalArgumentException e) {
            if (String.valueOf(e.getMessage()).contains("greater than the high-watermark")) {
                throw new Loop.Refused("it is not committed");
            }
            throw e;
        }
        log.deleteBeforeSnapshot(id);
        poll();
    }

    /** Returns the records of the log, each as its value (0 for a record that starts an epoch) and its epoch. */
    List<int[]> entries() {
        List<int[]> found = new ArrayList<>();
        for (MockLog.LogBatch batch : log.readBatches(log.startOffset(), OptionalLong.empty())) {
            for (MockLog.LogEntry entry : batch.entries) {  // until 4.1
            for (MockLog.LogEntry entry : batch.entries()) {  // since 4.2
                boolean control = batch.isControlBatch;  // until 4.1
                boolean control = batch.isControlBatch();  // since 4.2
                int epoch = batch.epoch;  // until 4.1
                int epoch = batch.epoch();  // since 4.2
                java.nio.ByteBuffer value = entry.record.value().duplicate();  // until 4.1
                java.nio.ByteBuffer value = entry.record().value().duplicate();  // since 4.2
                byte[] bytes = new byte[value.remaining()];
                value.get(bytes);
                found.add(new int[] {control ? 0 : Integer.parseInt(new String(bytes, java.nio.charset.StandardCharsets.US_ASCII)), epoch});
            }
        }
        return found;
    }

    int votedFor() {
        return store.readElectionState().flatMap(ElectionState::optionalVotedKey).map(ReplicaKey::id).orElse(-1);
    }

    /** The requests that the client has sent, kept until they are delivered. */
    static final class Channel implements NetworkChannel {
        private static int last;
        private final List<RaftRequest.Outbound> sent = new ArrayList<>();

        @Override
        public int newCorrelationId() {
            return ++last;
        }

        @Override
        public void send(RaftRequest.Outbound request) {
            sent.add(request);
        }

        @Override
        public ListenerName listenerName() {
            return LISTENER;
        }

        /** Other requests, such as EndQuorumEpoch and UpdateRaftVoter, never arrive. */
        private void take(FencepostNode node) {
            for (RaftRequest.Outbound request : sent) {
                int to = request.destination().id();
                switch (org.apache.kafka.common.protocol.ApiKeys.forId(request.data().apiKey())) {
                    case FETCH_SNAPSHOT: node.snapshotRequest = request; break;
                    case FETCH: node.fetch = new FencepostFetch(node.id, to, request); break;
                    case VOTE: node.votes.put(to, request); break;
                    case BEGIN_QUORUM_EPOCH: node.begins.put(to, request); break;
                    default: break;
                }
            }
            sent.clear();
        }
    }

    /** A controller, which reads all records that it gets and is notified of leaders. */
    private final class Controller implements RaftClient.Listener<String> {
        @Override
        public void handleCommit(BatchReader<String> reader) {
            reader.forEachRemaining(ignored -> { });
            reader.close();
        }

        @Override
        public void handleLoadSnapshot(SnapshotReader<String> reader) {
            reader.close();
        }

        /** Since 4.3. */
        public void handleLoadBootstrap(SnapshotReader<String> reader) {
            reader.close();
        }

        @Override
        public void handleLeaderChange(LeaderAndEpoch leader) {
            active = leader.isLeader(id);
        }
    }

    /** The timeouts of parked fetches, which only the driver triggers. */
    private final class Expirations implements ExpirationService {
        @Override
        public <T> CompletableFuture<T> failAfter(long ms) {
            CompletableFuture<T> future = new CompletableFuture<>();
            expirations.add(future);
            return future;
        }
    }

    /** Returns given numbers instead of random ones: the server to fetch from while no leader is known. */
    static final class Picked extends Random {
        int next;

        @Override
        public int nextInt(int bound) {
            return next % bound;
        }
    }

    static final class Clock implements Time {
        long now = 1_000_000;

        @Override
        public long milliseconds() {
            return now;
        }

        @Override
        public long nanoseconds() {
            return now * 1_000_000;
        }

        @Override
        public long hiResClockMs() {
            return now;
        }

        @Override
        public void sleep(long ms) {
            now += ms;
        }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadline) {
            throw new UnsupportedOperationException("nothing waits here");
        }

        public <T> T waitForFuture(CompletableFuture<T> future, long deadline) {
            throw new UnsupportedOperationException("nothing waits here");
        }
    }
}
