package org.apache.kafka.controller;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

import static org.junit.jupiter.api.Assertions.assertEquals;

public class OfflineReplicaIsrTest {
    private static final Uuid TOPIC_ID = Uuid.fromString("FbrrdcfiR-KC2CPSTHaJrg");
    private static final Uuid DISK_OF_1 = new Uuid(100, 1);
    private static final Uuid DISK_OF_2 = new Uuid(100, 2);
    private static final Uuid OTHER_DISK_OF_2 = new Uuid(100, 3);

    @Test
    public void testReplicaWhoseDirectoryIsOfflineDoesNotJoinTheIsr() {
        FeatureControlManager features = new FeatureControlManager.Builder().
            setQuorumFeatures(new QuorumFeatures(0, QuorumFeatures.defaultSupportedFeatureMap(true), List.of(0))).build();
        features.replay(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME).
            setFeatureLevel(MetadataVersion.latestProduction().featureLevel()));
        features.replay(new FeatureLevelRecord().setName("eligible.leader.replicas.version").setFeatureLevel((short) 1));
        ClusterControlManager cluster = new ClusterControlManager.Builder().setClusterId("c").setSessionTimeoutNs(1).
            setFeatureControlManager(features).setBrokerShutdownHandler((broker, isClean, records) -> { }).build();
        ConfigurationControlManager configs = new ConfigurationControlManager.Builder().setFeatureControl(features).
            setStaticConfig(Map.of("min.insync.replicas", "2")).
            setKafkaConfigSchema(kafka.server.KafkaRaftServer.configSchema()).build();
        ReplicationControlManager replication = new ReplicationControlManager.Builder().setFeatureControl(features).
            setClusterControl(cluster).setConfigurationControl(configs).build();
        cluster.replay(new RegisterBrokerRecord().setBrokerId(1).setBrokerEpoch(11).setIncarnationId(new Uuid(1, 1)).
            setLogDirs(List.of(DISK_OF_1)).setFenced(false), 11);
        cluster.replay(new RegisterBrokerRecord().setBrokerId(2).setBrokerEpoch(12).setIncarnationId(new Uuid(1, 2)).
            setLogDirs(List.of(DISK_OF_2, OTHER_DISK_OF_2)).setFenced(false), 12);
        cluster.activate();
        replication.replay(new TopicRecord().setName("t").setTopicId(TOPIC_ID));
        replication.replay(new PartitionRecord().setTopicId(TOPIC_ID).setPartitionId(0).setReplicas(List.of(1, 2)).
            setDirectories(List.of(DISK_OF_1, DISK_OF_2)).setIsr(List.of(1)).setLeader(1).setLeaderEpoch(0).setPartitionEpoch(0));

        List<ApiMessageAndVersion> records = new ArrayList<>();
        replication.handleDirectoriesOffline(2, 12, List.of(DISK_OF_2), records);
        records.forEach(record -> cluster.replay((BrokerRegistrationChangeRecord) record.message()));
        AlterPartitionRequestData request = new AlterPartitionRequestData().setBrokerId(1).setBrokerEpoch(11);
        request.topics().add(new AlterPartitionRequestData.TopicData().setTopicId(TOPIC_ID).setPartitions(List.of(
            new AlterPartitionRequestData.PartitionData().setPartitionIndex(0).setNewIsrWithEpochs(List.of(
                new AlterPartitionRequestData.BrokerState().setBrokerId(1).setBrokerEpoch(11),
                new AlterPartitionRequestData.BrokerState().setBrokerId(2).setBrokerEpoch(12))))));
        ControllerRequestContext context = new ControllerRequestContext(
            new RequestHeaderData().setRequestApiVersion((short) 3), KafkaPrincipal.ANONYMOUS, OptionalLong.empty());

        short answer = replication.alterPartition(context, request).response().topics().get(0).partitions().get(0).errorCode();
        assertEquals(Errors.INELIGIBLE_REPLICA, Errors.forCode(answer));
    }
}
