package org.apache.kafka.controller;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionReassignmentsResponseData;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.message.AssignReplicasToDirsRequestData;
import org.apache.kafka.common.message.AssignReplicasToDirsResponseData;
import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.CreateTopicsResponseData;
import org.apache.kafka.common.message.ElectLeadersRequestData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ClearElrRecord;  // since 4.0
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.metadata.UnregisterBrokerRecord;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ApiError;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.BrokerRegistrationReply;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * The controller's state machine without Raft: what a request writes is replayed at once and kept as the metadata log.
 *
 * It lives in Kafka's package because the builders and several methods are private to that package.
 */
public final class FencepostController {
    private static final long SESSION_NS = 9_000_000_000L;
    private static final String MIN_ISR = "min.insync.replicas";
    private static final String ELR = "eligible.leader.replicas.version";

    /** Whether the last registration has changed the partition twice: the index of the ELR still names a member that was cleared. */
    public boolean repeats;
    /** The metadata log. */
    public final List<ApiMessage> log = new ArrayList<>();
    private final SnapshotRegistry snapshots = new SnapshotRegistry(new LogContext());
    private final FeatureControlManager features;
    private final ConfigurationControlManager configs;
    final ClusterControlManager cluster;
    final ReplicationControlManager replication;
    private final Time time;
    private final long session;
    private final int minIsr;
    private final boolean unclean;

    public FencepostController(int minIsr, boolean elr, boolean unclean, Time time) {
        this(minIsr, elr, unclean, time, SESSION_NS);
    }

    /** The same with a session timeout in nanoseconds. */
    FencepostController(int minIsr, boolean elr, boolean unclean, Time time, long session) {
        this(minIsr, unclean, time, session);
        replay(new FeatureLevelRecord().setName("metadata.version")
            .setFeatureLevel(MetadataVersion.latestProduction().featureLevel()));
        if (elr) {
            replay(new FeatureLevelRecord().setName(ELR).setFeatureLevel((short) 1));
        }
        cluster.activate();
    }

    /** Another controller that has read the same metadata log, and becomes the active one. */
    public FencepostController successor() {
        FencepostController next = new FencepostController(minIsr, unclean, time, session);
        log.forEach(next::replay);
        next.cluster.activate();
        return next;
    }

    private FencepostController(int minIsr, boolean unclean, Time time, long session) {
        this.time = time;
        this.session = session;
        this.minIsr = minIsr;
        this.unclean = unclean;
        features = new FeatureControlManager.Builder().setSnapshotRegistry(snapshots)
            .setQuorumFeatures(new QuorumFeatures(0, QuorumFeatures.defaultFeatureMap(true), List.of(0))).build();  // until 3.9
            .setQuorumFeatures(new QuorumFeatures(0, QuorumFeatures.defaultSupportedFeatureMap(true), List.of(0))).build();  // since 4.0
        configs = new ConfigurationControlManager.Builder().setSnapshotRegistry(snapshots)
            .setFeatureControl(features)  // since 4.0
            .setStaticConfig(Map.of(MIN_ISR, "" + minIsr, "unclean.leader.election.enable", "" + unclean))
            .setKafkaConfigSchema(kafka.server.KafkaRaftServer.configSchema()).build();
        cluster = new ClusterControlManager.Builder().setClusterId("c").setTime(time).setSnapshotRegistry(snapshots)
            .setSessionTimeoutNs(session).setReplicaPlacer(new StripedReplicaPlacer(new Random(1)))
            .setFeatureControlManager(features)
            .setBrokerUncleanShutdownHandler(this::uncleanShutdown)  // since 3.8 until 3.9
            .build();  // until 3.9
            .setBrokerShutdownHandler(this::shutdown).build();  // since 4.0
        replication = new ReplicationControlManager.Builder().setSnapshotRegistry(snapshots).setConfigurationControl(configs)
            .setClusterControl(cluster).setFeatureControl(features).build();
    }

    private void shutdown(int broker, boolean clean, List<ApiMessageAndVersion> records) {  // since 4.0
        replication.handleBrokerShutdown(broker, clean, records);  // since 4.0
    }  // since 4.0

    private void uncleanShutdown(int broker, List<ApiMessageAndVersion> records) {  // since 3.8 until 3.9
        replication.handleBrokerUncleanShutdown(broker, records);  // since 3.8 until 3.9
    }  // since 3.8 until 3.9

