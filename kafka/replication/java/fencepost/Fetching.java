package fencepost;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.FetchSessionHandler;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData.EpochEndOffset;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.Records;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.FetchResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.network.BrokerEndPoint;
import org.apache.kafka.server.storage.log.FetchPartitionData;

/** A follower's fetchers: Kafka's manager, threads and endpoints, but no thread runs and nothing is sent. */
final class Fetching {
    final kafka.server.ReplicaFetcherManager manager;
    private final Broker broker;
    private final Map<Integer, Fetcher> fetchers = new TreeMap<>();
    /** The answer that the leader has sent, until the follower handles it. */
    Answer answer;
    /** By leader, the answers to requests from an earlier leader epoch, for which a thread still waits. */
    final Map<Integer, Answer> lates = new TreeMap<>();
    private final Holding holding;
    /** The leaders that answer requests other than fetches. */
    final Map<Integer, Function<AbstractRequest, AbstractResponse>> others = new HashMap<>();

    /** The answers that may outlive a leader epoch: none, late ones, or also those that were judged earlier. */
    enum Holding { NONE, LATE, JUDGED }

    Fetching(Broker broker, kafka.server.KafkaConfig config, Object quota, Metrics metrics, Fakes.Clock clock, Holding holding) {
        this.broker = broker;
        this.holding = holding;
        manager = new kafka.server.ReplicaFetcherManager(config, broker.manager, metrics, clock,
            scala.Option.empty(),  // until 4.1
            (kafka.server.ReplicationQuotaManager) quota, MetadataVersion::latestProduction, () -> broker.epoch) {
            @Override public kafka.server.ReplicaFetcherThread createFetcherThread(int number, BrokerEndPoint source) {
                Sender sender = new Sender(source, others);
                LogContext context = new LogContext("");
                kafka.server.RemoteLeaderEndPoint endpoint = new kafka.server.RemoteLeaderEndPoint("", sender,
                    new FetchSessionHandler(context, source.id()), config, broker.manager, (kafka.server.ReplicationQuotaManager) quota,
                    MetadataVersion::latestProduction, () -> broker.epoch);
                Fetcher made = new Fetcher(endpoint, sender, config, failedPartitions(), broker.manager, (kafka.server.ReplicationQuotaManager) quota);
                fetchers.put(source.id(), made);
                return made;
            }

            @Override public void shutdownIdleFetcherThreads() {
                if (holding == Holding.NONE) {
                    super.shutdownIdleFetcherThreads();
                }  // otherwise, other partitions keep the threads busy
            }
        };
    }

    /** A request that the follower has built, and the thread that waits for the answer. */
    static final class Request {
        Fetcher fetcher;
        int leader;
        FetchRequest request;
        Object partitions;
        Object builder;
        /** The epoch of the follower's last record when it went down, and whether the request contains a later epoch. */
        int lastEpoch;
        boolean hollow;

        FetchRequest.PartitionData data() {
            return asked().values().iterator().next();
        }

        TopicIdPartition partition() {
            return asked().keySet().iterator().next();
        }

        /** Returns all requested partitions. */
        Map<TopicIdPartition, FetchRequest.PartitionData> asked() {
            Map<Uuid, String> names = new HashMap<>();
            request.data().topics().forEach(topic -> names.put(topic.topicId(), "t"));
            return request.fetchData(names);
        }
    }

    /** The leader's answer, by partition. */
    static final class Answer {
        final Request to;
        final LinkedHashMap<TopicIdPartition, FetchResponseData.PartitionData> data = new LinkedHashMap<>();
        private final Map<TopicIdPartition, Records> records = new LinkedHashMap<>();
        /** The answer of a fetch session, or null without one; and whether the connection ends instead. */
        FetchResponse response;
        boolean isLost;
        /** The truncation offsets, after AbstractFetcherThread has examined the answer and released its lock. */
        private scala.collection.Map<TopicPartition, EpochEndOffset> judged;

        Answer(Request to) {
            this.to = to;
        }

