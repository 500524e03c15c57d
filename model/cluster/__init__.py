"""Kafka's data replication in KRaft mode, at the level of messages: one partition, one module per role."""
