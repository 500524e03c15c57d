"""The binding of the metadata quorum to Kafka's KafkaRaftClient."""