        void add(TopicIdPartition partition, FetchPartitionData found) throws IOException {
            FetchResponseData.PartitionData to = new FetchResponseData.PartitionData().setPartitionIndex(partition.partition())
                .setErrorCode(found.error.code()).setHighWatermark(found.highWatermark).setLogStartOffset(found.logStartOffset)
                .setRecords(copy(found.records));
            records.put(partition, found.records);
            found.divergingEpoch.ifPresent(to::setDivergingEpoch);
            data.put(partition, to);
        }

        static MemoryRecords copy(Records records) throws IOException {
            if (records instanceof MemoryRecords) {
                return (MemoryRecords) records;
            }
            ByteBuffer buffer = ByteBuffer.allocate(records.sizeInBytes());
            ((FileRecords) records).readInto(buffer, 0);
            return MemoryRecords.readableRecords(buffer);
        }

        /** The leader reads the records when it sends them, so it sends the current content of that position in the file. */
        void read() throws IOException {
            records.keySet().retainAll(data.keySet());
            for (Map.Entry<TopicIdPartition, Records> of : records.entrySet()) {
                data.get(of.getKey()).setRecords(copy(of.getValue()));
            }
        }

        /** Returns whether the files are still as long as when the fetch was served. Otherwise, a leader ends the connection. */
        boolean isWhole() throws IOException {
            for (Records of : records.values()) {
                if (of instanceof FileRecords && ((FileRecords) of).sizeInBytes() > 0) {
                    FileRecords file = (FileRecords) of;
                    long start = Reflect.number(Reflect.get(file, "start"));
                    if (!file.channel().isOpen() || file.channel().size() < start + file.sizeInBytes()) {
                        return false;
                    }
                }
            }
            return true;
        }

        FetchResponseData.PartitionData only() {
            return data.values().iterator().next();
        }
    }

    /** An implementation of kafka.server.BlockingSend that returns a given answer. */
    static final class Sender implements kafka.server.BlockingSend {
        final BrokerEndPoint source;
        private final Map<Integer, Function<AbstractRequest, AbstractResponse>> others;
        ClientResponse response;
        boolean isLost;

        Sender(BrokerEndPoint source, Map<Integer, Function<AbstractRequest, AbstractResponse>> others) {
            this.source = source;
            this.others = others;
        }

        @Override public ClientResponse sendRequest(AbstractRequest.Builder<? extends AbstractRequest> builder) {
            if (isLost) {
                isLost = false;
                response = null;
                throw new UncheckedIOException(new IOException("the connection has ended"));
            }
            if (response == null && others.containsKey(source.id())) {
                AbstractRequest made = builder.build();
                return new ClientResponse(new RequestHeader(made.apiKey(), made.version(), "", 1), null, "", 0, 0, false, null, null,
                    others.get(source.id()).apply(made));
            }
            if (response == null) {
                throw new IllegalStateException("the follower sends a request of its own: " + builder);
            }
            ClientResponse taken = response;
            response = null;
            return taken;
        }

        @Override public void initiateClose() { }

        @Override public void close() { }

        @Override public BrokerEndPoint brokerEndPoint() {
            return source;
        }
    }

    /** Kafka's thread, which is never started. Its work is called step by step. */
    static final class Fetcher extends kafka.server.ReplicaFetcherThread {
        final Sender sender;
        private Answer judging;

        Fetcher(kafka.server.RemoteLeaderEndPoint endpoint, Sender sender, kafka.server.KafkaConfig config,
                kafka.server.FailedPartitions failed, kafka.server.ReplicaManager manager, kafka.server.ReplicationQuotaManager quota) {
            super("fetcher", endpoint, config, failed, manager, quota, ""
                , MetadataVersion::latestProduction  // until 4.0
            );
            this.sender = sender;
        }

        @Override public void start() { }

        @Override public void truncateOnFetchResponse(scala.collection.Map<TopicPartition, EpochEndOffset> ends) {
            if (judging == null) {
                super.truncateOnFetchResponse(ends);
            } else {
                judging.judged = ends;
            }
        }

        Object state() {
            return Scala.value(Reflect.call(this, "fetchState", Broker.PARTITION));
        }
    }