    private void replay(ApiMessage record) {
        long offset = log.size();
        if (record instanceof FeatureLevelRecord) {
            features.replay((FeatureLevelRecord) record);
        } else if (record instanceof RegisterBrokerRecord) {
            cluster.replay((RegisterBrokerRecord) record, offset);
        } else if (record instanceof BrokerRegistrationChangeRecord) {
            cluster.replay((BrokerRegistrationChangeRecord) record);
        } else if (record instanceof TopicRecord) {
            replication.replay((TopicRecord) record);
        } else if (record instanceof PartitionRecord) {
            replication.replay((PartitionRecord) record);
        } else if (record instanceof PartitionChangeRecord) {
            replication.replay((PartitionChangeRecord) record);
        } else if (record instanceof ConfigRecord) {
            configs.replay((ConfigRecord) record);
        } else if (record instanceof ClearElrRecord) {  // since 4.0
            replication.replay((ClearElrRecord) record);  // since 4.0
        } else if (record instanceof UnregisterBrokerRecord) {
            cluster.replay((UnregisterBrokerRecord) record);
        } else if (record instanceof RemoveTopicRecord) {
            replication.replay((RemoveTopicRecord) record);
        } else {
            throw new IllegalStateException("a record of a kind that this driver does not replay: " + record);
        }
        log.add(record);
    }

    boolean commit(List<ApiMessageAndVersion> records) {
        records.forEach(record -> replay(record.message()));
        return !records.isEmpty();
    }

    private ControllerRequestContext context(ApiKeys key) {
        RequestHeaderData header = new RequestHeaderData().setRequestApiKey(key.id).setRequestApiVersion(key.latestVersion());
        return new ControllerRequestContext(header, KafkaPrincipal.ANONYMOUS, OptionalLong.empty(), change -> { });
    }

    /** BrokerRegistration; returns the broker epoch. */
    public long register(int broker, Uuid incarnation, long previousEpoch) {
        return register(broker, incarnation, previousEpoch, List.of(new Uuid(1000, broker)));
    }

    /** The same with these log directories. */
    public long register(int broker, Uuid incarnation, long previousEpoch, List<Uuid> directories) {
        BrokerRegistrationRequestData request = new BrokerRegistrationRequestData().setBrokerId(broker).setClusterId("c")
            .setIncarnationId(incarnation).setLogDirs(directories).setPreviousBrokerEpoch(previousEpoch);
        request.listeners().add(new BrokerRegistrationRequestData.Listener().setName("PLAINTEXT").setHost("localhost")
            .setPort(2000 + broker));
        request.features().add(new BrokerRegistrationRequestData.Feature().setName("metadata.version")
            .setMinSupportedVersion((short) 7).setMaxSupportedVersion(MetadataVersion.latestTesting().featureLevel()));
        request.features().add(new BrokerRegistrationRequestData.Feature().setName(ELR)
            .setMinSupportedVersion((short) 0).setMaxSupportedVersion((short) 1));
        long epoch = register(request);
        touch(broker);
        return epoch;
    }

    /** The same without the heartbeat that follows. */
    long register(BrokerRegistrationRequestData request) {
        ControllerResult<BrokerRegistrationReply> result =
            cluster.registerBroker(request, log.size(), features.finalizedFeatures(Long.MAX_VALUE)
                , Short.MAX_VALUE  // until 3.8
                , true  // since 4.0
            );
        repeats = result.records().stream().filter(record -> record.message() instanceof PartitionChangeRecord).count() > 1;
        commit(result.records());
        return result.response().epoch();
    }

    /** Sets the broker's last heartbeat to the current time. */
    public void touch(int broker) {
        contact(broker, time.nanoseconds());
    }

    /** Backdates the broker's last heartbeat by more than a session timeout. */
    public void expire(int broker) {
        contact(broker, time.nanoseconds() - 2 * SESSION_NS);
    }

    private void contact(int broker, long at) {
        cluster.heartbeatManager().tracker().updateContactTime(new BrokerIdAndEpoch(broker, registration(broker).epoch()), at);  // since 4.0
        for (BrokerHeartbeatManager.BrokerHeartbeatState state : cluster.heartbeatManager().brokers()) {  // until 3.9
            if (state.id() == broker && !state.fenced()) {  // until 3.9
                cluster.heartbeatManager().unfenced().remove(state);  // until 3.9
                state.lastContactNs = at;  // until 3.9
                cluster.heartbeatManager().unfenced().add(state);  // until 3.9
            }  // until 3.9
        }  // until 3.9
    }

    /** BrokerHeartbeat. `known` is the end of the metadata that the broker has applied. */
    public String heartbeat(int broker, long epoch, boolean stop, long known) {
        return heartbeat(broker, epoch, stop, known, List.of());
    }

