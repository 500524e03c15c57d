package org.apache.kafka.controller;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
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
import static org.junit.jupiter.api.Assertions.assertFalse;

public class LostDiskElrTest {
    private static final Uuid TOPIC_ID = Uuid.fromString("FbrrdcfiR-KC2CPSTHaJrg");
    private static final Uuid DISK_OF_1 = new Uuid(100, 1);
    private static final Uuid DISK_OF_2 = new Uuid(100, 2);
    private static final Uuid OTHER_DISK_OF_2 = new Uuid(100, 3);

    private final FeatureControlManager features = new FeatureControlManager.Builder().
        setQuorumFeatures(new QuorumFeatures(0, QuorumFeatures.defaultSupportedFeatureMap(true), List.of(0))).build();
    private final List<Boolean> clean = new ArrayList<>();
    private ClusterControlManager cluster;
    private ReplicationControlManager replication;

    @BeforeEach
    public void setUp() {
        features.replay(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME).
            setFeatureLevel(MetadataVersion.latestProduction().featureLevel()));
        features.replay(new FeatureLevelRecord().setName("eligible.leader.replicas.version").setFeatureLevel((short) 1));
        cluster = new ClusterControlManager.Builder().setClusterId("c").setSessionTimeoutNs(1).setFeatureControlManager(features).
            setBrokerShutdownHandler((broker, isClean, records) -> clean.add(isClean)).build();
        ConfigurationControlManager configs = new ConfigurationControlManager.Builder().setFeatureControl(features).
            setStaticConfig(Map.of("min.insync.replicas", "2")).
            setKafkaConfigSchema(kafka.server.KafkaRaftServer.configSchema()).build();
        replication = new ReplicationControlManager.Builder().setFeatureControl(features).
            setClusterControl(cluster).setConfigurationControl(configs).build();
        cluster.replay(new RegisterBrokerRecord().setBrokerId(1).setBrokerEpoch(11).setIncarnationId(new Uuid(1, 1)).
            setLogDirs(List.of(DISK_OF_1)).setFenced(false), 11);
        cluster.replay(new RegisterBrokerRecord().setBrokerId(2).setBrokerEpoch(12).setIncarnationId(new Uuid(1, 2)).
            setLogDirs(List.of(DISK_OF_2, OTHER_DISK_OF_2)).setFenced(false), 12);
        cluster.activate();
        replication.replay(new TopicRecord().setName("t").setTopicId(TOPIC_ID));
        replication.replay(new PartitionRecord().setTopicId(TOPIC_ID).setPartitionId(0).setReplicas(List.of(1, 2)).
            setDirectories(List.of(DISK_OF_1, DISK_OF_2)).setIsr(List.of(1, 2)).setLeader(1));
    }

    @Test
    public void testReplicaWhoseDiskFailsIsNotEligible() {
        List<ApiMessageAndVersion> records = new ArrayList<>();
        replication.handleDirectoriesOffline(2, 12, List.of(DISK_OF_2), records);
        replication.replay((PartitionChangeRecord) records.get(0).message());
        assertEquals(List.of(1), Replicas.toList(replication.getPartition(TOPIC_ID, 0).isr));
        assertEquals(List.of(), Replicas.toList(replication.getPartition(TOPIC_ID, 0).elr));
    }

    @Test
    public void testBrokerThatRegistersWithoutADiskIsUnclean() {
        BrokerRegistrationRequestData request = new BrokerRegistrationRequestData().setBrokerId(2).setClusterId("c").
            setIncarnationId(new Uuid(1, 3)).setLogDirs(List.of(OTHER_DISK_OF_2)).setPreviousBrokerEpoch(12);
        request.features().add(new BrokerRegistrationRequestData.Feature().setName(MetadataVersion.FEATURE_NAME).
            setMinSupportedVersion(MetadataVersion.MINIMUM_VERSION.featureLevel()).
            setMaxSupportedVersion(MetadataVersion.latestProduction().featureLevel()));
        request.features().add(new BrokerRegistrationRequestData.Feature().setName("eligible.leader.replicas.version").
            setMinSupportedVersion((short) 0).setMaxSupportedVersion((short) 1));
        cluster.registerBroker(request, 13, features.finalizedFeatures(Long.MAX_VALUE), true);
        assertFalse(clean.get(0));
    }
}
