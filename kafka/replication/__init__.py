"""The binding of the model of data replication to Kafka's classes."""
