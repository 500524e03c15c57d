package fencepost;

import java.lang.reflect.Constructor;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.FetchMetadata;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.FetchResponse;
import org.apache.kafka.server.FencepostSessions;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import kafka.log.UnifiedLog;  // until 4.0
import org.apache.kafka.storage.internals.log.UnifiedLog;  // since 4.1

/** Fetch sessions of all brokers: Kafka's FetchManager answers fetches, as KafkaApis calls it, and each answer is checked. */
final class Sessions {
    /** The number of later fetches after which a session that is not used may be evicted. */
    private static final int STALE = 3;
    private static final Class<?> MANAGER = Reflect.type("kafka.server.FetchManager");

    /** A broker process, and its cache, which has room for one session of each follower. */
    private final class Cache {
        final Broker process;
        final Fakes.Clock clock = new Fakes.Clock();
        final FencepostSessions sessions = new FencepostSessions(c.shape.brokers() - 1, STALE, () -> ++ids);
        final Object manager;
        /** By session, the high watermark and log start of each partition that were sent last. */
        final Map<Integer, Map<TopicIdPartition, List<Long>>> told = new HashMap<>();

        Cache(Broker process) throws Exception {
            this.process = process;
            Constructor<?> made = MANAGER.getDeclaredConstructor(org.apache.kafka.common.utils.Time.class, FencepostSessions.class.getSuperclass());
            made.setAccessible(true);
            manager = made.newInstance(clock, sessions);
        }

        boolean knows(int session) {
            return Scala.value(Reflect.call(sessions, "get", session)) != null;
        }
    }

    /** A fetch that its leader has received, and both processes. */
    private record Served(Broker follower, Broker leader, Fetching.Request request) {
        FetchRequest made() {
            return ((FetchRequest.Builder) request.builder).build();
        }
    }

    boolean areUsed;
    private final Cluster c;
    private final Cache[] caches;
    /** The last fetch of each follower, by leader. */
    private final Served[][] last;
    private int ids;

    Sessions(Cluster c) {
        this.c = c;
        caches = new Cache[c.shape.brokers()];
        last = new Served[c.shape.brokers()][c.shape.brokers()];
    }

    private Cache of(Broker leader) throws Exception {
        if (caches[leader.id] == null || caches[leader.id].process != leader) {
            caches[leader.id] = new Cache(leader);
        }
        return caches[leader.id];
    }

    /** Returns what the follower's fetcher asks for, of all its partitions, whether or not the request contains them. */
    Map<TopicIdPartition, FetchRequest.PartitionData> wanted(Broker follower, Fetching.Fetcher fetcher) {
        Map<TopicIdPartition, FetchRequest.PartitionData> found = new HashMap<>();
        Map<?, ?> states = (Map<?, ?>) Reflect.call(Reflect.get(fetcher, "partitionStates"), "partitionStateMap");
        states.forEach((key, state) -> {
            TopicPartition p = (TopicPartition) key;
            if ((boolean) Reflect.call(state, "isReadyForFetch") && follower.log(p) != null) {
                Uuid id = (Uuid) Scala.value(Reflect.call(state, "topicId"));
                int epoch = (int) Reflect.number(Reflect.call(state, "currentLeaderEpoch"));
                Integer lastEpoch = (Integer) Scala.value(Reflect.call(state, "lastFetchedEpoch"));
                found.put(new TopicIdPartition(id, p), new FetchRequest.PartitionData(id, Reflect.number(Reflect.call(state, "fetchOffset")),
                    follower.log(p).logStartOffset(), 1, Optional.of(epoch), Optional.ofNullable(lastEpoch)));
            }
        });
        return found;
    }

    /** A leader answers a fetch of a follower. */
    Fetching.Answer serve(Broker follower, Broker leader, Fetching.Request request, Map<TopicIdPartition, FetchRequest.PartitionData> wanted) throws Exception {
        Served served = new Served(follower, leader, request);
        last[leader.id][follower.id] = served;
        Fetching.Answer answer = new Fetching.Answer(request);
        FetchRequest made = served.made();
        answer(of(leader), made, answer, wanted);
        Errors error = answer.response.error();
        if (error != Errors.NONE && error != Errors.FETCH_SESSION_ID_NOT_FOUND) {
            throw new Judge.Violation(between(leader, follower) + "the fetch is in sequence, and it is answered with " + error);
        }
        return answer;
    }

    private static String between(Broker leader, Broker follower) {
        return "broker " + leader.id + ", fetch of broker " + follower.id + ": ";
    }

