"""Binding of the metadata quorum to Kafka's KafkaRaftClient."""
