"""Binding of the data replication model to Kafka's classes."""
