package org.apache.kafka.controller;

import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.ClearElrRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.metadata.KafkaConfigSchema;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

public class ClearedElrIndexTest {
    private static final Uuid TOPIC_ID = Uuid.fromString("FbrrdcfiR-KC2CPSTHaJrg");

    @Test
    public void testBrokerThatIsClearedLeavesTheIndex() {
        assertFalse(clearedElrOfBroker2().brokersToElrs().partitionsWithBrokerInElr(2).hasNext());
    }

    @Test
    public void testBrokerThatIsClearedRegistersAfterItsTopicIsDeleted() {
        ReplicationControlManager replication = clearedElrOfBroker2();
        replication.replay(new RemoveTopicRecord().setTopicId(TOPIC_ID));
        List<ApiMessageAndVersion> records = new ArrayList<>();
        replication.handleBrokerShutdown(2, false, records);
        assertEquals(List.of(), records);
    }

    @Test
    public void testBrokerThatIsClearedIsUnregisteredAfterItsTopicIsDeleted() {
        ReplicationControlManager replication = clearedElrOfBroker2();
        replication.replay(new RemoveTopicRecord().setTopicId(TOPIC_ID));
        List<ApiMessageAndVersion> records = new ArrayList<>();
        replication.handleBrokerUnregistered(2, 1, records);
        assertEquals(1, records.size());
    }

    private static ReplicationControlManager clearedElrOfBroker2() {
        FeatureControlManager features = new FeatureControlManager.Builder().
            setQuorumFeatures(new QuorumFeatures(0, QuorumFeatures.defaultSupportedFeatureMap(true), List.of(0))).build();
        features.replay(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME).
            setFeatureLevel(MetadataVersion.latestProduction().featureLevel()));
        features.replay(new FeatureLevelRecord().setName("eligible.leader.replicas.version").setFeatureLevel((short) 1));
        ClusterControlManager cluster = new ClusterControlManager.Builder().setClusterId("c").
            setFeatureControlManager(features).setBrokerShutdownHandler((broker, clean, records) -> { }).build();
        ConfigurationControlManager configs = new ConfigurationControlManager.Builder().setFeatureControl(features).
            setKafkaConfigSchema(KafkaConfigSchema.EMPTY).build();
        ReplicationControlManager replication = new ReplicationControlManager.Builder().setFeatureControl(features).
            setClusterControl(cluster).setConfigurationControl(configs).build();
        replication.replay(new TopicRecord().setName("t").setTopicId(TOPIC_ID));
        replication.replay(new PartitionRecord().setTopicId(TOPIC_ID).setPartitionId(0).setReplicas(List.of(1, 2, 3)).
            setDirectories(List.of(DirectoryId.UNASSIGNED, DirectoryId.UNASSIGNED, DirectoryId.UNASSIGNED)).
            setIsr(List.of(1)).setEligibleLeaderReplicas(List.of(2)).setLeader(1));
        replication.replay(new ClearElrRecord().setTopicName("t"));
        return replication;
    }
}
