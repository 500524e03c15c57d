"""Apache Kafka: its own classes, real clients, whole clusters, and the metadata logs that clusters leave."""