    /** Returns the fetcher of the partition, or null if there is none. */
    private Fetcher fetcher() {
        for (Fetcher f : fetchers.values()) {
            if (f.state() != null) {
                return f;
            }
        }
        return null;
    }

    /** Returns the follower's fetch state, or null if it fetches from no leader. */
    Object state() {
        Fetcher fetcher = fetcher();
        return fetcher == null ? null : fetcher.state();
    }

    private static int epoch(Object state) {
        return (int) Reflect.number(Reflect.call(state, "currentLeaderEpoch"));
    }

    /** Builds the follower's current request, or null if it fetches from no leader. */
    Request request() {
        Fetcher fetcher = fetcher();
        return fetcher == null ? null : request(fetcher);
    }

    /** Returns the thread that fetches from this leader, or null if there was never one. */
    Fetcher fetcher(int leader) {
        return fetchers.get(leader);
    }

    /** Returns the brokers from which the follower fetches. */
    List<Integer> leaders() {
        return fetchers.keySet().stream().filter(leader -> fetchers.get(leader).partitionCount() > 0).toList();
    }

    /** Builds the next request to a leader, or null if there is none. */
    Request request(int leader) {
        Fetcher fetcher = fetchers.get(leader);
        Lock lock = (Lock) Reflect.get(fetcher, "partitionMapLock");  // held as in AbstractFetcherThread.maybeFetch
        lock.lock();
        try {
            return request(fetcher);
        } finally {
            lock.unlock();
        }
    }

    private static Request request(Fetcher fetcher) {
        Reflect.call(fetcher, "maybeTruncate");
        Object states = Reflect.call(Reflect.get(fetcher, "partitionStates"), "partitionStateMap");
        states = scala.jdk.javaapi.CollectionConverters.asScala((Map<?, ?>) states);  // until 4.0
        Object endpoint = Reflect.call(fetcher, "leader");
        Object fetch = Scala.value(Reflect.call(Reflect.call(endpoint, "buildFetch", states), "result"));
        if (fetch == null) {
            return null;
        }
        Request made = new Request();
        made.fetcher = fetcher;
        made.leader = fetcher.sender.source.id();
        made.partitions = Reflect.call(fetch, "partitionData");
        made.builder = Reflect.call(fetch, "fetchRequest");
        made.request = ((FetchRequest.Builder) made.builder).build();
        return made;
    }

    /** The follower handles the answer (AbstractFetcherThread.processFetchRequest). */
    void handle() {
        Answer taken = answer;
        answer = null;
        handle(taken);
    }

    static void handle(Answer taken) {
        if (taken.judged != null) {
            taken.to.fetcher.truncateOnFetchResponse(taken.judged);
            return;
        }
        short version = taken.to.request.version();
        taken.to.fetcher.sender.response = new ClientResponse(new RequestHeader(ApiKeys.FETCH, version, "", 1), null, "", 0, 0, false, null, null,
            taken.response != null ? taken.response : FetchResponse.of(Errors.NONE, 0, 0, taken.data, List.of()));
        taken.to.fetcher.sender.isLost = taken.isLost;
        Reflect.call(taken.to.fetcher, "processFetchRequest", taken.to.partitions, taken.to.builder);
    }

    /** The thread examines an answer with truncation offsets, and releases its lock before it truncates. */
    void judge() {
        if (holding == Holding.JUDGED && answer != null && answer.judged == null) {
            FetchResponseData.EpochEndOffset end = answer.only().divergingEpoch();
            if (end.epoch() >= 0 || end.endOffset() >= 0) {
                answer.to.fetcher.judging = answer;
                handle(answer);
                answer.to.fetcher.judging = null;
            }
        }
    }

    /** A follower in a new leader epoch no longer waits for the answer to an earlier request, but its thread may wait. */
    void leaveOutdated() {
        if (answer != null) {
            Object state = answer.to.fetcher.state();
            if (state == null || epoch(state) != answer.to.data().currentLeaderEpoch.get()) {
                if (holding != Holding.NONE) {
                    lates.put(answer.to.leader, answer);
                }
                answer = null;
            }
        }
    }

    boolean failed() {
        return (boolean) Reflect.call(manager.failedPartitions(), "contains", Broker.PARTITION);
    }
}
