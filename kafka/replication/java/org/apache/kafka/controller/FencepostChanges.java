package org.apache.kafka.controller;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.IntPredicate;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.placement.PartitionAssignment;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * Runs PartitionChangeBuilder alone. A partition and a requested change are given as numbers, and the changed partition
 * is returned.
 *
 * Sets of brokers are bit masks. The replicas of a partition are in the order that reassignments produce: remaining
 * replicas, then replicas to be removed, each ordered by number.
 */
public final class FencepostChanges {
    /** The number of ints in one change. */
    public static final int WIDTH = 16;
    private static final Uuid TOPIC = new Uuid(7, 7);
    private static final int ISR = 0;
    private static final int PREFERRED = 1;
    private static final int REASSIGN = 2;
    private static final int CANCEL = 3;

    private FencepostChanges() { }

    private static List<Integer> members(int bits) {
        List<Integer> found = new ArrayList<>();
        for (int broker = 0; bits >> broker != 0; broker++) {
            if ((bits & 1 << broker) != 0) {
                found.add(broker);
            }
        }
        return found;
    }

    private static int[] array(List<Integer> members) {
        return members.stream().mapToInt(Integer::intValue).toArray();
    }

    private static int bits(int[] members) {
        return Arrays.stream(members).reduce(0, (bits, member) -> bits | 1 << member);
    }

    private static List<Integer> ordered(int replicas, int removing) {
        List<Integer> found = members(replicas & ~removing);
        found.addAll(members(replicas & removing));
        return found;
    }

    private static PartitionAssignment assignment(List<Integer> replicas) {
        return new PartitionAssignment(replicas, broker -> new Uuid(1000, broker));
    }

    /** Returns the partition after a change: leader, both epochs, ISR, ELR, last known leader, replicas, adding, removing. */
    public static String changed(int[] n, int at) {
        int replicas = n[at + 6];
        int removing = n[at + 8];
        List<Integer> order = ordered(replicas, removing);
        Uuid[] directories = order.stream().map(broker -> new Uuid(1000, broker)).toArray(Uuid[]::new);
        PartitionRegistration p = new PartitionRegistration.Builder().setLeader(n[at]).setLeaderEpoch(n[at + 1]).setPartitionEpoch(n[at + 2])
            .setIsr(array(members(n[at + 3]))).setElr(array(members(n[at + 4])))
            .setLastKnownElr(n[at + 5] < 0 ? new int[0] : new int[] {n[at + 5]}).setReplicas(array(order)).setDirectories(directories)
            .setAddingReplicas(array(members(n[at + 7]))).setRemovingReplicas(array(members(removing)))
            .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED).build();
        int what = n[at + 9];
        int target = n[at + 10];
        int acceptable = n[at + 11];
        int unclean = n[at + 12];
        boolean elr = n[at + 13] == 1;
        boolean uncleanElection = n[at + 14] == 1;
        int minIsr = Math.min(n[at + 15], order.size());  // ReplicationControlManager.getTopicEffectiveMinIsr
        // like ReplicationControlManager.LeaderAcceptor, which fails if the partition has no such replica
        IntPredicate accepts = broker -> (acceptable & 1 << broker) != 0 && p.directory(broker).equals(new Uuid(1000, broker));
        PartitionChangeBuilder builder = new PartitionChangeBuilder(p, TOPIC, 0, accepts, MetadataVersion.latestProduction(), minIsr
            , elr  // since 4.3
        );
        builder.setEligibleLeaderReplicasEnabled(elr);  // until 4.2
        builder.setDefaultDirProvider(broker -> new Uuid(1000, broker));
        if (uncleanElection && what != REASSIGN) {  // changePartitionReassignment requests none
            builder.setElection(PartitionChangeBuilder.Election.UNCLEAN);
        }
        if (what == ISR) {
            builder.setTargetIsr(members(target));
            if (unclean != 0) {
                builder.setUncleanShutdownReplicas(members(unclean));
            }
        } else if (what == PREFERRED) {
            builder.setElection(PartitionChangeBuilder.Election.PREFERRED);
        } else if (what == REASSIGN) {  // like ReplicationControlManager.changePartitionReassignment
            PartitionReassignmentReplicas made = new PartitionReassignmentReplicas(assignment(order), assignment(members(target)));
            if (!made.replicas().equals(order)) {
                builder.setTargetReplicas(made.replicas());
            }
            if (!made.removing().isEmpty()) {
                builder.setTargetRemoving(made.removing());
            }
            if (!made.adding().isEmpty()) {
                builder.setTargetAdding(made.adding());
            }
        } else if (what == CANCEL) {  // like ReplicationControlManager.cancelPartitionReassignment
            PartitionReassignmentRevert revert = new PartitionReassignmentRevert(p);
            builder.setTargetIsr(revert.isr()).setTargetReplicas(revert.replicas()).setTargetRemoving(List.of()).setTargetAdding(List.of());
        } else {
            throw new IllegalArgumentException("a change that this driver does not know: " + what);
        }
        Optional<ApiMessageAndVersion> record = builder.build();
        PartitionRegistration q = record.isPresent() ? p.merge((PartitionChangeRecord) record.get().message()) : p;
        int known = q.lastKnownElr.length == 0 ? -1 : q.lastKnownElr[0];
        return "[" + q.leader + "," + q.leaderEpoch + "," + q.partitionEpoch + "," + bits(q.isr) + "," + bits(q.elr) + "," + known + ","
            + bits(q.replicas) + "," + bits(q.addingReplicas) + "," + bits(q.removingReplicas) + "]";
    }
}
