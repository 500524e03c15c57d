package org.apache.kafka.controller;

import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.server.common.MetadataVersion;

import org.junit.jupiter.api.Test;

import java.util.List;

import static org.junit.jupiter.api.Assertions.assertEquals;

public class RemovedReplicaElrTest {
    private static final Uuid TOPIC_ID = Uuid.fromString("FbrrdcfiR-KC2CPSTHaJrg");
    private static final int MIN_ISR = 2;

    @Test
    public void testReplicaThatACancelledReassignmentRemovesIsNotEligible() {
        // [1, 2] is moved to [1, 3, 4]. Brokers 2 and 4 are down, and 3 has joined the ISR.
        PartitionRegistration moving = partition(new int[] {1, 3, 4, 2}, new int[] {1, 3}, new int[] {})
            .setAddingReplicas(new int[] {3, 4}).setRemovingReplicas(new int[] {2}).build();
        PartitionReassignmentRevert revert = new PartitionReassignmentRevert(moving);
        PartitionRegistration cancelled = changed(moving, change(moving).setTargetIsr(revert.isr())
            .setTargetReplicas(revert.replicas()).setTargetRemoving(List.of()).setTargetAdding(List.of()));
        assertEquals(List.of(1, 2), Replicas.toList(cancelled.replicas));
        assertEquals(List.of(1), Replicas.toList(cancelled.isr));
        assertEquals(List.of(), Replicas.toList(cancelled.elr));
    }

    @Test
    public void testReplicaThatACompletedReassignmentRemovesIsNotEligible() {
        // [1, 2] is moved to [3, 2]. Broker 2 is down, and 3 joins the ISR.
        PartitionRegistration moving = partition(new int[] {3, 2, 1}, new int[] {1}, new int[] {2})
            .setAddingReplicas(new int[] {3}).setRemovingReplicas(new int[] {1}).build();
        PartitionRegistration completed = changed(moving, change(moving).setTargetIsr(List.of(1, 3)));
        assertEquals(List.of(3, 2), Replicas.toList(completed.replicas));
        assertEquals(List.of(3), Replicas.toList(completed.isr));
        assertEquals(List.of(2), Replicas.toList(completed.elr));
    }

    private static PartitionRegistration.Builder partition(int[] replicas, int[] isr, int[] elr) {
        return new PartitionRegistration.Builder().setReplicas(replicas).setDirectories(DirectoryId.unassignedArray(replicas.length))
            .setIsr(isr).setElr(elr).setLeader(1).setLeaderRecoveryState(LeaderRecoveryState.RECOVERED)
            .setLeaderEpoch(5).setPartitionEpoch(5);
    }

    private static PartitionChangeBuilder change(PartitionRegistration partition) {
        return new PartitionChangeBuilder(partition, TOPIC_ID, 0, broker -> broker == 1 || broker == 3,
            MetadataVersion.latestProduction(), MIN_ISR, true).setDefaultDirProvider(broker -> DirectoryId.UNASSIGNED);
    }

    private static PartitionRegistration changed(PartitionRegistration partition, PartitionChangeBuilder change) {
        return partition.merge((PartitionChangeRecord) change.build().orElseThrow().message());
    }
}
