package org.apache.kafka.raft;

import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.protocol.ApiMessageType;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.Records;

/** A node's fetch, from the time it is sent until its answer is handled. */
final class FencepostFetch {
    final int from;
    final int to;
    final RaftRequest.Outbound request;
    private boolean delivered;
    private CompletableFuture<?> expiration;
    private RaftResponse.Outbound answer;

    FencepostFetch(int from, int to, RaftRequest.Outbound request) {
        this.from = from;
        this.to = to;
        this.request = request;
    }

    FetchRequestData.FetchPartition asked() {
        return ((FetchRequestData) request.data()).topics().get(0).partitions().get(0);
    }

    private FetchResponseData.PartitionData told() {
        return ((FetchResponseData) answer.data()).responses().get(0).partitions().get(0);
    }

    Errors error() {
        return answer == null ? Errors.NONE : Errors.forCode(told().errorCode());
    }

    boolean isSent() {
        return !delivered;
    }

    boolean isParked() {
        return delivered && answer == null;
    }

    boolean isAnswered() {
        return answer != null;
    }

    static RaftRequest.Inbound inbound(RaftRequest.Outbound request, FencepostNode receiver) {
        short version = ApiMessageType.fromApiKey(request.data().apiKey()).highestSupportedVersion(true);
        return new RaftRequest.Inbound(
            FencepostNode.LISTENER, request.correlationId(), version, request.data(), receiver.time.milliseconds());
    }

    /** The leader handles the fetch. The answer exists immediately, or as soon as the leader completes the fetch. */
    void deliver(FencepostNode leader) {
        delivered = true;
        int before = leader.expirations.size();
        RaftRequest.Inbound inbound = inbound(request, leader);
        inbound.completion.whenComplete((response, error) -> answer = response);
        leader.client.handle(inbound);
        leader.poll();
        if (leader.expirations.size() > before && answer == null) {
            expiration = leader.expirations.get(before);
        }
    }

    void expire() {
        expiration.completeExceptionally(new TimeoutException());
    }

    RaftResponse.Inbound taken() {
        return new RaftResponse.Inbound(request.correlationId(), answer.data(), request.destination());
    }

    /**
     * Returns the phase (0 sent, 1 parked, 2 answered) and, for an answer: whether the logs diverge, the end of the named
     * snapshot, the diverging offset or the end of the records, the high watermark, and the error.
     */
    String state() {
        if (!isAnswered()) {
            return delivered ? "[1]" : "[0]";
        }
        FetchResponseData.PartitionData told = told();
        boolean diverging = told.divergingEpoch().epoch() != -1;
        long end = diverging ? told.divergingEpoch().endOffset() : asked().fetchOffset();
        if (told.records() != null) {
            for (RecordBatch batch : ((Records) told.records()).batches()) {
                end = batch.lastOffset() + 1;
            }
        }
        long snapshot = Math.max(told.snapshotId().endOffset(), 0);
        return "[2," + (diverging ? 1 : 0) + "," + snapshot + "," + end + "," + told.highWatermark() + ",\"" + error() + "\"]";
    }
}
