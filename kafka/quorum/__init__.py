"""The metadata quorum, compared with Kafka's KafkaRaftClient."""
