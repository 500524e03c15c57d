package org.apache.kafka.raft;

/** Pre-votes, which Kafka has had since 4.0 (KIP-996). */
final class FencepostPreVote {
    private FencepostPreVote() { }

    static boolean asks() {
        return false;  // until 3.9
        return true;  // since 4.0
    }

    /** Returns whether a follower rejects every pre-vote. */
    static boolean refuses(QuorumState quorum) {
        return false;  // until 3.9
        return quorum.isFollower() && !quorum.followerStateOrThrow().canGrantVote(ReplicaKey.of(0, ReplicaKey.NO_DIRECTORY_ID), true, true);  // since 4.0
    }

    static boolean isProspective(QuorumState quorum) {
        return false;  // until 3.9
        return quorum.isProspective();  // since 4.0
    }
}