    /** KafkaApis.handleFetchRequest. `wanted` is null for a client. */
    private void answer(Cache cache, FetchRequest request, Fetching.Answer answer, Map<TopicIdPartition, FetchRequest.PartitionData> wanted) throws Exception {
        Broker leader = cache.process;
        cache.clock.now++;
        Map<Uuid, String> names = leader.image().topics().topicIdToNameView();
        FetchMetadata session = request.metadata();
        Object context = Reflect.call(cache.manager, "newContext", request.version(), session, request.isFromFollower(), request.fetchData(names),
            request.forgottenTopics(names), names);
        LinkedHashMap<TopicIdPartition, FetchRequest.PartitionData> asked = new LinkedHashMap<>();
        Map<TopicIdPartition, FetchRequest.PartitionData> known = new HashMap<>();
        Reflect.call(context, "foreachPartition",
            (scala.Function2<TopicIdPartition, FetchRequest.PartitionData, Object>) (p, data) -> {  // until 4.2
            (java.util.function.BiConsumer<TopicIdPartition, FetchRequest.PartitionData>) (p, data) -> {  // since 4.3
                asked.put(p, data);
                known.put(new TopicIdPartition(p.topicId(), new TopicPartition("t", p.partition())), data);
                return scala.runtime.BoxedUnit.UNIT;  // until 4.2
            });
        boolean isRefused = context.getClass().getSimpleName().equals("SessionErrorContext");
        if (wanted != null && !isRefused && !known.equals(wanted)) {
            throw new Judge.Violation("broker " + leader.id + ": the fetch session has " + told(known) + ", and the follower asks for " + told(wanted));
        }
        LinkedHashMap<TopicIdPartition, FetchRequest.PartitionData> resolved = new LinkedHashMap<>(asked);
        boolean hasTopic = leader.image().topics().getTopic("t") != null;
        resolved.keySet().removeIf(p -> p.topic() == null || !hasTopic);
        Map<TopicIdPartition, FetchPartitionData> found = resolved.isEmpty() ? Map.of() : Calls.fetch(leader.manager, request, resolved);
        leader.act();
        for (Map.Entry<TopicIdPartition, FetchPartitionData> of : found.entrySet()) {
            answer.add(of.getKey(), of.getValue());
        }
        asked.keySet().stream().filter(p -> !resolved.containsKey(p)).forEach(p -> answer.data.put(p,
            FetchResponse.partitionResponse(p, p.topic() == null ? Errors.UNKNOWN_TOPIC_ID : Errors.UNKNOWN_TOPIC_OR_PARTITION)));
        Map<TopicIdPartition, FetchResponseData.PartitionData> all = new LinkedHashMap<>(answer.data);
        answer.response = (FetchResponse) Reflect.call(context, "updateAndGenerateResponseData", answer.data
            , List.of()  // since 4.0
        );
        if (Fakes.isRepaired("left-out-start")) {
            answer.data.forEach((p, data) -> repair(cache, answer.response.sessionId(), p, data));
        }
        if (!isRefused) {
            check(cache, session, answer, all);
        }
    }

    /** The fix: a follower that truncates ignores the high watermark and the log start of an answer, so they are sent again. */
    private static void repair(Cache cache, int session, TopicIdPartition of, FetchResponseData.PartitionData data) {
        if (cache.knows(session) && FetchResponse.isDivergingEpoch(data)) {
            Object known = Scala.value(Reflect.call(cache.sessions, "get", session));
            for (Object p : (Iterable<?>) Reflect.call(known, "partitionMap")) {
                if (Reflect.call(p, "topicId").equals(of.topicId()) && Reflect.call(p, "partition").equals(of.partition())) {
                    Reflect.set(p, p.getClass(), "highWatermark", -1L);
                }
            }
        }
    }

    private static String told(Map<TopicIdPartition, FetchRequest.PartitionData> of) {
        return of.values().stream().map(Objects::toString).sorted().toList().toString();
    }

    /** Checks that an incremental answer contains each partition with news, and that closed and evicted sessions are gone. No answer comes from another topic. */
    private void check(Cache cache, FetchMetadata asked, Fetching.Answer answer, Map<TopicIdPartition, FetchResponseData.PartitionData> all) {
        String of = "broker " + cache.process.id + ": ";
        int session = answer.response.sessionId();
        if (asked.isFull() && cache.knows(asked.sessionId())) {
            throw new Judge.Violation(of + "a fetch session that the follower has closed is not closed");
        }
        if ((int) Reflect.call(cache.sessions, "size") > c.shape.brokers() - 1) {
            throw new Judge.Violation(of + "it has more fetch sessions than its cache may have");
        }
        Map<TopicIdPartition, List<Long>> before = cache.told.getOrDefault(asked.isFull() ? 0 : session, Map.of());
        Map<TopicIdPartition, List<Long>> now = new HashMap<>();
        all.forEach((p, data) -> {
            TopicIdPartition named = new TopicIdPartition(p.topicId(), new TopicPartition("t", p.partition()));
            List<Long> state = List.of(data.highWatermark(), data.logStartOffset());
            boolean isNew = !state.equals(before.get(named)) || data.errorCode() != 0 || FetchResponse.recordsSize(data) > 0 || FetchResponse.isDivergingEpoch(data);
            if (isNew && !answer.data.containsKey(p)) {
                throw new Judge.Violation(of + "an answer omits partition " + p.partition() + ", which has the error " + Errors.forCode(data.errorCode())
                    + ", the high watermark " + data.highWatermark() + " and the log start " + data.logStartOffset());
            }
            UnifiedLog log = cache.process.log(named.topicPartition());
            if (data.errorCode() == 0 && log != null && !p.topicId().equals(Scala.value(log.topicId()))) {
                throw new Judge.Violation(of + "an answer on partition " + p.partition() + " of a deleted topic comes from the log of another topic");
            }
            now.put(named, state);
        });
        if (session != FetchMetadata.INVALID_SESSION_ID) {
            cache.told.put(session, now);
        }
    }

    /** Checks that a follower that has handled an answer continues the session. */
    static void followed(Broker follower, Fetching.Answer answer) {
        if (answer.response != null && answer.response.error() == Errors.NONE && answer.response.sessionId() != FetchMetadata.INVALID_SESSION_ID) {
            Object handler = Reflect.get(Reflect.call(answer.to.fetcher, "leader"), "fetchSessionHandler");
            FetchMetadata next = (FetchMetadata) Reflect.get(handler, "nextMetadata");
            if (next.isFull() || next.sessionId() != answer.response.sessionId()) {
                throw new Judge.Violation("broker " + follower.id + " rejects an answer of broker " + answer.to.leader + " in its fetch session");
            }
        }
    }

    /** Returns whether a follower's last fetch, which continued a session, can arrive again. */
    boolean canRepeat(int follower, int leader) {
        Served of = last[leader][follower];
        return areUsed && of != null && of.leader == c.connected(leader) && !of.made().metadata().isFull();
    }

    /** A leader refuses a fetch that it has answered before. */
    void repeat(int follower, int leader) throws Exception {
        Served of = last[leader][follower];
        Fetching.Answer answer = new Fetching.Answer(of.request);
        answer(of(of.leader), of.made(), answer, null);
        if (answer.response.error() == Errors.NONE) {
            throw new Judge.Violation(between(of.leader, of.follower) + "a fetch that was answered before is answered again");
        }
    }

    /** A client opens a session that it does not use again. */
    void open(Broker leader) throws Exception {
        Map<TopicPartition, FetchRequest.PartitionData> of = new LinkedHashMap<>();
        Uuid id = leader.image().topics().getTopic("t").id();
        c.partitions.forEach(p -> of.put(p, new FetchRequest.PartitionData(id, 0, -1, 1, Optional.empty())));
        FetchRequest request = FetchRequest.Builder.forConsumer(ApiKeys.FETCH.latestVersion(), 0, 0, of).metadata(FetchMetadata.INITIAL).setMaxBytes(1).build();
        answer(of(leader), request, new Fetching.Answer(null), null);
    }

    /** Returns the number of sessions of each broker, and which fetches start a new session. */
    String show() {
        if (!areUsed) {
            return "";
        }
        StringBuilder out = new StringBuilder();
        for (int b = 0; b < caches.length; b++) {
            boolean isUp = caches[b] != null && caches[b].process == c.up[b];
            out.append(' ').append(isUp ? Reflect.call(caches[b].sessions, "size") : "-");
            for (Served served : last[b]) {
                out.append(served == null ? "" : served.request.request.metadata().isFull() ? "f" : "i");
            }
        }
        return out.toString();
    }

    /** Checks that all followers have sessions. */
    void settled() {
        for (Served[] of : last) {
            for (Served served : of) {
                boolean isCurrent = served != null && c.connected(served.leader.id) == served.leader && c.connected(served.follower.id) == served.follower
                    && served.follower.fetching.leaders().contains(served.leader.id);
                if (isCurrent && served.request.request.metadata().isFull()) {
                    throw new Judge.Violation("broker " + served.leader.id + " never lets broker " + served.follower.id + " use a fetch session");
                }
            }
        }
    }
}
