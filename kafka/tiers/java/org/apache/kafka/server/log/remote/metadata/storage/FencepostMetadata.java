package org.apache.kafka.server.log.remote.metadata.storage;

import java.util.Iterator;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.storage.FencepostTiers;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadataManager;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;

/** The metadata of one partition's tier, in Kafka's cache, which all brokers read and write without delay. */
public final class FencepostMetadata implements RemoteLogMetadataManager {
    private static RemoteLogMetadataCache cache;

    public static void reset() {
        cache = new RemoteLogMetadataCache();
        cache.markInitialized();
    }
    @Override public CompletableFuture<Void> addRemoteLogSegmentMetadata(RemoteLogSegmentMetadata metadata) throws RemoteStorageException {
        FencepostTiers.Copy.current().begin(metadata);
        cache.addCopyInProgressSegment(metadata);
        return CompletableFuture.completedFuture(null);
    }
    @Override public CompletableFuture<Void> updateRemoteLogSegmentMetadata(RemoteLogSegmentMetadataUpdate update) throws RemoteStorageException {
        cache.updateRemoteLogSegmentMetadata(update);
        return CompletableFuture.completedFuture(null);
    }
    @Override public Optional<RemoteLogSegmentMetadata> remoteLogSegmentMetadata(TopicIdPartition partition, int epoch, long offset) { return cache.remoteLogSegmentMetadata(epoch, offset); }
    @Override public Optional<Long> highestOffsetForEpoch(TopicIdPartition partition, int epoch) { return cache.highestOffsetForEpoch(epoch); }
    @Override public Iterator<RemoteLogSegmentMetadata> listRemoteLogSegments(TopicIdPartition partition) { return cache.listAllRemoteLogSegments(); }
    @Override public Iterator<RemoteLogSegmentMetadata> listRemoteLogSegments(TopicIdPartition partition, int epoch) throws RemoteStorageException { return cache.listRemoteLogSegments(epoch); }
    @Override public CompletableFuture<Void> putRemotePartitionDeleteMetadata(RemotePartitionDeleteMetadata metadata) { throw new UnsupportedOperationException(); }
    @Override public long remoteLogSize(TopicIdPartition partition, int epoch) { throw new UnsupportedOperationException(); }
    @Override public void onPartitionLeadershipChanges(Set<TopicIdPartition> leaders, Set<TopicIdPartition> followers) { }
    @Override public void onStopPartitions(Set<TopicIdPartition> partitions) { }
    @Override public void close() { }
    @Override public void configure(Map<String, ?> settings) { }
}
