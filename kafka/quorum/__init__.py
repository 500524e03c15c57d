"""The metadata quorum, held against Kafka's KafkaRaftClient."""