    /** The same with directories that have failed. */
    public String heartbeat(int broker, long epoch, boolean stop, long known, List<Uuid> offline) {
        BrokerHeartbeatRequestData request = new BrokerHeartbeatRequestData().setBrokerId(broker).setBrokerEpoch(epoch)
            .setCurrentMetadataOffset(known).setWantFence(false).setWantShutDown(stop).setOfflineLogDirs(offline);
        ControllerResult<org.apache.kafka.metadata.BrokerHeartbeatReply> result =
            replication.processBrokerHeartbeat(request, cluster.registerBrokerRecordOffset(broker).getAsLong());
        commit(result.records());
        touch(broker);
        if (result.response().inControlledShutdown()) {
            cluster.heartbeatManager().maybeUpdateControlledShutdownOffset(broker, log.size());
        }
        return result.response().shouldShutDown() ? "stop" : result.response().isFenced() ? "fenced" : "run";
    }

    /** Ends the session of one broker. */
    public void fence(int broker) {
        expire(broker);
        commit(replication.maybeFenceOneStaleBroker().records());  // until 3.9
        ControllerResult<Boolean> result = replication.maybeFenceOneStaleBroker();  // since 4.0
        // the controller repeats this, because sessions of old incarnations may exist
        while (!commit(result.records()) && result.response()) {  // since 4.0
            result = replication.maybeFenceOneStaleBroker();  // since 4.0
        }  // since 4.0
    }

    public Uuid createTopic(String name, List<Integer> replicas) {
        return createTopic(name, List.of(replicas), null);
    }

    /** CreateTopics with the replicas of each partition, and with this id if there is one, as Kafka draws another each time. */
    public Uuid createTopic(String name, List<List<Integer>> partitions, Uuid id) {
        CreateTopicsRequestData.CreatableTopic topic = new CreateTopicsRequestData.CreatableTopic().setName(name)
            .setNumPartitions(-1).setReplicationFactor((short) -1);
        for (int p = 0; p < partitions.size(); p++) {
            topic.assignments().add(new CreateTopicsRequestData.CreatableReplicaAssignment().setPartitionIndex(p)
                .setBrokerIds(partitions.get(p)));
        }
        CreateTopicsRequestData request = new CreateTopicsRequestData();
        request.topics().add(topic);
        ControllerResult<CreateTopicsResponseData> result =
            replication.createTopics(context(ApiKeys.CREATE_TOPICS), request, Set.of(name)
                , false  // since 4.3
            );
        CreateTopicsResponseData.CreatableTopicResult made = result.response().topics().find(name);
        if (made.errorCode() != 0) {
            throw Errors.forCode(made.errorCode()).exception("the topic was not created: " + made.errorMessage());
        }
        for (ApiMessageAndVersion record : result.records()) {
            if (id != null && record.message() instanceof TopicRecord) {
                ((TopicRecord) record.message()).setTopicId(id);
            } else if (id != null && record.message() instanceof PartitionRecord) {
                ((PartitionRecord) record.message()).setTopicId(id);
            }
        }
        commit(result.records());
        return id != null ? id : made.topicId();
    }

    public void deleteTopic(Uuid id) {
        ControllerResult<Map<Uuid, ApiError>> deleted = replication.deleteTopics(context(ApiKeys.DELETE_TOPICS), List.of(id));
        commit(deleted.records());
    }

    /** IncrementalAlterConfigs: another min ISR of a topic. */
    public void setMinIsr(String topic, int minIsr) {
        setMinIsr(topic(topic), minIsr);
    }

    /** The same for the cluster. */
    public void setMinIsr(int minIsr) {
        setMinIsr(new ConfigResource(ConfigResource.Type.BROKER, ""), minIsr);
    }

    private void setMinIsr(ConfigResource of, int minIsr) {
        ControllerResult<Map<ConfigResource, ApiError>> result = configs.incrementalAlterConfigs(
            Map.of(of, Map.of(MIN_ISR, Map.entry(AlterConfigOp.OpType.SET, "" + minIsr))), false
            , false  // since 4.3
        );
        ApiError error = result.response().get(of);
        if (error.isFailure()) {
            throw new IllegalStateException("min ISR was not changed: " + error);
        }
        commit(result.records());
    }

    /** The min ISR that was set for a topic, or null if none was set. */
    public String minIsr(String topic) {
        return configs.getConfigs(topic(topic)).get(MIN_ISR);
    }

    /** The min ISR of a topic in an image, or null if the image sets none. */
    public static String minIsr(MetadataImage image, String topic) {
        return image.configs().configMapForResource(topic(topic)).get(MIN_ISR);
    }

    private static ConfigResource topic(String name) {
        return new ConfigResource(ConfigResource.Type.TOPIC, name);
    }

    /** AlterPartitionReassignments: other replicas, or another order; null cancels a reassignment. Returns the error. */
    public String reassign(String topic, List<Integer> replicas) {
        return reassign(topic, 0, replicas);
    }

