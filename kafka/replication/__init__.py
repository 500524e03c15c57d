"""How the model of data replication is bound to the classes of Kafka."""
