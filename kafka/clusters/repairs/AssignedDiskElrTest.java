package org.apache.kafka.controller;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AssignReplicasToDirsRequestData;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import static org.junit.jupiter.api.Assertions.assertEquals;

public class AssignedDiskElrTest {
    private static final Uuid TOPIC_ID = Uuid.fromString("FbrrdcfiR-KC2CPSTHaJrg");
    private static final Uuid DISK_OF_1 = new Uuid(100, 1);
    private static final Uuid DISK_OF_2 = new Uuid(100, 2);
    private static final Uuid NEW_DISK_OF_2 = new Uuid(100, 3);

    private final FeatureControlManager features = new FeatureControlManager.Builder().
        setQuorumFeatures(new QuorumFeatures(0, QuorumFeatures.defaultSupportedFeatureMap(true), List.of(0))).build();
    private ClusterControlManager cluster;
    private ReplicationControlManager replication;

    /** Broker 2 led last and comes back with a new disk; broker 1 is down, and has everything: ISR [], ELR [1]. */
    @BeforeEach
    public void setUp() {
        features.replay(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME).
            setFeatureLevel(MetadataVersion.latestProduction().featureLevel()));
        features.replay(new FeatureLevelRecord().setName("eligible.leader.replicas.version").setFeatureLevel((short) 1));
        cluster = new ClusterControlManager.Builder().setClusterId("c").setSessionTimeoutNs(1).setFeatureControlManager(features).
            setBrokerShutdownHandler((broker, isClean, records) -> { }).build();
        ConfigurationControlManager configs = new ConfigurationControlManager.Builder().setFeatureControl(features).
            setStaticConfig(Map.of("min.insync.replicas", "2")).
            setKafkaConfigSchema(kafka.server.KafkaRaftServer.configSchema()).build();
        replication = new ReplicationControlManager.Builder().setFeatureControl(features).
            setClusterControl(cluster).setConfigurationControl(configs).build();
        cluster.replay(new RegisterBrokerRecord().setBrokerId(1).setBrokerEpoch(11).setIncarnationId(new Uuid(1, 1)).
            setLogDirs(List.of(DISK_OF_1)).setFenced(true), 11);
        cluster.replay(new RegisterBrokerRecord().setBrokerId(2).setBrokerEpoch(12).setIncarnationId(new Uuid(1, 2)).
            setLogDirs(List.of(NEW_DISK_OF_2)).setFenced(true), 12);
        cluster.activate();
        replication.replay(new TopicRecord().setName("t").setTopicId(TOPIC_ID));
        replication.replay(new PartitionRecord().setTopicId(TOPIC_ID).setPartitionId(0).setReplicas(List.of(2, 1)).
            setDirectories(List.of(DISK_OF_2, DISK_OF_1)).setIsr(List.of()).setLeader(-1).
            setEligibleLeaderReplicas(List.of(1)).setLastKnownElr(List.of(2)));
    }

    @Test
    public void testAssignmentOfADirectoryKeepsTheElr() {
        assignNewDisk();
        assertEquals(List.of(1), Replicas.toList(replication.getPartition(TOPIC_ID, 0).elr));
    }

    @Test
    public void testLastKnownLeaderWithANewDiskIsNotElected() {
        assignNewDisk();
        List<ApiMessageAndVersion> records = new ArrayList<>();
        cluster.replay(new BrokerRegistrationChangeRecord().setBrokerId(2).setBrokerEpoch(12).setFenced((byte) -1));
        replication.handleBrokerUnfenced(2, 12, records);
        apply(records);
        assertEquals(-1, replication.getPartition(TOPIC_ID, 0).leader);
    }

    private void assignNewDisk() {
        AssignReplicasToDirsRequestData request = new AssignReplicasToDirsRequestData().setBrokerId(2).setBrokerEpoch(12).
            setDirectories(List.of(new AssignReplicasToDirsRequestData.DirectoryData().setId(NEW_DISK_OF_2).
                setTopics(List.of(new AssignReplicasToDirsRequestData.TopicData().setTopicId(TOPIC_ID).
                    setPartitions(List.of(new AssignReplicasToDirsRequestData.PartitionData().setPartitionIndex(0)))))));
        apply(replication.handleAssignReplicasToDirs(request).records());
    }

    private void apply(List<ApiMessageAndVersion> records) {
        for (ApiMessageAndVersion record : records) {
            if (record.message() instanceof PartitionChangeRecord change) {
                replication.replay(change);
            }
        }
    }
}