    /** The same for one of several partitions. */
    public String reassign(String topic, int partition, List<Integer> replicas) {
        AlterPartitionReassignmentsRequestData request = new AlterPartitionReassignmentsRequestData();
        request.topics().add(new AlterPartitionReassignmentsRequestData.ReassignableTopic().setName(topic).setPartitions(List.of(
            new AlterPartitionReassignmentsRequestData.ReassignablePartition().setPartitionIndex(partition).setReplicas(replicas))));
        ControllerResult<AlterPartitionReassignmentsResponseData> result = replication.alterPartitionReassignments(request);
        commit(result.records());
        return Errors.forCode(result.response().responses().get(0).partitions().get(0).errorCode()).name();
    }

    /** Writes the same record as FeatureControlManager.updateFeatures when an operator downgrades the feature. */
    public void turnElrOff() {
        replay(new FeatureLevelRecord().setName(ELR).setFeatureLevel((short) 0));
    }

    /** ElectLeaders for the preferred replica. Returns whether anything changed, or why not. */
    public String electPreferred(String topic) {
        return elect(topic, 0, false);
    }

    /** ElectLeaders for one of several partitions: a preferred election, or an unclean election, which may lose records. */
    public String elect(String topic, int partition, boolean unclean) {
        ElectLeadersRequestData request = new ElectLeadersRequestData().setElectionType((byte) (unclean ? 1 : 0));
        request.setTopicPartitions(new ElectLeadersRequestData.TopicPartitionsCollection());
        request.topicPartitions().add(new ElectLeadersRequestData.TopicPartitions().setTopic(topic).setPartitions(List.of(partition)));
        ControllerResult<org.apache.kafka.common.message.ElectLeadersResponseData> result = replication.electLeaders(request);
        commit(result.records());
        return Errors.forCode(result.response().replicaElectionResults().get(0).partitionResult().get(0).errorCode()).name();
    }

    /** AlterPartition. */
    public AlterPartitionResponseData alterPartition(AlterPartitionRequestData request) {
        ControllerResult<AlterPartitionResponseData> result =
            replication.alterPartition(context(ApiKeys.ALTER_PARTITION), request);
        commit(result.records());
        return result.response();
    }

    /** AssignReplicasToDirs: a partition of a topic is in this directory. */
    public Errors assign(int broker, long epoch, Uuid topic, int partition, Uuid directory) {
        AssignReplicasToDirsRequestData.TopicData of = new AssignReplicasToDirsRequestData.TopicData().setTopicId(topic);
        of.partitions().add(new AssignReplicasToDirsRequestData.PartitionData().setPartitionIndex(partition));
        AssignReplicasToDirsRequestData.DirectoryData in = new AssignReplicasToDirsRequestData.DirectoryData().setId(directory);
        in.topics().add(of);
        AssignReplicasToDirsRequestData request = new AssignReplicasToDirsRequestData().setBrokerId(broker).setBrokerEpoch(epoch);
        request.directories().add(in);
        try {
            assign(request);
            return Errors.NONE;
        } catch (ApiException e) {
            return Errors.forException(e);
        }
    }

    public AssignReplicasToDirsResponseData assign(AssignReplicasToDirsRequestData request) {
        ControllerResult<AssignReplicasToDirsResponseData> result = replication.handleAssignReplicasToDirs(request);
        commit(result.records());
        return result.response();
    }

    /** A change of the partition that keeps its leader and its directories: its ISR is written again. */
    public void writeIsr(Uuid topic) {
        replay(new PartitionChangeRecord().setTopicId(topic).setPartitionId(0).setIsr(Replicas.toList(partition(topic).isr)));
    }

    /** Does what a heartbeat does first if it reports failed directories. */
    public void markOffline(int broker, List<Uuid> offline) {
        List<ApiMessageAndVersion> records = new ArrayList<>();
        replication.handleDirectoriesOffline(broker, registration(broker).epoch(), offline, records);
        commit(records);
    }

    /** UnregisterBroker. */
    public void unregister(int broker) {
        commit(replication.unregisterBroker(broker).records());
    }

    /** The periodic task that gives preferred replicas their leadership back. */
    public void balance() {
        commit(replication.maybeBalancePartitionLeaders().records());
    }

    public PartitionRegistration partition(Uuid topic) {
        return partition(topic, 0);
    }

    public PartitionRegistration partition(Uuid topic, int number) {
        return replication.getPartition(topic, number);
    }

    public BrokerRegistration registration(int broker) {
        return cluster.brokerRegistrations().get(broker);
    }

    public boolean leadsAnything(int broker) {
        return replication.brokersToIsrs().hasLeaderships(broker);
    }
}
