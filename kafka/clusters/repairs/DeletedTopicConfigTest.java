package org.apache.kafka.image;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;

import org.junit.jupiter.api.Test;

import java.util.Properties;

import static org.junit.jupiter.api.Assertions.assertEquals;

public class DeletedTopicConfigTest {
    private static final Uuid TOPIC_ID = Uuid.fromString("FbrrdcfiR-KC2CPSTHaJrg");

    @Test
    public void testTopicCreatedAndDeletedInOneDeltaLeavesNoConfigs() {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        delta.replay(new TopicRecord().setName("t").setTopicId(TOPIC_ID));
        delta.replay(new ConfigRecord().setResourceType(ConfigResource.Type.TOPIC.id()).setResourceName("t").
            setName("retention.ms").setValue("1000"));
        delta.replay(new RemoveTopicRecord().setTopicId(TOPIC_ID));
        ConfigurationsImage configs = delta.apply(MetadataProvenance.EMPTY).configs();
        assertEquals(new Properties(), configs.configProperties(new ConfigResource(ConfigResource.Type.TOPIC, "t")));
    }
}
