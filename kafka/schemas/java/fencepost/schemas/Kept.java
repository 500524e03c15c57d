package fencepost.schemas;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.raft.ExpirationService;
import org.apache.kafka.raft.internals.ThresholdPurgatory;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;

/** The contents of two of Kafka's objects: a leader's replica, and the purgatory of the metadata quorum. */
final class Kept {
    /** Returns the broker epoch that a leader has recorded for a follower after each fetch with one of these epochs. */
    static Map<String, Object> epochs(long... epochs) {
        kafka.server.MetadataCache nobody = (kafka.server.MetadataCache) Proxy.newProxyInstance(
            Kept.class.getClassLoader(), new Class<?>[] {kafka.server.MetadataCache.class},
            (proxy, method, given) -> method.getReturnType() == Optional.class ? Optional.empty() : null);
        kafka.cluster.Replica replica = new kafka.cluster.Replica(1, new TopicPartition("t", 0), nobody);
        List<String> found = new ArrayList<>();
        for (long epoch : epochs) {
            replica.updateFetchStateOrThrow(new LogOffsetMetadata(0), 0, 0, 0, epoch);
            found.add(replica.stateSnapshot().brokerEpoch().toString().replaceAll("\\D", ""));
        }
        return Map.of("kept", found);
    }

    /** Counts how many fetches still wait after an append, of two fetches at the end offset and one beyond it. */
    static Map<String, Object> parked() {
        ExpirationService never = new ExpirationService() {
            @Override
            public <T> CompletableFuture<T> failAfter(long milliseconds) {
                return new CompletableFuture<>();
            }
        };
        ThresholdPurgatory<Long> purgatory = new ThresholdPurgatory<>(never);
        purgatory.await(10L, 500);
        purgatory.await(10L, 500);
        purgatory.await(12L, 500);
        int before = purgatory.numWaiting();
        purgatory.maybeComplete(11L, 0);
        return Map.of("before", before, "after", purgatory.numWaiting());
    }

    private Kept() {
    }
}
