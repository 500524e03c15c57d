package kafka.server.metadata;

import kafka.coordinator.transaction.TransactionCoordinator;
import kafka.server.KafkaConfig;
import kafka.server.ReplicaManager;
import kafka.server.share.SharePartitionManager;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.coordinator.share.ShareCoordinator;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.loader.LogDeltaManifest;
import org.apache.kafka.metadata.KRaftMetadataCache;
import org.apache.kafka.metadata.publisher.AclPublisher;
import org.apache.kafka.metadata.publisher.DelegationTokenPublisher;
import org.apache.kafka.metadata.publisher.DynamicClientQuotaPublisher;
import org.apache.kafka.metadata.publisher.DynamicTopicClusterQuotaPublisher;
import org.apache.kafka.metadata.publisher.ScramPublisher;
import org.apache.kafka.server.fault.FaultHandler;

import org.junit.jupiter.api.Test;
import org.mockito.InOrder;

import java.util.List;

import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.inOrder;
import static org.mockito.Mockito.mock;

public class MinIsrBeforeIsrTest {
    private final DynamicConfigPublisher configs = mock(DynamicConfigPublisher.class);
    private final ReplicaManager replicas = mock(ReplicaManager.class);
    private final BrokerMetadataPublisher publisher = new BrokerMetadataPublisher(mock(KafkaConfig.class), mock(KRaftMetadataCache.class),
        mock(), replicas, mock(GroupCoordinator.class), mock(TransactionCoordinator.class), mock(ShareCoordinator.class),
        mock(SharePartitionManager.class), configs, mock(DynamicClientQuotaPublisher.class),
        mock(DynamicTopicClusterQuotaPublisher.class), mock(ScramPublisher.class), mock(DelegationTokenPublisher.class),
        mock(AclPublisher.class), mock(FaultHandler.class), mock(FaultHandler.class));

    @Test
    public void testMinIsrIsAppliedBeforeTheIsrOfTheSameDelta() {
        Uuid topicId = Uuid.randomUuid();
        MetadataDelta created = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        created.replay(new TopicRecord().setName("topic").setTopicId(topicId));
        created.replay(new PartitionRecord().setTopicId(topicId).setPartitionId(0).setReplicas(List.of(1, 2)).setIsr(List.of(1, 2)).setLeader(1)
            .setDirectories(List.of(Uuid.randomUuid(), Uuid.randomUuid())));
        MetadataImage before = publish(created, 1);

        MetadataDelta delta = new MetadataDelta.Builder().setImage(before).build();
        delta.replay(new ConfigRecord().setResourceType(ConfigResource.Type.TOPIC.id()).setResourceName("topic")
            .setName("min.insync.replicas").setValue("2"));
        delta.replay(new PartitionChangeRecord().setTopicId(topicId).setPartitionId(0).setIsr(List.of(1)).setEligibleLeaderReplicas(List.of(2)));
        MetadataImage after = publish(delta, 2);

        InOrder order = inOrder(configs, replicas);
        order.verify(configs).onMetadataUpdate(delta, after);
        order.verify(replicas).applyDelta(any(), any());
    }

    private MetadataImage publish(MetadataDelta delta, long offset) {
        MetadataImage image = delta.apply(new MetadataProvenance(offset, 1, offset, true));
        publisher.onMetadataUpdate(delta, image, mock(LogDeltaManifest.class));
        return image;
    }
}
